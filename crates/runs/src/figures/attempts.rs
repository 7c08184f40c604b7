//! The tasks of a list, each with all that was done for it: its attempts one after the other, the runs
//! that brought its work onto the branch, and what became of it there.
//!
//! A run of a task that is verified has not landed yet. Work that came back is done once more by a run
//! of its own, so that one task has several runs; counted as one it is what its last landing made of it,
//! for the price of all of them.

use std::collections::BTreeMap;

use spore_model::{RunId, RunKind};
use spore_pipeline::TaskLanding;
use spore_store::{Journal, JournalError, RecordedStep};

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
    Ok(tasks_in(&journal.steps(list)?))
}

/// The same from the steps of the list.
pub(crate) fn tasks_in(steps: &[RecordedStep]) -> Vec<ListTask> {
    let mut attempts: BTreeMap<(String, u32), RunId> = BTreeMap::new();
    let mut landings: BTreeMap<(String, u32), (Vec<RunId>, Option<TaskLanding>)> = BTreeMap::new();
    for step in steps {
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
                landing.1 = result(step);
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
    tasks
}

fn planned(intent: &serde_json::Value, name: &str) -> Option<RunId> {
    intent.get(name)?.as_str()?.parse().ok()
}

fn result(step: &RecordedStep) -> Option<TaskLanding> {
    serde_json::from_value(step.result.clone()?).ok()
}

pub(crate) const fn is_list(kind: RunKind) -> bool {
    matches!(kind, RunKind::Loop | RunKind::Batch)
}
