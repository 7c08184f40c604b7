use spore_app::graph::Graph;
use spore_app::{Result, Surroundings};

use super::text;
use crate::ui::Ui;

/// Show one node with its edges
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore graph show 7QX2W0AB\n  spore graph show \"Parser notes\" --json"
)]
pub(crate) struct GraphShowArgs {
    /// The node: part of its id, or its title
    id: String,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &GraphShowArgs) -> Result<u8> {
    let shown = Graph::open(around)?.show(&args.id)?;
    ui.answer(&shown, || text::node_in_full(&shown));
    Ok(0)
}
