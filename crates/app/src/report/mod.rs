//! What people read about runs, as data.
//!
//! Every room that works on runs ends with a report from here. It always holds that a report is
//! read off the journal alone: nothing here writes, and nothing here knows how a run is performed.

pub(crate) mod applied;
pub(crate) mod diff;
pub(crate) mod layers;

use serde::Serialize;
use spore_model::{
    CommitId, Cost, Fault, LedgerEntry, ProofSummary, Run, RunId, RunKind, RunStatus, StepKey,
    Timestamp, TreeId, Verdict,
};
use spore_pipeline::Done;
use spore_store::{Journal, RunQuery};

use crate::base::outbox;
use crate::base::run_lock::is_claimed;
use crate::base::step::recorded;
use crate::report::applied::Applied;
use crate::report::layers::{PartRow, parts_of};
use crate::{Error, Result, Surroundings, Workspace};

/// One line of `runs list`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RunRow {
    pub status: RunStatus,
    #[serde(flatten)]
    pub run: Run,
}

/// One run with its bounces.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RunReport {
    pub status: RunStatus,
    pub run: Run,
    /// Where the verified work is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// What became of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<Applied>,
    /// What a role that worked alone said at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    pub bounces: Vec<BounceReport>,
    /// Those of the run itself: a summarizer's, or a role's that worked alone.
    pub sessions: Vec<SessionRow>,
    /// The layers below, where the run has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartRow>,
    pub ledger: Vec<LedgerEntry>,
    pub cost: Cost,
    /// Task files, transcripts, diffs and logs.
    pub directory: String,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BounceReport {
    pub bounce: u32,
    pub status: RunStatus,
    pub reason: Option<String>,
    pub tree: Option<TreeId>,
    pub gates: Vec<String>,
    /// What its green checks prove.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<ProofSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    pub sessions: Vec<SessionRow>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SessionRow {
    pub id: RunId,
    pub role: String,
    pub status: RunStatus,
    pub reason: Option<String>,
    pub turns: u32,
    pub cost: Cost,
    pub started: Timestamp,
    pub ended: Option<Timestamp>,
}

/// Lists runs, newest first.
pub fn list_runs(around: &Surroundings, limit: Option<u32>) -> Result<Vec<RunRow>> {
    let workspace = Workspace::find(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    outbox::catch_up(around, &workspace, &journal);
    let limit = limit.unwrap_or(config.show.limit);
    let query = RunQuery { roots_only: true, open_only: false, limit: Some(limit) };
    let runs = journal.runs(&query)?;
    Ok(runs
        .into_iter()
        .map(|run| RunRow { status: run.status(is_claimed(&workspace, run.id)), run })
        .collect())
}

/// Shows one run, named by any unique part of its id; the newest if none is named.
pub fn show_run(around: &Surroundings, typed: Option<&str>) -> Result<RunReport> {
    let workspace = Workspace::find(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    outbox::catch_up(around, &workspace, &journal);
    let run = named_or_newest(&journal, typed)?;
    report(&workspace, &journal, run.id)
}

/// Finds the run that a person names, or the newest where none is named.
pub(crate) fn named_or_newest(journal: &dyn Journal, typed: Option<&str>) -> Result<Run> {
    if let Some(typed) = typed {
        return find_run(journal, typed);
    }
    let query = RunQuery { roots_only: true, open_only: false, limit: Some(1) };
    journal.runs(&query)?.into_iter().next().ok_or_else(|| {
        Error::new(Fault::BadInput, "there are no runs yet")
            .hint("`spore orchestrate TASK` starts one")
    })
}

pub(crate) fn find_run(journal: &dyn Journal, typed: &str) -> Result<Run> {
    let mut found = journal.find_runs(typed)?;
    // A child answers to its id too; where both are possible, the root is meant.
    if found.iter().any(|run| run.parent.is_none()) {
        found.retain(|run| run.parent.is_none());
    }
    // Of the parts of a short form its beginning is what people type.
    let typed_first = typed.to_ascii_uppercase();
    let begins = |run: &Run| run.id.short().starts_with(&typed_first);
    if found.iter().any(begins) {
        found.retain(begins);
    }
    match found.as_slice() {
        [run] => Ok(run.clone()),
        [] => Err(Error::new(Fault::BadInput, format!("there is no run {typed:?}"))
            .hint("`spore runs list` shows the ids")),
        several => {
            let ids: Vec<String> =
                several.iter().take(8).map(|run| format!("  {}  {}", run.id, run.name)).collect();
            Err(Error::new(
                Fault::BadInput,
                format!("{typed:?} could be any of {} runs", several.len()),
            )
            .hint(format!("type more of the id:\n{}", ids.join("\n"))))
        }
    }
}

pub(crate) fn report(workspace: &Workspace, journal: &dyn Journal, id: RunId) -> Result<RunReport> {
    let run = journal
        .run(id)?
        .ok_or_else(|| Error::new(Fault::BadInput, format!("there is no run {id}")))?;
    let alive = is_claimed(workspace, id);
    let bounces = journal
        .children(id)?
        .into_iter()
        .filter(|child| child.kind == RunKind::Bounce)
        .map(|bounce| bounce_report(journal, &run, &bounce, alive))
        .collect::<Result<Vec<_>>>()?;
    let commit = match recorded(journal, id, &StepKey::commit())? {
        Some(Done::Committed { commit }) => Some(commit),
        _ => None,
    };
    let applied = match recorded(journal, id, &StepKey::apply())? {
        Some(Done::Applied { record }) => serde_json::from_value::<Applied>(record).ok(),
        _ => None,
    };
    let (parts, books) = parts_of(journal, &run, alive)?;
    let mut ledger = journal.ledger(id)?;
    ledger.extend(books);
    Ok(RunReport {
        status: run.status(alive),
        branch: applied.as_ref().and_then(|applied| applied.branch.clone()),
        applied,
        answer: answer_of(journal, &run)?,
        commit,
        bounces,
        sessions: sessions_of(journal, id, alive)?,
        parts,
        cost: ledger.iter().map(|entry| entry.cost).sum(),
        ledger,
        directory: format!(".spore/runs/{id}"),
        run,
    })
}

fn answer_of(journal: &dyn Journal, run: &Run) -> Result<Option<String>> {
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
) -> Result<BounceReport> {
    let number = bounce.attempt;
    let (gates, proof) = match recorded(journal, root.id, &StepKey::gates(number))? {
        Some(Done::Gates(gates)) => (gates.lines, gates.proof),
        _ => (Vec::new(), None),
    };
    Ok(BounceReport {
        bounce: number,
        // What the run waits for, its open bounce waits for.
        status: if bounce.is_open() { root.status(alive) } else { bounce.status(alive) },
        reason: bounce.reason.clone(),
        tree: bounce.tree_hash.clone(),
        gates,
        proof,
        verdict: recorded_verdict(journal, root.id, number)?,
        sessions: sessions_of(journal, bounce.id, alive)?,
    })
}

fn sessions_of(journal: &dyn Journal, run: RunId, alive: bool) -> Result<Vec<SessionRow>> {
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
        })
        .collect())
}

/// The verdict is read again from what the verifier said: the record is its words.
fn recorded_verdict(journal: &dyn Journal, root: RunId, bounce: u32) -> Result<Option<Verdict>> {
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
