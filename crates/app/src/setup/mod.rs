//! A project and its machine: settings as people see them, what is missing, the demonstration.
//!
//! Three use cases that no other room calls. It always holds that nothing here starts an agent
//! or changes a run: `doctor` looks, `settings` edits one file of the person's choice and keeps
//! its comments, and the demonstration works in a directory of its own.

pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod names;
pub(crate) mod settings;
