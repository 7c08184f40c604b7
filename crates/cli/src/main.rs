//! The `spore` command: argv in, exit code out.
//!
//! Four programs in one file. Three are modes of our own that a person never types: the shim
//! that every session starts through, the replayed agent, and the MCP server of the
//! conformance suite. They are recognised before anything else is set up, because they are
//! started often. The fourth is the command line.

mod commands;
mod error;
mod local_time;
mod screen;
mod surroundings;
mod ui;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use clap::Parser;
use spore_agent::replay;
use spore_effects::session;

#[expect(clippy::disallowed_methods, reason = "the arguments come in here")]
fn main() -> ExitCode {
    // As the system hands them over: a word need not be text.
    let mut words = std::env::args_os().skip(1);
    let first = words.next();
    match first.as_deref().and_then(OsStr::to_str) {
        Some(session::SHIM_ARG) => exit(session::shim_main()),
        Some(replay::REPLAY_ARG) => {
            let args = texts(words);
            let (mut input, mut output) = (std::io::stdin(), std::io::stdout());
            ExitCode::from(replay::play(&args, &mut input, &mut output, &mut std::io::stderr()))
        }
        Some(spore_conformance::ECHO_ARG) => {
            let args = texts(words);
            let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout());
            ExitCode::from(spore_conformance::serve_echo(&args, &mut input, &mut output))
        }
        _ => ExitCode::from(run()),
    }
}

fn run() -> u8 {
    let args = match commands::Cli::try_parse() {
        Ok(args) => args,
        Err(error) => return error::usage(error),
    };
    let mut ui = ui::Ui::new(&args.global);
    match commands::run(&mut ui, &args) {
        Ok(code) => ui.end(code),
        Err(error) => ui.fail(&error),
    }
}

/// The arguments of a mode that Spore itself starts, and with text alone.
fn texts(words: impl Iterator<Item = OsString>) -> Vec<String> {
    words.map(|word| word.to_string_lossy().into_owned()).collect()
}

fn exit(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(70))
}
