//! `spore events collect`: finds what people did about the work of runs, in git.
//!
//! A correction is found, not only declared: a commit that edits lines a run wrote, one that
//! takes its change back, a task that is given again. Each becomes a `git` event, the evidence
//! that memory learns from. Only what is on the user's own branches counts, and only for runs
//! whose work arrived there: an experiment that was never merged cannot be corrected.
//!
//! Each correction is a step of the run it is about, keyed by what it is and what did it, so
//! it is told once for ever, however often and by however many this is called. How far the
//! history was read is kept in the journal's cache and only saves work.
//!
//! What is found here is only that the user disagreed; what to learn from it is for memory.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spore_effects::files::Lock;
use spore_git::{Commit, FilePatch, LineRange, Patch, PatchDirection, Repository};
use spore_model::{
    Begun, CommitId, EffectClass, Event, EventId, EventSource, Outcome, Run, RunId, RunKind,
    SourceKind, StepKey, Timestamp,
};
use spore_pipeline::Done;
use spore_store::{Journal, RunQuery};

use crate::base::error::bug;
use crate::base::files::create_dir;
use crate::base::outbox;
use crate::base::step::{Steps, recorded};
use crate::events::corrections::{
    CorrectionKind, Landed, event_id, followers, land, reverted, same_task,
};
use crate::{Result, Surroundings, Workspace};

/// How many patches are held at once.
const BATCH: usize = 64;

/// What was found that was not known before.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Collected {
    /// How many commits were new.
    pub commits: usize,
    /// How many runs have their work on a branch of the user's.
    pub landed_runs: usize,
    pub corrections: Vec<Correction>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Correction {
    pub event: EventId,
    #[serde(rename = "type")]
    pub kind: CorrectionKind,
    /// The run that is corrected.
    pub run: RunId,
    pub when: Timestamp,
    /// What the event carries.
    pub payload: Value,
}

/// How far the history was read.
#[derive(Default, Serialize, Deserialize)]
struct HistoryProgress {
    tips: Vec<CommitId>,
    landed: Landed,
}

/// Looks through what is new since the last time and tells of every correction once.
pub fn collect_corrections(around: &Surroundings) -> Result<Collected> {
    let workspace = Workspace::find(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    let repository = workspace.repository(around)?;
    let _lock = lock(&workspace)?;
    let runs = Runs::read(&journal)?;
    let mut progress: HistoryProgress = journal
        .cached("collect", "git")?
        .and_then(|value| serde_json::from_value(value).ok())
        .unwrap_or_default();
    let tips = repository.branches()?;
    let commits = repository.log(&tips, &progress.tips)?;
    land(&mut progress.landed, &commits, &runs.own);
    let landed: HashSet<RunId> = progress.landed.values().flatten().copied().collect();
    let mut found = in_history(&repository, &commits, &progress.landed, &runs)?;
    found.extend(reopened(&runs, &landed));
    let mut corrections = Vec::new();
    for correction in found {
        if tell(around, &workspace, &journal, &runs, &correction)? {
            corrections.push(correction);
        }
    }
    // Last: a process that dies before this looks at the same commits again.
    progress.tips = tips;
    let value = serde_json::to_value(&progress).map_err(bug)?;
    journal.cache("collect", "git", &value, around.clock.now())?;
    outbox::flush(around, &workspace, &journal)?;
    Ok(Collected { commits: commits.len(), landed_runs: landed.len(), corrections })
}

/// One at a time: two would take each other's steps over.
fn lock(workspace: &Workspace) -> Result<Lock> {
    let dir = workspace.events_dir();
    create_dir(&dir)?;
    Ok(Lock::take(&dir.join(".collect.lock"))?)
}

struct Runs {
    /// Oldest first.
    all: Vec<Run>,
    /// The commits that runs ended with.
    own: HashMap<CommitId, RunId>,
}

impl Runs {
    fn read(journal: &dyn Journal) -> Result<Self> {
        let mut all = journal.runs(&RunQuery { roots_only: true, ..RunQuery::default() })?;
        all.retain(|run| run.kind == RunKind::Orchestrate);
        all.reverse();
        let mut own = HashMap::new();
        for run in all.iter().filter(|run| run.outcome == Some(Outcome::Success)) {
            if let Some(Done::Committed { commit }) = recorded(journal, run.id, &StepKey::commit())?
            {
                own.insert(commit, run.id);
            }
        }
        Ok(Self { all, own })
    }

    fn get(&self, id: RunId) -> Option<&Run> {
        self.all.iter().find(|run| run.id == id)
    }
}

/// Finds edits and reverts among the commits that come after a run's work.
fn in_history(
    repository: &Repository,
    commits: &[Commit],
    landed: &Landed,
    runs: &Runs,
) -> Result<Vec<Correction>> {
    let candidates = followers(commits, landed);
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let places: Vec<CommitId> = landed.keys().cloned().collect();
    let search = CorrectionSearch {
        repository,
        landed,
        undoing: repository.patches(&places, PatchDirection::Reverse)?,
        written: written_lines(repository, landed, runs)?,
    };
    let mut found = Vec::new();
    for batch in candidates.chunks(BATCH) {
        let ids: Vec<CommitId> = batch.iter().map(|commit| commit.id.clone()).collect();
        let patches = repository.patches(&ids, PatchDirection::Forward)?;
        for commit in batch {
            // A commit that changes nothing has no patch.
            let patch = patches.iter().find(|patch| patch.commit == commit.id);
            found.extend(search.corrections(commit, patch)?);
        }
    }
    Ok(found)
}

/// Returns the lines that each run wrote. They are those of its own commit: a commit that
/// carries its work on may hold other people's lines as well.
fn written_lines(
    repository: &Repository,
    landed: &Landed,
    runs: &Runs,
) -> Result<HashMap<RunId, HashSet<String>>> {
    let own: HashMap<RunId, &CommitId> =
        runs.own.iter().map(|(commit, run)| (*run, commit)).collect();
    let mut sources: BTreeMap<CommitId, Vec<RunId>> = BTreeMap::new();
    for (place, runs) in landed {
        for run in runs {
            // After its branch was deleted a squashed commit may be gone.
            let commit = own.get(run).filter(|own| repository.tree_of(own).is_ok());
            sources.entry(commit.map_or(place, |own| *own).clone()).or_default().push(*run);
        }
    }
    let ids: Vec<CommitId> = sources.keys().cloned().collect();
    let mut written: HashMap<RunId, HashSet<String>> = HashMap::new();
    for batch in ids.chunks(BATCH) {
        for patch in repository.patches(batch, PatchDirection::Forward)? {
            for run in sources.get(&patch.commit).into_iter().flatten() {
                written.entry(*run).or_default().extend(patch.added_lines().map(str::to_owned));
            }
        }
    }
    Ok(written)
}

struct CorrectionSearch<'a> {
    repository: &'a Repository,
    landed: &'a Landed,
    /// For every landed commit the patch that would take it back.
    undoing: Vec<Patch>,
    written: HashMap<RunId, HashSet<String>>,
}

/// How many of a run's lines were changed, by file.
type Edits = BTreeMap<RunId, BTreeMap<String, u32>>;

impl CorrectionSearch<'_> {
    fn corrections(&self, commit: &Commit, patch: Option<&Patch>) -> Result<Vec<Correction>> {
        let subject = commit.message.lines().next().unwrap_or_default();
        let mut found = Vec::new();
        let mut taken_back = HashSet::new();
        for (place, by) in reverted(commit, patch, &self.undoing) {
            for run in self.landed.get(place).into_iter().flatten() {
                if taken_back.insert(*run) {
                    let payload = json!({
                        "commit": commit.id, "subject": subject, "reverts": place, "found_by": by,
                        "files": files_of(patch),
                    });
                    found.push(correction(CorrectionKind::Reverted, commit, *run, payload));
                }
            }
        }
        let edits = patch.map_or_else(|| Ok(Edits::new()), |patch| self.edits(commit, patch))?;
        for (run, files) in edits.into_iter().filter(|(run, _)| !taken_back.contains(run)) {
            let lines: u32 = files.values().sum();
            let payload = json!({
                "commit": commit.id, "subject": subject, "lines": lines, "files": files,
            });
            found.push(correction(CorrectionKind::Edited, commit, run, payload));
        }
        Ok(found)
    }

    fn edits(&self, commit: &Commit, patch: &Patch) -> Result<Edits> {
        let mut edits = Edits::new();
        let Some(parent) = commit.parents.first() else { return Ok(edits) };
        for file in &patch.files {
            let Some(path) = &file.path else { continue };
            // What no run ever wrote need not be looked up.
            let (ranges, lines) = self.suspects(file);
            let origins = self.repository.blame(parent, path, &ranges)?;
            for (origin, line) in origins.iter().zip(lines) {
                for run in self.landed.get(origin).into_iter().flatten() {
                    if self.wrote(*run, line) {
                        *edits.entry(*run).or_default().entry(path.clone()).or_default() += 1;
                    }
                }
            }
        }
        Ok(edits)
    }

    /// Returns the removed lines of hunks in which one may be a run's.
    fn suspects<'f>(&self, file: &'f FilePatch) -> (Vec<LineRange>, Vec<&'f str>) {
        let (mut ranges, mut lines) = (Vec::new(), Vec::new());
        for hunk in &file.hunks {
            let anyone = |line: &String| self.written.keys().any(|run| self.wrote(*run, line));
            let count = u32::try_from(hunk.removed.len()).ok().and_then(NonZeroU32::new);
            if let (Some(first), Some(count)) = (NonZeroU32::new(hunk.old_start), count)
                && hunk.removed.iter().any(anyone)
            {
                ranges.push(LineRange { first, count });
                lines.extend(hunk.removed.iter().map(String::as_str));
            }
        }
        (ranges, lines)
    }

    fn wrote(&self, run: RunId, line: &str) -> bool {
        self.written.get(&run).is_some_and(|lines| lines.contains(line))
    }
}

/// How many lines a patch takes out of each file.
fn files_of(patch: Option<&Patch>) -> BTreeMap<String, usize> {
    let files = patch.into_iter().flat_map(|patch| &patch.files);
    let removed = |file: &FilePatch| file.hunks.iter().map(|hunk| hunk.removed.len()).sum();
    files.filter_map(|file| Some((file.path.clone()?, removed(file)))).collect()
}

fn correction(kind: CorrectionKind, commit: &Commit, run: RunId, payload: Value) -> Correction {
    let event = event_id(kind, commit.id.as_str(), run, commit.time);
    Correction { event, kind, run, when: commit.time, payload }
}

/// Finds tasks that were given again after their work had arrived.
fn reopened(runs: &Runs, landed: &HashSet<RunId>) -> Vec<Correction> {
    let mut done: HashMap<String, &Run> = HashMap::new();
    let mut found = Vec::new();
    for run in &runs.all {
        let task = same_task(run.task.as_deref().unwrap_or_default());
        if let Some(earlier) = done.get(&task) {
            let by = run.id.to_string();
            let event = event_id(CorrectionKind::Reopened, &by, earlier.id, run.started);
            let payload = json!({ "later_run": run.id, "task": run.name });
            found.push(Correction {
                event,
                kind: CorrectionKind::Reopened,
                run: earlier.id,
                when: run.started,
                payload,
            });
        }
        if landed.contains(&run.id) {
            done.insert(task, run);
        }
    }
    found
}

/// Puts a correction into the outbox unless that was done before; returns whether it was new.
fn tell(
    around: &Surroundings,
    workspace: &Workspace,
    journal: &dyn Journal,
    runs: &Runs,
    correction: &Correction,
) -> Result<bool> {
    let Some(run) = runs.get(correction.run) else { return Ok(false) };
    let steps = Steps { around, workspace, journal, run: run.id };
    let key = StepKey::correction(correction.event);
    let intent = steps.intent().with("type", correction.kind.as_str());
    let Begun::Do(ticket) = steps.begin::<Value>(&key, EffectClass::Keyed, intent)? else {
        return Ok(false);
    };
    let mut entry = steps.entry(&json!({ "event": correction.event }))?;
    entry.events.push(Event {
        id: correction.event,
        ts: correction.when,
        source: EventSource { kind: SourceKind::Git, name: "collect".to_owned(), own: true },
        kind: correction.kind.as_str().to_owned(),
        session_key: Some(run.trace.to_string()),
        run: Some(run.id),
        trace: Some(run.trace.clone()),
        payload: correction.payload.clone(),
    });
    // There may be hundreds: one flush at the end carries them all.
    steps.record(&key, &ticket, &entry)?;
    Ok(true)
}
