use spore_app::memory::{MemoryUpdate, update_memory};
use spore_app::{Result, Surroundings};

use super::text;
use crate::ui::Ui;

/// Remove the lines that the ledger has enough evidence against
///
/// A line goes when people or their tools said repeatedly that it is wrong and nothing said
/// otherwise since. Everything else stays: without evidence there is no edit. The change is
/// shown, and `spore memory undo` takes it back.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore memory update --dry-run\n  spore memory update\n  spore memory update --remove L3      one piece of evidence against it is enough then"
)]
pub(crate) struct UpdateArgs {
    /// Remove this line too, if there is evidence against it; may be given several times
    #[arg(long, value_name = "LINE")]
    remove: Vec<String>,
    /// Say what would change and change nothing
    #[arg(long, conflicts_with = "task")]
    dry_run: bool,
    /// Work on this task of the inbox
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &UpdateArgs) -> Result<u8> {
    let asked = MemoryUpdate {
        remove: args.remove.clone(),
        dry_run: args.dry_run,
        task: args.task.clone(),
    };
    let updated = update_memory(around, &asked)?;
    ui.answer(&updated, || text::updated(&updated));
    Ok(updated.ending.outcome().exit_code())
}
