//! Whole-program tests: the real binary, real git, real processes, in a hermetic place.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod agents;
mod bad_input;
mod bystander;
mod checkup;
mod collect;
mod config;
mod context;
mod demo;
mod doctor;
mod events;
mod graph;
mod help;
mod index;
mod init;
mod kill_matrix;
mod machine;
mod orchestrate;
mod resume;
mod runs;
mod sandbox;
mod scenes;
mod search;
mod setup;
mod spawn;
