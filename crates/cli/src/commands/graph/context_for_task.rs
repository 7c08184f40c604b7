use spore_app::graph::{Graph, NodeContextAsked};
use spore_app::{Result, Surroundings};

use super::text;
use crate::ui::Ui;

/// See what lies near a node, nearest first
///
/// Takes a node, not the text of a task. Distance is the sum of the edges' costs: sure edges
/// of telling types are short. Relevance is 1 / (1 + distance).
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore graph context-for-task 7QX2W0AB\n  spore graph context-for-task 7QX2W0AB --budget 7 --max-hops 4 --max-cost 2.0 --not-superseded"
)]
pub(crate) struct ContextForTaskArgs {
    /// The node to start from: part of its id, or its title
    id: String,
    /// How many nodes at the most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    budget: u32,
    /// How many edges away a node may be
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..))]
    max_hops: u32,
    /// How far away a node may be
    #[arg(long, value_name = "COST", default_value_t = 3.0, allow_negative_numbers = true)]
    max_cost: f64,
    /// Only follow edges of these types
    #[arg(long, value_name = "TYPE,…", value_delimiter = ',')]
    edge_types: Vec<String>,
    /// Do not follow edges that a later one has replaced
    #[arg(long)]
    not_superseded: bool,
    /// Leave out nodes that contain others
    #[arg(long)]
    items_only: bool,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &ContextForTaskArgs) -> Result<u8> {
    let asked = NodeContextAsked {
        budget: args.budget,
        max_hops: args.max_hops,
        max_cost: args.max_cost,
        edge_types: args.edge_types.clone(),
        not_superseded: args.not_superseded,
        items_only: args.items_only,
    };
    let found = Graph::open(around)?.context_for_task(&args.id, &asked)?;
    ui.answer(&found, || text::context(&found));
    Ok(0)
}
