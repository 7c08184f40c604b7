use spore_app::graph::{Graph, MetaChange};
use spore_app::{Result, Surroundings};

use super::{read_text, text};
use crate::ui::Ui;

/// Replace a summary, a contradiction or a status with a newer one
///
/// The old node stays and is marked as superseded; the new one takes over its live edges.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore graph update-meta 7QX2W0AB --content \"Tabs count as eight columns.\"\n  spore graph update-meta 7QX2W0AB --title \"Parser notes, again\" --add-connects 4V9K2M1C"
)]
pub(crate) struct UpdateMetaArgs {
    /// The node to replace: part of its id, or its title
    id: String,
    /// What it says now; `-` reads it from stdin; unchanged if left out
    #[arg(long, value_name = "TEXT")]
    content: Option<String>,
    /// Its new title; unchanged if left out
    #[arg(long)]
    title: Option<String>,
    /// Who says so
    #[arg(long, value_name = "NAME", default_value = "human")]
    agent: String,
    /// More nodes it is about
    #[arg(long, value_name = "ID", num_args = 1..)]
    add_connects: Vec<String>,
    /// The type of the edges to them
    #[arg(long, value_name = "TYPE", default_value = "summarizes")]
    edge_type: String,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &UpdateMetaArgs) -> Result<u8> {
    let asked = MetaChange {
        content: args.content.as_deref().map(read_text).transpose()?,
        title: args.title.clone(),
        agent: args.agent.clone(),
        add_connects: args.add_connects.clone(),
        edge_type: args.edge_type.clone(),
    };
    let updated = Graph::open(around)?.update_meta(&args.id, &asked)?;
    ui.answer(&updated, || text::updated_meta(&updated));
    Ok(0)
}
