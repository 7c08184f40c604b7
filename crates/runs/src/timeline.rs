//! One run from its beginning to its end: its attempts, sessions and checks as they followed each
//! other, with what each took and cost.

mod story;

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::{Cost, Run, RunId, RunKind, RunStatus, SessionFailure, Timestamp};
use spore_store::{Journal, JournalError};

use crate::books::books_of;
use crate::live::Presence;
pub use story::{CarriedSum, RunStory, StoryEntry, StorySession, story_of_run};

#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct RunTimeline {
    pub run: RunId,
    pub name: String,
    pub status: RunStatus,
    pub started: Timestamp,
    pub ended: Option<Timestamp>,
    pub entries: Vec<TimelineEntry>,
}

#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct TimelineEntry {
    pub id: RunId,
    pub kind: RunKind,
    /// A role, a stage, an attempt.
    pub name: String,
    /// How far below the run it is.
    pub depth: u32,
    pub started: Timestamp,
    pub ended: Option<Timestamp>,
    /// From the beginning of the run.
    pub after_ms: u64,
    /// None where it is not over.
    pub duration_ms: Option<u64>,
    pub status: RunStatus,
    /// How a session failed that did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<SessionFailure>,
    pub turns: u32,
    pub cost: Cost,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Returns what happened in a run, in its order; `None` if there is none with this id.
pub fn timeline_of_run(
    journal: &dyn Journal,
    presence: &dyn Presence,
    id: RunId,
) -> Result<Option<RunTimeline>, JournalError> {
    let Some(run) = journal.run(id)? else { return Ok(None) };
    let alive = presence.is_alive(id);
    // The ledger has the model that was really used, a row the one that was asked for. Sessions of a
    // list, a race or a flow are booked on its parts.
    let mut booked = books_of(journal, &run)?;
    let mut entries = Vec::new();
    // Each part is followed by its own, so that the order holds also where times are the same.
    let parts_of = |parent: RunId, depth: u32| -> Result<Vec<(Run, u32)>, JournalError> {
        let parts = journal.children(parent)?.into_iter().rev();
        Ok(parts.map(|part| (part, depth)).collect())
    };
    let mut waiting = parts_of(id, 0)?;
    while let Some((part, depth)) = waiting.pop() {
        waiting.extend(parts_of(part.id, depth + 1)?);
        if !matches!(part.kind, RunKind::Session | RunKind::Bounce | RunKind::Gates) {
            booked.extend(journal.ledger(part.id)?);
        }
        let used = booked.iter().find(|bill| bill.session == part.id);
        let model = used.and_then(|bill| bill.model.clone());
        entries.push(entry(&run, part, (depth, alive), model));
    }
    Ok(Some(RunTimeline {
        run: id,
        name: run.name.clone(),
        status: run.status(alive),
        started: run.started,
        ended: run.ended,
        entries,
    }))
}

fn entry(
    root: &Run,
    part: Run,
    (depth, alive): (u32, bool),
    model: Option<String>,
) -> TimelineEntry {
    let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    TimelineEntry {
        id: part.id,
        kind: part.kind,
        depth,
        after_ms: millis(part.started.since(root.started)),
        duration_ms: part.ended.map(|ended| millis(ended.since(part.started))),
        status: part.status(alive),
        failure: SessionFailure::of_row(&part),
        turns: part.turns,
        cost: part.cost.into(),
        model: model.or(part.model),
        reason: part.reason,
        started: part.started,
        ended: part.ended,
        name: part.name,
    }
}

#[cfg(test)]
mod tests {
    use spore_model::{LedgerEntry, Usage};
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

    #[test]
    fn the_model_that_was_used_is_told_of_sessions_of_a_list_too() {
        let dir = tempfile::tempdir().unwrap();
        let journal = SqliteJournal::open(&dir.path().join("spore.db")).unwrap();
        let id = |number| RunId::from_parts(0, number);
        let of = |number: u128, kind| Run {
            parent: number.checked_sub(1).filter(|above| *above > 0).map(id),
            ..Run::begin(id(number), kind, "a run", Timestamp::from_millis(0))
        };
        let session = Run { model: Some("asked".to_owned()), ..of(3, RunKind::Session) };
        for run in [&of(1, RunKind::Loop), &of(2, RunKind::Orchestrate), &session] {
            journal.create_run(run, &[]).unwrap();
        }
        let bill = LedgerEntry {
            session: id(3),
            root: id(2),
            role: "coder".to_owned(),
            backend: "replay".to_owned(),
            model: Some("used".to_owned()),
            turns: 1,
            usage: Usage::default(),
            cost: Cost::default(),
            interrupted: false,
            duration_ms: None,
            failure: None,
            booked: Timestamp::from_millis(0),
        };
        assert!(journal.book(&bill).unwrap());
        let told = timeline_of_run(&journal, &Nobody, id(1)).unwrap().unwrap();
        let models: Vec<Option<&str>> =
            told.entries.iter().map(|entry| entry.model.as_deref()).collect();
        assert_eq!(models, [None, Some("used")]);
    }
}
