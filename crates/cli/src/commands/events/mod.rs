//! The spine from the command line: what happened, one event a line.

mod append;
mod collect;
mod tail;
mod text;

use spore_app::{Result, Surroundings};

use crate::ui::Ui;

/// Follow what happens, and add to it
#[derive(clap::Subcommand)]
#[command(
    after_help = "Examples:\n  spore events tail --follow\n  spore events tail --since 2h --type 'run.*'\n  spore events append --kind ci --type build.failed --payload '{\"job\": 7}'\n  spore events collect                what people did about the work of runs"
)]
pub(crate) enum EventsCommand {
    Tail(tail::TailArgs),
    Append(append::AppendArgs),
    Collect(collect::CollectArgs),
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, command: &EventsCommand) -> Result<u8> {
    match command {
        EventsCommand::Tail(args) => tail::run(ui, around, args),
        EventsCommand::Append(args) => append::run(ui, around, args),
        EventsCommand::Collect(args) => collect::run(ui, around, args),
    }
}
