use spore_app::{Abandoned, Result, Surroundings};
use spore_model::Usd;

use crate::ui::Ui;

/// Give up a run that was interrupted or waits: it is cancelled and never goes on
///
/// Processes that it left are ended, and what its sessions used is booked. Nothing else goes: its
/// record, its checkouts and its work stay, and work that was not handed in is kept under a ref.
/// `spore runs prune` makes room afterwards, `spore retry` starts a task anew.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  spore runs abandon 7QX2")]
pub(crate) struct AbandonArgs {
    /// Any unique beginning or end of the run's id
    run: String,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &AbandonArgs) -> Result<u8> {
    let abandoned = spore_app::abandon(around, &args.run)?;
    ui.answer(&abandoned, || text(&abandoned));
    Ok(0)
}

fn text(abandoned: &Abandoned) -> String {
    let id = abandoned.run.short();
    let mut lines = vec![format!("Run {id} is cancelled: {}", spore_plain::line(&abandoned.name))];
    if abandoned.cost.usd > Usd::ZERO {
        lines.push(format!("It cost {}.", abandoned.cost));
    }
    if !abandoned.left.is_empty() {
        lines.push("What it had not handed in is kept:".to_owned());
    }
    for left in &abandoned.left {
        lines.push(format!("  git --git-dir=.spore/work.git show {left}"));
    }
    lines.extend(abandoned.again.clone());
    lines.join("\n")
}
