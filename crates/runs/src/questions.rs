//! What parts of a flow ask a person that no person has answered: only then is there anything to answer.
//!
//! A flow waits for a person also where its work cannot be brought to a branch, or where a part of it
//! broke down; it goes on by itself once that is mended.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use spore_model::{Outcome, Run, RunId, RunKind, StepKey};
use spore_store::{Journal, JournalError};

/// The name under which the step of a review plans whom an answer is addressed to.
pub const ASKER: &str = "asker";

/// What was asked. It is the result of the step in which an exec asks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Question {
    pub outcome: Outcome,
    pub reason: String,
    /// What an answer is addressed to: the very session that asked, or the run that is over and left a
    /// question behind.
    pub asker: RunId,
}

/// A question without an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenQuestion {
    /// The part that asks.
    pub run: RunId,
    pub name: String,
    pub question: Question,
}

/// Returns the parts of `flow`, which is the root, that ask what no person has answered.
pub(crate) fn who_asks(journal: &dyn Journal, flow: &Run) -> Result<Vec<RunId>, JournalError> {
    let open = open_questions(journal, flow, &answered(flow))?;
    Ok(open.into_iter().map(|one| one.run).collect())
}

/// Returns what the parts of a flow ask that is not `answered`, in the order of the tree.
pub fn open_questions(
    journal: &dyn Journal,
    run: &Run,
    answered: &BTreeSet<RunId>,
) -> Result<Vec<OpenQuestion>, JournalError> {
    let mut found = Vec::new();
    collect(journal, run, &mut found)?;
    found.retain(|open| !answered.contains(&open.question.asker));
    Ok(found)
}

fn collect(
    journal: &dyn Journal,
    run: &Run,
    found: &mut Vec<OpenQuestion>,
) -> Result<(), JournalError> {
    if !run.is_open() || run.kind == RunKind::Session {
        return Ok(());
    }
    let asks = |of: &Run, question| OpenQuestion { run: of.id, name: of.name.clone(), question };
    if run.kind == RunKind::Campaign {
        found.extend(open_review(journal, run)?.map(|question| asks(run, question)));
    }
    if run.kind == RunKind::Exec {
        found.extend(last_question(journal, run.id)?.map(|question| asks(run, question)));
        return Ok(());
    }
    let children = journal.children(run.id)?;
    let is_over = |child: &&Run| !child.is_open() && run.kind == RunKind::Stage;
    for child in children.iter().filter(is_over) {
        if let Some(outcome @ Outcome::NeedsEscalation) = child.outcome {
            let reason = child.reason.clone().unwrap_or_default();
            found.push(asks(child, Question { outcome, reason, asker: child.id }));
        }
    }
    children.iter().try_for_each(|child| collect(journal, child, found))
}

/// Returns what the newest session of an exec asked, if it did.
pub fn last_question(journal: &dyn Journal, exec: RunId) -> Result<Option<Question>, JournalError> {
    let sessions = journal.children(exec)?;
    let last = sessions.iter().rfind(|run| run.kind == RunKind::Session);
    let Some(last) = last else { return Ok(None) };
    let step = journal.step(exec, &StepKey::question(last.attempt))?;
    let asked = step.and_then(|step| step.result);
    Ok(asked.and_then(|asked| serde_json::from_value(asked).ok()))
}

/// Returns the look at a plan that a campaign waits for, if it does.
fn open_review(journal: &dyn Journal, run: &Run) -> Result<Option<Question>, JournalError> {
    for revision in 0.. {
        let Some(step) = journal.step(run.id, &StepKey::review(revision))? else {
            match revision {
                // Only phases that were known from the start have no version.
                0 => continue,
                _ => break,
            }
        };
        if step.result.is_none() {
            let planned = step.intent.get(ASKER).and_then(|id| id.as_str());
            let asker = planned.and_then(|id| id.parse().ok()).unwrap_or(run.id);
            let reason = run.reason.clone().unwrap_or_default();
            return Ok(Some(Question { outcome: Outcome::NeedsHuman, reason, asker }));
        }
    }
    Ok(None)
}

/// Returns whom answers were given to.
fn answered(flow: &Run) -> BTreeSet<RunId> {
    let answers = flow.settings.get("answers").and_then(Value::as_array);
    let to = |answer: &Value| answer.get("to")?.as_str()?.parse().ok();
    answers.into_iter().flatten().filter_map(to).collect()
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
        let (key, now) = (StepKey::question(1), exec.started);
        let begun = journal.begin_step(exec.id, &key, EffectClass::Keyed, &Value::Null, now);
        let entry = StepEntry {
            result: json!({
                "outcome": Outcome::NeedsHuman, "reason": "which format?", "asker": session.id,
            }),
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
