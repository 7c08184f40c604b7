//! The project's own commands: which there are, what they need, running them, what they said.

pub(crate) mod needs;
pub(crate) mod project;
pub(crate) mod review;
pub(crate) mod runner;
pub(crate) mod words;
