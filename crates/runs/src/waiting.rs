//! What waits for a person: runs that do not go on by themselves, why, and what to type.

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::{Cost, Run, RunId, RunStatus, Timestamp};
use spore_store::{Journal, JournalError, RunQuery};

use crate::advice::{NextStep, next_step};
use crate::live::Presence;
use crate::report::resets_at;

/// A run that waits.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct WaitingRun {
    pub run: RunId,
    pub name: String,
    pub status: RunStatus,
    pub started: Timestamp,
    pub cost: Cost,
    pub reason: String,
    /// What answers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<NextStep>,
}

/// Returns what waits for a person, the newest first: every run that is parked or whose process is
/// gone, and what was escalated since `since`, tasks of lists too. At most `limit`.
pub fn waiting_runs(
    journal: &dyn Journal,
    presence: &dyn Presence,
    since: Timestamp,
    limit: usize,
) -> Result<Vec<WaitingRun>, JournalError> {
    let open = RunQuery { roots_only: true, open_only: true, ..RunQuery::default() };
    let recent = RunQuery {
        roots_only: true,
        with_tasks: true,
        since: Some(since),
        without_settings: true,
        ..RunQuery::default()
    };
    let mut found: Vec<(Run, RunStatus)> = Vec::new();
    for run in journal.runs(&open)? {
        let status = run.status(presence.is_alive(run.id));
        if !matches!(status, RunStatus::Running | RunStatus::Queued) {
            found.push((run, status));
        }
    }
    for run in journal.runs(&recent)? {
        if !run.is_open() && run.status(false) == RunStatus::Escalated {
            found.push((run, RunStatus::Escalated));
        }
    }
    found.sort_by_key(|(run, _)| std::cmp::Reverse((run.started, run.id)));
    found.truncate(limit);
    let mut waiting = Vec::new();
    for (run, status) in found {
        let next = next_step(&run, status, resets_at(journal, &run)?);
        waiting.push(WaitingRun {
            run: run.id,
            status,
            started: run.started,
            cost: run.cost.into(),
            reason: match &run.reason {
                Some(reason) => reason.clone(),
                None => "the process that worked on it is gone".to_owned(),
            },
            next,
            name: run.name,
        });
    }
    Ok(waiting)
}
