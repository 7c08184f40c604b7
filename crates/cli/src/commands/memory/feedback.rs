use clap::ValueEnum;
use spore_app::memory::{LineDeed, LineFeedback, give_feedback};
use spore_app::{Result, Surroundings};
use spore_plain::headline;

use crate::ui::Ui;

/// Say that a line helped or failed, and why
///
/// The next `spore memory scan` takes it as evidence about the line. `failed` means that the line
/// is wrong; one that is right and that the agent did not go by was `missed`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore memory feedback L3 helped \"the lint caught it before the review\"\n  spore memory feedback L3 failed \"we use just now, not make\"\n  spore memory feedback cfa685e12bda missed \"the agent did not run it\""
)]
pub(crate) struct FeedbackArgs {
    /// The line: L3, its hash or the beginning of it, or its words
    line: String,
    /// What it did
    deed: Deed,
    /// What happened
    why: String,
}

#[derive(Clone, Copy, ValueEnum)]
enum Deed {
    Helped,
    Failed,
    Missed,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &FeedbackArgs) -> Result<u8> {
    let deed = match args.deed {
        Deed::Helped => LineDeed::Helped,
        Deed::Failed => LineDeed::Failed,
        Deed::Missed => LineDeed::Missed,
    };
    let said = LineFeedback { line: args.line.clone(), deed, why: args.why.clone() };
    let given = give_feedback(around, &said)?;
    ui.answer(&given, || {
        format!(
            "Noted about {}: {}\nIt counts when the events are scanned:\n  spore memory scan && spore memory crystallize",
            given.hash,
            headline(&given.text, 80)
        )
    });
    Ok(0)
}
