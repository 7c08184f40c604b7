//! One run whole: its bounces with their checks and verdicts, its sessions, its layers, its bill,
//! and what it is doing now.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use spore_model::{
    CommitId, Cost, Finding, LedgerEntry, ProofSummary, RefusedCalls, Run, RunId, RunKind,
    RunState, RunStatus, SessionNotes, StepKey, Timestamp, TreeId, Verdict,
};
use spore_pipeline::Done;
use spore_store::{Journal, JournalError};

use crate::advice::{NextStep, advise};
use crate::applied::Applied;
use crate::books::books_of;
use crate::live::{Live, LiveKind, Presence};
use crate::parts::{PartRow, commit_of, is_task, parts_of};

/// One run with its bounces.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunReport {
    pub status: RunStatus,
    pub run: Run,
    /// Where the verified work is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// What became of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<Applied>,
    /// What a role that worked alone, or a spawned session, said at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// What a person does now, where the run cannot go on without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<NextStep>,
    pub bounces: Vec<BounceReport>,
    /// Those of the run itself: a summarizer's, or a role's that worked alone.
    pub sessions: Vec<SessionRow>,
    /// The layers below, where the run has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartRow>,
    /// The refs that keep what sessions left which were cut short.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
    /// What its sessions and checks do at this moment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub live: Vec<Live>,
    pub ledger: Vec<LedgerEntry>,
    /// What is booked, and what sessions that are running have cost so far.
    pub cost: Cost,
    /// Task files, transcripts, diffs and logs.
    pub directory: String,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BounceReport {
    pub bounce: u32,
    pub status: RunStatus,
    pub reason: Option<String>,
    pub tree: Option<TreeId>,
    /// What looks like a secret in the change: its place and rule, never its text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<Finding>,
    /// Files that the coder edited and that no commit takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    pub gates: Vec<String>,
    /// Tests that fail now and did not at the base.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    /// What the red checks printed, capped.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// What its green checks prove.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<ProofSummary>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    pub sessions: Vec<SessionRow>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SessionRow {
    pub id: RunId,
    pub role: String,
    pub status: RunStatus,
    pub reason: Option<String>,
    pub turns: u32,
    pub cost: Cost,
    pub started: Timestamp,
    pub ended: Option<Timestamp>,
    /// What it was not let do.
    #[serde(default, skip_serializing_if = "RefusedCalls::is_empty")]
    pub refused: RefusedCalls,
}

/// Reports on one run; `None` if there is none with this id.
pub fn report_run(
    journal: &dyn Journal,
    presence: &dyn Presence,
    id: RunId,
) -> Result<Option<RunReport>, JournalError> {
    let Some(run) = journal.run(id)? else { return Ok(None) };
    let alive = presence.is_alive(id);
    let bounces = journal
        .children(id)?
        .into_iter()
        .filter(|child| child.kind == RunKind::Bounce)
        .map(|bounce| bounce_report(journal, &run, &bounce, alive))
        .collect::<Result<Vec<_>, _>>()?;
    let commit = commit_of(journal, &run)?;
    let applied = Applied::of(journal, id)?;
    let (parts, books) = parts_of(journal, &run, alive)?;
    let mut ledger = books_of(journal, &run)?;
    ledger.extend(books);
    let live = live_of(journal, presence, &run, &parts)?;
    let status = run.status(alive);
    Ok(Some(RunReport {
        status,
        branch: applied
            .as_ref()
            .and_then(|applied| applied.branch.clone())
            .or_else(|| own_branch(&run)),
        commit: commit.or_else(|| applied.as_ref().and_then(|applied| applied.commit.clone())),
        applied,
        answer: answer_of(journal, &run)?,
        next: advise(journal, &run, status)?,
        bounces,
        sessions: sessions_of(journal, id, alive)?,
        left: presence.left(id),
        parts,
        cost: sum(&ledger, &live),
        live,
        ledger,
        directory: format!(".spore/runs/{id}"),
        run,
    }))
}

/// Returns the branch that a flow works on, from its beginning.
fn own_branch(run: &Run) -> Option<String> {
    Some(run.settings.get("site")?.get("branch")?.as_str()?.to_owned())
}

/// Returns what a run has cost that is not over: what is booked, and what its sessions tell.
pub(crate) fn cost_so_far(
    journal: &dyn Journal,
    presence: &dyn Presence,
    run: &Run,
) -> Result<Cost, JournalError> {
    let (parts, books) = parts_of(journal, run, presence.is_alive(run.id))?;
    let mut ledger = books_of(journal, run)?;
    ledger.extend(books);
    Ok(sum(&ledger, &live_of(journal, presence, run, &parts)?))
}

fn sum(ledger: &[LedgerEntry], live: &[Live]) -> Cost {
    let sessions = live.iter().filter(|one| one.kind == LiveKind::Session);
    ledger.iter().map(|entry| entry.cost).chain(sessions.map(|one| one.cost)).sum()
}

/// Returns what is going on below a run that a process works on, oldest first. What a process that
/// was killed left behind is of rows that are not running any more, or of a run that no one holds.
fn live_of(
    journal: &dyn Journal,
    presence: &dyn Presence,
    run: &Run,
    parts: &[PartRow],
) -> Result<Vec<Live>, JournalError> {
    if !run.is_open() || !presence.is_alive(run.id) {
        return Ok(Vec::new());
    }
    let mut live = presence.live(run.id);
    for task in parts.iter().filter(|part| is_task(part.kind) && part.ended.is_none()) {
        live.extend(presence.live(task.id));
    }
    let mut running = Vec::new();
    for one in live {
        let row = journal.run(one.id)?;
        if row.is_some_and(|row| row.state == RunState::Running && row.ended.is_none()) {
            running.push(one);
        }
    }
    running.sort_by_key(|one| (one.started, one.id));
    Ok(running)
}

/// What is on record of a session that stands by itself.
#[derive(serde::Deserialize)]
struct SpawnedResult {
    final_text: String,
}

fn answer_of(journal: &dyn Journal, run: &Run) -> Result<Option<String>, JournalError> {
    if run.kind == RunKind::Spawn {
        let done: Option<SpawnedResult> = recorded(journal, run.id, &StepKey::session())?;
        return Ok(done.map(|done| done.final_text));
    }
    if run.kind != RunKind::Solo {
        return Ok(None);
    }
    match recorded(journal, run.id, &StepKey::solo())? {
        Some(Done::Solo(session)) => Ok(Some(session.final_text)),
        _ => Ok(None),
    }
}

fn bounce_report(
    journal: &dyn Journal,
    root: &Run,
    bounce: &Run,
    alive: bool,
) -> Result<BounceReport, JournalError> {
    let number = bounce.attempt;
    let mut report = BounceReport {
        bounce: number,
        // What the run waits for, its open bounce waits for.
        status: if bounce.is_open() { root.status(alive) } else { bounce.status(alive) },
        reason: bounce.reason.clone(),
        tree: bounce.tree_hash.clone(),
        secrets: Vec::new(),
        left_out: Vec::new(),
        gates: Vec::new(),
        failing: Vec::new(),
        output: String::new(),
        proof: None,
        verdict: recorded_verdict(journal, root.id, number)?,
        sessions: sessions_of(journal, bounce.id, alive)?,
    };
    if let Some(Done::Snapshot { secrets, left_out, .. }) =
        recorded(journal, root.id, &StepKey::snapshot(number))?
    {
        (report.secrets, report.left_out) = (secrets, left_out);
    }
    if let Some(Done::Gates(gates)) = recorded(journal, root.id, &StepKey::gates(number))? {
        report.gates = gates.lines;
        report.failing = gates.new_failures;
        report.output = gates.evidence;
        report.proof = gates.proof;
    }
    Ok(report)
}

fn sessions_of(
    journal: &dyn Journal,
    run: RunId,
    alive: bool,
) -> Result<Vec<SessionRow>, JournalError> {
    let sessions = journal.children(run)?.into_iter().filter(|run| run.kind == RunKind::Session);
    Ok(sessions
        .map(|session| SessionRow {
            id: session.id,
            role: session.role.clone().unwrap_or_default(),
            status: session.status(alive),
            reason: session.reason.clone(),
            turns: session.turns,
            cost: session.cost.into(),
            started: session.started,
            ended: session.ended,
            refused: SessionNotes::of_row(&session).refused,
        })
        .collect())
}

/// The verdict is read again from what the verifier said: the record is its words.
fn recorded_verdict(
    journal: &dyn Journal,
    root: RunId,
    bounce: u32,
) -> Result<Option<Verdict>, JournalError> {
    for key in [StepKey::verifier(bounce, 2), StepKey::verifier(bounce, 1)] {
        if let Some(Done::Verifier { session, intact: true, nonce, submitted }) =
            recorded(journal, root, &key)?
        {
            let said = spore_pipeline::read_verdict(&session.final_text, &nonce, 0.5);
            return Ok(Some(spore_pipeline::settle_verdict(submitted, said)));
        }
    }
    Ok(None)
}

/// Returns the result of a run's step; `None` if there is none that can be read.
fn recorded<T: DeserializeOwned>(
    journal: &dyn Journal,
    run: RunId,
    key: &StepKey,
) -> Result<Option<T>, JournalError> {
    let step = journal.step(run, key)?;
    Ok(step.and_then(|step| step.result).and_then(|value| serde_json::from_value(value).ok()))
}

#[cfg(test)]
impl RunReport {
    /// A run of which nothing more is known.
    pub(crate) fn bare(run: Run, status: RunStatus) -> Self {
        Self {
            status,
            run,
            branch: None,
            commit: None,
            applied: None,
            answer: None,
            next: None,
            bounces: Vec::new(),
            sessions: Vec::new(),
            parts: Vec::new(),
            left: Vec::new(),
            live: Vec::new(),
            ledger: Vec::new(),
            cost: Cost::default(),
            directory: String::new(),
        }
    }
}
