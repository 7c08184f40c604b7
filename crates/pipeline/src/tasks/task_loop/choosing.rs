//! Which task can be started now, and if none, why.

use spore_model::{Park, Timestamp};

use super::TaskLoop;
use crate::tasks::moves::{LoopStop, LoopView};
use crate::tasks::results::TaskStanding;
use crate::tasks::task::overlap;

/// Why no task can be started at this moment.
pub(super) enum NotNow {
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

impl TaskLoop {
    pub(super) fn start_or_why(&self, view: LoopView) -> Result<usize, NotNow> {
        if view.interrupted {
            return Err(NotNow::Stop(LoopStop::Interrupted));
        }
        if self.too_deep {
            return Err(NotNow::Stop(LoopStop::DepthExceeded));
        }
        let mut later: Option<(Timestamp, String)> = None;
        let mut refused = None;
        let mut waits = false;
        for task in 0..self.tasks.len() {
            let readiness = self.readiness(task, view.now);
            if let Readiness::Ready | Readiness::Later(..) = readiness
                && let Some(stop) = self.refusal(task, view)
            {
                if stop == LoopStop::Budget {
                    return Err(NotNow::Stop(stop));
                }
                // One further down that waits for a limit was let begin, and still goes on.
                refused.get_or_insert(stop);
                continue;
            }
            match readiness {
                Readiness::Never => {}
                Readiness::Busy => waits = true,
                Readiness::Later(until, who) => {
                    if later.as_ref().is_none_or(|(known, _)| until < *known) {
                        later = Some((until, who));
                    }
                }
                Readiness::Ready if view.funded => {
                    return match self.cooled(view.now) {
                        Some(until) => Err(NotNow::Until { until, limited: None }),
                        None => Ok(task),
                    };
                }
                Readiness::Ready if self.is_busy(view) => return Err(NotNow::Busy),
                Readiness::Ready => return Err(NotNow::Stop(LoopStop::Budget)),
            }
        }
        match (later, refused) {
            (Some((until, who)), _) => Err(NotNow::Until { until, limited: Some(who) }),
            (None, Some(stop)) => Err(NotNow::Stop(stop)),
            (None, None) if waits => Err(NotNow::Busy),
            (None, None) => Err(NotNow::Stop(LoopStop::Through)),
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
        // Making them green may be what a task is for.
        if self.red_base && !self.tasks[task].fix_red {
            return Some(LoopStop::RedBase);
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
                    return Readiness::Later(until, self.who_waits(task, now));
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
                    return match (until > now, before) {
                        (true, Some(before)) => {
                            Readiness::Later(until, self.who_waits(before, now))
                        }
                        _ => Readiness::Busy,
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
        match self.limit_of(task, now) {
            Some((until, who)) => Readiness::Later(until, who.to_owned()),
            None => Readiness::Ready,
        }
    }

    /// The limit that keeps a task from its agents the longest. What a coder is paid for is of no
    /// use before a verifier can look at it.
    fn limit_of(&self, task: usize, now: Timestamp) -> Option<(Timestamp, &str)> {
        let known = self.agents[task].iter().filter_map(|who| Some((*self.limits.get(who)?, who)));
        let longest = known.filter(|(until, _)| *until > now).max();
        longest.map(|(until, who)| (until, who.as_str()))
    }

    /// The agent whose limit a task waits for.
    pub(super) fn who_waits(&self, task: usize, now: Timestamp) -> String {
        self.limit_of(task, now).map_or_else(|| self.backend(task), |(_, who)| who).to_owned()
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

    pub(super) fn free_places(&self) -> usize {
        let taken = |standing: &TaskStanding| match standing {
            TaskStanding::Running => true,
            // Alone, a task begins from what the one before it left.
            TaskStanding::Verified | TaskStanding::Landing => self.rules.parallel <= 1,
            _ => false,
        };
        let places = usize::try_from(self.rules.parallel.max(1)).unwrap_or(usize::MAX);
        places.saturating_sub(self.count(taken))
    }
}
