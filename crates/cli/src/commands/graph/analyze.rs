use spore_app::graph::{AnalysisAsked, Graph};
use spore_app::{Result, Surroundings};

use super::text;
use crate::ui::Ui;

/// Measure how well the graph is connected, and what is out of date
///
/// Health = 0.30 × connectivity + 0.25 × 1 / components + 0.25 × freshness + 0.20 × absence
/// of single points of failure, each from 0 to 1.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore graph analyze\n  spore graph analyze --region 7QX2W0AB --top-n 5\n  spore graph analyze --stale-days 14 --hub-threshold 30 --json"
)]
pub(crate) struct AnalyzeArgs {
    /// Only look at this node and what lies below it
    #[arg(long, value_name = "ID")]
    region: Option<String>,
    /// How many of each list to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    top_n: u32,
    /// Call a node stale after so many days without a change
    #[arg(long, value_name = "DAYS", default_value_t = 60)]
    stale_days: u32,
    /// Call a node with so many edges a hub
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    hub_threshold: u32,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &AnalyzeArgs) -> Result<u8> {
    let asked = AnalysisAsked {
        region: args.region.clone(),
        top_n: args.top_n,
        stale_days: args.stale_days,
        hub_threshold: args.hub_threshold,
    };
    let analysis = Graph::open(around)?.analyze(&asked)?;
    ui.answer(&analysis, || text::analysis(&analysis));
    Ok(0)
}
