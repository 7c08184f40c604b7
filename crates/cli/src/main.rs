//! The `spore` command: argv in, exit code out.
//!
//! Three programs in one file. Two are modes of our own that a person never types: the shim
//! that every session starts through, and the replayed agent. They are recognised before
//! anything else is set up, because they are started often. The third is the command line.

mod commands;
mod error;
mod surroundings;
mod ui;

use std::process::ExitCode;

use clap::Parser;
use spore_agent::replay;
use spore_effects::session;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some(session::SHIM_ARG) => exit(session::shim_main()),
        Some(replay::REPLAY_ARG) => {
            let args: Vec<String> = words.collect();
            let (mut input, mut output) = (std::io::stdin(), std::io::stdout());
            ExitCode::from(replay::play(&args, &mut input, &mut output, &mut std::io::stderr()))
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
        Ok(code) => code,
        Err(error) => ui.fail(&error),
    }
}

fn exit(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(70))
}
