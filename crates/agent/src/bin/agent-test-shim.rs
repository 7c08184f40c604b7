//! An executable for the tests of this crate: a shim, or else the fake agent.
//!
//! The fake agent is taken in as a module because a test finds no other package's programs.

#[path = "../../../fake-agent/src/main.rs"]
mod fake_agent;

use std::process::ExitCode;

use spore_effects::session::{SHIM_ARG, shim_main};

#[expect(clippy::disallowed_methods, reason = "a program of its own, for tests")]
fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(SHIM_ARG) {
        return ExitCode::from(u8::try_from(shim_main()).unwrap_or(u8::MAX));
    }
    fake_agent::main()
}
