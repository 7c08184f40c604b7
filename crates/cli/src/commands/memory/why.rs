use spore_app::memory::why_line;
use spore_app::{Result, Surroundings};

use super::text;
use crate::ui::Ui;

/// Tell what is known about one line
///
/// Its evidence, oldest first, what follows from it, what could be recognised in an event, and
/// what still waits for review.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore memory why L3\n  spore memory why cfa685e12bda        by its hash, also after it was removed"
)]
pub(crate) struct WhyArgs {
    /// The line: L3, its hash or the beginning of it, or its words
    line: String,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &WhyArgs) -> Result<u8> {
    let why = why_line(around, &args.line)?;
    ui.answer(&why, || text::why(&why));
    Ok(0)
}
