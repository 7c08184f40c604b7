//! The trees of a run: commits under its own refs, and the checkout they come from.

use spore_git::TreeMixture;
use spore_model::{CommitId, Fault, Ticket, TreeId};

use crate::base::error::bug;
use crate::base::files::create_private_dir;
use crate::base::run_refs;
use crate::run::context::RunContext;
use crate::{Error, Result, Update};

impl RunContext<'_> {
    /// Makes a commit on the base, of the time that the step began.
    pub(crate) fn commit_tree(
        &self,
        tree: &TreeId,
        message: &str,
        ticket: &Ticket,
    ) -> Result<CommitId> {
        let when = ticket.time().map_err(bug)?;
        let message = self.project.around.secrets().strike(message);
        Ok(self.project.repository.commit_tree(tree, &self.run.settings.base, &message, when)?)
    }

    /// Commits a tree that is to be checked. Every one has the same words: what runs in a check can read them,
    /// and is not to know by them which of the trees it is in.
    pub(crate) fn commit_for_checks(&self, tree: &TreeId, ticket: &Ticket) -> Result<CommitId> {
        self.commit_tree(tree, &format!("work of run {}", self.run.id), ticket)
    }

    pub(crate) fn set_ref(&self, name: &str, commit: &CommitId) -> Result<()> {
        Ok(self.project.repository.set_ref(name, commit)?)
    }

    pub(crate) fn bounce_commit(&self, bounce: u32) -> Result<CommitId> {
        let name = run_refs::bounce(self.run.id, bounce);
        self.project.repository.ref_target(&name)?.ok_or_else(|| {
            Error::new(Fault::BadInput, format!("the ref {name} is gone"))
                .hint("start the task anew: what it pointed to cannot be found again")
        })
    }

    /// Returns the coder's checkout. One that was removed is laid out again as the bounce found
    /// it; that is told, since work may be lost with it.
    pub(crate) fn coder_checkout(&mut self, bounce: u32) -> Result<spore_git::Checkout> {
        let is_there = self.checkouts().has_coder();
        let checkout = self.checkouts().coder()?;
        if !is_there {
            self.progress.update(&Update::CheckoutLost);
            checkout.reset(&self.start_of(bounce)?)?;
        }
        Ok(checkout)
    }

    /// Returns the commit whose tree a bounce's coder starts from.
    pub(crate) fn start_of(&self, bounce: u32) -> Result<CommitId> {
        if bounce == 1 {
            Ok(self.run.settings.base.clone())
        } else {
            self.bounce_commit(bounce - 1)
        }
    }

    /// Returns `tree` with the files `bring_back` as the base has them, and without the files
    /// `leave_out`.
    pub(crate) fn with_base_files(
        &self,
        tree: &TreeId,
        bring_back: &[String],
        leave_out: &[String],
    ) -> Result<TreeId> {
        let from = &self.run.settings.base;
        self.mixed(tree, &TreeMixture { from, bring_back, leave_out, rewrite: &[] })
    }

    /// Returns `tree` with some of its files otherwise.
    pub(crate) fn mixed(&self, tree: &TreeId, mixture: &TreeMixture<'_>) -> Result<TreeId> {
        let state = self.project.workspace.run_state(self.run.id);
        create_private_dir(&state)?;
        Ok(self.project.repository.mix(tree, mixture, &state.join("mixed.index"))?)
    }

    pub(crate) fn diff(&self, tree: &TreeId) -> Result<spore_git::Diff> {
        let cap = usize::try_from(self.project.config.diff.cap_bytes).unwrap_or(usize::MAX);
        self.diff_within(tree, cap)
    }

    /// Returns as much of a change as a session of `role` may be told.
    pub(crate) fn diff_for(&self, role: &str, tree: &TreeId) -> Result<spore_git::Diff> {
        self.diff_within(tree, self.room_of(role).diff_bytes)
    }

    fn diff_within(&self, tree: &TreeId, cap: usize) -> Result<spore_git::Diff> {
        let base = self.project.repository.tree_of(&self.run.settings.base)?;
        Ok(self.project.repository.diff(&base, tree, cap)?)
    }
}
