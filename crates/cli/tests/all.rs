//! Whole-program tests: the real binary, real git, real processes, in a hermetic place.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod agents;
mod bad_input;
mod briefs;
mod bystander;
mod checkup;
mod collect;
mod config;
mod context;
mod demo;
mod doctor;
mod events;
mod flows;
mod forgery;
mod gates;
mod graph;
mod help;
mod hostile_words;
mod index;
mod init;
mod investigate;
mod kill_matrix;
mod machine;
mod mcp;
mod mcp_install;
mod mcp_live;
mod memory;
mod memory_kills;
mod orchestrate;
mod package_managers;
mod plain;
mod resume;
mod rollback;
mod run_base;
mod runs;
mod sandbox;
mod scan;
mod scenes;
mod search;
mod sentinel;
mod sessions;
mod setup;
mod spawn;
mod verdict_forgery;
mod verified_run;
