//! One run, or the runs of a period, as one document that stands by itself.
//!
//! Pure: records in, text out. It always holds that a document needs nothing from elsewhere (no
//! script, no network, no other file), that it is the same each time for the same records, and that
//! nothing foreign in it acts: every such text leaves through [`page::text`] or [`page::block`] in
//! HTML, and as code in Markdown.

mod change;
mod charts;
mod html;
mod markdown;
mod page;
mod period;

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::{RunId, Timestamp};

use crate::figures::RunFigures;
use crate::report::RunReport;
use crate::spending::SpendingReport;
use crate::stats::RunStats;
use crate::timeline::RunTimeline;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    Html,
    Markdown,
}

/// All that a document about one run is made of.
#[derive(Clone, PartialEq, Debug)]
pub struct RunAccount {
    pub report: RunReport,
    pub timeline: RunTimeline,
    /// In the order of the attempts.
    pub changes: Vec<BounceChange>,
    pub logs: Vec<GateLog>,
}

/// What one attempt handed in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BounceChange {
    pub bounce: u32,
    /// As git writes it, without secrets.
    pub diff: String,
}

/// What one check printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GateLog {
    /// Nothing for the base, before any attempt.
    pub bounce: Option<u32>,
    pub name: String,
    /// The first and the last of it, where it is long.
    pub text: String,
}

/// All that a document about a period is made of.
#[derive(Clone, PartialEq, Debug)]
pub struct PeriodAccount {
    pub since: Timestamp,
    pub until: Timestamp,
    /// Newest first.
    pub runs: Vec<RunFigures>,
    /// Only where [`Self::runs`] are all that there were.
    pub stats: RunStats,
    pub by_day: SpendingReport,
    pub by_model: SpendingReport,
    pub by_role: SpendingReport,
}

/// Which run or period a document is about, and the document.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ExportedDocument {
    /// The run, or nothing for a period.
    pub run: Option<RunId>,
    pub since: Option<Timestamp>,
    /// How many runs it tells of.
    pub runs: usize,
    pub format: ExportFormat,
    pub text: String,
}

/// Writes the document of one run.
pub fn export_run(account: &RunAccount, format: ExportFormat) -> ExportedDocument {
    let text = match format {
        ExportFormat::Html => html::run(account),
        ExportFormat::Markdown => markdown::run(account),
    };
    ExportedDocument { run: Some(account.report.run.id), since: None, runs: 1, format, text }
}

/// Writes the document of a period.
pub fn export_period(account: &PeriodAccount, format: ExportFormat) -> ExportedDocument {
    let text = match format {
        ExportFormat::Html => period::html(account),
        ExportFormat::Markdown => period::markdown(account),
    };
    let (since, runs) = (Some(account.since), account.runs.len());
    ExportedDocument { run: None, since, runs, format, text }
}

/// Returns a time that something took, short.
fn took(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0..10 => format!("{:.1} s", millis as f64 / 1000.0),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Returns a time to the second, which is all that people read; in UTC.
fn moment(time: Timestamp) -> String {
    let text = time.to_string();
    let second = text.get(..19).unwrap_or(&text);
    format!("{} UTC", second.replace('T', " "))
}

/// Returns the word of a ruling.
fn ruling(verdict: &spore_model::Verdict) -> String {
    let word = serde_json::to_value(verdict.ruling).unwrap_or_default();
    word.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
