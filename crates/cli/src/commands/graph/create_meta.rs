use clap::ValueEnum;
use spore_app::graph::{Graph, MetaAsked};
use spore_app::{Result, Surroundings};

use super::{read_text, text};
use crate::ui::Ui;

/// Write a summary, a contradiction or a status into the graph
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore graph create-meta -t summary --title \"Tabs\" --content \"One column.\" --connects-to 7QX2W0AB\n  spore graph create-meta -t status --title \"Week 3\" --content - < week3.md\n  spore graph create-meta -t contradiction --title \"Answer\" --content \"42 or 43?\" \\\n    --connects-to 7QX2W0AB 4V9K2M1C --edge-type flags"
)]
pub(crate) struct CreateMetaArgs {
    /// What it is
    #[arg(short = 't', long = "type", value_enum)]
    kind: MetaKind,
    /// One line that names it
    #[arg(long)]
    title: String,
    /// What it says; `-` reads it from stdin
    #[arg(long, value_name = "TEXT")]
    content: String,
    /// Who says so
    #[arg(long, value_name = "NAME", default_value = "human")]
    agent: String,
    /// The nodes it is about
    #[arg(long, value_name = "ID", num_args = 1..)]
    connects_to: Vec<String>,
    /// The type of the edges to them
    #[arg(long, value_name = "TYPE", default_value = "summarizes")]
    edge_type: String,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MetaKind {
    Summary,
    Contradiction,
    Status,
}

impl MetaKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Summary => "summary",
            Self::Contradiction => "contradiction",
            Self::Status => "status",
        }
    }
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &CreateMetaArgs) -> Result<u8> {
    let asked = MetaAsked {
        kind: args.kind.as_str().to_owned(),
        title: args.title.clone(),
        content: read_text(&args.content)?,
        agent: args.agent.clone(),
        connects_to: args.connects_to.clone(),
        edge_type: args.edge_type.clone(),
    };
    let made = Graph::open(around)?.create_meta(&asked)?;
    ui.answer(&made, || text::created_meta(&made));
    Ok(0)
}
