//! How long a run took. One that waits, or whose process is gone, took no longer than until the last
//! that is on record of it: the nights until a person goes on with it are no work.

use std::time::Duration;

use spore_model::{RunId, RunKind, Timestamp};
use spore_store::{Journal, JournalError};

use crate::live::Presence;

/// What a time is reckoned from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RunTimes {
    pub(crate) id: RunId,
    pub(crate) started: Timestamp,
    pub(crate) ended: Option<Timestamp>,
}

/// Returns how long a run took, until `now` where a process works on it.
pub(crate) fn lasted(
    journal: &dyn Journal,
    presence: &dyn Presence,
    times: RunTimes,
    now: Timestamp,
) -> Result<Duration, JournalError> {
    let until = match times.ended {
        Some(ended) => ended,
        None if presence.is_alive(times.id) => now,
        None => last_recorded(journal, times)?,
    };
    Ok(until.since(times.started))
}

/// Returns when the last was written down of a run and of what is below it.
fn last_recorded(journal: &dyn Journal, times: RunTimes) -> Result<Timestamp, JournalError> {
    let mut last = times.started;
    let mut waiting = vec![times.id];
    while let Some(id) = waiting.pop() {
        for step in journal.steps(id)? {
            last = last.max(step.begun).max(step.finished.unwrap_or(step.begun));
        }
        for child in journal.children(id)? {
            last = last.max(child.started).max(child.ended.unwrap_or(child.started));
            // These have no steps of their own.
            if !matches!(child.kind, RunKind::Session | RunKind::Gates) {
                waiting.push(child.id);
            }
        }
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use spore_model::{EffectClass, Run, StepKey};
    use spore_store::SqliteJournal;

    use super::*;
    use crate::figures::figures_of_runs;
    use crate::list::{RunFilter, list_runs};
    use crate::live::Live;

    /// Works on all runs, or on none.
    struct Works(bool);

    impl Presence for Works {
        fn is_alive(&self, _: RunId) -> bool {
            self.0
        }

        fn live(&self, _: RunId) -> Vec<Live> {
            Vec::new()
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    #[test]
    fn the_time_of_a_run_that_no_process_works_on_ends_with_its_last_record() {
        let dir = tempfile::tempdir().unwrap();
        let journal = SqliteJournal::open(&dir.path().join("spore.db")).unwrap();
        let id = |number| RunId::from_parts(0, number);
        let list = Run::begin(id(1), RunKind::Loop, "a list", at(0));
        let task =
            Run { parent: Some(id(1)), ..Run::begin(id(2), RunKind::Orchestrate, "a task", at(5)) };
        for run in [&list, &task] {
            journal.create_run(run, &[]).unwrap();
        }
        let class = EffectClass::Paid;
        let step = |run, key, when| {
            journal.begin_step(run, &key, class, &Value::Null, at(when)).unwrap();
        };
        step(id(1), StepKey::task("a", 1), 4);
        step(id(2), StepKey::coder(1), 30);
        let night = at(40_000);
        for (works, expected) in [(true, 40_000_000), (false, 30_000)] {
            let presence = Works(works);
            let filter = RunFilter { limit: 5, ..RunFilter::default() };
            let figures = figures_of_runs(&journal, &presence, &filter, night).unwrap();
            assert_eq!(figures[0].duration_ms, expected);
            let longer =
                RunFilter { min_time: Some(Duration::from_secs(60)), limit: 1, ..filter.clone() };
            let figures = figures_of_runs(&journal, &presence, &longer, night).unwrap();
            let listed = list_runs(&journal, &presence, &longer, night).unwrap();
            assert_eq!(
                (figures.len(), listed.rows.len()),
                (usize::from(works), usize::from(works))
            );
        }
        // It waits since then, however it is asked for.
        let times = RunTimes { id: id(2), started: at(5), ended: None };
        let took = |times| lasted(&journal, &Works(false), times, night).unwrap();
        assert_eq!(took(times), Duration::from_secs(25));
        assert_eq!(took(RunTimes { ended: Some(at(9)), ..times }), Duration::from_secs(4));
    }
}
