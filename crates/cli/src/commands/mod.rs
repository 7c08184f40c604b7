//! One file a command, all with the same beats: understand, act, tell.

mod agents;
mod batch;
mod campaign;
mod config;
mod context;
mod dashboard;
mod demo;
mod distill;
mod doctor;
mod events;
mod exec;
mod flow;
mod graph;
mod health;
mod index;
mod init;
mod investigate;
mod lessons;
mod loop_text;
mod mcp;
mod memory;
mod orchestrate;
mod phase;
mod prompt_lint;
mod prompt_stats;
mod resolve;
mod resume;
mod retry;
mod runs;
mod scan;
mod search;
mod sentinel;
mod setup;
mod spawn;
mod stage;
mod task_loop;
mod terms;
mod text;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use spore_app::{Result, RunReport, Surroundings};
use spore_model::Timestamp;

use crate::surroundings;
use crate::ui::Ui;

/// Gives a task to a coding agent and believes only what the project's own checks and an
/// independent verifier say
#[derive(Parser)]
#[command(
    name = "spore",
    version,
    propagate_version = true,
    after_help = "Examples:\n  spore demo                        watch a whole run, offline\n  spore init                        make this repository a Spore project\n  spore orchestrate \"fix issue 12\"  work until it is verified, or say why not\n  spore resume                      go on after a crash or Ctrl-C\n  spore runs list                   what happened so far"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    command: SporeCommand,
}

/// Keeps the flags that every command has apart from its own.
const EVERYWHERE: &str = "Options of every command";

#[derive(Args)]
pub(crate) struct Global {
    /// Print one JSON document on stdout; errors as one JSON object on stderr
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(crate) json: bool,
    /// Show what agents do, line by line
    #[arg(short, long, global = true, help_heading = EVERYWHERE)]
    pub(crate) verbose: bool,
    /// Show no progress
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = EVERYWHERE)]
    pub(crate) quiet: bool,
    /// Work on this project instead of the one around the current directory
    #[arg(long, global = true, value_name = "DIR", help_heading = EVERYWHERE)]
    pub(crate) root: Option<PathBuf>,
    /// How progress is shown on stderr
    #[arg(
        long,
        global = true,
        value_name = "STYLE",
        value_enum,
        default_value_t = ProgressStyle::Auto,
        help_heading = EVERYWHERE
    )]
    pub(crate) progress: ProgressStyle,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressStyle {
    Auto,
    Plain,
    Json,
}

#[derive(Subcommand)]
enum SporeCommand {
    Init(init::InitArgs),
    Index(index::IndexArgs),
    Search(search::SearchArgs),
    Context(context::ContextArgs),
    Scan(scan::ScanArgs),
    Investigate(investigate::InvestigateArgs),
    Orchestrate(orchestrate::OrchestrateArgs),
    Resume(resume::ResumeArgs),
    Resolve(resolve::ResolveArgs),
    Retry(retry::RetryArgs),
    Loop(task_loop::LoopArgs),
    Batch(batch::BatchArgs),
    #[command(subcommand)]
    Runs(runs::RunsCommand),
    Dashboard(dashboard::DashboardArgs),
    Lessons(lessons::LessonsArgs),
    Distill(distill::DistillArgs),
    Health(health::HealthArgs),
    PromptStats(prompt_stats::PromptStatsArgs),
    PromptLint(prompt_lint::PromptLintArgs),
    #[command(subcommand)]
    Graph(graph::GraphCommand),
    #[command(subcommand)]
    Events(events::EventsCommand),
    #[command(subcommand)]
    Memory(memory::MemoryCommand),
    Mcp(mcp::McpArgs),
    Spawn(spawn::SpawnArgs),
    Exec(exec::ExecArgs),
    Stage(stage::StageArgs),
    Phase(phase::PhaseArgs),
    #[command(subcommand)]
    Campaign(campaign::CampaignCommand),
    Sentinel(sentinel::SentinelArgs),
    #[command(subcommand)]
    Agents(agents::AgentsCommand),
    #[command(subcommand)]
    Config(config::ConfigCommand),
    Doctor(doctor::DoctorArgs),
    Setup(setup::SetupArgs),
    Demo(demo::DemoArgs),
}

pub(crate) fn run(ui: &mut Ui, cli: &Cli) -> Result<u8> {
    let around = surroundings::read(&cli.global)?;
    ui.strike(&around.credentials);
    if around.variable("TERM") == Some("dumb") {
        ui.on_plain_terminal();
    }
    if let SporeCommand::Demo(args) = &cli.command {
        return demo::run(ui, around, args);
    }
    let began = around.clock.now();
    let code = dispatch(ui, &around, &cli.command);
    if code.is_ok() && cli.command.works_on_runs() {
        telemetry(ui, &around, began);
    }
    code
}

/// Sends the traces of runs that are over, where a person asked for it. What becomes of it changes
/// neither a run nor an exit code.
fn telemetry(ui: &mut Ui, around: &Surroundings, began: Timestamp) {
    if let Err(error) = spore_app::send_ended_runs(around, began) {
        ui.note(&format!("No traces were sent: {error}. The next run sends them too."));
    }
}

impl SporeCommand {
    /// Returns whether runs may be over when it is.
    fn works_on_runs(&self) -> bool {
        match self {
            Self::Orchestrate(_)
            | Self::Resume(_)
            | Self::Resolve(_)
            | Self::Retry(_)
            | Self::Loop(_)
            | Self::Batch(_)
            | Self::Spawn(_)
            | Self::Exec(_)
            | Self::Stage(_)
            | Self::Phase(_)
            | Self::Campaign(_)
            | Self::Sentinel(_)
            | Self::Investigate(_)
            | Self::Memory(_) => true,
            Self::Runs(command) => command.ends_runs(),
            _ => false,
        }
    }
}

fn dispatch(ui: &mut Ui, around: &Surroundings, command: &SporeCommand) -> Result<u8> {
    match command {
        SporeCommand::Init(args) => init::run(ui, around, args),
        SporeCommand::Index(args) => index::run(ui, around, args),
        SporeCommand::Search(args) => search::run(ui, around, args),
        SporeCommand::Context(args) => context::run(ui, around, args),
        SporeCommand::Scan(args) => scan::run(ui, around, args),
        SporeCommand::Investigate(args) => investigate::run(ui, around, args),
        SporeCommand::Orchestrate(args) => orchestrate::run(ui, around, args),
        SporeCommand::Resume(args) => resume::run(ui, around, args),
        SporeCommand::Resolve(args) => resolve::run(ui, around, args),
        SporeCommand::Retry(args) => retry::run(ui, around, args),
        SporeCommand::Loop(args) => task_loop::run(ui, around, args),
        SporeCommand::Batch(args) => batch::run(ui, around, args),
        SporeCommand::Runs(command) => runs::run(ui, around, command),
        SporeCommand::Graph(command) => graph::run(ui, around, command),
        SporeCommand::Events(command) => events::run(ui, around, command),
        SporeCommand::Memory(command) => memory::run(ui, around, command),
        SporeCommand::Mcp(args) => mcp::run(ui, around, args),
        SporeCommand::Spawn(args) => spawn::run(ui, around, args),
        SporeCommand::Exec(args) => exec::run(ui, around, args),
        SporeCommand::Stage(args) => stage::run(ui, around, args),
        SporeCommand::Phase(args) => phase::run(ui, around, args),
        SporeCommand::Campaign(command) => campaign::run(ui, around, command),
        SporeCommand::Sentinel(args) => sentinel::run(ui, around, args),
        SporeCommand::Agents(command) => agents::run(ui, around, command),
        SporeCommand::Config(command) => config::run(ui, around, command),
        SporeCommand::Doctor(args) => doctor::run(ui, around, args),
        SporeCommand::Setup(args) => setup::run(ui, around, args),
        SporeCommand::Dashboard(args) => dashboard::run(ui, around, args),
        SporeCommand::Lessons(args) => lessons::run(ui, around, args),
        SporeCommand::Distill(args) => distill::run(ui, around, args),
        SporeCommand::Health(args) => health::run(ui, around, args),
        SporeCommand::PromptStats(args) => prompt_stats::run(ui, around, args),
        SporeCommand::PromptLint(args) => prompt_lint::run(ui, around, args),
        SporeCommand::Demo(_) => unreachable!("it has surroundings of its own"),
    }
}

/// Returns the exit code of a run's outcome; a run without one was interrupted. Verified work
/// that could not be applied where the user asked is a partial success.
fn exit_code(report: &RunReport) -> u8 {
    if report.applied.as_ref().is_some_and(|applied| !applied.done) {
        return spore_model::Outcome::Partial.exit_code();
    }
    report.run.outcome.unwrap_or(spore_model::Outcome::Interrupted).exit_code()
}
