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
