use spore_app::graph::Graph;
use spore_app::{Result, Surroundings};

use super::text;
use crate::ui::Ui;

/// Tell whether summaries are older than what they are about
///
/// For a summary, looks at each node it summarizes; for any other node, at the summaries of
/// it.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore graph check-freshness 7QX2W0AB\n  spore graph check-freshness \"Parser notes\" --json"
)]
pub(crate) struct CheckFreshnessArgs {
    /// The node: part of its id, or its title
    id: String,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &CheckFreshnessArgs) -> Result<u8> {
    let checked = Graph::open(around)?.check_freshness(&args.id)?;
    ui.answer(&checked, || text::freshness(&checked));
    Ok(0)
}
