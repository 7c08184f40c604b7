use spore_app::graph::{Graph, PathsAsked};
use spore_app::{Result, Surroundings};

use super::text;
use crate::ui::Ui;

/// Find how two nodes are connected, shortest way first
///
/// Edges are followed in both directions. Ways with fewer hops come first, among equals the
/// one with the strongest edges.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore graph path-between 7QX2W0AB 4V9K2M1C\n  spore graph path-between 7QX2W0AB 4V9K2M1C --max-hops 3 --edge-types supports,derives_from"
)]
pub(crate) struct PathBetweenArgs {
    /// Where to start: part of a node's id, or its title
    from: String,
    /// Where to arrive
    to: String,
    /// How long a way may be
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    max_hops: u32,
    /// Only follow edges of these types
    #[arg(long, value_name = "TYPE,…", value_delimiter = ',')]
    edge_types: Vec<String>,
    /// How many ways at the most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &PathBetweenArgs) -> Result<u8> {
    let asked = PathsAsked {
        max_hops: args.max_hops,
        edge_types: args.edge_types.clone(),
        limit: args.limit,
    };
    let found = Graph::open(around)?.path_between(&args.from, &args.to, &asked)?;
    ui.answer(&found, || text::ways(&found));
    Ok(0)
}
