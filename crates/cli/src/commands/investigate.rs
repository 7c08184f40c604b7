use spore_app::{InvestigateAsked, Investigated, Kept, PassesReport, Result, Surroundings};
use spore_model::Usd;

use super::index::Bar;
use super::orchestrate::dollars;
use super::scan::{self, OutputArgs, What};
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Look at a directory and keep what is known about it up to date
///
/// Scans it as `spore scan` does, then has an agent read it: a survey, a plan, a look at each
/// directory after those in it, and a report on the whole. What is said of a place is kept in the
/// graph and is valid until the place, or what was said of the directories in it, changes: a second
/// investigation of the same files asks no model. Without an agent it says what counting alone can
/// tell. It is a run like any other: `spore runs show` shows it, `spore resume` continues it.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore investigate                 this directory\n  spore investigate crates/app      a part of it\n  spore investigate -j 4 --budget 2 four directories at once, for two dollars at most\n  spore investigate --no-model      what counting tells\n  spore investigate --fresh         write every entry anew\n  spore investigate -o report.txt   the report in a file"
)]
pub(crate) struct InvestigateArgs {
    #[command(flatten)]
    what: What,
    /// Write every entry anew, the valid ones too
    #[arg(long)]
    fresh: bool,
    /// The agent that reads; the configured one if left out
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// Its model: low, medium, high or the model's own name
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Count only, and have no model read anything
    #[arg(long, conflicts_with_all = ["backend", "model", "budget", "jobs", "refine"])]
    no_model: bool,
    /// Stop when so many dollars are spent, with what is known then
    #[arg(long, value_name = "USD", value_parser = dollars)]
    budget: Option<Usd>,
    /// Look at so many directories at once
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    jobs: Option<u32>,
    /// Look again at what is doubtful or was left unfinished
    #[arg(long)]
    refine: bool,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &InvestigateArgs) -> Result<u8> {
    let asked = InvestigateAsked {
        scan: args.what.asked(),
        fresh: args.fresh,
        backend: args.backend.clone(),
        model: args.model.clone(),
        no_model: args.no_model,
        budget: args.budget,
        jobs: args.jobs,
        refine: args.refine,
    };
    listen_for_signals(&around.interrupt)?;
    let bar = Bar::aside(ui);
    let seen = spore_app::investigate(around, &asked, &bar, ui);
    bar.clear();
    let seen = seen?;
    args.output.answer(ui, around, &seen, || text(&seen))?;
    Ok(seen.passes.as_ref().map_or(0, |passes| passes.outcome.exit_code()))
}

fn text(seen: &Investigated) -> String {
    let mut text = seen.passes.as_ref().map(read).unwrap_or_default();
    text.push_str(&scan::report(&seen.scan));
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

/// What was read, before what was counted: flags first.
fn read(passes: &PassesReport) -> String {
    let mut text = String::new();
    for flag in &passes.flags {
        text.push_str(&format!("{}  {}: {}\n", flag.severity, flag.path, flag.finding));
    }
    if !passes.flags.is_empty() {
        text.push('\n');
    }
    text.push_str(&format!("{}\n\n{}\n\n", passes.brief, passes.detailed));
    let of = &passes.directories;
    let mut parts = vec![format!("{} looked at", of.looked_at), format!("{} still known", of.held)];
    let more = [(of.partial, "of them in part"), (of.skipped, "skipped"), (of.left, "not reached")];
    parts.extend(more.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")));
    text.push_str(&format!(
        "Directories: {}. {} sessions, {} turns, {}.\n",
        parts.join(", "),
        passes.sessions,
        passes.turns,
        passes.cost_usd
    ));
    if let Some(why) = &passes.stopped {
        text.push_str(&format!("Stopped early: {why}.\n"));
    }
    text.push('\n');
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
