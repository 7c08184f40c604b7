//! The project's own commands: which there are, what they need, running them, what they said.
//!
//! Runs and flows hand in the gates and the few settings that count; nothing here knows a run's.
//! It always holds that gates are those of the base and never those of a change, and that a tree is
//! judged without anything that another change left in the gates' checkout.

pub(crate) mod against;
pub(crate) mod baseline;
pub(crate) mod needs;
pub(crate) mod project;
pub(crate) mod reached;
pub(crate) mod review;
pub(crate) mod runner;
pub(crate) mod words;
