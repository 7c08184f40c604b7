use spore_app::{Result, RunTimeline, SessionFailure, Surroundings, TimelineEntry};

use super::table::{self, CsvArgs, RunTable, took};
use crate::local_time::second;
use crate::ui::Ui;

/// Show what happened in a run, one after another, with what each part took and cost
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  spore runs timeline\n  spore runs timeline 7QX2 --csv")]
pub(crate) struct RunsTimelineArgs {
    /// Any unique part of the run's id as it is shown; the newest run if left out
    run: Option<String>,
    #[command(flatten)]
    csv: CsvArgs,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &RunsTimelineArgs) -> Result<u8> {
    let timeline = spore_app::run_timeline(around, args.run.as_deref())?;
    table::print(ui, &args.csv, &timeline, || values(&timeline), || text(&timeline));
    Ok(0)
}

fn status(entry: &TimelineEntry) -> String {
    entry.failure.map_or_else(|| entry.status.to_string(), |how| SessionFailure::as_str(how).into())
}

fn text(timeline: &RunTimeline) -> String {
    let mut table = RunTable::new(&[
        ("after", true),
        ("took", true),
        ("part", false),
        ("status", false),
        ("turns", true),
        ("cost", true),
        ("model", false),
    ]);
    for entry in &timeline.entries {
        let is_session = entry.turns > 0 || entry.cost.usd > spore_model::Usd::ZERO;
        let told = |value: String| if is_session { value } else { String::new() };
        let indent = "· ".repeat(entry.depth as usize);
        table.row([
            took(entry.after_ms),
            entry.duration_ms.map_or_else(String::new, took),
            format!("{indent}{}", entry.name),
            status(entry),
            told(entry.turns.to_string()),
            told(entry.cost.to_string()),
            entry.model.clone().unwrap_or_default(),
        ]);
    }
    let end = timeline.ended.map(|ended| format!(", ended {}", second(ended)));
    format!(
        "Run {}  {}\n{}\nbegun {}{}\n\n{}",
        timeline.run,
        timeline.status,
        spore_plain::line(&timeline.name),
        second(timeline.started),
        end.unwrap_or_default(),
        table.text()
    )
}

fn values(timeline: &RunTimeline) -> RunTable {
    let mut table = RunTable::new(&[
        ("id", false),
        ("kind", false),
        ("name", false),
        ("depth", true),
        ("started", false),
        ("after_ms", true),
        ("duration_ms", true),
        ("status", false),
        ("turns", true),
        ("cost_usd", true),
        ("cost_estimated", false),
        ("model", false),
        ("reason", false),
    ]);
    for entry in &timeline.entries {
        table.row([
            entry.id.to_string(),
            entry.kind.as_str().to_owned(),
            entry.name.clone(),
            entry.depth.to_string(),
            entry.started.to_string(),
            entry.after_ms.to_string(),
            entry.duration_ms.map_or_else(String::new, |millis| millis.to_string()),
            status(entry),
            entry.turns.to_string(),
            entry.cost.usd.as_dollars().to_string(),
            entry.cost.estimated.to_string(),
            entry.model.clone().unwrap_or_default(),
            entry.reason.clone().unwrap_or_default(),
        ]);
    }
    table
}
