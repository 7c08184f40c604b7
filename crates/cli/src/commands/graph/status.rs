use clap::ValueEnum;
use spore_app::graph::Graph;
use spore_app::{Result, Surroundings};

use super::text;
use crate::ui::Ui;

/// Count nodes, edges and open contradictions of the graph
///
/// Coverage is the share of knowledge nodes that a summary is about. Coherence is 1 minus the
/// share of live edges that are unresolved contradictions.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore graph status\n  spore graph status --format full --all\n  spore graph status --json"
)]
pub(crate) struct GraphStatusArgs {
    /// Count what has been superseded too
    #[arg(long)]
    all: bool,
    /// How much to say
    #[arg(long, value_enum, default_value_t = StatusFormat::Compact)]
    format: StatusFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StatusFormat {
    Compact,
    Full,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &GraphStatusArgs) -> Result<u8> {
    let status = Graph::open(around)?.status()?;
    ui.answer(&status, || match args.format {
        StatusFormat::Compact => text::status(&status, args.all),
        StatusFormat::Full => text::status_in_full(&status, args.all),
    });
    Ok(0)
}
