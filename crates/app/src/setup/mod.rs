//! A project and its machine: settings as people see them, what is missing or out of order,
//! everything on one screen, the demonstration.
//!
//! Use cases that no other room calls. It always holds that nothing here starts an agent
//! or changes a run: `doctor` and `health` look, the dashboard puts together what others tell,
//! `settings` edits one file of the person's choice and keeps its comments, and the demonstration
//! works in a directory of its own.

pub(crate) mod dashboard;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod health;
pub(crate) mod names;
pub(crate) mod prompts;
pub(crate) mod settings;
