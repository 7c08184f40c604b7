use spore_app::{Result, Surroundings};

use super::text;
use crate::ui::Ui;

/// Find what people did about the work of runs
///
/// Looks through the new commits of your branches for edits of lines that a run wrote, for
/// reverts of its commit, and for tasks that were given again. Each becomes an event, once,
/// for memory to learn from.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore events collect\n  spore events tail --type 'correction.*'      what was found so far"
)]
pub(crate) struct CollectArgs {}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, _: &CollectArgs) -> Result<u8> {
    let collected = spore_app::collect_corrections(around)?;
    ui.answer(&collected, || text::collected(&collected));
    Ok(0)
}
