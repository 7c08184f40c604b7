//! One run, or the runs of a period, as one document that stands by itself.
//!
//! Pure: records in, text out. It always holds that a document needs nothing from elsewhere (no
//! script, no network, no other file), that it is the same each time for the same records, and that
//! nothing foreign in it acts: every such text leaves through [`spore_plain::page::text`] or [`spore_plain::page::block`] in
//! HTML, and as code in Markdown.

mod account;
mod badge;
mod change;
mod charts;
mod html;
mod markdown;
mod period;
mod words;

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::{RunId, Timestamp};

pub use account::{BounceChange, GateLog, PeriodAccount, RunAccount, TaskAccount, WholeChange};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    Html,
    Markdown,
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

#[cfg(test)]
mod tests;
