//! What happened so far.

mod abandon;
mod cancel;
mod compare;
mod cost;
mod diff;
mod explain;
mod export;
mod filter;
mod list;
mod prune;
mod rollback;
mod show;
mod stats;
pub(super) mod table;
mod timeline;
mod top;
mod watch;

use spore_app::{Result, Surroundings};

use crate::ui::Ui;

/// Look at runs
#[derive(clap::Subcommand)]
pub(crate) enum RunsCommand {
    List(list::RunsListArgs),
    Show(show::RunsShowArgs),
    Explain(explain::RunsExplainArgs),
    Watch(watch::RunsWatchArgs),
    Cancel(cancel::CancelArgs),
    Timeline(timeline::RunsTimelineArgs),
    Cost(cost::RunsCostArgs),
    Top(top::RunsTopArgs),
    Stats(stats::RunsStatsArgs),
    Compare(compare::RunsCompareArgs),
    CompareExperiments(compare::CompareExperimentsArgs),
    Abandon(abandon::AbandonArgs),
    Diff(diff::RunsDiffArgs),
    Export(export::RunsExportArgs),
    Rollback(rollback::RollbackArgs),
    Prune(prune::PruneArgs),
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, command: &RunsCommand) -> Result<u8> {
    match command {
        RunsCommand::List(args) => list::run(ui, around, args),
        RunsCommand::Show(args) => show::run(ui, around, args),
        RunsCommand::Explain(args) => explain::run(ui, around, args),
        RunsCommand::Watch(args) => watch::run(ui, around, args),
        RunsCommand::Cancel(args) => cancel::run(ui, around, args),
        RunsCommand::Timeline(args) => timeline::run(ui, around, args),
        RunsCommand::Cost(args) => cost::run(ui, around, args),
        RunsCommand::Top(args) => top::run(ui, around, args),
        RunsCommand::Stats(args) => stats::run(ui, around, args),
        RunsCommand::Compare(args) => compare::run(ui, around, args),
        RunsCommand::CompareExperiments(args) => compare::run_experiments(ui, around, args),
        RunsCommand::Abandon(args) => abandon::run(ui, around, args),
        RunsCommand::Diff(args) => diff::run(ui, around, args),
        RunsCommand::Export(args) => export::run(ui, around, args),
        RunsCommand::Rollback(args) => rollback::run(ui, around, args),
        RunsCommand::Prune(args) => prune::run(ui, around, args),
    }
}

impl RunsCommand {
    /// Returns whether it may end runs.
    pub(super) fn ends_runs(&self) -> bool {
        matches!(self, Self::Cancel(_) | Self::Abandon(_))
    }
}
