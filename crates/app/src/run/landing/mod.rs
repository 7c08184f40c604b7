//! What becomes of verified work, and how it is taken back.
//!
//! `merge` says what comes of bringing it onto a branch that moved on, and `merging` does it; `apply` lays it where the
//! person asked for it; `rollback` lifts it from there again and builds on what `apply` wrote down.
//! It always holds that a file which is not as the record says is left alone.

pub(crate) mod apply;
pub(crate) mod merge;
pub(crate) mod merging;
pub(crate) mod rollback;
