//! Verified work on its way onto a branch that moved on since its base.
//!
//! The two together are a tree that no check has seen, so it is judged like a change of its own, on
//! the commit that the branch is at: the gates with all of their proof, always. The verifier is
//! asked again where both sides touched the same files, or code that calls or is called by what
//! the other touched; elsewhere its word on the work by itself stands, and the commit names both
//! trees. There is no coder here: what does not hold goes back to the run that it is of.

use spore_model::{Outcome, TreeId};

use crate::bounce::{conclusion, finish, misfit};
use crate::{Bounce, BounceRules, Conclusion, Done, Machine, Next, RebaseFate, RebasedEntry, Step};

/// The work of one run or of several on another commit: prepare, what the checks say there, the
/// trees brought together, gates, the verifier where it is needed, the commits, the end.
#[derive(Clone, Debug)]
pub struct Rebase {
    judging: Bounce,
    /// The tree that the branch has.
    onto: Option<TreeId>,
    /// Whether the verifier has to look again, once that is known.
    overlaps: Option<bool>,
}

impl Rebase {
    /// What held for the runs that the work is of holds here, except that there is one attempt,
    /// no tester's session and no summary. Work that mends what is red has to be green here, too:
    /// nothing that fails at the tip counts as old.
    pub fn new(rules: BounceRules) -> Self {
        let rules = BounceRules { max_bounces: 1, summarize: false, ..rules };
        Self { judging: Bounce::new(rules), onto: None, overlaps: None }
    }

    fn after_rebase(&mut self, tree: &TreeId, entries: &[RebasedEntry], overlaps: bool) -> Next {
        let is_stacked = |entry: &&RebasedEntry| matches!(entry.fate, RebaseFate::Stacked { .. });
        if entries.iter().find(is_stacked).is_none() {
            return finish(conclusion(Outcome::Failure, "nothing of it can be brought together"));
        }
        if self.onto.as_ref() == Some(tree) {
            return finish(Conclusion {
                tree: Some(tree.clone()),
                ..conclusion(Outcome::Success, "all of it is there already")
            });
        }
        self.overlaps = Some(overlaps);
        self.judging.judge(tree)
    }

    /// Turns what follows for a task into what follows for work that is done already.
    fn turned(&self, step: &Step, next: Next) -> Next {
        match next {
            // Where a coder would begin.
            Next::Do(Step::Coder { .. }) if self.overlaps.is_none() => Next::Do(Step::Rebase),
            Next::Do(Step::Verifier { bounce, .. }) if self.overlaps == Some(false) => {
                Next::Do(Step::Close {
                    bounce,
                    outcome: Outcome::Success,
                    verdict: None,
                    reason: "judged before, and apart from all that landed since".to_owned(),
                })
            }
            Next::Do(Step::Coder { .. }) => misfit(step),
            Next::Do(Step::Escalate { reason, .. }) => {
                let told = self.judging.turned_down().map(|evidence| evidence.reason.clone());
                finish(conclusion(Outcome::Failure, &told.unwrap_or(reason)))
            }
            Next::Do(Step::Apply { conclusion, .. }) => finish(conclusion),
            other => other,
        }
    }
}

impl Machine for Rebase {
    fn start(&self) -> Next {
        self.judging.start()
    }

    fn apply(&mut self, step: &Step, done: &Done) -> Next {
        match (step, done) {
            (Step::Rebase, Done::Rebased { tree, entries, overlap }) => {
                self.after_rebase(tree, entries, !overlap.is_empty())
            }
            (Step::Prepare, Done::Prepared { tree, .. }) => {
                self.onto = Some(tree.clone());
                self.judging.apply(step, done)
            }
            // Other work mended the same: for a task there would be nothing to do, and this is done.
            (Step::Baseline, Done::Baseline(gates)) if gates.green => {
                self.turned(step, self.judging.first())
            }
            _ => {
                let next = self.judging.apply(step, done);
                self.turned(step, next)
            }
        }
    }
}

#[cfg(test)]
mod tests;
