use spore_app::memory::{Crystallize, crystallize_memory};
use spore_app::{Result, Surroundings};

use super::text;
use crate::ui::Ui;

/// Fold evidence into the ledger
///
/// Brings `memory/effectiveness/CLAUDE-md-effectiveness.md` up to date with the fragments, line
/// by line, and makes the beginnings of pages that a line points to and that do not exist yet. A
/// second call changes nothing.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  spore memory crystallize")]
pub(crate) struct CrystallizeArgs {
    /// Work on this task of the inbox
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &CrystallizeArgs) -> Result<u8> {
    let done = crystallize_memory(around, &Crystallize { task: args.task.clone() })?;
    for refused in &done.refused {
        ui.note(&format!("memory/fragments/{}: {}; left out", refused.fragment, refused.reason));
    }
    ui.answer(&done, || text::crystallized(&done));
    Ok(done.ending.outcome().exit_code())
}
