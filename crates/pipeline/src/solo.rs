//! One role's session on its own: recorded and kept, without gates and without a verdict.

use spore_model::Outcome;

use crate::bounce::{conclusion, finish, misfit, park_for, park_of};
use crate::{Conclusion, Done, Machine, Next, Step};

/// `orchestrate --agent ROLE`: prepare, one session, what it left behind, the end.
#[derive(Clone, Debug)]
pub struct Solo {
    role: String,
    ended: Option<Conclusion>,
}

impl Solo {
    pub fn new(role: impl Into<String>) -> Self {
        Self { role: role.into(), ended: None }
    }
}

impl Machine for Solo {
    fn start(&self) -> Next {
        Next::Do(Step::Prepare)
    }

    fn apply(&mut self, step: &Step, done: &Done) -> Next {
        match (step, done) {
            (_, Done::Stopped { park, reason }) => park_for(*park, reason),
            (Step::Prepare, Done::Prepared { .. }) => {
                Next::Do(Step::Solo { role: self.role.clone() })
            }
            (Step::Solo { role }, Done::Solo(session)) => {
                let outcome = session.outcome;
                let reason = session.reason.clone();
                if matches!(
                    outcome,
                    Outcome::Interrupted | Outcome::QuotaParked | Outcome::NeedsHuman
                ) {
                    let reason = reason.unwrap_or_else(|| format!("the {role} had to stop"));
                    return Next::Park { outcome, park: park_of(outcome), reason };
                }
                let reason = reason.unwrap_or_else(|| format!("the {role} is done"));
                self.ended = Some(conclusion(outcome, &reason));
                Next::Do(Step::Snapshot { bounce: 1 })
            }
            (Step::Snapshot { .. }, Done::Snapshot { tree, refused, .. }) => {
                match self.ended.take() {
                    Some(_) if refused.is_some() => {
                        let why = refused.as_deref().unwrap_or_default();
                        finish(conclusion(
                            Outcome::Failure,
                            &format!("what it left is not kept: {why}"),
                        ))
                    }
                    Some(ended) => finish(Conclusion { tree: Some(tree.clone()), ..ended }),
                    None => misfit(step),
                }
            }
            (Step::Finish { conclusion }, Done::Finished) => Next::End(conclusion.clone()),
            (step, _) => misfit(step),
        }
    }
}
