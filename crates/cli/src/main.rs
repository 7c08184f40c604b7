//! The `spore` command: argv in, exit code out.
//!
//! Four programs in one file. Three are modes of our own that a person never types: the shim
//! that every session starts through, the replayed agent, and the MCP server of the
//! conformance suite. They are recognised before anything else is set up, because they are
//! started often. The fourth is the command line.

mod commands;
mod error;
mod surroundings;
mod ui;

use std::process::ExitCode;

use clap::Parser;
use spore_agent::replay;
use spore_effects::session;

#[expect(clippy::disallowed_methods, reason = "the arguments come in here")]
fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some(session::SHIM_ARG) => exit(session::shim_main()),
        Some(replay::REPLAY_ARG) => {
            let args: Vec<String> = words.collect();
            let (mut input, mut output) = (std::io::stdin(), std::io::stdout());
            ExitCode::from(replay::play(&args, &mut input, &mut output, &mut std::io::stderr()))
        }
        Some(spore_conformance::ECHO_ARG) => {
            let args: Vec<String> = words.collect();
            let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout());
            ExitCode::from(spore_conformance::serve_echo(&args, &mut input, &mut output))
        }
        _ => ExitCode::from(run()),
    }
}

fn run() -> u8 {
    let args = match commands::Cli::try_parse() {
        Ok(args) => args,
        Err(error) => return error::usage(&error),
    };
    let mut ui = ui::Ui::new(&args.global);
    match commands::run(&mut ui, &args) {
        Ok(code) => ui.end(code),
        Err(error) => ui.fail(&error),
    }
}

fn exit(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(70))
}
