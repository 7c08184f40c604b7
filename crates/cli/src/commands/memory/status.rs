use spore_app::memory::memory_status;
use spore_app::{Result, Surroundings};

use super::text;
use crate::ui::Ui;

/// Show how every line stands
///
/// Each line with what the ledger knows of it, and what is left to do: events that no scan has
/// read, fragments that are not in the ledger, what waits for review, missing pages.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  spore memory status\n  spore memory status --json")]
pub(crate) struct MemoryStatusArgs {}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, _: &MemoryStatusArgs) -> Result<u8> {
    let status = memory_status(around)?;
    ui.answer(&status, || text::status(&status));
    Ok(0)
}
