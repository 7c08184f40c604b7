//! The figures of many runs: one lean row each, which the dearest, the statistics and the
//! comparisons are made of.

pub(crate) mod attempts;
pub(crate) mod work;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::{ContextUse, Cost, Run, RunId, RunKind, RunStatus, Timestamp};
use spore_pipeline::TaskLanding;
use spore_store::{FigureRow, Journal, JournalError, RunQuery};

use crate::list::RunFilter;
use crate::list::lasted::{RunTimes, lasted};
use crate::live::Presence;
use crate::report::cost_so_far;
use attempts::{ListTask, is_list, tasks_of_list};

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
    /// Until now, where a process works on it; else until the last that is on record of it.
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
        let figure = figures_from(journal, presence, (row, status), now)?;
        // The journal takes the time of what waits until now.
        if filter.min_time.is_none_or(|least| u128::from(figure.duration_ms) >= least.as_millis()) {
            figures.push(figure);
        }
    }
    if query.with_tasks {
        figures = joined(journal, presence, figures)?;
        figures.retain(|run| filter.status.is_none_or(|wanted| wanted == run.status));
    }
    Ok(figures)
}

/// Joins the figures of each task of a list to one.
pub(crate) fn joined(
    journal: &dyn Journal,
    presence: &dyn Presence,
    figures: Vec<RunFigures>,
) -> Result<Vec<RunFigures>, JournalError> {
    let kinds: BTreeMap<RunId, RunKind> = figures.iter().map(|run| (run.id, run.kind)).collect();
    let parents: BTreeSet<RunId> = figures.iter().filter_map(|run| run.parent).collect();
    let mut figures: Vec<Option<RunFigures>> = figures.into_iter().map(Some).collect();
    for parent in parents {
        if kinds.get(&parent).is_some_and(|kind| !is_list(*kind)) {
            continue;
        }
        let Some(list) = journal.run(parent)?.filter(|run| is_list(run.kind)) else { continue };
        let status = list.status(list.is_open() && presence.is_alive(list.id));
        let mut merges = journal.children(list.id)?;
        merges.retain(|run| run.kind == RunKind::Merge);
        let own: Vec<usize> = (0..figures.len())
            .filter(|at| figures[*at].as_ref().is_some_and(|run| run.parent == Some(parent)))
            .collect();
        for task in tasks_of_list(journal, list.id)? {
            let mut places: Vec<(usize, usize)> = Vec::new();
            for &at in &own {
                let id = figures[at].as_ref().map(|run| run.id);
                let attempt = task.attempts.iter().position(|run| Some(*run) == id);
                places.extend(attempt.map(|attempt| (attempt, at)));
            }
            places.sort_unstable();
            let Some(&(_, last)) = places.last() else { continue };
            let attempts = places.iter().filter_map(|(_, at)| figures[*at].take()).collect();
            let merges = merges.iter().filter(|run| task.merges.contains(&run.id));
            figures[last] = as_one(&task, attempts, merges, status);
        }
    }
    Ok(figures.into_iter().flatten().collect())
}

/// The attempts of a task and their merges as one figure. `list` is where the whole list stands.
fn as_one<'a>(
    task: &ListTask,
    attempts: Vec<RunFigures>,
    merges: impl Iterator<Item = &'a Run>,
    list: RunStatus,
) -> Option<RunFigures> {
    let (first, last) = (attempts.first()?.clone(), attempts.last()?.clone());
    let mut whole =
        RunFigures { name: first.name, task: first.task, started: first.started, ..last.clone() };
    let mut bills = Vec::new();
    (whole.duration_ms, whole.turns, whole.bounces) = (0, 0, 0);
    for run in attempts {
        bills.push(run.cost);
        whole.duration_ms += run.duration_ms;
        whole.turns += run.turns;
        whole.bounces += run.bounces;
    }
    for merge in merges {
        bills.push(Cost::from(merge.cost));
        whole.turns += merge.turns;
        let took = merge.ended.map_or(0, |ended| ended.since(merge.started).as_millis());
        whole.duration_ms += u64::try_from(took).unwrap_or(u64::MAX);
    }
    whole.cost = bills.into_iter().sum();
    if last.status == RunStatus::Verified && !task.has_landed() {
        let is_open = !matches!(
            list,
            RunStatus::Finished | RunStatus::Partial | RunStatus::Failed | RunStatus::Escalated
        );
        match &task.landing {
            _ if is_open => whole.status = list,
            Some(TaskLanding::Back { .. }) => {
                whole.status = RunStatus::Escalated;
                whole.reason = Some("its verified work does not fit the branch".to_owned());
            }
            _ => whole.status = RunStatus::Cancelled,
        }
    }
    Some(whole)
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
    let times = RunTimes { id: run.id, started: run.started, ended: run.ended };
    let took = lasted(journal, presence, times, now)?;
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

#[cfg(test)]
mod tests {
    use spore_model::{CommitId, TreeId, Usd};

    use super::*;
    use crate::stats::tests::run;
    use crate::stats::{is_decided, stats_of};

    fn landed() -> Option<TaskLanding> {
        let hash = "0".repeat(40);
        let (commit, tree) = (CommitId::new(&hash).unwrap(), TreeId::new(&hash).unwrap());
        Some(TaskLanding::Landed { number: 1, commit, tree })
    }

    #[test]
    fn the_attempts_of_a_task_are_one_that_its_landing_decides() {
        let list = RunId::from_parts(0, 9);
        let of_list =
            |number, status| RunFigures { parent: Some(list), ..run(number, status, 1.0) };
        let attempts = || vec![of_list(1, RunStatus::Verified), of_list(2, RunStatus::Verified)];
        let merge = Run {
            turns: 4,
            ended: Some(spore_model::Timestamp::from_millis(500)),
            cost: Cost::exact(Usd::from_dollars(0.25).unwrap()).into(),
            ..Run::begin(
                RunId::from_parts(0, 3),
                RunKind::Merge,
                "",
                spore_model::Timestamp::from_millis(0),
            )
        };
        let back = Some(TaskLanding::Back { number: 2, evidence: "conflict".to_owned() });
        for (landing, list, expected, decided) in [
            (landed(), RunStatus::Finished, RunStatus::Verified, true),
            (landed(), RunStatus::ParkedHuman, RunStatus::Verified, true),
            (back.clone(), RunStatus::Partial, RunStatus::Escalated, true),
            (back, RunStatus::Running, RunStatus::Running, false),
            (None, RunStatus::ParkedBudget, RunStatus::ParkedBudget, false),
            (None, RunStatus::Cancelled, RunStatus::Cancelled, false),
        ] {
            let task = ListTask { landing, ..ListTask::default() };
            let one = as_one(&task, attempts(), [&merge].into_iter(), list).unwrap();
            assert_eq!((one.status, is_decided(&one)), (expected, decided), "{list}");
            assert_eq!((one.turns, one.bounces, one.duration_ms), (7, 2, 3500));
            assert_eq!(one.cost.usd, Usd::from_dollars(2.25).unwrap());
            assert_eq!((one.id, one.task.as_str()), (RunId::from_parts(0, 2), "task 1"));
        }
        let task = ListTask { landing: landed(), ..ListTask::default() };
        let one = as_one(&task, attempts(), [].into_iter(), RunStatus::Finished).unwrap();
        let stats = stats_of(&[one]);
        // It was not verified by its first attempt.
        assert_eq!((stats.verified, stats.first_attempt_rate), (1, Some(0.0)));
    }
}
