//! What all runs of the checks on one change have in common.

use std::path::Path;

use spore_gates::GateRecord;
use spore_model::{CommitId, RunId, TreeId};

use crate::checks::against::{Against, Check};
use crate::checks::baseline::Baseline;
use crate::checks::review::Review;

/// What a change is proved against.
pub(super) struct Proving<'a> {
    pub(super) base_tree: TreeId,
    pub(super) baseline: Baseline,
    pub(super) review: &'a Review,
    /// What the checks of the change looked up; nothing where that is not needed.
    pub(super) looked_up: Vec<GateRecord>,
}

/// What all runs on one change have in common.
pub(super) struct CheckedChange<'a> {
    pub(super) run: RunId,
    pub(super) logs: &'a Path,
    pub(super) commit: &'a CommitId,
    pub(super) tree: &'a TreeId,
}

impl<'a> CheckedChange<'a> {
    pub(super) fn check(
        &self,
        commit: &'a CommitId,
        tree: &'a TreeId,
        against: Against<'a>,
    ) -> Check<'a> {
        Check { session: self.run, commit, tree, logs: self.logs, against }
    }
}
