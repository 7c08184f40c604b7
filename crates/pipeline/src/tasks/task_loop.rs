//! The loop over a list of tasks, as a machine: told what happened and what time it is, it says
//! what to do next.
//!
//! Before each task is asked, in this order: is the budget spent, are the project's own checks red,
//! have enough runs been made, were there too many escalations in a row, is the task verified
//! already. What is under way is always brought to its end first; only then does the loop stop.

mod choosing;
mod ending;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use spore_model::{Outcome, Park, Timestamp, Usd};

use super::moves::{LoopMove, LoopRules, LoopStop, LoopView};
use super::results::{CostAnomaly, TaskLanding, TaskResult, TaskStanding};
use super::task::LoopTask;
use crate::RED_BASE;
use choosing::NotNow;

/// A loop over tasks.
#[derive(Clone, Debug)]
pub struct TaskLoop {
    rules: LoopRules,
    tasks: Vec<LoopTask>,
    /// The agents that each task needs; the one that works on it comes first.
    agents: Vec<Vec<String>>,
    standing: Vec<TaskStanding>,
    attempt: Vec<u32>,
    returns: Vec<u32>,
    /// Verified tasks in the order in which they ended.
    queue: Vec<usize>,
    /// When places for a task became empty.
    freed: Vec<Timestamp>,
    /// Agents over their limit, and until when.
    limits: BTreeMap<String, Timestamp>,
    /// Landings that met a limit, and when each is tried again.
    land_after: BTreeMap<usize, Timestamp>,
    runs: u32,
    results: u32,
    streak: u32,
    paused: bool,
    failed: bool,
    /// A task found the project's own checks red: the next one would find the same.
    red_base: bool,
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
        let usual = |task: &LoopTask| task.backend.as_ref().unwrap_or(&rules.backend).clone();
        Self {
            agents: tasks.iter().map(|task| vec![usual(task)]).collect(),
            rules,
            tasks,
            standing,
            attempt: vec![1; count],
            returns: vec![0; count],
            queue: Vec::new(),
            freed: Vec::new(),
            limits: BTreeMap::new(),
            land_after: BTreeMap::new(),
            runs: 0,
            results: 0,
            streak: 0,
            paused: false,
            failed: false,
            red_base: false,
            too_deep: false,
            costs: Vec::new(),
        }
    }

    /// Says which agents each task needs; the one that works on it comes first.
    #[must_use]
    pub fn with_agents(mut self, of: &dyn Fn(&LoopTask) -> Vec<String>) -> Self {
        for (known, task) in self.agents.iter_mut().zip(&self.tasks) {
            let told = of(task);
            if !told.is_empty() {
                *known = told;
            }
        }
        self
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
        self.red_base = false;
    }

    /// Says what to do next.
    pub fn next(&self, view: LoopView) -> LoopMove {
        let is_landing = self.standing.contains(&TaskStanding::Landing);
        let later = |task: &usize| self.land_after.get(task).filter(|after| **after > view.now);
        let lands = self.queue.iter().find(|task| later(task).is_none());
        if let (Some(&task), false, false) = (lands, is_landing, view.interrupted) {
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
                    let limited = limited.filter(|_| !self.is_working());
                    return LoopMove::Wait { until: Some(until), limited };
                }
                Err(NotNow::Stop(_) | NotNow::Busy) => {}
            }
        }
        let next =
            self.queue.iter().filter_map(|task| later(task).map(|after| (*after, *task))).min();
        let limited = next.filter(|_| !self.is_working());
        let limited = limited.map(|(_, task)| self.who_waits(task, view.now));
        LoopMove::Wait { until: next.map(|(after, _)| after), limited }
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
        &self.agents[task][0]
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
        // A task's own check that is red says nothing about the next one.
        let reason = result.reason.as_deref().unwrap_or_default();
        self.red_base |= result.outcome == Outcome::Failure && reason.starts_with(RED_BASE);
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
        self.standing[task] = TaskStanding::Parked { park, until };
    }

    /// An agent is over its limit: nothing that needs it is begun until that is over.
    pub fn limited(&mut self, agent: &str, until: Timestamp) {
        let known = self.limits.entry(agent.to_owned()).or_insert(until);
        *known = until.max(*known);
    }

    /// The branch has the work of a task already, and the record does not say so yet: it is the first to
    /// land, because no other can land below it.
    pub fn lands_first(&mut self, task: usize) {
        if self.queue.contains(&task) {
            self.queue.retain(|queued| *queued != task);
            self.queue.insert(0, task);
        }
    }

    /// The person wrote a task that fell short anew: it is worked on again, and so is what came after it.
    pub fn edited(&mut self, task: usize) {
        self.standing[task] = TaskStanding::Waiting;
        (self.attempt[task], self.returns[task]) = (1, 0);
        for standing in &mut self.standing {
            if *standing == TaskStanding::Blocked {
                *standing = TaskStanding::Waiting;
            }
        }
        self.block();
    }

    /// The person took a task out of the list, and no run of it is open: none is begun.
    pub fn taken_out(&mut self, task: usize) {
        if matches!(self.standing[task], TaskStanding::Waiting | TaskStanding::Blocked) {
            self.standing[task] = TaskStanding::FellShort(Outcome::Interrupted);
            self.block();
        }
    }

    /// A verified task is being brought onto the branch.
    pub fn landing(&mut self, task: usize) {
        self.queue.retain(|queued| *queued != task);
        self.land_after.remove(&task);
        self.standing[task] = TaskStanding::Landing;
    }

    /// A landing cannot go on: it waits for a limit to be over, or for a person. Others land
    /// meanwhile, so its next turn may find another tip.
    pub fn landing_parked(&mut self, task: usize, park: Park, until: Option<Timestamp>) {
        // Of what its part of the budget was too small for it asks again, with what is left then.
        if let (Park::Quota | Park::Budget, Some(until)) = (park, until) {
            self.standing[task] = TaskStanding::Verified;
            self.queue.insert(0, task);
            self.land_after.insert(task, until);
        } else {
            self.standing[task] = TaskStanding::Parked { park, until };
        }
    }

    /// That is over. A task that came back is worked on again, from the new tip.
    pub fn landed(&mut self, task: usize, landing: &TaskLanding) {
        self.queue.retain(|queued| *queued != task);
        self.results = self.results.max(landing.number());
        self.standing[task] = match landing {
            TaskLanding::Landed { .. } => {
                // The next task begins from what was just checked.
                self.red_base = false;
                TaskStanding::Landed
            }
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

    /// How long a place stays empty after a task.
    pub fn cooldown(&self) -> Duration {
        Duration::from_millis(self.rules.cooldown_ms)
    }
}
