//! The spine of events as people use it: appending, following, collecting corrections;
//! and runs as traces for a collector.
//!
//! Runs write their own events through the outbox in `base`; this room is for everything else.
//! It always holds that a line of the spine is checked before it is written and never taken
//! back, and that a correction is told once, however often the history is looked through.

pub(crate) mod append;
pub(crate) mod collect;
pub(crate) mod corrections;
pub(crate) mod tail;
pub(crate) mod traces;
