//! One file a command, all with the same beats: understand, act, tell.

mod demo;
mod doctor;
mod init;
mod orchestrate;
mod resume;
mod runs;
mod text;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use spore_app::{Result, RunReport};

use crate::surroundings;
use crate::ui::Ui;

/// Gives a task to a coding agent and believes only what the project's own checks and an
/// independent verifier say
#[derive(Parser)]
#[command(
    name = "spore",
    version,
    propagate_version = true,
    after_help = "Examples:\n  spore demo                        watch a whole run, offline\n  spore init                        make this repository a Spore project\n  spore orchestrate \"fix issue 12\"   work until it is verified, or say why not\n  spore resume                      go on after a crash or Ctrl-C\n  spore runs list                   what happened so far"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Args)]
pub(crate) struct Global {
    /// Print one JSON document on stdout; errors as one JSON object on stderr
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Show what agents do, line by line
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// Show no progress
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Work on this project instead of the one around the current directory
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// How progress is shown on stderr
    #[arg(long, global = true, value_enum, default_value_t = ProgressStyle::Auto)]
    pub(crate) progress: ProgressStyle,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressStyle {
    Auto,
    Plain,
    Json,
}

#[derive(Subcommand)]
enum Command {
    Init(init::InitArgs),
    Orchestrate(orchestrate::OrchestrateArgs),
    Resume(resume::ResumeArgs),
    #[command(subcommand)]
    Runs(runs::RunsCommand),
    Doctor(doctor::DoctorArgs),
    Demo(demo::DemoArgs),
}

pub(crate) fn run(ui: &mut Ui, cli: &Cli) -> Result<u8> {
    let around = surroundings::read(&cli.global)?;
    match &cli.command {
        Command::Init(args) => init::run(ui, &around, args),
        Command::Orchestrate(args) => orchestrate::run(ui, &around, args),
        Command::Resume(args) => resume::run(ui, &around, args),
        Command::Runs(command) => runs::run(ui, &around, command),
        Command::Doctor(args) => doctor::run(ui, &around, args),
        Command::Demo(args) => demo::run(ui, around, args),
    }
}

/// The exit code of a run: the outcome's, unless it could not rightly begin.
fn exit_code(report: &RunReport) -> u8 {
    match (report.fault, report.run.outcome) {
        (Some(fault), _) => fault.exit_code(),
        (None, Some(outcome)) => outcome.exit_code(),
        (None, None) => spore_model::Outcome::Interrupted.exit_code(),
    }
}
