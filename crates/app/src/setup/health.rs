//! `spore health`: whether what Spore keeps of a project is in order, with the fix for each part
//! that is not. `doctor` looks at the machine; this looks at the project's own state.
//!
//! A broken part is a finding, not an error, so one call tells of everything.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use spore_config::Config;
use spore_effects::session::{self, ProcessIdentity};
use spore_embed::{Key, Vectors};
use spore_model::{NodeId, Run, RunId, RunStatus};
use spore_runs::Presence;
use spore_store::{CodeIndex, EdgeQuery, Journal, Knowledge, RunQuery, StoredFile};

use crate::base::stores::{ProjectJournal, ProjectKnowledge};
use crate::indexing;
use crate::report::LocalRuns;
use crate::search::model_files;
use crate::search::vectors::vectors_file;
use crate::setup::doctor;
use crate::setup::prompts::{self, MOST_LINES};
use crate::toolbox::impact;
use crate::{Result, Surroundings, Workspace, counted};

/// One part that was looked at.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct HealthCheck {
    pub check: String,
    pub ok: bool,
    pub detail: String,
    /// What to do where it is not in order.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fix: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct ProjectHealth {
    pub healthy: bool,
    pub checks: Vec<HealthCheck>,
}

/// Fewer vectors than this of what could have one make search by meaning a matter of luck.
const LEAST_COVERAGE: f64 = 0.9;
/// A session or check that has written nothing down for this long does not go on by itself.
const STUCK_MINUTES: u128 = 30;
/// How long the checkouts of a run that is over may lie around.
const KEPT_CHECKOUTS: std::time::Duration = std::time::Duration::from_secs(7 * 86_400);
/// A larger database is checked by `spore doctor` alone: most of the time it is in order, and health
/// is asked often.
const CHECKED_BYTES: u64 = 64 << 20;
/// Edges that are looked at; a larger graph is looked at by its newest.
const MOST_EDGES: u32 = 50_000;

/// Looks at the state of a project. Never changes anything.
pub fn health(around: &Surroundings) -> Result<ProjectHealth> {
    let workspace = Workspace::find(around)?;
    workspace.check_initialised()?;
    let config = workspace.config(around, &[])?;
    health_within(around, &workspace, &config, true)
}

/// The same for a caller that has opened the project. The database is checked page by page only
/// where `deep` says so: that takes as long as reading all of it.
pub(super) fn health_within(
    around: &Surroundings,
    workspace: &Workspace,
    config: &Config,
    deep: bool,
) -> Result<ProjectHealth> {
    let mut checks = vec![database(workspace, deep)];
    let sound = checks[0].ok;
    let index = indexing::open_as_is(workspace, config);
    checks.push(match &index {
        Ok(Some(index)) => stale_code(workspace, index),
        Ok(None) => check("stale code", true, "the code is not indexed yet", ""),
        Err(error) => check("stale code", false, &error.to_string(), "spore index"),
    });
    let index = index.ok().flatten();
    if sound && workspace.database().exists() {
        let knowledge = workspace.knowledge(config)?;
        checks.push(orphan_edges(&knowledge, index.as_ref())?);
    } else {
        checks.push(check("orphan edges", true, "there is no graph yet", ""));
    }
    checks.push(embeddings(around, workspace, index.as_ref()));
    checks.push(prompt_size(around)?);
    checks.push(of_doctor("agents", doctor::agents::finding(around, config)));
    let disk = doctor::disk(&[&around.state_home, workspace.root()]);
    checks.push(of_doctor("disk", disk));
    if sound && workspace.database().exists() {
        let journal = workspace.journal(config)?;
        checks.push(stuck_runs(around, workspace, &journal)?);
        checks.push(orphan_processes(workspace, &journal)?);
        checks.push(orphan_checkouts(around, workspace, &journal)?);
    }
    Ok(ProjectHealth { healthy: checks.iter().all(|check| check.ok), checks })
}

fn check(name: &str, ok: bool, detail: &str, fix: &str) -> HealthCheck {
    let fix = if ok { String::new() } else { fix.to_owned() };
    HealthCheck { check: name.to_owned(), ok, detail: detail.to_owned(), fix }
}

fn of_doctor(name: &str, found: doctor::DoctorFinding) -> HealthCheck {
    check(name, found.ok, &found.detail, &found.remedy)
}

fn count(number: usize, noun: &str) -> String {
    counted(u32::try_from(number).unwrap_or(u32::MAX), noun)
}

fn database(workspace: &Workspace, deep: bool) -> HealthCheck {
    match workspace.database().exists() {
        true if deep => of_doctor("database", doctor::database(workspace, CHECKED_BYTES)),
        true => check("database", true, "spore.db can be read", ""),
        false => check("database", true, "there is none yet; the first run makes it", ""),
    }
}

/// Files that changed since they were indexed, or are gone. Runs index the commit they begin with by
/// themselves; search and the graph's commands bring this index up to date when they are asked.
fn stale_code(workspace: &Workspace, index: &CodeIndex) -> HealthCheck {
    const NAME: &str = "stale code";
    let files = match index.files() {
        Ok(files) => files,
        Err(error) => return check(NAME, false, &error.to_string(), "spore index"),
    };
    let made = std::fs::metadata(index.path()).and_then(|found| found.modified()).ok();
    let is_stale = |file: &&StoredFile| {
        let path = workspace.root().join(&file.path);
        let Ok(found) = std::fs::metadata(&path) else { return true };
        if found.len() != file.size {
            return true;
        }
        // What is older than the index by a while needs no reading.
        let is_old = found.modified().ok().zip(made).is_some_and(|(changed, made)| {
            made.duration_since(changed).is_ok_and(|since| since.as_secs() >= 2)
        });
        !is_old
            && spore_effects::files::read(&path).is_ok_and(|bytes| {
                let known: String = file.blob.iter().map(|byte| format!("{byte:02x}")).collect();
                impact::blob_id(&bytes) != known
            })
    };
    let stale = files.iter().filter(is_stale).count();
    match stale {
        0 => check(NAME, true, "the index says what the files say", ""),
        _ => {
            let detail = format!("{} changed since the code was indexed", count(stale, "file"));
            check(NAME, false, &detail, "spore index")
        }
    }
}

/// Edges one of whose ends is in no store. A renamed or removed piece of code leaves such.
fn orphan_edges(knowledge: &ProjectKnowledge, index: Option<&CodeIndex>) -> Result<HealthCheck> {
    let query = EdgeQuery { not_superseded: true, limit: Some(MOST_EDGES), ..EdgeQuery::default() };
    let edges = knowledge.edges(&query)?;
    let mut ends: Vec<NodeId> =
        edges.iter().flat_map(|edge| [edge.source.clone(), edge.target.clone()]).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut known: HashSet<NodeId> = HashSet::new();
    for some in ends.chunks(500) {
        known.extend(knowledge.nodes(some)?.into_iter().map(|node| node.id));
    }
    let Some(index) = index else {
        // Without an index it cannot be told which pieces of code there are.
        let detail =
            format!("{}, none looked at: the code is not indexed", count(edges.len(), "edge"));
        return Ok(check("orphan edges", true, &detail, ""));
    };
    for id in ends.iter().filter(|id| !known.contains(*id)).cloned().collect::<Vec<_>>() {
        if index.node(&id)?.is_some() {
            known.insert(id);
        }
    }
    let is_orphan =
        |edge: &&spore_model::Edge| !known.contains(&edge.source) || !known.contains(&edge.target);
    let orphans = edges.iter().filter(is_orphan).count();
    let detail = match orphans {
        0 => format!("{}, each between things that are there", count(edges.len(), "edge")),
        _ => format!("{} of {} point at what is gone", orphans, count(edges.len(), "edge")),
    };
    // Code comes and goes; history that points at what was there is no fault while it is the less.
    let ok = orphans * 10 <= edges.len();
    Ok(check("orphan edges", ok, &detail, "spore index, then spore graph gc"))
}

fn embeddings(
    around: &Surroundings,
    workspace: &Workspace,
    index: Option<&CodeIndex>,
) -> HealthCheck {
    const NAME: &str = "embeddings";
    let Some(index) = index else { return check(NAME, true, "the code is not indexed yet", "") };
    if !model_files::is_installed(&model_files::model_dir(around)) {
        let detail = "there is no model; search goes by words and names alone";
        return check(NAME, true, detail, "");
    }
    let texts = match index.texts() {
        Ok(texts) => texts,
        Err(error) => return check(NAME, false, &error.to_string(), "spore index"),
    };
    let wanted: HashSet<u128> = texts.iter().map(|text| text.hash).collect();
    let place = vectors_file(workspace);
    let made = match place.exists().then(|| Vectors::open(&place)) {
        Some(Ok(mut vectors)) => wanted.iter().filter(|hash| vectors.contains(Key(**hash))).count(),
        Some(Err(error)) => {
            return check(NAME, false, &error.to_string(), "spore index --embed 10m");
        }
        None => 0,
    };
    let share = if wanted.is_empty() { 1.0 } else { made as f64 / wanted.len() as f64 };
    let detail =
        format!("{made} of {} have a vector ({:.0} %)", count(wanted.len(), "text"), share * 100.0);
    check(NAME, share >= LEAST_COVERAGE, &detail, "spore index")
}

fn prompt_size(around: &Surroundings) -> Result<HealthCheck> {
    let stats = prompts::prompt_stats(around)?;
    let long: Vec<String> = stats
        .prompts
        .iter()
        .filter(|prompt| prompt.lines > MOST_LINES)
        .map(|prompt| format!("{} has {} lines", prompt.role, prompt.lines))
        .collect();
    let used = stats.prompts.iter().filter(|prompt| prompt.lines > 0).count();
    let total: usize = stats.prompts.iter().map(|prompt| prompt.lines).sum();
    let detail = match long.is_empty() {
        true => format!("{} of {total} lines in all", count(used, "prompt")),
        false => long.join(", "),
    };
    let fix = format!("shorten it in .spore/agents/ to at most {MOST_LINES} lines");
    Ok(check("prompt size", long.is_empty(), &detail, &fix))
}

/// Runs whose process is gone, and such that have done nothing for long.
fn stuck_runs(
    around: &Surroundings,
    workspace: &Workspace,
    journal: &ProjectJournal,
) -> Result<HealthCheck> {
    let now = around.clock.now();
    let open = RunQuery {
        roots_only: true,
        open_only: true,
        without_settings: true,
        ..RunQuery::default()
    };
    let runs = LocalRuns(workspace);
    let (mut gone, mut silent) = (Vec::new(), Vec::new());
    for run in journal.runs(&open)? {
        match run.status(runs.is_alive(run.id)) {
            RunStatus::Interrupted => gone.push(run.id),
            RunStatus::Running => {
                let tasks = journal.children(run.id)?.into_iter().filter(Run::is_open);
                let all = tasks.map(|task| task.id).chain([run.id]);
                let newest = all.flat_map(|id| runs.live(id)).map(|live| live.updated).max();
                let quiet = newest.map(|at| now.since(at).as_millis() / 60_000);
                if quiet.is_some_and(|minutes| minutes >= STUCK_MINUTES) {
                    silent.push(run.id);
                }
            }
            _ => {}
        }
    }
    let ids = |ids: &[RunId]| {
        let shown: Vec<String> = ids.iter().take(5).map(|id| id.short()).collect();
        let more = if ids.len() > 5 { ", …" } else { "" };
        format!("{}{more}", shown.join(", "))
    };
    let first = |ids: &[RunId]| ids.first().map(|id| id.short()).unwrap_or_default();
    Ok(match (gone.is_empty(), silent.is_empty()) {
        (true, true) => check("stuck runs", true, "none", ""),
        (false, _) => {
            let were = count(gone.len(), "run");
            let detail = format!("{were} with no process at work: {}", ids(&gone));
            let one = first(&gone);
            let fix = format!("spore resume {one}, or spore runs abandon {one}");
            check("stuck runs", false, &detail, &fix)
        }
        (true, false) => {
            let were = count(silent.len(), "run");
            let detail = format!("{were} silent for {STUCK_MINUTES} minutes: {}", ids(&silent));
            let fix = format!("spore runs watch {0}, or spore runs cancel {0}", first(&silent));
            check("stuck runs", false, &detail, &fix)
        }
    })
}

/// Processes of sessions that live although no process works on their run.
fn orphan_processes(workspace: &Workspace, journal: &ProjectJournal) -> Result<HealthCheck> {
    let runs = LocalRuns(workspace);
    let mut orphans = Vec::new();
    for row in journal.unended_processes()? {
        let (pid, start_ticks, boot_id) = (row.pid, row.start_ticks, row.boot_id);
        let identity = ProcessIdentity { pid, start_ticks, boot_id };
        if !runs.is_alive(row.root) && session::is_alive(&identity) {
            orphans.push((row.root, row.pid));
        }
    }
    let detail = match orphans.as_slice() {
        [] => "none".to_owned(),
        some => {
            let told =
                some.iter().take(5).map(|(run, pid)| format!("{pid} of run {}", run.short()));
            told.collect::<Vec<_>>().join(", ")
        }
    };
    let first = orphans.first().map(|(run, _)| run.short()).unwrap_or_default();
    let fix = format!("spore resume {first} ends it first, and so does spore runs abandon {first}");
    Ok(check("orphan processes", orphans.is_empty(), &detail, &fix))
}

/// Checkouts that belong to no run on record, or to one that was over long ago. Those of runs that
/// did not end well stay for a while: a person may want to look at them.
fn orphan_checkouts(
    around: &Surroundings,
    workspace: &Workspace,
    journal: &ProjectJournal,
) -> Result<HealthCheck> {
    let now = around.clock.now();
    let entries = std::fs::read_dir(workspace.state()).into_iter().flatten().flatten();
    let (mut kept, mut orphans) = (0, 0);
    for entry in entries {
        let id = entry.file_name().to_str().and_then(|name| name.parse::<RunId>().ok());
        let Some(id) = id else { continue };
        let run = journal.run(id)?;
        let ended = run.as_ref().map(|run| run.ended.filter(|_| !run.is_open()));
        let is_orphan = match ended {
            None => true,
            Some(Some(ended)) => now.since(ended) > KEPT_CHECKOUTS,
            Some(None) => false,
        };
        if is_orphan { orphans += 1 } else { kept += 1 }
    }
    let size = checkout_size(workspace.state());
    let more = if size.whole { "" } else { "more than " };
    let bytes = format!("{more}{}", told_size(size.bytes));
    let detail = match orphans {
        0 => format!("{} of runs; checkouts take {bytes}", count(kept, "directory")),
        _ => format!("{} of runs long over; checkouts take {bytes}", count(orphans, "directory")),
    };
    let detail = detail.replace("directorys", "directories");
    Ok(check("orphan checkouts", orphans == 0, &detail, "spore runs prune"))
}

/// What checkouts take on the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
pub struct CheckoutSize {
    pub bytes: u64,
    /// Whether all of it was looked at. Builds leave many files, and a person waits for the answer.
    pub whole: bool,
}

/// Files and directories that are looked at before the rest is left.
const MOST_ENTRIES: usize = 20_000;

/// Returns what the checkouts of a project take on the disk, as far as that is quickly told.
pub(super) fn checkout_size(state: &Path) -> CheckoutSize {
    let mut size = CheckoutSize { bytes: 0, whole: true };
    let (mut places, mut seen) = (vec![state.to_owned()], 0);
    while let Some(place) = places.pop() {
        for entry in std::fs::read_dir(&place).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MOST_ENTRIES {
                return CheckoutSize { whole: false, ..size };
            }
            let Ok(metadata) = entry.path().symlink_metadata() else { continue };
            size.bytes += metadata.blocks() * 512;
            if metadata.is_dir() {
                places.push(entry.path());
            }
        }
    }
    size
}

/// A size as people read it.
fn told_size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{} KB", bytes >> 10),
        1_048_576..1_073_741_824 => format!("{} MB", bytes >> 20),
        _ => format!("{:.1} GB", bytes as f64 / 1_073_741_824.0),
    }
}
