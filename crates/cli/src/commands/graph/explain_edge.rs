use spore_app::graph::Graph;
use spore_app::{Result, Surroundings};

use super::text;
use crate::ui::Ui;

/// Show one edge: both ends, what replaced it, and the edges around it
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore graph explain-edge 4V9K2M1C\n  spore graph explain-edge 4V9K2M1C --depth 2 --json"
)]
pub(crate) struct ExplainEdgeArgs {
    /// Any unique beginning or end of the edge's id
    id: String,
    /// How far around the edge to look: its own nodes, or their neighbours too
    #[arg(long, value_name = "1|2", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    depth: u8,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &ExplainEdgeArgs) -> Result<u8> {
    let explained = Graph::open(around)?.explain_edge(&args.id, args.depth)?;
    ui.answer(&explained, || text::edge_in_full(&explained));
    Ok(0)
}
