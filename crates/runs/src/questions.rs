//! Whether a flow that waits for a person asks something: only then is there anything to answer.
//!
//! A flow waits for a person also where its work cannot be brought to a branch, or where a part of it
//! broke down; it goes on by itself once that is mended.

use std::collections::BTreeSet;

use serde_json::Value;
use spore_model::{Outcome, Run, RunId, RunKind, StepKey};
use spore_store::{Journal, JournalError};

/// Returns whether any part of `flow`, which is the root, asks what no person has answered.
pub(crate) fn asks_a_person(journal: &dyn Journal, flow: &Run) -> Result<bool, JournalError> {
    let answered = answered(flow);
    let mut waiting = vec![flow.clone()];
    while let Some(run) = waiting.pop() {
        if !run.is_open() || run.kind == RunKind::Session {
            continue;
        }
        let parts = journal.children(run.id)?;
        if run.kind == RunKind::Exec {
            if let Some(session) = parts.iter().rfind(|part| part.kind == RunKind::Session)
                && !answered.contains(&session.id)
                && has_asked(journal, run.id, session.attempt)?
            {
                return Ok(true);
            }
            continue;
        }
        let left_a_question = |part: &Run| {
            run.kind == RunKind::Stage
                && !part.is_open()
                && part.outcome == Some(Outcome::NeedsEscalation)
                && !answered.contains(&part.id)
        };
        if parts.iter().any(left_a_question) {
            return Ok(true);
        }
        waiting.extend(parts);
    }
    Ok(false)
}

/// Returns whom answers were given to.
fn answered(flow: &Run) -> BTreeSet<RunId> {
    let answers = flow.settings.get("answers").and_then(Value::as_array);
    let to = |answer: &Value| answer.get("to")?.as_str()?.parse().ok();
    answers.into_iter().flatten().filter_map(to).collect()
}

/// Returns whether the session of an attempt of an exec ended with a question.
fn has_asked(journal: &dyn Journal, exec: RunId, attempt: u32) -> Result<bool, JournalError> {
    let Ok(key) = StepKey::new(format!("ask/{attempt}")) else { return Ok(false) };
    Ok(journal.step(exec, &key)?.is_some_and(|step| step.result.is_some()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use spore_model::{EffectClass, Park, RunState, Timestamp};
    use spore_store::{SqliteJournal, StepEntry};

    use super::*;
    use crate::advice::advise;

    /// A stage that waits for a person, and a part of it.
    fn stage(part: RunKind, outcome: Outcome) -> (tempfile::TempDir, SqliteJournal, Run, Run) {
        let dir = tempfile::tempdir().unwrap();
        let journal = SqliteJournal::open(&dir.path().join("spore.db")).unwrap();
        let at = Timestamp::from_millis(0);
        let stage = Run {
            state: RunState::Parked,
            park: Some(Park::Human),
            ..Run::begin(RunId::from_parts(0, 1), RunKind::Stage, "stage", at)
        };
        let part = Run {
            parent: Some(stage.id),
            state: RunState::Parked,
            park: Some(Park::Human),
            outcome: Some(outcome),
            ..Run::begin(RunId::from_parts(0, 2), part, "part", at)
        };
        journal.create_run(&stage, &[]).unwrap();
        (dir, journal, stage, part)
    }

    fn command(journal: &SqliteJournal, run: &Run) -> String {
        let next = advise(journal, run, run.status(false)).unwrap();
        next.map(|next| next.command).unwrap_or_default()
    }

    #[test]
    fn a_task_whose_verifier_broke_down_asks_nothing_and_is_gone_on_with() {
        let (_dir, journal, stage, task) = stage(RunKind::Orchestrate, Outcome::NeedsHuman);
        journal.create_run(&task, &[]).unwrap();
        assert_eq!(command(&journal, &stage), "spore resume 00000001");
    }

    #[test]
    fn a_session_that_asked_is_answered_until_it_was() {
        let (_dir, journal, stage, exec) = stage(RunKind::Exec, Outcome::NeedsHuman);
        let session = Run {
            parent: Some(exec.id),
            state: RunState::Ended,
            ..Run::begin(RunId::from_parts(0, 3), RunKind::Session, "x", exec.started)
        };
        journal.create_run(&exec, &[]).unwrap();
        journal.create_run(&session, &[]).unwrap();
        assert_eq!(command(&journal, &stage), "spore resume 00000001");
        let (key, now) = (StepKey::new("ask/1".to_owned()).unwrap(), exec.started);
        let begun = journal.begin_step(exec.id, &key, EffectClass::Keyed, &Value::Null, now);
        let entry = StepEntry {
            result: json!({ "reason": "which format?" }),
            runs: Vec::new(),
            new_runs: Vec::new(),
            ledger: Vec::new(),
            events: Vec::new(),
            now,
        };
        journal.finish_step(exec.id, &key, begun.unwrap().attempt, &entry).unwrap();
        assert_eq!(command(&journal, &stage), "spore resolve 00000001 --file ANSWER.md");
        let answers = json!({ "answers": [{ "to": session.id, "words": "the short one" }] });
        let answered = Run { settings: answers, ..stage };
        assert_eq!(command(&journal, &answered), "spore resume 00000001");
    }

    #[test]
    fn a_part_that_is_over_and_left_a_question_is_answered() {
        let (_dir, journal, stage, task) = stage(RunKind::Orchestrate, Outcome::NeedsEscalation);
        let over = Run { state: RunState::Ended, park: None, ..task };
        journal.create_run(&over, &[]).unwrap();
        assert_eq!(command(&journal, &stage), "spore resolve 00000001 --file ANSWER.md");
    }
}
