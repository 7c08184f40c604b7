//! One role's session on its own: recorded and kept, without gates and without a verdict.

use spore_model::{Outcome, TreeId};

use crate::bounce::{conclusion, finish, misfit, park_for, park_of};
use crate::{Conclusion, Done, Machine, Next, Step};

/// `orchestrate --agent ROLE`: prepare, one session, what it left behind, the end. Where a person
/// asked for that what it left is brought to where they said, unless nothing is left, the session
/// did not end well, or there is a secret in it.
#[derive(Clone, Debug)]
pub struct Solo {
    role: String,
    lands: bool,
    base: Option<TreeId>,
    ended: Option<Conclusion>,
}

impl Solo {
    pub fn new(role: impl Into<String>) -> Self {
        Self { role: role.into(), lands: false, base: None, ended: None }
    }

    /// The same, and what it leaves lands where the person asked for it.
    pub fn landing(self) -> Self {
        Self { lands: true, ..self }
    }

    fn after_session(&mut self, role: &str, outcome: Outcome, reason: Option<String>) -> Next {
        if matches!(outcome, Outcome::Interrupted | Outcome::QuotaParked | Outcome::NeedsHuman) {
            let reason = reason.unwrap_or_else(|| format!("the {role} had to stop"));
            return Next::Park { outcome, park: park_of(outcome), reason };
        }
        let reason = reason.unwrap_or_else(|| format!("the {role} is done"));
        self.ended = Some(conclusion(outcome, &reason));
        Next::Do(Step::Snapshot { bounce: 1 })
    }

    fn after_snapshot(&mut self, tree: &TreeId, has_secrets: bool) -> Option<Next> {
        let ended = Conclusion { tree: Some(tree.clone()), ..self.ended.clone()? };
        let is_changed = self.base.as_ref().is_some_and(|base| base != tree);
        let is_well = ended.outcome == Outcome::Success;
        Some(match self.lands && is_changed && is_well {
            true if has_secrets => finish(Conclusion {
                tree: Some(tree.clone()),
                ..conclusion(
                    Outcome::Failure,
                    "what it did is not applied: it holds what looks like a secret",
                )
            }),
            true => Next::Do(Step::Commit { bounce: 1, tree: tree.clone() }),
            false => finish(ended),
        })
    }
}

impl Machine for Solo {
    fn start(&self) -> Next {
        Next::Do(Step::Prepare)
    }

    fn apply(&mut self, step: &Step, done: &Done) -> Next {
        match (step, done) {
            (_, Done::Stopped { park, reason }) => park_for(*park, reason),
            (Step::Prepare, Done::Prepared { tree, .. }) => {
                self.base = Some(tree.clone());
                Next::Do(Step::Solo { role: self.role.clone() })
            }
            (Step::Solo { role }, Done::Solo(session)) => {
                self.after_session(role, session.outcome, session.reason.clone())
            }
            (Step::Snapshot { .. }, Done::Snapshot { refused: Some(why), .. }) => {
                finish(conclusion(Outcome::Failure, &format!("what it left is not kept: {why}")))
            }
            (Step::Snapshot { .. }, Done::Snapshot { tree, secrets, .. }) => {
                self.after_snapshot(tree, !secrets.is_empty()).unwrap_or_else(|| misfit(step))
            }
            (Step::Commit { tree, .. }, Done::Committed { commit }) => {
                let Some(ended) = self.ended.clone() else { return misfit(step) };
                let commit = commit.clone();
                let (kept, tree) = (Some(commit.clone()), Some(tree.clone()));
                let conclusion = Conclusion { commit: kept, tree, ..ended };
                Next::Do(Step::Apply { commit, conclusion })
            }
            (Step::Apply { conclusion, .. }, Done::Applied { .. }) => finish(conclusion.clone()),
            (Step::Finish { conclusion }, Done::Finished) => Next::End(conclusion.clone()),
            (step, _) => misfit(step),
        }
    }
}
