//! Many runs, a row each: chosen first, then cut off at the limit.

pub(crate) mod lasted;

use schemars::JsonSchema;
use std::time::Duration;

use serde::Serialize;
use spore_model::{Cost, Run, RunId, RunKind, RunStatus, Timestamp, Usd};
use spore_store::{Journal, JournalError, LeastTime, RunQuery};

use crate::live::Presence;
use crate::report::cost_so_far;
use lasted::{RunTimes, lasted};

/// Which runs to look at; what is `None` is not asked about.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunFilter {
    pub status: Option<RunStatus>,
    pub since: Option<Timestamp>,
    pub backend: Option<String>,
    pub model: Option<String>,
    pub role: Option<String>,
    pub experiment: Option<String>,
    pub kind: Option<RunKind>,
    /// What it cost at the least.
    pub min_cost: Option<Usd>,
    /// How long it took at the least.
    pub min_time: Option<Duration>,
    /// A part of the task.
    pub text: Option<String>,
    /// Only older ones: where the page before ended.
    pub before: Option<RunId>,
    pub limit: u32,
}

impl RunFilter {
    /// Returns what the journal is asked: all of it but the status, which is derived, and the
    /// limit, which counts what is left after it was. Of what waits it takes the time until now, so that
    /// runs are left which [`Self::is_too_short`] leaves out.
    pub(crate) fn query(&self, now: Timestamp) -> RunQuery {
        RunQuery {
            roots_only: true,
            kind: self.kind,
            since: self.since,
            backend: self.backend.clone(),
            model: self.model.clone(),
            role: self.role.clone(),
            experiment: self.experiment.clone(),
            min_cost: self.min_cost,
            lasted: self.min_time.map(|least| LeastTime { least, now }),
            text: self.text.clone(),
            before: self.before,
            ..RunQuery::default()
        }
    }

    /// Returns whether a run took less than is asked for.
    pub(crate) fn is_too_short(
        &self,
        journal: &dyn Journal,
        presence: &dyn Presence,
        run: &Run,
        now: Timestamp,
    ) -> Result<bool, JournalError> {
        let Some(least) = self.min_time else { return Ok(false) };
        let times = RunTimes { id: run.id, started: run.started, ended: run.ended };
        Ok(lasted(journal, presence, times, now)? < least)
    }
}

/// One line of `runs list`.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
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
    now: Timestamp,
) -> Result<RunList, JournalError> {
    let limit = usize::try_from(filter.limit).unwrap_or(usize::MAX);
    let is_choosy = filter.status.is_some() || filter.min_time.is_some();
    let query = RunQuery {
        limit: (!is_choosy).then(|| filter.limit.saturating_add(1)),
        // Where many are read to choose a few, the few are read again whole.
        without_settings: is_choosy,
        ..filter.query(now)
    };
    let mut rows = Vec::new();
    for run in journal.runs(&query)? {
        let status = run.status(run.is_open() && presence.is_alive(run.id));
        if filter.status.is_some_and(|wanted| wanted != status) {
            continue;
        }
        if filter.is_too_short(journal, presence, &run, now)? {
            continue;
        }
        if rows.len() == limit {
            return Ok(RunList { rows, is_cut: true });
        }
        let whole = if query.without_settings { journal.run(run.id)? } else { None };
        let mut run = whole.unwrap_or(run);
        if run.is_open() {
            let cost: Cost = cost_so_far(journal, presence, &run)?;
            run.cost = cost.into();
        }
        rows.push(RunRow { status, run });
    }
    Ok(RunList { rows, is_cut: false })
}
