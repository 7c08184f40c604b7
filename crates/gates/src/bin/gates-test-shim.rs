//! An executable that is only a shim, for the tests of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(u8::try_from(spore_effects::session::shim_main()).unwrap_or(u8::MAX))
}
