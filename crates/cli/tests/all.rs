//! Whole-program tests: the real binary, real git, real processes, in a hermetic place.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod bad_input;
mod bystander;
mod checkup;
mod collect;
mod config;
mod demo;
mod doctor;
mod events;
mod graph;
mod help;
mod init;
mod kill_matrix;
mod machine;
mod orchestrate;
mod resume;
mod runs;
mod scenes;
mod spawn;
