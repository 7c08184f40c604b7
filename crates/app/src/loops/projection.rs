//! A loop as others see it: the file beside the person's list, the ticked copy of a check list,
//! and the report.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::{
    CommitId, Cost, Fault, Outcome, Park, Run, RunId, RunKind, RunStatus, StepKey, Usd,
};
use spore_pipeline::{
    LoopState, LoopTask, SourceForm, TaskLanding, TaskLoop, TaskStanding, ticked,
};
use spore_runs::{Applied, NextStep};

use super::active::ActiveLoop;
use super::record::{LoopRecord, TaskNews};
use super::settings::LoopSettings;
use crate::base::files::{pretty, read_text};
use crate::base::step::begun_run;
use crate::report;
use crate::{Result, Workspace};

/// What came of a loop.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct LoopReport {
    pub run: RunId,
    pub kind: RunKind,
    pub source: String,
    pub status: RunStatus,
    pub outcome: Outcome,
    pub exit_code: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The integration branch, once something has landed on it, and its tip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip: Option<CommitId>,
    pub base: CommitId,
    pub tasks_dispatched: u32,
    pub verified: u32,
    pub escalated: u32,
    pub failed: u32,
    /// Verified before, or ticked off.
    pub skipped: u32,
    /// Over all restarts.
    pub total_cost: Usd,
    pub cost_estimated: bool,
    pub budget: Option<Usd>,
    pub avg_cost_per_task: Usd,
    pub total_duration_ms: u64,
    pub tasks: Vec<TaskRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<Applied>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<NextStep>,
    /// The copy of a check list in which verified tasks are ticked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_list: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_file: Option<PathBuf>,
    pub directory: String,
}

/// One task of a loop.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct TaskRow {
    pub id: String,
    pub description: String,
    pub status: String,
    /// Of all attempts at it and their landings.
    pub cost: Usd,
    pub cost_estimated: bool,
    pub duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// Why it is not verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How often verified work on it came back.
    #[serde(skip_serializing_if = "is_zero")]
    pub returned: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Writes what others read while a loop runs.
pub(crate) fn project(ground: &ActiveLoop<'_>, record: &LoopRecord) -> Result<()> {
    let settings = ground.settings;
    let run = ground.journal.run(ground.root)?;
    let started = run.as_ref().map(|run| run.started);
    let state = record.state(settings, ground.spent()?);
    if let Some(path) = state_path(ground.workspace, ground.root, settings)? {
        let state = LoopState {
            created_at: state.created_at.or(started),
            updated_at: Some(ground.around.clock.now()),
            ..state.clone()
        };
        ground.around.write_if_changed(&path, pretty(&state)?.as_bytes())?;
    }
    if settings.form == SourceForm::CheckList {
        tick(ground, &state)?;
    }
    Ok(())
}

/// Where the projection of a loop is: beside the person's list, or with the run where there is
/// none. A batch is not gone on with, so it has none.
pub(crate) fn state_path(
    workspace: &Workspace,
    run: RunId,
    settings: &LoopSettings,
) -> Result<Option<PathBuf>> {
    if settings.terms.subject.starts_with("feat(batch)") {
        return Ok(None);
    }
    match settings.source.as_str() {
        "-" => Ok(Some(workspace.run_files(run).file("stdin.loop-state.json"))),
        path => state_beside(Path::new(path)).map(Some),
    }
}

/// `tasks.txt` has its state in `tasks.loop-state.json`, unless that is `tasks.md`'s: then it has one
/// with its whole name.
pub(crate) fn state_beside(source: &Path) -> Result<PathBuf> {
    let short = source.with_extension("loop-state.json");
    let mut name = source.file_name().unwrap_or_default().to_owned();
    name.push(".loop-state.json");
    let long = source.with_file_name(name);
    if long.exists() {
        return Ok(long);
    }
    // What cannot be read is told where it is read.
    let known = read_text(&short)?.and_then(|text| serde_json::from_str::<LoopState>(&text).ok());
    let is_of_another = |state: &LoopState| {
        let name = Path::new(&state.source).file_name();
        name.is_some() && name != source.file_name()
    };
    Ok(if known.as_ref().is_some_and(is_of_another) { long } else { short })
}

fn tick(ground: &ActiveLoop<'_>, state: &LoopState) -> Result<()> {
    let settings = ground.settings;
    let done = |task: &LoopTask| state.has_verified(task);
    let kept = ground.workspace.run_files(ground.root).file(SOURCE_COPY);
    let Some(text) = read_text(&kept)? else { return Ok(()) };
    let copy = ground.workspace.run_files(ground.root).file(CHECK_LIST);
    ground.around.write_if_changed(&copy, ticked(&text, &done).as_bytes())?;
    if !settings.tick || settings.source == "-" {
        return Ok(());
    }
    let path = Path::new(&settings.source);
    let Some(now) = read_text(path)? else { return Ok(()) };
    let ticked = ticked(&now, &done);
    if ticked == now { Ok(()) } else { ground.around.write_exact_file(path, ticked.as_bytes()) }
}

/// The person's list as it was when the loop began.
pub(crate) const SOURCE_COPY: &str = "source.txt";
const CHECK_LIST: &str = "tasks.md";

/// Reports on a loop that stopped.
pub(crate) fn report_loop(
    ground: &ActiveLoop<'_>,
    machine: &TaskLoop,
    record: &LoopRecord,
    outcome: Outcome,
) -> Result<LoopReport> {
    let settings = ground.settings;
    let told = report::report(ground.workspace, ground.journal, ground.root)?;
    let tasks: Vec<TaskRow> = (0..settings.tasks.len())
        .map(|task| row(ground, machine, record, task))
        .collect::<Result<_>>()?;
    let count = |word: &str| {
        u32::try_from(tasks.iter().filter(|row| row.status == word).count()).unwrap_or(u32::MAX)
    };
    let applied = Applied::of(ground.journal, ground.root)?;
    let has_landed = record
        .news
        .iter()
        .any(|(_, news)| matches!(news, TaskNews::Landed(TaskLanding::Landed { .. })));
    let cost = settings.before.total_cost + ground.spent()?;
    let dispatched = machine.runs();
    let own = ground.spent()?.as_nanos();
    let is_list = settings.form == SourceForm::CheckList;
    let state_file = state_path(ground.workspace, ground.root, settings)?;
    Ok(LoopReport {
        run: ground.root,
        kind: told.run.kind,
        source: settings.source.clone(),
        status: told.status,
        outcome,
        exit_code: match machine.is_refused(outcome) {
            true => Fault::BadInput.exit_code(),
            false => outcome.exit_code(),
        },
        reason: told.run.reason.clone(),
        branch: has_landed.then(|| settings.branch.clone()),
        tip: has_landed.then(|| record.tip(settings)),
        base: settings.base.clone(),
        tasks_dispatched: dispatched,
        verified: count("verified"),
        escalated: count("escalated"),
        failed: count("failed"),
        skipped: count("skipped"),
        total_cost: cost,
        cost_estimated: told.cost.estimated,
        budget: settings.rules.budget,
        avg_cost_per_task: Usd::from_nanos(own / i64::from(dispatched.max(1))),
        total_duration_ms: tasks.iter().map(|row| row.duration_ms).sum(),
        tasks,
        applied,
        next: told.next,
        check_list: is_list.then(|| format!("{}/{CHECK_LIST}", told.directory)),
        state_file: state_file.filter(|path| path.exists()),
        directory: told.directory,
    })
}

fn row(
    ground: &ActiveLoop<'_>,
    machine: &TaskLoop,
    record: &LoopRecord,
    task: usize,
) -> Result<TaskRow> {
    let known = &ground.settings.tasks[task];
    let result = record.result(task);
    let standing = machine.standing(task);
    let status = match standing {
        TaskStanding::Settled => "skipped",
        TaskStanding::Waiting => "waiting",
        TaskStanding::Running | TaskStanding::Verified | TaskStanding::Landing => "running",
        TaskStanding::Parked { park, .. } => parked_word(*park),
        TaskStanding::Landed => "verified",
        TaskStanding::FellShort(Outcome::NeedsEscalation) => "escalated",
        TaskStanding::FellShort(Outcome::Interrupted) => "cancelled",
        TaskStanding::FellShort(_) => "failed",
        TaskStanding::Blocked => "blocked",
    };
    let commit = match record.landing(task) {
        Some(TaskLanding::Landed { commit, .. }) => Some(commit.clone()),
        _ => None,
    };
    let key = StepKey::task(&known.key(known.edition), machine.attempt(task));
    let child = begun_run(ground.journal, ground.root, &key)?;
    let reason = match standing {
        TaskStanding::FellShort(Outcome::Interrupted) if known.removed => {
            Some("it was taken out of the list".to_owned())
        }
        TaskStanding::Landed | TaskStanding::Settled | TaskStanding::Waiting => None,
        TaskStanding::Blocked => Some("a task that it comes after is not verified".to_owned()),
        _ => record
            .waits
            .get(&task)
            .or_else(|| result.and_then(|result| result.reason.as_ref()))
            .cloned()
            .or_else(|| child.as_ref().and_then(|child| child.reason.clone())),
    };
    let (paid, duration_ms) = spent_on(ground, known)?;
    Ok(TaskRow {
        id: known.id.clone(),
        description: known.text.clone(),
        status: status.to_owned(),
        cost: paid.usd,
        cost_estimated: paid.estimated,
        duration_ms,
        run: child.map(|child| child.id).or(result.map(|result| result.run)),
        commit,
        reason,
        returned: machine.returns(task),
    })
}

/// What all attempts at a task and their landings have cost, and how long those that are over took.
fn spent_on(ground: &ActiveLoop<'_>, task: &LoopTask) -> Result<(Cost, u64)> {
    let (journal, mut bills, mut took) = (ground.journal, Vec::new(), 0);
    for id in (0..=task.edition).map(|edition| task.key(edition)) {
        for attempt in 1.. {
            let key = StepKey::task(&id, attempt);
            let Some(child) = begun_run(journal, ground.root, &key)? else { break };
            let merges = ground.merges_of(&id, attempt)?.into_iter();
            let merges = merges.filter_map(|merge| journal.run(merge).transpose());
            for run in std::iter::once(Ok(child)).chain(merges) {
                let run = run?;
                bills.push(ground.bills_of(run.id)?);
                took += run.ended.map_or(0, |ended| ended.since(run.started).as_millis());
            }
        }
    }
    Ok((bills.into_iter().sum(), u64::try_from(took).unwrap_or(u64::MAX)))
}

const fn parked_word(park: Park) -> &'static str {
    match park {
        Park::Budget => "parked:budget",
        Park::Quota => "parked:quota",
        Park::Human => "parked:human",
        Park::Interrupt => "interrupted",
    }
}

/// What the children of a loop cost, for its row.
pub(crate) fn cost_of_all(runs: &[Run]) -> Cost {
    runs.iter().map(|run| Cost::from(run.cost)).sum()
}
