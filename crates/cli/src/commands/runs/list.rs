use spore_app::{Result, Surroundings};

use crate::commands::text;
use crate::ui::Ui;

/// List runs, newest first
#[derive(clap::Args)]
pub(crate) struct RunsListArgs {
    /// How many at the most
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &RunsListArgs) -> Result<u8> {
    let rows = spore_app::list_runs(around, args.limit)?;
    ui.answer(&rows, || text::table_of_runs(&rows));
    Ok(0)
}
