//! What is known beside the code: lessons, memory lines, and the brief that carries them.
//!
//! Runs ask for a brief and hand in lessons; memory and the toolbox read. It always holds that no
//! run fails for want of a brief, and that the broadcast file is only read here: passes of memory
//! alone write it.

pub(crate) mod brief;
pub(crate) mod broadcast;
pub(crate) mod carried;
pub(crate) mod carried_runs;
pub(crate) mod context;
pub(crate) mod ledger;
pub(crate) mod lessons;
pub(crate) mod line_counts;
pub(crate) mod named_places;
pub(crate) mod places;
pub(crate) mod run_keys;
