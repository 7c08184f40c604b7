//! What runs leave for people to read, kept within bounds.
//!
//! Transcripts of sessions and logs of checks are nearly all of it. What was asked, told, changed,
//! judged, paid and concluded is on record without them: in the journal, in task files, diffs and
//! reports, none of which is ever touched here. So where transcripts and logs take more than
//! `records.cap_bytes`, those of the oldest runs that are over go.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use spore_effects::files::paths_in;
use spore_model::RunId;
use spore_store::Journal;

use crate::base::run_lock::is_claimed;
use crate::{Error, Result, Surroundings, Workspace};

/// In milliseconds.
const HOUR: i64 = 60 * 60 * 1000;

/// What was removed, or would be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
pub struct TrimmedRecords {
    /// Runs whose transcripts and logs are gone.
    pub runs: u32,
    pub bytes: u64,
}

/// A transcript or a log.
struct RecordFile {
    path: PathBuf,
    bytes: u64,
}

/// Brings the transcripts and logs of a project below `cap` bytes, or says what that would take.
/// A run that can go on, and one that a process works on, keeps its own.
pub(crate) fn trim_records(
    around: &Surroundings,
    workspace: &Workspace,
    journal: &dyn Journal,
    cap: u64,
    dry_run: bool,
) -> Result<TrimmedRecords> {
    let mut trimmed = TrimmedRecords::default();
    let mut held: u64 = 0;
    for (run, dir) in newest_first(workspace)? {
        let mut files = Vec::new();
        collect(&dir, &mut files);
        let bytes: u64 = files.iter().map(|file| file.bytes).sum();
        held = held.saturating_add(bytes);
        if held <= cap || files.is_empty() {
            continue;
        }
        let is_over = journal.run(run)?.is_none_or(|run| !run.is_open());
        if !is_over || is_claimed(workspace, run) {
            continue;
        }
        if !dry_run {
            for file in &files {
                around.remove_file(&file.path)?;
            }
        }
        held = held.saturating_sub(bytes);
        trimmed.runs += 1;
        trimmed.bytes += bytes;
    }
    Ok(trimmed)
}

/// The same, where the run that has just ended is the first one of its hour. To look at what all
/// runs left takes longer the more there are, and a list of tasks ends one every few seconds.
pub(crate) fn trim_records_hourly(
    around: &Surroundings,
    workspace: &Workspace,
    journal: &dyn Journal,
    cap: u64,
    ended: RunId,
) -> Result<TrimmedRecords> {
    let before = newest_first(workspace)?.into_iter().find(|(run, _)| *run < ended);
    let hour = |run| Ok::<_, Error>(journal.run(run)?.map(|run| run.started.as_millis() / HOUR));
    let is_due = match before {
        Some((before, _)) => hour(before)? != hour(ended)?,
        None => false,
    };
    match is_due {
        true => trim_records(around, workspace, journal, cap, false),
        false => Ok(TrimmedRecords::default()),
    }
}

/// The directories of runs. Their names are their ids, which begin with the time.
fn newest_first(workspace: &Workspace) -> Result<Vec<(RunId, PathBuf)>> {
    let dir = workspace.spore_dir().join("runs");
    let paths = match dir.exists() {
        true => paths_in(&dir),
        false => Ok(Vec::new()),
    };
    let paths = paths
        .map_err(|error| Error::io(format!("cannot read {}", spore_plain::path(&dir)), error))?;
    let run = |path: PathBuf| Some((path.file_name()?.to_str()?.parse().ok()?, path));
    let mut runs: Vec<(RunId, PathBuf)> = paths.into_iter().filter_map(run).collect();
    runs.sort_by_key(|(run, _)| std::cmp::Reverse(*run));
    Ok(runs)
}

fn collect(dir: &Path, found: &mut Vec<RecordFile>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_dir() {
            collect(&path, found);
        } else if kind.is_file() && is_bulk(&path) {
            let bytes = entry.metadata().map_or(0, |known| known.blocks() * 512);
            found.push(RecordFile { path, bytes });
        }
    }
}

/// Whether a file is a transcript or a log: long, and of use to who looks closely alone.
fn is_bulk(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name == "transcript.jsonl" || name.ends_with(".log")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_transcripts_and_logs_are_bulk() {
        for name in ["transcript.jsonl", "thinking.log", "test.log", "test.canaries.log"] {
            assert!(is_bulk(Path::new(name)), "{name}");
        }
        for name in
            ["task.md", "change.diff", "result.patch", "report.json", "carried.json", "lock"]
        {
            assert!(!is_bulk(Path::new(name)), "{name}");
        }
    }
}
