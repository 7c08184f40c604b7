use spore_app::graph::{Graph, RegionAsked};
use spore_app::{Result, Surroundings};

use super::text;
use crate::ui::Ui;

/// List what lies below a node, as a tree
///
/// `I` marks an item, `C` a node that contains others. Filters come before the limit.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore graph list-region 7QX2W0AB\n  spore graph list-region 7QX2W0AB --class knowledge --items-only"
)]
pub(crate) struct ListRegionArgs {
    /// The node at the top: part of its id, or its title
    id: String,
    /// Only nodes of this class: knowledge, operational or meta
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
    /// Leave out nodes that contain others
    #[arg(long)]
    items_only: bool,
    /// How many at the most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &ListRegionArgs) -> Result<u8> {
    let asked =
        RegionAsked { class: args.class.clone(), items_only: args.items_only, limit: args.limit };
    let rows = Graph::open(around)?.list_region(&args.id, &asked)?;
    ui.answer(&rows, || text::region(&rows));
    Ok(0)
}
