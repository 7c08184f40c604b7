use spore_app::graph::Graph;
use spore_app::{Result, Surroundings};

use super::text;
use crate::ui::Ui;

/// Rank the edges of a node by how much they tell
///
/// Score = 0.3 × recency among this node's edges + 0.3 × confidence (0.5 where none was
/// given) + 0.4 × the priority of the edge's type.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore graph edges-for-context 7QX2W0AB\n  spore graph edges-for-context 7QX2W0AB --top 3 --not-superseded"
)]
pub(crate) struct EdgesForContextArgs {
    /// The node: part of its id, or its title
    id: String,
    /// How many at the most
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,
    /// Leave out edges that a later one has replaced
    #[arg(long)]
    not_superseded: bool,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &EdgesForContextArgs) -> Result<u8> {
    let rows = Graph::open(around)?.edges_for_context(&args.id, args.top, args.not_superseded)?;
    ui.answer(&rows, || text::scored_edges(&rows));
    Ok(0)
}
