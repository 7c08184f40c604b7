use spore_app::memory::{TrialDeed, try_line};
use spore_app::{Result, Surroundings};

use super::text;
use crate::ui::Ui;

/// Withhold a line from a share of runs, and see what it is worth
///
/// Which runs are not told the line is drawn by lot from their ids. The report compares how often
/// the runs of both sides were verified and what they cost, each difference with its 95 % interval;
/// with fewer than ten runs on a side it says nothing.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore memory trial L3 --share 0.5    withhold it from half of the runs\n  spore memory trial L3                how it stands\n  spore memory trial L3 --stop"
)]
pub(crate) struct TrialArgs {
    /// The line: L3, the beginning of its hash, or its words
    #[arg(value_name = "LINE")]
    line: String,
    /// Start: withhold it from this share of runs, between 0 and 1
    #[arg(long, value_name = "SHARE", conflicts_with = "stop")]
    share: Option<f64>,
    /// End the trial: every run is told the line again
    #[arg(long)]
    stop: bool,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &TrialArgs) -> Result<u8> {
    let deed = match (args.share, args.stop) {
        (Some(share), _) => TrialDeed::Start(share),
        (None, true) => TrialDeed::Stop,
        (None, false) => TrialDeed::Report,
    };
    let report = try_line(around, &args.line, deed)?;
    ui.answer(&report, || text::trial(&report));
    Ok(0)
}
