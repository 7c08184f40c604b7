//! How runs ended that were told a line or a lesson. Carried is not helped.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::Serialize;
use spore_memory::lines::LineHash;
use spore_model::{Run, RunId, RunKind, RunStatus, Timestamp};
use spore_runs::RunFigures;
use spore_store::{Journal, RunQuery};

use crate::knowledge::carried::told_lines;
use crate::{Result, Workspace};

/// Runs that were told a line, and how they ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
pub struct CarriedRuns {
    pub runs: u32,
    pub verified: u32,
    pub fell_short: u32,
}

/// How many of the newest runs are looked at for what they carried.
const NEWEST_RUNS: usize = 1_000;

/// Counts, for each line and lesson, the newest runs that were told it, by how they ended. A run
/// that was given up or taken back says nothing.
pub(crate) fn carried_runs(
    workspace: &Workspace,
    journal: &dyn Journal,
) -> Result<BTreeMap<LineHash, CarriedRuns>> {
    let query = RunQuery {
        kind: Some(RunKind::Orchestrate),
        limit: u32::try_from(NEWEST_RUNS).ok(),
        without_settings: true,
        ..RunQuery::default()
    };
    let runs = journal.runs(&query)?;
    Ok(counted(workspace, journal, runs.iter().map(ended)))
}

/// The same of the tasks in `figures` alone, which are the newest first. What a race was told its
/// racers were.
pub(crate) fn carried_by(
    workspace: &Workspace,
    journal: &dyn Journal,
    figures: &[RunFigures],
) -> Result<BTreeMap<LineHash, CarriedRuns>> {
    let mut runs = Vec::new();
    for task in figures.iter().filter(|run| run.is_task()).take(NEWEST_RUNS) {
        match task.kind {
            RunKind::Race => {
                let below = journal.children(task.id)?.into_iter();
                let racers = below.filter(|run| run.kind == RunKind::Orchestrate);
                runs.extend(racers.map(|run| ended(&run)));
            }
            _ => runs.push((task.id, task.status, task.started)),
        }
    }
    Ok(counted(workspace, journal, runs.into_iter()))
}

/// A run, how it ended, and when it began.
type EndedRun = (RunId, RunStatus, Timestamp);

fn ended(run: &Run) -> EndedRun {
    (run.id, run.status(false), run.started)
}

fn counted(
    workspace: &Workspace,
    journal: &dyn Journal,
    runs: impl Iterator<Item = EndedRun>,
) -> BTreeMap<LineHash, CarriedRuns> {
    let mut known = ToldCache::read(journal);
    let mut all: HashMap<String, CarriedRuns> = HashMap::new();
    for (run, status, started) in runs {
        let verified = match status {
            RunStatus::Verified => true,
            RunStatus::Rejected | RunStatus::Escalated | RunStatus::Failed => false,
            _ => continue,
        };
        for hash in known.told(workspace, run, started).split_whitespace() {
            if !all.contains_key(hash) {
                all.insert(hash.to_owned(), CarriedRuns::default());
            }
            if let Some(counts) = all.get_mut(hash) {
                counts.runs += 1;
                counts.verified += u32::from(verified);
                counts.fell_short += u32::from(!verified);
            }
        }
    }
    known.keep(journal);
    // What is no hash was none of ours to keep.
    all.into_iter().filter_map(|(hash, counts)| Some((hash.parse().ok()?, counts))).collect()
}

/// Where the journal keeps what ended runs were told.
const CACHE: &str = "told by runs";

/// So many of the newest runs are kept: a question about fewer leaves what a wider one has read.
const MOST_KEPT: usize = 2 * NEWEST_RUNS;

/// What ended runs were told, which changes no more: to read it off the files of a thousand runs takes
/// longer than all else that a person waits for.
#[derive(Default)]
struct ToldCache {
    /// The hashes of each, with blanks between them: as values of their own they would be most of what
    /// is read.
    runs: BTreeMap<RunId, String>,
    /// When the newest run began that was read now; none where all were known.
    newest: Option<Timestamp>,
}

impl ToldCache {
    fn read(journal: &dyn Journal) -> Self {
        let kept = journal.cached(CACHE, "").ok().flatten();
        let line = |line: &str| {
            let (run, told) = line.split_once(' ').unwrap_or((line, ""));
            Some((run.parse().ok()?, told.to_owned()))
        };
        let runs = kept.as_ref().and_then(|kept| kept.as_str()).map(|kept| kept.lines());
        Self { runs: runs.into_iter().flatten().filter_map(line).collect(), newest: None }
    }

    /// Returns the lines and lessons that an ended run was told, each once.
    fn told(&mut self, workspace: &Workspace, run: RunId, started: Timestamp) -> &str {
        let newest = &mut self.newest;
        self.runs.entry(run).or_insert_with(|| {
            *newest = (*newest).max(Some(started));
            let told: BTreeSet<LineHash> = told_lines(workspace, run).carried.into_iter().collect();
            told.iter().map(LineHash::as_str).collect::<Vec<_>>().join(" ")
        })
    }

    /// Keeps what was read for the next time. Where that fails it is read again then.
    fn keep(mut self, journal: &dyn Journal) {
        // Ids begin with the time, so the first are the oldest.
        while self.runs.len() > MOST_KEPT {
            self.runs.pop_first();
        }
        if let Some(newest) = self.newest {
            let lines: Vec<String> =
                self.runs.iter().map(|(run, told)| format!("{run} {told}")).collect();
            let _ = journal.cache(CACHE, "", &lines.join("\n").into(), newest);
        }
    }
}
