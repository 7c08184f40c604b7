use spore_app::{Result, Surroundings};

use crate::commands::text;
use crate::ui::Ui;

/// Show one run: its bounces, checks, verdicts and cost
#[derive(clap::Args)]
pub(crate) struct RunsShowArgs {
    /// Any unique beginning or end of the run's id
    run: String,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &RunsShowArgs) -> Result<u8> {
    let report = spore_app::show_run(around, &args.run)?;
    let now = around.clock.now();
    ui.answer(&report, || text::run_in_full(&report, now));
    Ok(0)
}
