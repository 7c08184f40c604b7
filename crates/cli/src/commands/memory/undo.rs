use spore_app::memory::undo_memory;
use spore_app::{Result, Surroundings};

use crate::ui::Ui;

/// Take the last update back
///
/// Puts the file back as it was before the newest update that still stands, byte for byte. A
/// file that was edited since is left alone.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  spore memory undo")]
pub(crate) struct UndoArgs {}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, _: &UndoArgs) -> Result<u8> {
    let undone = undo_memory(around)?;
    ui.answer(&undone, || format!("{}\n\n{}", undone.ending.result, undone.diff));
    Ok(undone.ending.outcome().exit_code())
}
