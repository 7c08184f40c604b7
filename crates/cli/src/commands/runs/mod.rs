//! What happened so far.

mod list;
mod show;

use spore_app::{Result, Surroundings};

use crate::ui::Ui;

/// Look at runs
#[derive(clap::Subcommand)]
pub(crate) enum RunsCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, command: &RunsCommand) -> Result<u8> {
    match command {
        RunsCommand::List(args) => list::run(ui, around, args),
        RunsCommand::Show(args) => show::run(ui, around, args),
    }
}
