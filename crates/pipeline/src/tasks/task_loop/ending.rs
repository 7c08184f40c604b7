//! How a loop ends, by why it stopped and by what became of its tasks.

use spore_model::{Outcome, Park};

use super::TaskLoop;
use crate::RED_BASE;
use crate::tasks::moves::{LoopEnding, LoopStop};
use crate::tasks::results::TaskStanding;

/// What a person does about a list whose base is red.
const MEND_FIRST: &str = "mend them and commit, or have them mended by `spore orchestrate --fix-red` or \
                          a task with `fix_red: true`; `--allow-red` goes on all the same where \
                          tests have names";

impl TaskLoop {
    /// Returns whether a loop that has ended so could do nothing, for its base is red: that is no fault
    /// of the work.
    pub fn is_refused(&self, outcome: Outcome) -> bool {
        self.red_base && outcome == Outcome::Failure
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
            LoopStop::MaxRuns | LoopStop::Failure | LoopStop::RedBase | LoopStop::Through => {
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
                            LoopStop::RedBase => format!("; {RED_BASE}: {MEND_FIRST}"),
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
}

fn runs(count: u32) -> String {
    format!(
        "{count} run{} {}",
        if count == 1 { "" } else { "s" },
        if count == 1 { "was" } else { "were" }
    )
}
