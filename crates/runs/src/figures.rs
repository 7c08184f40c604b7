//! The figures of many runs: one lean row each, which the dearest, the statistics and the
//! comparisons are made of.

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::{ContextUse, Cost, Run, RunId, RunKind, RunStatus, Timestamp};
use spore_store::{FigureRow, Journal, JournalError, RunQuery};

use crate::attempts::joined;
use crate::list::RunFilter;
use crate::live::Presence;
use crate::report::cost_so_far;

#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct RunFigures {
    pub id: RunId,
    /// What it is a task of: a list, a flow, a session; nothing where it was asked for by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    pub kind: RunKind,
    pub name: String,
    pub status: RunStatus,
    pub started: Timestamp,
    /// Until now, where it is not over.
    pub duration_ms: u64,
    pub turns: u32,
    pub bounces: u32,
    pub cost: Cost,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
    /// Why it ended or waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The whole of it: runs are the same task where this is the same.
    #[serde(skip)]
    pub task: String,
    /// What the task file of its last change was worth.
    #[serde(skip)]
    pub context: Option<ContextUse>,
}

impl RunFigures {
    /// Returns whether a person asked for it, and not a list or a flow.
    pub fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// Returns whether it is a task that is to be verified. Several racers are one task, their race.
    pub fn is_task(&self) -> bool {
        matches!(self.kind, RunKind::Orchestrate | RunKind::Race)
    }

    /// Returns whether its work was verified. No verdict is a race's own: one that has finished has
    /// a winner, which is a verified run.
    pub fn is_verified(&self) -> bool {
        match self.kind {
            // One that is partial has won, and its work is not where it was asked to be.
            RunKind::Race => matches!(self.status, RunStatus::Finished | RunStatus::Partial),
            _ => self.status == RunStatus::Verified,
        }
    }
}

/// Returns the figures of all runs that `filter` asks for, newest first. Its limit does not count.
pub fn figures_of_runs(
    journal: &dyn Journal,
    presence: &dyn Presence,
    filter: &RunFilter,
    now: Timestamp,
) -> Result<Vec<RunFigures>, JournalError> {
    figures_by(journal, presence, filter, &filter.query(now), now)
}

/// The same with the tasks that are parts of these, of lists and of flows.
pub fn figures_with_tasks(
    journal: &dyn Journal,
    presence: &dyn Presence,
    filter: &RunFilter,
    now: Timestamp,
) -> Result<Vec<RunFigures>, JournalError> {
    let query = RunQuery { with_tasks: true, ..filter.query(now) };
    figures_by(journal, presence, filter, &query, now)
}

fn figures_by(
    journal: &dyn Journal,
    presence: &dyn Presence,
    filter: &RunFilter,
    query: &RunQuery,
    now: Timestamp,
) -> Result<Vec<RunFigures>, JournalError> {
    let rows = journal.figures(query)?;
    let mut figures = Vec::with_capacity(rows.len());
    for row in rows {
        let standing = row.standing;
        let status = standing.status(standing.is_open() && presence.is_alive(row.id));
        // Where a task of a list stands depends on all that was done for it.
        if !query.with_tasks && filter.status.is_some_and(|wanted| wanted != status) {
            continue;
        }
        figures.push(figures_from(journal, presence, (row, status), now)?);
    }
    if query.with_tasks {
        figures = joined(journal, presence, figures)?;
        figures.retain(|run| filter.status.is_none_or(|wanted| wanted == run.status));
    }
    Ok(figures)
}

/// Returns the figures of one run; `None` if there is none with this id.
pub fn figures_of_run(
    journal: &dyn Journal,
    presence: &dyn Presence,
    id: RunId,
    now: Timestamp,
) -> Result<Option<RunFigures>, JournalError> {
    let Some(run) = journal.run(id)? else { return Ok(None) };
    let bounces = journal.children(id)?.into_iter().filter(|part| part.kind == RunKind::Bounce);
    let mut bounces: Vec<Run> = bounces.collect();
    bounces.sort_by_key(|part| part.attempt);
    let status = run.status(presence.is_alive(id));
    let row = FigureRow {
        id,
        parent: run.parent,
        standing: run.standing(),
        name: run.name,
        task: run.task,
        reason: run.reason,
        started: run.started,
        ended: run.ended,
        turns: run.turns,
        cost: run.cost.into(),
        experiment: run.experiment,
        bounces: u32::try_from(bounces.len()).unwrap_or(u32::MAX),
        // The last change is all of the run's.
        context: bounces.iter().rev().find_map(ContextUse::of_row),
    };
    figures_from(journal, presence, (row, status), now).map(Some)
}

fn figures_from(
    journal: &dyn Journal,
    presence: &dyn Presence,
    (run, status): (FigureRow, RunStatus),
    now: Timestamp,
) -> Result<RunFigures, JournalError> {
    let whole = if run.standing.is_open() { journal.run(run.id)? } else { None };
    let cost = match whole {
        Some(whole) => cost_so_far(journal, presence, &whole)?,
        None => run.cost,
    };
    let took = run.ended.unwrap_or(now).since(run.started);
    Ok(RunFigures {
        id: run.id,
        parent: run.parent,
        kind: run.standing.kind,
        status,
        started: run.started,
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        turns: run.turns,
        bounces: run.bounces,
        cost,
        experiment: run.experiment,
        reason: run.reason,
        task: run.task.unwrap_or_else(|| run.name.clone()),
        name: run.name,
        context: run.context,
    })
}

/// What the first of many runs are sought by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TopBy {
    Cost,
    Time,
    Bounces,
}

/// Returns the `limit` runs with the most of something, the most first; of equal ones the newest.
pub fn top_runs(mut figures: Vec<RunFigures>, by: TopBy, limit: usize) -> Vec<RunFigures> {
    let key = |run: &RunFigures| match by {
        TopBy::Cost => run.cost.usd.as_nanos().max(0).cast_unsigned(),
        TopBy::Time => run.duration_ms,
        TopBy::Bounces => u64::from(run.bounces),
    };
    figures.sort_by_key(|run| std::cmp::Reverse((key(run), run.started, run.id)));
    figures.truncate(limit);
    figures
}
