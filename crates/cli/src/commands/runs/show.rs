use spore_app::{Result, Surroundings};

use crate::commands::text;
use crate::ui::Ui;

/// Show one run: its attempts, checks, verdicts and cost
#[derive(clap::Args)]
pub(crate) struct RunsShowArgs {
    /// Any unique part of the run's id as it is shown; the newest run if left out
    run: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &RunsShowArgs) -> Result<u8> {
    let report = spore_app::show_run(around, args.run.as_deref())?;
    let now = around.clock.now();
    ui.answer(&report, || text::run_in_full(&report, now));
    Ok(0)
}
