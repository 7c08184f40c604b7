//! Many runs, a row each: chosen first, then cut off at the limit.

use serde::Serialize;
use spore_model::{Cost, Run, RunKind, RunStatus, Timestamp};
use spore_store::{Journal, JournalError, RunQuery};

use crate::live::Presence;
use crate::report::cost_so_far;

/// Which runs to list; what is `None` is not asked about.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunFilter {
    pub status: Option<RunStatus>,
    pub since: Option<Timestamp>,
    pub backend: Option<String>,
    pub model: Option<String>,
    pub kind: Option<RunKind>,
    /// A part of the task.
    pub text: Option<String>,
    pub limit: u32,
}

/// One line of `runs list`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RunRow {
    pub status: RunStatus,
    /// Its cost is what is known now, also while it is open.
    #[serde(flatten)]
    pub run: Run,
}

#[derive(Clone, PartialEq, Debug)]
pub struct RunList {
    pub rows: Vec<RunRow>,
    /// Whether there are more than the limit lets through.
    pub is_cut: bool,
}

/// Lists runs that belong to no other, newest first.
pub fn list_runs(
    journal: &dyn Journal,
    presence: &dyn Presence,
    filter: &RunFilter,
) -> Result<RunList, JournalError> {
    let limit = usize::try_from(filter.limit).unwrap_or(usize::MAX);
    let query = RunQuery {
        roots_only: true,
        open_only: false,
        kind: filter.kind,
        since: filter.since,
        backend: filter.backend.clone(),
        model: filter.model.clone(),
        text: filter.text.clone(),
        // A status is derived, so the limit counts what is left after it was.
        limit: match filter.status {
            None => Some(filter.limit.saturating_add(1)),
            Some(_) => None,
        },
    };
    let mut rows = Vec::new();
    for mut run in journal.runs(&query)? {
        let status = run.status(presence.is_alive(run.id));
        if filter.status.is_some_and(|wanted| wanted != status) {
            continue;
        }
        if rows.len() == limit {
            return Ok(RunList { rows, is_cut: true });
        }
        if run.is_open() {
            let cost: Cost = cost_so_far(journal, presence, &run)?;
            run.cost = cost.into();
        }
        rows.push(RunRow { status, run });
    }
    Ok(RunList { rows, is_cut: false })
}
