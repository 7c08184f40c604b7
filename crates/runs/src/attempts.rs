//! The tasks of a list, each with all that was done for it: its attempts one after the other, the runs
//! that brought its work onto the branch, and what became of it there.
//!
//! A run of a task that is verified has not landed yet. Work that came back is done once more by a run
//! of its own, so that one task has several runs; counted as one it is what its last landing made of it,
//! for the price of all of them.

use std::collections::{BTreeMap, BTreeSet};

use spore_model::{Cost, Run, RunId, RunKind, RunStatus};
use spore_pipeline::TaskLanding;
use spore_store::{Journal, JournalError, RecordedStep};

use crate::figures::RunFigures;
use crate::live::Presence;

/// One task of a list.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct ListTask {
    /// What its results are kept under.
    pub(crate) id: String,
    /// Its runs, in their order.
    pub(crate) attempts: Vec<RunId>,
    /// The runs that brought its work onto the branch, or were to.
    pub(crate) merges: Vec<RunId>,
    /// What became of the work of its last attempt at the branch.
    pub(crate) landing: Option<TaskLanding>,
}

impl ListTask {
    pub(crate) fn has_landed(&self) -> bool {
        matches!(self.landing, Some(TaskLanding::Landed { .. }))
    }
}

/// Returns the tasks of a list that were begun.
pub(crate) fn tasks_of_list(
    journal: &dyn Journal,
    list: RunId,
) -> Result<Vec<ListTask>, JournalError> {
    let mut attempts: BTreeMap<(String, u32), RunId> = BTreeMap::new();
    let mut landings: BTreeMap<(String, u32), (Vec<RunId>, Option<TaskLanding>)> = BTreeMap::new();
    for step in journal.steps(list)? {
        let key = step.key.to_string();
        let parts: Vec<&str> = key.split('/').collect();
        let (name, id, attempt) = match parts[..] {
            [name @ ("task" | "land"), id, attempt] => (name, id, attempt),
            ["land", id, attempt, "turn", _] => ("turn", id, attempt),
            _ => continue,
        };
        let Ok(attempt) = attempt.parse() else { continue };
        let place = (id.to_owned(), attempt);
        match name {
            "task" => attempts.extend(planned(&step.intent, "child").map(|run| (place, run))),
            "land" => {
                let landing = landings.entry(place).or_default();
                landing.0.extend(planned(&step.intent, "merge"));
                landing.1 = result(&step);
            }
            _ => {
                let merge = step.result.as_ref().and_then(|turn| planned(turn, "merge"));
                landings.entry(place).or_default().0.extend(merge);
            }
        }
    }
    let mut tasks: Vec<ListTask> = Vec::new();
    for ((id, attempt), run) in attempts {
        if tasks.last().is_none_or(|task| task.id != id) {
            tasks.push(ListTask { id: id.clone(), ..ListTask::default() });
        }
        let Some(task) = tasks.last_mut() else { continue };
        let (merges, landing) = landings.remove(&(id, attempt)).unwrap_or_default();
        task.attempts.push(run);
        task.merges.extend(merges);
        task.landing = landing;
    }
    Ok(tasks)
}

fn planned(intent: &serde_json::Value, name: &str) -> Option<RunId> {
    intent.get(name)?.as_str()?.parse().ok()
}

fn result(step: &RecordedStep) -> Option<TaskLanding> {
    serde_json::from_value(step.result.clone()?).ok()
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

pub(crate) const fn is_list(kind: RunKind) -> bool {
    matches!(kind, RunKind::Loop | RunKind::Batch)
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
