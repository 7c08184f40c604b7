//! What happened so far.

mod abandon;
mod diff;
mod list;
mod prune;
mod rollback;
mod show;
mod watch;

use spore_app::{Result, Surroundings};

use crate::ui::Ui;

/// Look at runs
#[derive(clap::Subcommand)]
pub(crate) enum RunsCommand {
    List(list::RunsListArgs),
    Show(show::RunsShowArgs),
    Watch(watch::RunsWatchArgs),
    Abandon(abandon::AbandonArgs),
    Diff(diff::RunsDiffArgs),
    Rollback(rollback::RollbackArgs),
    Prune(prune::PruneArgs),
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, command: &RunsCommand) -> Result<u8> {
    match command {
        RunsCommand::List(args) => list::run(ui, around, args),
        RunsCommand::Show(args) => show::run(ui, around, args),
        RunsCommand::Watch(args) => watch::run(ui, around, args),
        RunsCommand::Abandon(args) => abandon::run(ui, around, args),
        RunsCommand::Diff(args) => diff::run(ui, around, args),
        RunsCommand::Rollback(args) => rollback::run(ui, around, args),
        RunsCommand::Prune(args) => prune::run(ui, around, args),
    }
}
