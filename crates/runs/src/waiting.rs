//! What waits for a person: runs that do not go on by themselves, why, and what to type.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::{Cost, Run, RunId, RunKind, RunStatus, Timestamp};
use spore_store::{Journal, JournalError, RunQuery};

use crate::advice::{NextStep, advise, racers};
use crate::live::Presence;

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

/// The runs that wait.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WaitingRuns {
    /// The newest of them.
    pub runs: Vec<WaitingRun>,
    /// How many more there are.
    pub left_out: u32,
    /// All whose process is gone, the newest first, those that are left out too.
    pub stale: Vec<RunId>,
}

/// Returns what waits for a person, the newest first: every run that is parked or whose process is
/// gone, and what was escalated since `since`, tasks of lists too, unless the task was tried anew and
/// verified. `most` of them are told in full.
pub fn waiting_runs(
    journal: &dyn Journal,
    presence: &dyn Presence,
    since: Timestamp,
    most: usize,
) -> Result<WaitingRuns, JournalError> {
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
    let mut stale: Vec<&Run> = found
        .iter()
        .filter(|(_, status)| *status == RunStatus::Interrupted)
        .map(|(run, _)| run)
        .collect();
    stale.sort_by_key(|run| std::cmp::Reverse((run.started, run.id)));
    let stale = stale.into_iter().map(|run| run.id).collect();
    found.extend(escalated(journal, journal.runs(&recent)?)?);
    found.sort_by_key(|(run, _)| std::cmp::Reverse((run.started, run.id)));
    let left_out = found.len().saturating_sub(most);
    found.truncate(most);
    let mut runs = Vec::new();
    for (run, status) in found {
        let next = advise(journal, &run, status)?;
        runs.push(WaitingRun {
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
    Ok(WaitingRuns { runs, left_out: u32::try_from(left_out).unwrap_or(u32::MAX), stale })
}

/// Returns those of `recent` that were escalated and whose task still is not verified, whole.
fn escalated(
    journal: &dyn Journal,
    recent: Vec<Run>,
) -> Result<Vec<(Run, RunStatus)>, JournalError> {
    let is_escalated = |run: &Run| !run.is_open() && run.status(false) == RunStatus::Escalated;
    let mut escalated = Vec::new();
    for run in recent.into_iter().filter(is_escalated) {
        // What it was started with says whose task it tries anew, and who raced.
        escalated.push(journal.run(run.id)?.unwrap_or(run));
    }
    let Some(first) = escalated.iter().map(|run| run.started).min() else {
        return Ok(Vec::new());
    };
    let settled = settled(journal, first)?;
    escalated.retain(|run| {
        let is_won = run.kind == RunKind::Race && racers(run).any(|id| settled.contains(&id));
        !is_won && !settled.contains(&run.id)
    });
    Ok(escalated.into_iter().map(|run| (run, RunStatus::Escalated)).collect())
}

/// Returns the runs whose task was tried anew since `first`, at last by one that was verified.
fn settled(journal: &dyn Journal, first: Timestamp) -> Result<BTreeSet<RunId>, JournalError> {
    let query = RunQuery { roots_only: true, since: Some(first), ..RunQuery::default() };
    let mut tried_by: BTreeMap<RunId, RunId> = BTreeMap::new();
    let mut verified = Vec::new();
    for run in journal.runs(&query)? {
        let tried = run.settings.get("retry_of").and_then(|id| id.as_str()?.parse().ok());
        let Some(tried) = tried else { continue };
        tried_by.insert(run.id, tried);
        let well = matches!(run.status(false), RunStatus::Verified | RunStatus::Finished);
        if well {
            verified.push(run.id);
        }
    }
    let mut settled = BTreeSet::new();
    for run in verified {
        let mut at = run;
        while let Some(before) = tried_by.get(&at).copied().filter(|id| settled.insert(*id)) {
            at = before;
        }
    }
    Ok(settled)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use spore_model::{Outcome, RunState};
    use spore_store::SqliteJournal;

    use super::*;
    use crate::live::Live;

    struct Nobody;

    impl Presence for Nobody {
        fn is_alive(&self, _: RunId) -> bool {
            false
        }

        fn live(&self, _: RunId) -> Vec<Live> {
            Vec::new()
        }
    }

    fn journal(runs: &[Run]) -> (tempfile::TempDir, SqliteJournal) {
        let dir = tempfile::tempdir().unwrap();
        let journal = SqliteJournal::open(&dir.path().join("spore.db")).unwrap();
        for run in runs {
            journal.create_run(run, &[]).unwrap();
        }
        (dir, journal)
    }

    fn id(number: u128) -> RunId {
        RunId::from_parts(0, number)
    }

    fn task(number: u128, outcome: Outcome, retry_of: Option<u128>) -> Run {
        let at = Timestamp::from_millis(i64::try_from(number).unwrap());
        Run {
            state: RunState::Ended,
            outcome: Some(outcome),
            ended: Some(at),
            reason: Some("no attempt held".to_owned()),
            settings: json!({ "retry_of": retry_of.map(id) }),
            ..Run::begin(id(number), RunKind::Orchestrate, "a task", at)
        }
    }

    #[track_caller]
    fn waits(runs: &[Run], expected: &[u128]) {
        let (_dir, journal) = journal(runs);
        let since = Timestamp::from_millis(0);
        let waiting = waiting_runs(&journal, &Nobody, since, 12).unwrap();
        let ids: Vec<RunId> = waiting.runs.iter().map(|one| one.run).collect();
        assert_eq!(ids, expected.iter().copied().map(id).collect::<Vec<_>>());
    }

    #[test]
    fn a_task_that_was_tried_anew_and_verified_waits_no_longer() {
        let (escalated, verified) = (Outcome::NeedsEscalation, Outcome::Success);
        let first = task(1, escalated, None);
        waits(std::slice::from_ref(&first), &[1]);
        waits(&[first.clone(), task(2, verified, Some(1))], &[]);
        let again = [first.clone(), task(2, escalated, Some(1))];
        waits(&again, &[2, 1]);
        waits(&[again.as_slice(), &[task(3, verified, Some(2))]].concat(), &[]);
        waits(&[first, task(2, verified, None)], &[1]);
    }

    #[test]
    fn a_race_is_settled_by_a_racer_that_was_tried_anew() {
        let race = Run {
            kind: RunKind::Race,
            settings: json!({ "racers": [{ "run": id(5) }] }),
            ..task(4, Outcome::NeedsEscalation, None)
        };
        let racer = Run { parent: Some(id(4)), ..task(5, Outcome::NeedsEscalation, None) };
        waits(&[race.clone(), racer.clone()], &[4]);
        waits(&[race, racer, task(6, Outcome::Success, Some(5))], &[]);
    }

    #[test]
    fn what_is_left_out_is_counted_and_no_stale_run_is_lost() {
        let open = |number| Run {
            state: RunState::Running,
            outcome: None,
            ended: None,
            reason: None,
            ..task(number, Outcome::Success, None)
        };
        let (_dir, journal) = journal(&(1..=5).map(open).collect::<Vec<_>>());
        let since = Timestamp::from_millis(0);
        let waiting = waiting_runs(&journal, &Nobody, since, 2).unwrap();
        assert_eq!((waiting.runs.len(), waiting.left_out), (2, 3));
        assert_eq!(waiting.stale, [5, 4, 3, 2, 1].map(id));
    }
}
