//! An executable with a shim mode, for this crate's tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(u8::try_from(spore_effects::session::shim_main()).unwrap_or(u8::MAX))
}
