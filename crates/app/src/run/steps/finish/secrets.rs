//! Takes what looks like a secret out of what an ended run keeps of turned-down work.
//!
//! A change that holds a key is turned down, but its snapshot has a ref by then: the next
//! bounce starts from it, and a resumed run finds it there. When the run ends it is not needed
//! any more, and a key under a ref would live in Spore's own repository for good. So the ref
//! goes on to the same files with those that hold the secret as the base has them.
//!
//! The one decision: the work is kept and only the secret is let go. The old objects are no
//! longer reachable and go with the next `spore runs prune`; the user's repository never had them.
//! The coder's checkout of a run that fell short, which only this user can read, stays as it
//! is; `spore runs prune` leaves it and names it.

use std::collections::BTreeSet;

use spore_model::{CommitId, StepKey, Ticket, TreeId};
use spore_pipeline::Done;

use crate::Result;
use crate::base::run_refs;
use crate::base::secrets::secrets_in;
use crate::run::context::RunContext;

/// One look finds only so many: more looks than this at one tree mean that nothing helps.
const MOST_LOOKS: u32 = 20;

impl RunContext<'_> {
    /// Done again it finds nothing left to do.
    pub(super) fn let_go_of_secrets(&self, ticket: &Ticket) -> Result<()> {
        for (name, commit) in self.doubtful_refs()? {
            let tree = self.project.repository.tree_of(&commit)?;
            let clean = self.without_secrets(&tree)?;
            if clean != tree {
                let kept = name.replace(&run_refs::own(self.run.id, ""), "");
                let message = format!("{kept} of run {}, without its secrets", self.run.id);
                let commit = self.commit_tree(&clean, &message, ticket)?;
                self.set_ref(&name, &commit)?;
            }
        }
        Ok(())
    }

    /// The refs of what was turned down for a secret, and of what sessions without an end left
    /// behind, which no gate has checked. Git is asked only where there may be one.
    fn doubtful_refs(&self) -> Result<Vec<(String, CommitId)>> {
        let steps = self.project.journal.steps(self.run.id)?;
        let turned_down = |step: &spore_store::RecordedStep| {
            let result = step.result.clone()?;
            match serde_json::from_value(result).ok()? {
                Done::Snapshot { secrets, .. } if !secrets.is_empty() => {
                    let is_its = |bounce: &u32| step.key == StepKey::snapshot(*bounce);
                    let bounce = (1..=self.run.settings.max_bounces).find(is_its)?;
                    Some(run_refs::bounce(self.run.id, bounce))
                }
                _ => None,
            }
        };
        let turned_down: Vec<String> = steps.iter().filter_map(turned_down).collect();
        if turned_down.is_empty() && steps.iter().all(|step| step.attempt == 1) {
            return Ok(Vec::new());
        }
        let mut refs = self.project.repository.refs_under(&run_refs::prefix(self.run.id))?;
        let left = run_refs::own(self.run.id, "left/");
        refs.retain(|(name, _)| turned_down.contains(name) || name.starts_with(&left));
        Ok(refs)
    }

    /// Returns the tree with every file that holds a secret as the base has it.
    fn without_secrets(&self, tree: &TreeId) -> Result<TreeId> {
        let base = &self.run.settings.base;
        let mut clean = tree.clone();
        for _ in 0..MOST_LOOKS {
            let allow = &self.project.config.commit.allow_secrets;
            let known = &self.project.around.secrets();
            let found = secrets_in(self.project.repository, base, &clean, known, allow)?;
            if found.is_empty() {
                return Ok(clean);
            }
            let files: BTreeSet<String> = found.into_iter().map(|secret| secret.file).collect();
            let files: Vec<String> = files.into_iter().collect();
            clean = self.with_base_files(&clean, &files, &files)?;
        }
        Ok(self.project.repository.tree_of(base)?)
    }
}
