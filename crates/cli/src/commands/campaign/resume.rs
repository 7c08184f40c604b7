use spore_app::{Result, Surroundings};
use spore_model::Usd;

use crate::commands::flow;
use crate::commands::orchestrate::dollars;
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Go on with a campaign that was interrupted, killed or parked
///
/// It continues at the first step that has no result on record. What waits for an answer goes on
/// with `spore resolve`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore campaign resume\n  spore campaign resume 7QX2 --budget +5"
)]
pub(crate) struct CampaignResumeArgs {
    /// Any unique part of the run's id as it is shown; the only open campaign if left out
    run: Option<String>,
    /// Raise the campaign's budget by this many US dollars
    #[arg(long, value_name = "+USD", value_parser = dollars)]
    budget: Option<Usd>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &CampaignResumeArgs) -> Result<u8> {
    listen_for_signals(&around.interrupt)?;
    let report = spore_app::resume_campaign(around, args.run.as_deref(), args.budget, ui)?;
    ui.answer(&report, || flow::ending(&report));
    Ok(report.exit_code)
}
