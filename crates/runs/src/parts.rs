//! The layers below a run that has any: stages, phases, sessions, as one list.
//!
//! Nothing here knows what a layer does. A run that is a task of its own is listed and not
//! looked into: it has a report of its own.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spore_model::{
    CommitId, Cost, LedgerEntry, Outcome, RefusedCalls, Run, RunId, RunKind, RunStatus,
    SessionNotes, StepKey, Timestamp,
};
use spore_pipeline::Done;
use spore_store::{Journal, JournalError};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PartRow {
    pub id: RunId,
    pub kind: RunKind,
    pub name: String,
    pub attempt: u32,
    /// How far below the run it is; its own parts follow it.
    pub depth: u32,
    pub status: RunStatus,
    pub outcome: Option<Outcome>,
    /// The agent that works on it, where it has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    pub reason: Option<String>,
    pub turns: u32,
    pub cost: Cost,
    pub started: Timestamp,
    pub ended: Option<Timestamp>,
    /// What it made, on its way to a branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// The ref that keeps what it made, where that was taken back. It is for callers to fill in who
    /// can read refs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolled_back: Option<String>,
    /// Of a session: what it was not let do.
    #[serde(default, skip_serializing_if = "RefusedCalls::is_empty")]
    pub refused: RefusedCalls,
}

/// Lists all parts of `run`, each before its own, and books of tasks among them.
pub(crate) fn parts_of(
    journal: &dyn Journal,
    run: &Run,
    alive: bool,
) -> Result<(Vec<PartRow>, Vec<LedgerEntry>), JournalError> {
    let (mut rows, mut books) = (Vec::new(), Vec::new());
    if is_task(run.kind) {
        for merge in merges_of(journal, run.id)? {
            books.extend(journal.ledger(merge.id)?);
            rows.push(row(journal, &merge, 1, alive)?);
        }
        for started in started_by_sessions(journal, run.id)? {
            rows.push(row(journal, &started, 1, alive)?);
            collect(journal, &started, (2, alive), &mut rows, &mut books)?;
        }
    } else {
        collect(journal, run, (1, alive), &mut rows, &mut books)?;
    }
    wait_with_their_parts(&mut rows);
    Ok((rows, books))
}

/// A layer whose part waits does not work, and was not cut off: it waits for the same.
fn wait_with_their_parts(rows: &mut [PartRow]) {
    for at in (0..rows.len()).rev() {
        if rows[at].status != RunStatus::Interrupted || rows[at].outcome.is_some() {
            continue;
        }
        let below = rows[at + 1..].iter().take_while(|part| part.depth > rows[at].depth);
        let waits = |status: &RunStatus| {
            use RunStatus::{ParkedBudget, ParkedHuman, ParkedQuota};
            matches!(status, ParkedHuman | ParkedQuota | ParkedBudget)
        };
        if let Some(status) = below.map(|part| part.status).find(waits) {
            rows[at].status = status;
        }
    }
}

/// Returns the merges of a task's own work.
fn merges_of(journal: &dyn Journal, run: RunId) -> Result<Vec<Run>, JournalError> {
    let mut merges = journal.children(run)?;
    merges.retain(|child| child.kind == RunKind::Merge);
    Ok(merges)
}

/// Returns what the sessions of a task have started. Their books are the task's own.
fn started_by_sessions(journal: &dyn Journal, run: RunId) -> Result<Vec<Run>, JournalError> {
    let mut started = Vec::new();
    for child in journal.children(run)? {
        match child.kind {
            RunKind::Session => started.extend(journal.children(child.id)?),
            RunKind::Bounce => started.extend(started_by_sessions(journal, child.id)?),
            _ => {}
        }
    }
    Ok(started)
}

fn row(
    journal: &dyn Journal,
    child: &Run,
    depth: u32,
    alive: bool,
) -> Result<PartRow, JournalError> {
    Ok(PartRow {
        id: child.id,
        kind: child.kind,
        name: child.name.clone(),
        attempt: child.attempt,
        depth,
        status: child.status(alive),
        outcome: child.outcome,
        backend: child.backend.clone(),
        reason: child.reason.clone(),
        turns: child.turns,
        cost: child.cost.into(),
        started: child.started,
        ended: child.ended,
        commit: commit_of(journal, child)?,
        rolled_back: None,
        refused: SessionNotes::of_row(child).refused,
    })
}

/// What is on record of the work of an exec.
#[derive(Deserialize)]
struct ExecWork {
    line: Option<ExecLine>,
}

/// What is on record of one part of a stage.
#[derive(Deserialize)]
struct PartEnd {
    run: RunId,
    outcome: Outcome,
    line: Option<ExecLine>,
}

#[derive(Deserialize)]
struct ExecLine {
    tip: CommitId,
}

/// Returns the commit that a run made.
pub(crate) fn commit_of(
    journal: &dyn Journal,
    run: &Run,
) -> Result<Option<CommitId>, JournalError> {
    if !is_task(run.kind) && run.kind != RunKind::Exec {
        return Ok(None);
    }
    let step = journal.step(run.id, &StepKey::commit())?;
    let Some(result) = step.and_then(|step| step.result) else { return Ok(None) };
    if run.kind == RunKind::Exec {
        let work = serde_json::from_value::<ExecWork>(result).ok();
        return Ok(work.and_then(|work| work.line).map(|line| line.tip));
    }
    Ok(match serde_json::from_value(result) {
        Ok(Done::Committed { commit }) => Some(commit),
        _ => None,
    })
}

fn collect(
    journal: &dyn Journal,
    run: &Run,
    (depth, alive): (u32, bool),
    rows: &mut Vec<PartRow>,
    books: &mut Vec<LedgerEntry>,
) -> Result<(), JournalError> {
    let children = journal.children(run.id)?;
    let joined = joined(journal, run)?;
    for child in children {
        let mut own = row(journal, &child, depth, alive)?;
        if let Some(commit) = joined.get(&child.id) {
            own.commit.clone_from(commit);
        }
        rows.push(own);
        if is_task(child.kind) {
            books.extend(journal.ledger(child.id)?);
            for merge in merges_of(journal, child.id)? {
                books.extend(journal.ledger(merge.id)?);
            }
        } else {
            collect(journal, &child, (depth + 1, alive), rows, books)?;
        }
    }
    Ok(())
}

/// Returns what came onto the branch of each part of a stage that is done for several things: its own
/// commit is not the one that the stage goes on from.
fn joined(
    journal: &dyn Journal,
    run: &Run,
) -> Result<BTreeMap<RunId, Option<CommitId>>, JournalError> {
    let mut joined = BTreeMap::new();
    if run.kind != RunKind::Stage {
        return Ok(joined);
    }
    for step in journal.steps(run.id)? {
        if !step.key.to_string().starts_with("part/") {
            continue;
        }
        let end = step.result.and_then(|end| serde_json::from_value::<PartEnd>(end).ok());
        if let Some(end) = end.filter(|end| end.outcome == Outcome::Success) {
            joined.insert(end.run, end.line.map(|line| line.tip));
        }
    }
    Ok(joined)
}

/// Returns whether runs of this kind tell of their parts themselves.
pub(crate) fn is_task(kind: RunKind) -> bool {
    matches!(kind, RunKind::Orchestrate | RunKind::Solo | RunKind::Bounce | RunKind::Merge)
}

#[cfg(test)]
impl PartRow {
    /// A part of which nothing more is known.
    pub(crate) fn bare(id: RunId, kind: RunKind, status: RunStatus) -> Self {
        Self {
            id,
            kind,
            name: String::new(),
            attempt: 1,
            depth: 1,
            status,
            outcome: None,
            backend: None,
            reason: None,
            turns: 0,
            cost: Cost::default(),
            started: Timestamp::from_millis(0),
            ended: None,
            commit: None,
            rolled_back: None,
            refused: RefusedCalls::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(depth: u32, status: RunStatus, outcome: Option<Outcome>) -> PartRow {
        let part = PartRow::bare(RunId::from_parts(0, 1), RunKind::Stage, status);
        PartRow { depth, outcome, ..part }
    }

    #[test]
    fn a_layer_waits_with_its_part_and_one_that_was_cut_off_does_not() {
        use RunStatus::{Finished, Interrupted, ParkedHuman};
        let mut rows = [
            part(1, Interrupted, None),
            part(2, Finished, Some(Outcome::Success)),
            part(2, Interrupted, None),
            part(3, ParkedHuman, None),
            part(1, Interrupted, None),
            part(2, Interrupted, None),
            part(1, Interrupted, Some(Outcome::Interrupted)),
            part(2, ParkedHuman, None),
        ];
        wait_with_their_parts(&mut rows);
        let told: Vec<RunStatus> = rows.iter().map(|row| row.status).collect();
        let cut_off = [Interrupted, Interrupted, Interrupted, ParkedHuman];
        assert_eq!(told[..4], [ParkedHuman, Finished, ParkedHuman, ParkedHuman]);
        assert_eq!(told[4..], cut_off);
    }
}
