use spore_app::graph::Graph;
use spore_app::{Result, Surroundings};

use crate::ui::Ui;

/// Print what a node says, and nothing else
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore graph read-content 7QX2W0AB\n  spore graph read-content 7QX2W0AB --json"
)]
pub(crate) struct ReadContentArgs {
    /// The node: part of its id, or its title
    id: String,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &ReadContentArgs) -> Result<u8> {
    let read = Graph::open(around)?.read_content(&args.id)?;
    ui.answer(&read, || read.content.clone());
    Ok(0)
}
