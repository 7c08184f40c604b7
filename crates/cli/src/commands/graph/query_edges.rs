use spore_app::graph::{EdgesAsked, Graph};
use spore_app::{Result, Surroundings};

use super::text;
use crate::ui::Ui;

/// Find edges, newest first
///
/// All filters come before the limit: `--limit 5` is the newest five that match.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore graph query-edges -t contradicts --not-superseded\n  spore graph query-edges -t supports -t contradicts --since 2h\n  spore graph query-edges --agent human --confidence-min 0.8 --compact"
)]
pub(crate) struct QueryEdgesArgs {
    /// Only edges of this type; may be given several times
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    kinds: Vec<String>,
    /// Only edges that this agent made
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only edges to nodes that this agent made
    #[arg(long, value_name = "NAME")]
    target_agent: Option<String>,
    /// Only edges with at least this confidence, 0 to 1
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    confidence_min: Option<f64>,
    /// Only edges made since: 2026-01-31, 2026-01-31T12:00:00Z, or 30m, 2h, 7d, 1w ago
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Leave out edges that a later one has replaced
    #[arg(long)]
    not_superseded: bool,
    /// How many at the most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// One short line an edge, ids only; in JSON without the nodes' contents
    #[arg(long)]
    compact: bool,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &QueryEdgesArgs) -> Result<u8> {
    let asked = EdgesAsked {
        kinds: args.kinds.clone(),
        agent: args.agent.clone(),
        target_agent: args.target_agent.clone(),
        confidence_min: args.confidence_min,
        since: args.since.clone(),
        not_superseded: args.not_superseded,
        limit: args.limit,
        contents: !args.compact,
    };
    let rows = Graph::open(around)?.query_edges(&asked)?;
    ui.answer(&rows, || match args.compact {
        true => text::edges_compact(&rows),
        false => text::table_of_edges(&rows),
    });
    Ok(0)
}
