//! The loop over a list of tasks, as a machine: told what happened and what time it is, it says
//! what to do next.
//!
//! Before each task is asked, in this order: is the budget spent, have enough runs been made, were
//! there too many escalations in a row, is the task verified already. What is under way is always
//! brought to its end first; only then does the loop stop.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use spore_model::{CommitId, Cost, Outcome, Park, RunId, Timestamp, TreeId, Usd};

use super::task::{LoopTask, overlap};

/// What a loop is held to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LoopRules {
    /// For all tasks, over all restarts; none is no limit.
    pub budget: Option<Usd>,
    pub max_runs: Option<u32>,
    /// A person is asked after the first escalation.
    pub pause_on_escalation: bool,
    pub stop_on_failure: bool,
    /// This many escalations in a row are no accident.
    pub escalation_limit: u32,
    /// A result that costs more than this many times the mean of those before it is told.
    pub anomaly_factor: u32,
    /// From this many results on.
    pub anomaly_after: u32,
    /// How many tasks are worked on at once.
    pub parallel: u32,
    /// How long a place for a task stays empty after one.
    pub cooldown_ms: u64,
    /// How often a task may come back from its landing.
    pub max_returns: u32,
    /// The agent of tasks that name none.
    pub backend: String,
}

/// What became of one run of a task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TaskResult {
    /// Which result of the loop it was, counted from 1.
    pub number: u32,
    pub run: RunId,
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was verified, made on `base`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<CommitId>,
    pub cost: Cost,
    pub duration_ms: u64,
    /// Spore or the machine fell short, and not the work: it says nothing about the tasks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub infrastructure: bool,
}

/// What became of verified work at the branch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "landing", rename_all = "snake_case")]
pub enum TaskLanding {
    /// It is the tip now.
    Landed { number: u32, commit: CommitId, tree: TreeId },
    /// It does not fit what landed before it, and goes back to its owner.
    Back { number: u32, evidence: String },
}

impl TaskLanding {
    pub fn number(&self) -> u32 {
        match self {
            Self::Landed { number, .. } | Self::Back { number, .. } => *number,
        }
    }

    /// Gives it its number: it has one when it is over.
    #[must_use]
    pub fn numbered(self, number: u32) -> Self {
        match self {
            Self::Landed { commit, tree, .. } => Self::Landed { number, commit, tree },
            Self::Back { evidence, .. } => Self::Back { number, evidence },
        }
    }
}

/// Where a task stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TaskStanding {
    /// It was verified before, or the person ticked it off.
    Settled,
    Waiting,
    Running,
    /// Its run waits for something. One that waits for budget goes on by itself where there is a
    /// time: only its part of it is spent.
    Parked {
        park: Park,
        until: Option<Timestamp>,
    },
    /// Verified, and not on the branch yet.
    Verified,
    Landing,
    Landed,
    /// Its run ended otherwise.
    FellShort(Outcome),
    /// A task that it comes after is not on the branch and never will be.
    Blocked,
}

/// What the machine does not know by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoopView {
    pub now: Timestamp,
    /// What all tasks have cost, over all restarts.
    pub spent: Usd,
    /// Whether anything is left that no run has set aside.
    pub funded: bool,
    pub interrupted: bool,
}

/// What to do next.
#[derive(Clone, PartialEq, Debug)]
pub enum LoopMove {
    /// Start a task, or go on with its run that waits.
    Start {
        task: usize,
        attempt: u32,
    },
    /// Bring a verified task onto the branch.
    Land {
        task: usize,
        attempt: u32,
    },
    /// Nothing until something ends, or until then. `limited` is who is over its limit, where
    /// nothing else is going on.
    Wait {
        until: Option<Timestamp>,
        limited: Option<String>,
    },
    Stop(LoopStop),
}

/// Why nothing more is started.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopStop {
    Interrupted,
    Budget,
    MaxRuns,
    Escalations,
    PausedOnEscalation,
    Failure,
    /// No layer absorbs it.
    DepthExceeded,
    /// Every task had its turn.
    Through,
}

/// How a loop ends or waits.
#[derive(Clone, PartialEq, Debug)]
pub struct LoopEnding {
    pub outcome: Outcome,
    /// What it waits for, where it can go on.
    pub park: Option<Park>,
    pub reason: String,
}

/// A loop over tasks.
#[derive(Clone, Debug)]
pub struct TaskLoop {
    rules: LoopRules,
    tasks: Vec<LoopTask>,
    standing: Vec<TaskStanding>,
    attempt: Vec<u32>,
    returns: Vec<u32>,
    /// Verified tasks in the order in which they ended.
    queue: Vec<usize>,
    /// When places for a task became empty.
    freed: Vec<Timestamp>,
    /// Agents over their limit, and until when.
    limits: BTreeMap<String, Timestamp>,
    /// Nothing lands before.
    land_after: Option<Timestamp>,
    runs: u32,
    results: u32,
    streak: u32,
    paused: bool,
    failed: bool,
    too_deep: bool,
    costs: Vec<Usd>,
}

impl TaskLoop {
    /// Begins a loop; `settled` says which tasks are verified already.
    pub fn new(
        rules: LoopRules,
        tasks: Vec<LoopTask>,
        settled: &dyn Fn(&LoopTask) -> bool,
    ) -> Self {
        let standing = tasks
            .iter()
            .map(|task| match task.ticked || settled(task) {
                true => TaskStanding::Settled,
                false => TaskStanding::Waiting,
            })
            .collect();
        let count = tasks.len();
        Self {
            rules,
            tasks,
            standing,
            attempt: vec![1; count],
            returns: vec![0; count],
            queue: Vec::new(),
            freed: Vec::new(),
            limits: BTreeMap::new(),
            land_after: None,
            runs: 0,
            results: 0,
            streak: 0,
            paused: false,
            failed: false,
            too_deep: false,
            costs: Vec::new(),
        }
    }

    pub fn tasks(&self) -> &[LoopTask] {
        &self.tasks
    }

    pub fn standing(&self, task: usize) -> &TaskStanding {
        &self.standing[task]
    }

    pub fn attempt(&self, task: usize) -> u32 {
        self.attempt[task]
    }

    pub fn returns(&self, task: usize) -> u32 {
        self.returns[task]
    }

    /// How many runs were begun.
    pub fn runs(&self) -> u32 {
        self.runs
    }

    /// How many tasks are being worked on.
    pub fn running(&self) -> usize {
        self.count(|standing| *standing == TaskStanding::Running)
    }

    /// How many tasks are to begin at once: what is left of the budget is for all of them.
    pub fn sharers(&self) -> usize {
        let may_begin = |standing: &TaskStanding| match standing {
            TaskStanding::Waiting => true,
            TaskStanding::Parked { park, until } => {
                *park == Park::Quota || *park == Park::Budget && until.is_some()
            }
            _ => false,
        };
        self.free_places().min(self.count(may_begin)).max(1)
    }

    /// The number of the next result.
    pub fn next_number(&self) -> u32 {
        self.results + 1
    }

    /// What happened to a person who looked: escalations before now count no more.
    pub fn forgive(&mut self) {
        self.streak = 0;
        self.paused = false;
        self.failed = false;
    }

    /// Says what to do next.
    pub fn next(&self, view: LoopView) -> LoopMove {
        let lands = self.queue.first().filter(|_| !self.standing.contains(&TaskStanding::Landing));
        let land_later = self.land_after.filter(|after| *after > view.now);
        if let (Some(&task), None, false) = (lands, land_later, view.interrupted) {
            return LoopMove::Land { task, attempt: self.attempt[task] };
        }
        let busy = self.is_busy(view);
        if self.free_places() > 0 || !busy {
            match self.start_or_why(view) {
                Ok(task) => return LoopMove::Start { task, attempt: self.attempt[task] },
                Err(NotNow::Stop(stop)) if !busy => return LoopMove::Stop(stop),
                // What is left comes after tasks that wait for a person.
                Err(NotNow::Busy) if !busy => return LoopMove::Stop(LoopStop::Through),
                Err(NotNow::Until { until, limited }) => {
                    let limited = limited.filter(|_| !busy);
                    return LoopMove::Wait { until: Some(until), limited };
                }
                Err(NotNow::Stop(_) | NotNow::Busy) => {}
            }
        }
        let limited = land_later.filter(|_| !self.is_working());
        let limited = limited.and_then(|_| lands.map(|&task| self.backend(task).to_owned()));
        LoopMove::Wait { until: land_later, limited }
    }

    fn start_or_why(&self, view: LoopView) -> Result<usize, NotNow> {
        if view.interrupted {
            return Err(NotNow::Stop(LoopStop::Interrupted));
        }
        if self.too_deep {
            return Err(NotNow::Stop(LoopStop::DepthExceeded));
        }
        let mut later: Option<(Timestamp, Option<String>)> = None;
        let mut waits = false;
        for task in 0..self.tasks.len() {
            match self.readiness(task, view.now) {
                Readiness::Never => {}
                Readiness::Busy => waits = true,
                Readiness::Later(until, who) => {
                    if later.as_ref().is_none_or(|(known, _)| until < *known) {
                        later = Some((until, Some(who)));
                    }
                }
                Readiness::Ready => {
                    self.refusal(task, view).map_or(Ok(()), |stop| Err(NotNow::Stop(stop)))?;
                    if !view.funded {
                        return Err(if self.is_busy(view) {
                            NotNow::Busy
                        } else {
                            NotNow::Stop(LoopStop::Budget)
                        });
                    }
                    return match self.cooled(view.now) {
                        Some(until) => Err(NotNow::Until { until, limited: None }),
                        None => Ok(task),
                    };
                }
            }
        }
        match later {
            Some((until, limited)) => Err(NotNow::Until { until, limited }),
            None if waits => Err(NotNow::Busy),
            None => Err(NotNow::Stop(LoopStop::Through)),
        }
    }

    /// The questions before each task, in their order.
    fn refusal(&self, task: usize, view: LoopView) -> Option<LoopStop> {
        if self.rules.budget.is_some_and(|budget| view.spent >= budget) {
            return Some(LoopStop::Budget);
        }
        // What waits was let begin.
        if self.standing[task] != TaskStanding::Waiting {
            return None;
        }
        if self.rules.max_runs.is_some_and(|most| self.runs >= most) {
            return Some(LoopStop::MaxRuns);
        }
        if self.streak >= self.rules.escalation_limit {
            return Some(LoopStop::Escalations);
        }
        if self.paused {
            return Some(LoopStop::PausedOnEscalation);
        }
        self.failed.then_some(LoopStop::Failure)
    }

    fn readiness(&self, task: usize, now: Timestamp) -> Readiness {
        match &self.standing[task] {
            TaskStanding::Waiting => {}
            TaskStanding::Parked { park: Park::Quota, until } => {
                if let Some(until) = until.filter(|until| *until > now) {
                    return Readiness::Later(until, self.backend(task).to_owned());
                }
            }
            TaskStanding::Parked { park: Park::Budget, until: Some(_) } => {}
            _ => return Readiness::Never,
        }
        for id in &self.tasks[task].after {
            let before = self.tasks.iter().position(|one| one.id == *id);
            match before.map(|before| &self.standing[before]) {
                Some(TaskStanding::Settled | TaskStanding::Landed) => {}
                Some(TaskStanding::Parked { park: Park::Quota, until }) => {
                    let until = until.unwrap_or(now);
                    return match until > now {
                        true => Readiness::Later(until, self.backend(task).to_owned()),
                        false => Readiness::Busy,
                    };
                }
                Some(TaskStanding::Parked { park: Park::Budget, until: Some(_) }) => {
                    return Readiness::Busy;
                }
                Some(
                    TaskStanding::Waiting
                    | TaskStanding::Running
                    | TaskStanding::Verified
                    | TaskStanding::Landing,
                ) => return Readiness::Busy,
                _ => return Readiness::Never,
            }
        }
        let under_way = |other: usize| {
            matches!(
                self.standing[other],
                TaskStanding::Running | TaskStanding::Verified | TaskStanding::Landing
            )
        };
        let meets = |other: usize| overlap(&self.tasks[task], &self.tasks[other]);
        if (0..self.tasks.len()).any(|other| other != task && under_way(other) && meets(other)) {
            return Readiness::Busy;
        }
        match self.limits.get(self.backend(task)) {
            Some(until) if *until > now => Readiness::Later(*until, self.backend(task).to_owned()),
            _ => Readiness::Ready,
        }
    }

    /// Returns when a place is cool, where none is yet.
    fn cooled(&self, now: Timestamp) -> Option<Timestamp> {
        let cooldown = i64::try_from(self.rules.cooldown_ms).unwrap_or(i64::MAX);
        let free_at =
            |freed: &Timestamp| Timestamp::from_millis(freed.as_millis().saturating_add(cooldown));
        let cooling = self.freed.iter().map(free_at).filter(|at| *at > now);
        let places = self.free_places();
        if cooling.clone().count() < places.max(1) { None } else { cooling.min() }
    }

    fn free_places(&self) -> usize {
        let taken = |standing: &TaskStanding| match standing {
            TaskStanding::Running => true,
            // Alone, a task begins from what the one before it left.
            TaskStanding::Verified | TaskStanding::Landing => self.rules.parallel <= 1,
            _ => false,
        };
        let places = usize::try_from(self.rules.parallel.max(1)).unwrap_or(usize::MAX);
        places.saturating_sub(self.count(taken))
    }

    /// Whether something is to come to rest first. Once a person interrupts, what is verified may
    /// as well land later.
    fn is_busy(&self, view: LoopView) -> bool {
        self.is_working() || !self.queue.is_empty() && !view.interrupted
    }

    fn is_working(&self) -> bool {
        let under_way = |standing: &TaskStanding| {
            matches!(standing, TaskStanding::Running | TaskStanding::Landing)
        };
        self.standing.iter().any(under_way)
    }

    fn count(&self, which: impl Fn(&TaskStanding) -> bool) -> usize {
        self.standing.iter().filter(|standing| which(standing)).count()
    }

    /// The agent that works on a task.
    pub fn backend(&self, task: usize) -> &str {
        self.tasks[task].backend.as_deref().unwrap_or(&self.rules.backend)
    }

    /// A task was begun, or its run is gone on with.
    pub fn begun(&mut self, task: usize) {
        // One that waited was counted when it was begun.
        if !matches!(self.standing[task], TaskStanding::Parked { .. }) {
            self.runs += 1;
        }
        if !self.freed.is_empty() {
            self.freed.remove(0);
        }
        self.standing[task] = TaskStanding::Running;
    }

    /// A run of a task ended. Returns by how much it was dearer than others, where it was.
    pub fn ended(
        &mut self,
        task: usize,
        result: &TaskResult,
        now: Timestamp,
    ) -> Option<CostAnomaly> {
        self.results = self.results.max(result.number);
        self.freed.push(now);
        self.standing[task] = match result.outcome {
            Outcome::Success if result.commit.is_some() => {
                self.streak = 0;
                self.queue.push(task);
                TaskStanding::Verified
            }
            outcome => TaskStanding::FellShort(outcome),
        };
        if result.outcome == Outcome::NeedsEscalation && !result.infrastructure {
            self.streak += 1;
            self.paused |= self.rules.pause_on_escalation;
        }
        self.failed |= result.outcome != Outcome::Success && self.rules.stop_on_failure;
        self.too_deep |= result.outcome == Outcome::DepthExceeded;
        self.block();
        self.anomaly(result.cost.usd)
    }

    fn anomaly(&mut self, cost: Usd) -> Option<CostAnomaly> {
        let before = self.costs.len();
        let mean = match i64::try_from(before) {
            Ok(count @ 1..) => {
                Usd::from_nanos(self.costs.iter().copied().sum::<Usd>().as_nanos() / count)
            }
            _ => Usd::ZERO,
        };
        self.costs.push(cost);
        let limit = mean.as_nanos().saturating_mul(i64::from(self.rules.anomaly_factor));
        let enough = before >= usize::try_from(self.rules.anomaly_after).unwrap_or(usize::MAX);
        (enough && mean > Usd::ZERO && cost.as_nanos() > limit)
            .then_some(CostAnomaly { cost, mean })
    }

    /// The run of a task waits for something.
    pub fn parked(&mut self, task: usize, park: Park, until: Option<Timestamp>, now: Timestamp) {
        self.freed.push(now);
        if let (Park::Quota, Some(until)) = (park, until) {
            let backend = self.backend(task).to_owned();
            let known = self.limits.entry(backend).or_insert(until);
            *known = until.max(*known);
        }
        self.standing[task] = TaskStanding::Parked { park, until };
    }

    /// A verified task is being brought onto the branch.
    pub fn landing(&mut self, task: usize) {
        self.queue.retain(|queued| *queued != task);
        self.standing[task] = TaskStanding::Landing;
    }

    /// A landing cannot go on: it waits for a limit to be over, or for a person.
    pub fn landing_parked(&mut self, task: usize, park: Park, until: Option<Timestamp>) {
        if let (Park::Quota, Some(until)) = (park, until) {
            self.standing[task] = TaskStanding::Verified;
            self.queue.insert(0, task);
            self.land_after = Some(until);
        } else {
            self.standing[task] = TaskStanding::Parked { park, until };
        }
    }

    /// That is over. A task that came back is worked on again, from the new tip.
    pub fn landed(&mut self, task: usize, landing: &TaskLanding) {
        self.queue.retain(|queued| *queued != task);
        self.results = self.results.max(landing.number());
        self.standing[task] = match landing {
            TaskLanding::Landed { .. } => TaskStanding::Landed,
            TaskLanding::Back { .. } if self.returns[task] < self.rules.max_returns => {
                self.returns[task] += 1;
                self.attempt[task] += 1;
                // Not another run of the loop: the same task, once more.
                self.runs = self.runs.saturating_sub(1);
                TaskStanding::Waiting
            }
            TaskLanding::Back { .. } => {
                self.streak += 1;
                self.paused |= self.rules.pause_on_escalation;
                self.failed |= self.rules.stop_on_failure;
                TaskStanding::FellShort(Outcome::NeedsEscalation)
            }
        };
        self.block();
    }

    /// Marks the tasks that come after one that fell short.
    fn block(&mut self) {
        loop {
            let lost = |id: &String| {
                let at = self.tasks.iter().position(|task| task.id == *id);
                at.is_some_and(|at| {
                    matches!(self.standing[at], TaskStanding::FellShort(_) | TaskStanding::Blocked)
                })
            };
            let next = (0..self.tasks.len()).find(|&task| {
                self.standing[task] == TaskStanding::Waiting
                    && self.tasks[task].after.iter().any(lost)
            });
            match next {
                Some(task) => self.standing[task] = TaskStanding::Blocked,
                None => return,
            }
        }
    }

    /// Says how a loop that stopped for `stop` ends.
    pub fn ending(&self, stop: LoopStop) -> LoopEnding {
        let done = self.count(|standing| *standing == TaskStanding::Landed);
        let settled = self.count(|standing| *standing == TaskStanding::Settled);
        let all = self.tasks.len();
        let left = all - done - settled;
        let tasks = |count: usize| format!("{count} task{}", if count == 1 { "" } else { "s" });
        let told = match settled {
            0 => format!("{done} of {} verified", tasks(all)),
            _ => format!("{done} of {} verified, {settled} before", tasks(all)),
        };
        let asks = |park: Park, reason: String| LoopEnding {
            outcome: Outcome::NeedsHuman,
            park: Some(park),
            reason,
        };
        match stop {
            LoopStop::Interrupted => LoopEnding {
                outcome: Outcome::Interrupted,
                park: Some(Park::Interrupt),
                reason: "interrupted".to_owned(),
            },
            LoopStop::Budget => asks(Park::Budget, format!("the budget is spent: {told}")),
            LoopStop::Escalations => {
                asks(Park::Human, format!("{} escalations in a row: {told}", self.streak))
            }
            LoopStop::PausedOnEscalation => {
                asks(Park::Human, format!("paused after an escalation: {told}"))
            }
            LoopStop::DepthExceeded => {
                LoopEnding { outcome: Outcome::DepthExceeded, park: None, reason: told }
            }
            LoopStop::MaxRuns | LoopStop::Failure | LoopStop::Through => {
                let waiting = self.standing.iter().find_map(|standing| match standing {
                    TaskStanding::Parked { park, .. } => Some(*park),
                    _ => None,
                });
                match waiting {
                    Some(Park::Budget) => {
                        asks(Park::Budget, format!("tasks wait for budget: {told}"))
                    }
                    Some(_) => asks(Park::Human, format!("tasks wait for a person: {told}")),
                    None => {
                        let why = match stop {
                            LoopStop::MaxRuns => {
                                format!("; {} made, the most of one loop", runs(self.runs))
                            }
                            LoopStop::Failure => "; stopped at the first that failed".to_owned(),
                            _ => String::new(),
                        };
                        let outcome = match (left, done + settled) {
                            (0, _) => Outcome::Success,
                            (_, 0) => Outcome::Failure,
                            _ => Outcome::Partial,
                        };
                        LoopEnding { outcome, park: None, reason: format!("{told}{why}") }
                    }
                }
            }
        }
    }

    /// How long a place stays empty after a task.
    pub fn cooldown(&self) -> Duration {
        Duration::from_millis(self.rules.cooldown_ms)
    }
}

fn runs(count: u32) -> String {
    format!(
        "{count} run{} {}",
        if count == 1 { "" } else { "s" },
        if count == 1 { "was" } else { "were" }
    )
}

/// A result that cost far more than those before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CostAnomaly {
    pub cost: Usd,
    pub mean: Usd,
}

/// Why no task can be started at this moment.
enum NotNow {
    Stop(LoopStop),
    /// What is under way must end first.
    Busy,
    Until {
        until: Timestamp,
        limited: Option<String>,
    },
}

/// Whether a task can be started.
enum Readiness {
    Ready,
    Busy,
    Later(Timestamp, String),
    Never,
}

#[cfg(test)]
mod tests;
