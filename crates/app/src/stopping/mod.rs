//! Runs that are stopped from outside of them.
//!
//! `cancel` ends the processes of one that is going on, which can be resumed; `abandon` gives one up
//! that waits, for good. It always holds that only processes end that the run has on record.

pub(crate) mod abandon;
pub(crate) mod cancel;
