//! What tests share: a hermetic place to run the real program in, and the kill harness.
//!
//! A [`TestEnv`] owns home, state, configuration, time and seed, so a test sees the same text
//! on every machine and touches nothing of the user's. [`kill`] runs a command, kills it with
//! SIGKILL at every named effect, resumes, and compares with an undisturbed run.

#![expect(
    clippy::disallowed_methods,
    reason = "tests have the machine's programs, time and environment"
)]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod env;
pub mod kill;
pub mod oauth;
mod processes;

pub use env::{ProgramOutput, TestEnv};
pub use processes::{processes_below, wait_until_none};
