//! An executable for the tests of this crate, with the modes of `spore` that sessions need.

use std::process::ExitCode;

use spore_agent::replay::{REPLAY_ARG, play};
use spore_conformance::{ECHO_ARG, serve_echo};
use spore_effects::session::{SHIM_ARG, shim_main};

#[expect(clippy::disallowed_methods, reason = "a program of its own, for tests")]
fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let mode = words.next().unwrap_or_default();
    let args: Vec<String> = words.collect();
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    match mode.as_str() {
        SHIM_ARG => ExitCode::from(u8::try_from(shim_main()).unwrap_or(u8::MAX)),
        REPLAY_ARG => ExitCode::from(play(&args, &mut std::io::stdin(), &mut out, &mut err)),
        ECHO_ARG => ExitCode::from(serve_echo(&args, &mut std::io::stdin().lock(), &mut out)),
        _ => ExitCode::from(64),
    }
}
