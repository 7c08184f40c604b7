//! What a rollback is about, and what it found to undo.

use spore_git::Repository;
use spore_model::{CommitId, Run};
use spore_store::{Journal, Knowledge};

use crate::run::landing::apply::{Landing, Site};

/// What there is to undo, as things are now.
#[derive(Clone, Debug, Default)]
pub(super) struct RollbackPlan {
    /// The branch that the work was merged into, on its way back.
    pub(super) back: Option<Landing>,
    /// The landing back that an earlier call began.
    pub(super) begun: bool,
    /// The user's files, on their way back.
    pub(super) lift: Option<Lift>,
    /// The run's own branch.
    pub(super) own: Option<CommitId>,
    /// What the ref has to keep.
    pub(super) keep: Option<CommitId>,
    pub(super) patch: bool,
    pub(super) nodes: usize,
    pub(super) deeds: Vec<String>,
    pub(super) left: Vec<String>,
}

pub(super) struct Undoing<'a> {
    pub(super) site: Site<'a>,
    pub(super) journal: &'a dyn Journal,
    pub(super) knowledge: &'a dyn Knowledge,
    pub(super) run: &'a Run,
}

/// The way back of what was laid down.
#[derive(Clone, Debug)]
pub(super) struct Lift {
    pub(super) home: Repository,
    pub(super) base: CommitId,
    pub(super) commit: CommitId,
    /// An earlier call began it.
    pub(super) begun: bool,
}
