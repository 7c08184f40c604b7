use spore_app::{InvestigateAsked, Investigated, Kept, Result, Surroundings};

use super::index::Bar;
use super::scan::{self, OutputArgs, What};
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Look at a directory and keep what is known about it up to date
///
/// Scans it as `spore scan` does, says in a few sentences what counting alone can tell, and,
/// in a Spore project, keeps an entry for each directory and file in the graph. An entry is
/// valid as long as its file or directory is unchanged: a second investigation writes only what
/// changed. It is a run like any other: `spore runs show` shows it, `spore resume` continues it.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore investigate                 this directory\n  spore investigate crates/app      a part of it\n  spore investigate --fresh         write every entry anew\n  spore investigate -o report.txt   the report in a file"
)]
pub(crate) struct InvestigateArgs {
    #[command(flatten)]
    what: What,
    /// Write every entry anew, the valid ones too
    #[arg(long)]
    fresh: bool,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &InvestigateArgs) -> Result<u8> {
    let asked = InvestigateAsked { scan: args.what.asked(), fresh: args.fresh };
    listen_for_signals(&around.interrupt)?;
    let bar = Bar::aside(ui);
    let seen = spore_app::investigate(around, &asked, &bar);
    bar.clear();
    let seen = seen?;
    args.output.answer(ui, around, &seen, || text(&seen))?;
    Ok(0)
}

fn text(seen: &Investigated) -> String {
    let mut text = scan::report(&seen.scan);
    if let (Some(run), Some(kept)) = (&seen.run, &seen.entries) {
        text.push_str(&format!(
            "\nRun {}: {}. What it left is in {}.\n",
            run.run.id.short(),
            told(kept),
            run.directory
        ));
    }
    for note in &seen.notes {
        text.push_str(&format!("\n{note}\n"));
    }
    text
}

fn told(kept: &Kept) -> String {
    let parts = [
        (kept.fresh, "are still valid"),
        (kept.stale, "were stale and are written anew"),
        (kept.new, "are new"),
        (kept.gone, "are gone"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if parts.is_empty() {
        "no entries".to_owned()
    } else {
        format!("of its entries {}", parts.join(", "))
    }
}
