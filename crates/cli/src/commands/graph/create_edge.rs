use spore_app::graph::{EdgeAsked, Graph};
use spore_app::{Result, Surroundings};

use super::{read_text, text};
use crate::ui::Ui;

/// Connect two nodes
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore graph create-edge --from 7QX2W0AB --to 4V9K2M1C -t supports --reason \"the test shows it\"\n  spore graph create-edge --from 7QX2 --to 4V9K -t contradicts --confidence 0.8 --supersedes 1M5T\n  spore graph create-edge --from 7QX2 --to 4V9K -t related --metadata '{\"ticket\": 12}'"
)]
pub(crate) struct CreateEdgeArgs {
    /// The node it starts at: part of its id, or its title
    #[arg(long, value_name = "ID")]
    from: String,
    /// The node it leads to
    #[arg(long, value_name = "ID")]
    to: String,
    /// What the first is to the second
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    kind: String,
    /// What there is to say about it; `-` reads it from stdin
    #[arg(long, value_name = "TEXT")]
    content: Option<String>,
    /// Why, in one line
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Who says so
    #[arg(long, value_name = "NAME", default_value = "spore")]
    agent: String,
    /// How sure, 0 to 1
    #[arg(long, value_name = "C", default_value_t = 1.0, allow_negative_numbers = true)]
    confidence: f64,
    /// An edge that this one replaces
    #[arg(long, value_name = "EDGE")]
    supersedes: Option<String>,
    /// Anything else, as a JSON object
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &CreateEdgeArgs) -> Result<u8> {
    let asked = EdgeAsked {
        from: args.from.clone(),
        to: args.to.clone(),
        kind: args.kind.clone(),
        content: args.content.as_deref().map(read_text).transpose()?,
        reason: args.reason.clone(),
        agent: args.agent.clone(),
        confidence: args.confidence,
        supersedes: args.supersedes.clone(),
        metadata: args.metadata.clone(),
    };
    let made = Graph::open(around)?.create_edge(&asked)?;
    ui.answer(&made, || text::created_edge(&made));
    Ok(0)
}
