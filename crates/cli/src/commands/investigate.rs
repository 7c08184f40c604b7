use std::path::Path;

use spore_app::investigation::document::DocumentFormat;
use spore_app::investigation::passes::InvestigationEstimate;
use spore_app::{
    ClearedCounts, InvestigateAsked, Investigated, Kept, PassesReport, RaisedFlag, Result,
    Surroundings, counted,
};
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
///
/// Before anything is paid it says what it will ask and what that costs at most. At a terminal it
/// waits for a yes, unless `--budget` or `--yes` has said it; elsewhere it goes on within its
/// budget: `--budget`, else `investigate.budget_usd`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore investigate                 this directory\n  spore investigate crates/app      a part of it\n  spore investigate -j 4 --budget 2 four directories at once, for two dollars at most\n  spore investigate --estimate      what it would ask, and what that is likely to cost\n  spore investigate --no-model      what counting tells\n  spore investigate --fresh         write every entry anew\n  spore investigate -o report.html  the report as a page, with a map of the tree\n  spore investigate --clear-cache   what models said no longer counts"
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
    #[arg(long, conflicts_with_all = ["backend", "model", "budget", "jobs", "refine", "estimate", "yes"])]
    no_model: bool,
    /// Say what would be asked and what that is likely to cost, and ask nothing
    #[arg(long)]
    estimate: bool,
    /// Let nothing that models said of the directory count any more, and look at nothing
    #[arg(long, conflicts_with_all = ["estimate", "no_model", "fresh", "refine", "format"])]
    clear_cache: bool,
    /// Do not ask before paying
    #[arg(long, short)]
    yes: bool,
    /// Stop when so many dollars are spent, with what is known then
    #[arg(long, value_name = "USD", value_parser = dollars)]
    budget: Option<Usd>,
    /// Look at so many directories at once
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    jobs: Option<u32>,
    /// Look again at what is doubtful or was left unfinished
    #[arg(long)]
    refine: bool,
    /// How the report is written; by the name of the file if left out, else as text
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<ReportFormat>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ReportFormat {
    Text,
    Markdown,
    Html,
}

impl InvestigateArgs {
    /// What kind of document is asked for; none for text and JSON.
    fn document(&self) -> Option<DocumentFormat> {
        let by_name = || {
            let end = self.output.file().and_then(Path::extension)?.to_str()?.to_ascii_lowercase();
            match end.as_str() {
                "html" | "htm" => Some(ReportFormat::Html),
                "md" | "markdown" => Some(ReportFormat::Markdown),
                _ => None,
            }
        };
        match self.format.or_else(by_name) {
            Some(ReportFormat::Html) => Some(DocumentFormat::Html),
            Some(ReportFormat::Markdown) => Some(DocumentFormat::Markdown),
            Some(ReportFormat::Text) | None => None,
        }
    }
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &InvestigateArgs) -> Result<u8> {
    if args.clear_cache {
        let cleared = spore_app::clear_investigation(around, &args.what.asked().dir)?;
        ui.answer(&cleared, || cleared_text(&cleared));
        return Ok(0);
    }
    if args.budget.is_none() && !args.yes {
        ui.ask_before_paying(&around.interrupt);
    }
    let asked = InvestigateAsked {
        estimate: args.estimate,
        places: ui.is_json(),
        document: args.document().filter(|_| !ui.is_json()),
        file: args.output.file().map(|file| around.cwd.join(file)),
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
    match (&seen.document, &seen.estimate) {
        (_, Some(estimate)) => args.output.answer(ui, around, &seen, || estimated(estimate))?,
        (Some(document), None) => args.output.document(ui, around, document)?,
        (None, None) => args.output.answer(ui, around, &seen, || text(&seen))?,
    }
    Ok(seen.passes.as_ref().map_or(0, |passes| passes.outcome.exit_code()))
}

fn estimated(estimate: &InvestigationEstimate) -> String {
    if estimate.is_nothing() {
        return "Nothing would be asked: what is known still holds.\n".to_owned();
    }
    let number = spore_app::investigation::number_text;
    let mut text = format!("{estimate}\n\n");
    for pass in &estimate.passes {
        let perhaps =
            if pass.perhaps > 0 { format!(", up to {} more", pass.perhaps) } else { String::new() };
        let basis = match pass.known_from {
            0 => "by the length of its prompts".to_owned(),
            from => format!(
                "as {} of past runs took",
                counted(from.try_into().unwrap_or(u32::MAX), "session")
            ),
        };
        text.push_str(&format!(
            "{:<10} {} ({}){perhaps}: {} tokens in, {} out, {}; {} turns at most; {basis}\n",
            pass.pass,
            counted(pass.sessions.try_into().unwrap_or(u32::MAX), "session"),
            pass.model.as_deref().unwrap_or("the agent's own model"),
            number(pass.input_tokens),
            number(pass.output_tokens),
            pass.cost_usd,
            number(pass.turns_at_most),
        ));
    }
    text
}

fn cleared_text(cleared: &ClearedCounts) -> String {
    let ClearedCounts { summaries, flags, briefs } = cleared;
    format!(
        "Of what models said no longer count: {summaries} summaries, {flags} flags, {briefs} \
         reports on the whole. The next investigation asks for all of it anew.\n"
    )
}

fn text(seen: &Investigated) -> String {
    let mut text = flagged(&seen.flags);
    text.push_str(&seen.passes.as_ref().map(read).unwrap_or_default());
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

/// What was flagged comes first.
fn flagged(flags: &[RaisedFlag]) -> String {
    let line = |flag: &RaisedFlag| {
        format!("{}  {}: {}\n", flag.severity, flag.path, spore_plain::line(&flag.finding))
    };
    let lines: String = flags.iter().map(line).collect();
    if lines.is_empty() { lines } else { lines + "\n" }
}

/// What was read, before what was counted.
fn read(passes: &PassesReport) -> String {
    let mut text = format!("{}\n\n{}\n\n", passes.brief, passes.detailed);
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
