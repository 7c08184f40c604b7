//! A run, or the runs of a period, as one document: gathers what `spore_runs` writes it from.

use schemars::JsonSchema;
use std::path::{Path, PathBuf};

use serde::Serialize;
use spore_model::{Fault, RunId, Timestamp};
use spore_runs::{
    BounceChange, ExportFormat, GateLog, PeriodAccount, RunAccount, RunFigures, RunFilter,
    SpendingBy, TaskAccount, WholeChange,
};
use spore_store::Journal;

use crate::base::outbox;
use crate::base::run_files::RunFiles;
use crate::report::diff::recorded_change;
use crate::report::{LocalRuns, named_or_newest, report};
use crate::{Error, Result, Surroundings, Workspace};

/// What a log may take of a document: the first and the last half of this.
const LOG_BYTES: usize = 128 << 10;

/// No document has more logs of one attempt than this.
const MOST_LOGS: usize = 40;

/// What a document is asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct Export {
    /// Any unique part of a run's id; the newest run if left out.
    pub run: Option<String>,
    /// A period instead of a run: all runs that this asks for, since its `since`.
    pub period: Option<RunFilter>,
    pub format: ExportFormat,
    /// The document is handed back if there is none.
    pub file: Option<PathBuf>,
}

/// A document that was made.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Exported {
    /// Nothing for a period.
    pub run: Option<RunId>,
    /// Where a period begins.
    pub since: Option<Timestamp>,
    /// How many runs it tells of.
    pub runs: usize,
    pub format: ExportFormat,
    pub bytes: usize,
    /// Where it was written, as it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The document, where it was not written to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Makes a document, and writes it where it is asked for. None of the user's credentials is in it.
pub fn export(around: &Surroundings, asked: &Export) -> Result<Exported> {
    let workspace = Workspace::find_with_runs(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    outbox::catch_up(around, &workspace, &journal);
    let made = match &asked.period {
        Some(filter) => {
            let account = period(&journal, &LocalRuns(&workspace), filter, around.clock.now())?;
            spore_runs::export_period(&account, asked.format)
        }
        None => {
            let run = named_or_newest(&journal, asked.run.as_deref())?;
            let account = account(around, &workspace, &journal, run.id)?;
            spore_runs::export_run(&account, asked.format)
        }
    };
    let text = around.secrets().strike(&made.text).into_owned();
    if let Some(file) = &asked.file {
        write(around, file, &text)?;
    }
    Ok(Exported {
        run: made.run,
        since: made.since,
        runs: made.runs,
        format: made.format,
        bytes: text.len(),
        text: asked.file.is_none().then_some(text),
        file: asked.file.clone(),
    })
}

/// Writes the document, in place of an earlier one.
fn write(around: &Surroundings, file: &Path, text: &str) -> Result<()> {
    let path = around.cwd.join(file);
    if path.is_dir() {
        let message = format!("{} is a directory", spore_plain::path(file));
        return Err(Error::new(Fault::BadInput, message).hint("name a file in it"));
    }
    // The document is written aside and takes the place of what has its name: of a pipe or, for root,
    // of a device of the machine, too.
    if std::fs::metadata(&path).is_ok_and(|there| !there.is_file()) {
        let message = format!("{} is there, and is no file", spore_plain::path(file));
        return Err(Error::new(Fault::BadInput, message).hint("name a file, or leave `-o` out"));
    }
    around.write_exact_file(&path, text.as_bytes())
}

fn account(
    around: &Surroundings,
    workspace: &Workspace,
    journal: &dyn Journal,
    id: RunId,
) -> Result<RunAccount> {
    let report = report(workspace, journal, id)?;
    let timeline = spore_runs::timeline_of_run(journal, &LocalRuns(workspace), id)?
        .ok_or_else(|| Error::new(Fault::BadInput, format!("there is no run {id}")))?;
    let files = workspace.run_files(id);
    let mut logs = logs_in(&files.baseline(), None);
    let mut changes = Vec::new();
    for bounce in report.bounces.iter().map(|bounce| bounce.bounce) {
        changes.extend(change_of(&files, bounce));
        logs.extend(logs_in(&files.gates(bounce), Some(bounce)));
    }
    let whole = recorded_change(around, workspace, journal, &report.run)?;
    let whole = whole.map(|(commit, diff)| WholeChange { commit, diff });
    let mut tasks = Vec::new();
    for end in spore_runs::task_ends(&report, &journal.steps(id)?) {
        let task = end.run.map(|run| crate::report::report(workspace, journal, run)).transpose()?;
        let last = task.and_then(|task| task.bounces.into_iter().next_back());
        tasks.push(TaskAccount { end, verdict: last.and_then(|bounce| bounce.verdict) });
    }
    Ok(RunAccount { report, timeline, changes, logs, whole, tasks })
}

fn change_of(files: &RunFiles, bounce: u32) -> Option<BounceChange> {
    let diff = std::fs::read(files.diff(bounce)).ok()?;
    let diff = String::from_utf8_lossy(&diff).into_owned();
    (!diff.trim().is_empty()).then_some(BounceChange { bounce, diff })
}

/// Reads the logs of a directory and of those below it, by name. What cannot be read is not there: a
/// document of the rest is better than none.
fn logs_in(dir: &Path, bounce: Option<u32>) -> Vec<GateLog> {
    let mut paths = Vec::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(dir) = waiting.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(path),
                Ok(kind) if kind.is_file() && path.extension().is_some_and(|end| end == "log") => {
                    paths.push(path);
                }
                _ => {}
            }
        }
    }
    paths.sort();
    let log = |path: &PathBuf| {
        let bytes = std::fs::read(path).ok()?;
        let name = path.strip_prefix(dir).unwrap_or(path).with_extension("");
        let text = ends_of(&String::from_utf8_lossy(&bytes), LOG_BYTES);
        Some(GateLog { bounce, name: spore_plain::path(&name), text })
    };
    paths.iter().take(MOST_LOGS).filter_map(log).collect()
}

/// Returns the first and the last of a long text, and says how much is missing between them.
fn ends_of(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let first = text.floor_char_boundary(most / 2);
    let last = text.ceil_char_boundary(text.len() - most / 2);
    let between = last - first;
    format!("{}\n… {between} bytes are left out here …\n{}", &text[..first], &text[last..])
}

fn period(
    journal: &dyn Journal,
    runs: &LocalRuns<'_>,
    filter: &RunFilter,
    now: Timestamp,
) -> Result<PeriodAccount> {
    let figures = spore_runs::figures_with_tasks(journal, runs, filter, now)?;
    let spent = |by: SpendingBy| spore_runs::report_spending(journal, runs, filter, by, now);
    Ok(PeriodAccount {
        since: filter.since.unwrap_or(Timestamp::from_millis(0)),
        until: now,
        stats: spore_runs::stats_of(&figures),
        by_day: spent(SpendingBy::Day)?,
        by_model: spent(SpendingBy::Model)?,
        by_role: spent(SpendingBy::Role)?,
        runs: figures.into_iter().filter(RunFigures::is_root).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_has_its_ends() {
        let text = format!("{}é{}", "a".repeat(50), "b".repeat(50));
        let told = ends_of(&text, 20);
        assert_eq!(told, "aaaaaaaaaa\n… 82 bytes are left out here …\nbbbbbbbbbb");
        assert_eq!(ends_of("short", 20), "short");
    }
}
