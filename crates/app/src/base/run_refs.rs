//! The refs of a run in the user's repository, each under one name that is made here alone.

use spore_model::RunId;

/// Returns the branch that a verified run ends on, as people type it.
pub(crate) fn branch(run: RunId) -> String {
    format!("spore/{run}")
}

/// Returns that branch as a ref.
pub(crate) fn branch_ref(run: RunId) -> String {
    format!("refs/heads/{}", branch(run))
}

/// Returns the prefix of all refs by which a run keeps commits.
pub(crate) fn prefix(run: RunId) -> String {
    format!("refs/spore/{run}")
}

/// Returns one of them: `base`, `result`, `rolled-back`.
pub(crate) fn own(run: RunId, name: &str) -> String {
    format!("{}/{name}", prefix(run))
}

/// Returns the ref of the tree that a bounce's coder left.
pub(crate) fn bounce(run: RunId, bounce: u32) -> String {
    own(run, &format!("bounce/{bounce}"))
}

/// Returns the ref of what a session left that was cut short in its `attempt`.
pub(crate) fn left(run: RunId, bounce: u32, attempt: u32) -> String {
    own(run, &format!("left/{bounce}-{attempt}"))
}

/// Returns the ref of the tests that are kept from the coder.
pub(crate) fn held_out(run: RunId) -> String {
    own(run, "held-out")
}

/// Returns the ref of the files that a cycle of a sentinel checked.
pub(crate) fn sentinel(run: RunId, cycle: u32) -> String {
    own(run, &format!("sentinel/{cycle}"))
}
