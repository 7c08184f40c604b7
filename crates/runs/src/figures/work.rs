//! Which commits hold the work of a run that has no attempts of its own: of a list what it brought onto
//! its branch, of a race what its winner made, of an exec what came of it.

use spore_model::{CommitId, Run, RunId, RunKind, StepKey};
use spore_pipeline::TaskLanding;
use spore_store::{Journal, JournalError};

use crate::figures::attempts::is_list;
use crate::parts::commit_of;

/// The commits between which the work of a run is, as recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedWork {
    pub base: CommitId,
    pub tip: CommitId,
}

/// Returns where the work of `run` is; nothing where none is on record, and of runs that have attempts.
pub fn recorded_work(
    journal: &dyn Journal,
    run: &Run,
) -> Result<Option<RecordedWork>, JournalError> {
    let tip = match run.kind {
        RunKind::Race => match winner(journal, run)? {
            Some(winner) => commit_of(journal, &winner)?,
            None => None,
        },
        RunKind::Exec => commit_of(journal, run)?,
        kind if is_list(kind) => last_landed(journal, run.id)?,
        _ => None,
    };
    let base = run.base_commit.clone();
    Ok(base.zip(tip).map(|(base, tip)| RecordedWork { base, tip }))
}

/// Returns the tip of a list's branch: what was brought there last.
fn last_landed(journal: &dyn Journal, list: RunId) -> Result<Option<CommitId>, JournalError> {
    let mut last: Option<(u32, CommitId)> = None;
    for step in journal.steps(list)? {
        let is_landing = step.key.to_string().starts_with("land/");
        let Some(result) = step.result.filter(|_| is_landing) else { continue };
        if let Ok(TaskLanding::Landed { number, commit, .. }) = serde_json::from_value(result)
            && last.as_ref().is_none_or(|(newest, _)| *newest < number)
        {
            last = Some((number, commit));
        }
    }
    Ok(last.map(|(_, commit)| commit))
}

/// Returns the racer that has won, as the race's decision names it: with or without what spoke for it.
fn winner(journal: &dyn Journal, race: &Run) -> Result<Option<Run>, JournalError> {
    let step = journal.step(race.id, &StepKey::named("winner"))?;
    let Some(decision) = step.and_then(|step| step.result) else { return Ok(None) };
    let named = decision.as_str().or_else(|| decision.get("run")?.as_str());
    match named.and_then(|id| id.parse().ok()) {
        Some(id) => journal.run(id),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use spore_model::{EffectClass, Timestamp, TreeId};
    use spore_pipeline::Done;
    use spore_store::{SqliteJournal, StepEntry};

    use super::*;

    fn commit(digit: char) -> CommitId {
        CommitId::new(digit.to_string().repeat(40)).unwrap()
    }

    #[test]
    fn the_work_of_a_list_is_its_last_landing_and_that_of_a_race_its_winners() {
        let dir = tempfile::tempdir().unwrap();
        let journal = SqliteJournal::open(&dir.path().join("spore.db")).unwrap();
        let (id, now) = (|number| RunId::from_parts(0, number), Timestamp::from_millis(0));
        let begin = |number, kind| {
            let base_commit = Some(commit('a'));
            let run = Run { base_commit, ..Run::begin(id(number), kind, "a run", now) };
            journal.create_run(&run, &[]).unwrap();
            run
        };
        let finish = |run: &Run, key: &StepKey, result: Value| {
            let begun =
                journal.begin_step(run.id, key, EffectClass::Keyed, &Value::Null, now).unwrap();
            let (runs, new_runs, ledger, events) = (vec![], vec![], vec![], vec![]);
            let entry = StepEntry { result, runs, new_runs, ledger, events, now };
            journal.finish_step(run.id, key, begun.attempt, &entry).unwrap();
        };
        let tip = |run: &Run| recorded_work(&journal, run).unwrap().map(|work| work.tip);
        let list = begin(1, RunKind::Loop);
        assert_eq!(tip(&list), None);
        let tree = TreeId::new("c".repeat(40)).unwrap();
        for (task, number, digit) in [("a", 4, '4'), ("b", 7, '7'), ("c", 5, '5')] {
            let landed = TaskLanding::Landed { number, commit: commit(digit), tree: tree.clone() };
            finish(&list, &StepKey::task_landing(task, 1), json!(landed));
        }
        let back = TaskLanding::Back { number: 9, evidence: String::new() };
        finish(&list, &StepKey::task_landing("d", 1), json!(back));
        let work = recorded_work(&journal, &list).unwrap().unwrap();
        assert_eq!((work.base, work.tip), (commit('a'), commit('7')));

        let racer = begin(2, RunKind::Orchestrate);
        finish(&racer, &StepKey::commit(), json!(Done::Committed { commit: commit('8') }));
        for (number, decision, expected) in [
            (3, json!(racer.id), Some(commit('8'))),
            (4, json!({ "run": racer.id, "how": "it is shorter" }), Some(commit('8'))),
            (5, Value::Null, None),
        ] {
            let race = begin(number, RunKind::Race);
            finish(&race, &StepKey::named("winner"), decision);
            assert_eq!(tip(&race), expected);
        }
    }
}
