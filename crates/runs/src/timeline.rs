//! One run from its beginning to its end: its attempts, sessions and checks as they followed each
//! other, with what each took and cost.

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::{Cost, Outcome, Run, RunId, RunKind, RunStatus, Timestamp};
use spore_store::{Journal, JournalError};

use crate::live::Presence;

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

/// How far a session came that did not end well.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SessionFailure {
    /// No model answered it: its agent did not start, or was turned away.
    FailedStartup,
    /// It had begun to work.
    FailedPartial,
    /// It reached a limit that it was given: of time, or of quota.
    FailedLimit,
}

impl SessionFailure {
    /// Tells by the row of a session how it failed; nothing where it did not, or is not over.
    pub fn of(session: &Run) -> Option<Self> {
        if session.kind != RunKind::Session {
            return None;
        }
        match session.outcome? {
            Outcome::Success | Outcome::Interrupted => None,
            Outcome::TimedOut | Outcome::QuotaParked => Some(Self::FailedLimit),
            _ if session.turns == 0 && session.tokens.output_tokens == 0 => {
                Some(Self::FailedStartup)
            }
            _ => Some(Self::FailedPartial),
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FailedStartup => "failed-startup",
            Self::FailedPartial => "failed-partial",
            Self::FailedLimit => "failed-limit",
        }
    }
}

/// Returns what happened in a run, in its order; `None` if there is none with this id.
pub fn timeline_of_run(
    journal: &dyn Journal,
    presence: &dyn Presence,
    id: RunId,
) -> Result<Option<RunTimeline>, JournalError> {
    let Some(run) = journal.run(id)? else { return Ok(None) };
    let alive = presence.is_alive(id);
    // The ledger has the model that was really used, a row the one that was asked for.
    let booked = journal.ledger(id)?;
    let mut entries = Vec::new();
    // Each part is followed by its own, so that the order holds also where times are the same.
    let parts_of = |parent: RunId, depth: u32| -> Result<Vec<(Run, u32)>, JournalError> {
        let parts = journal.children(parent)?.into_iter().rev();
        Ok(parts.map(|part| (part, depth)).collect())
    };
    let mut waiting = parts_of(id, 0)?;
    while let Some((part, depth)) = waiting.pop() {
        waiting.extend(parts_of(part.id, depth + 1)?);
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
        failure: SessionFailure::of(&part),
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
    use spore_model::Usage;

    use super::*;

    #[track_caller]
    fn check(outcome: Outcome, turns: u32, output: u64, expected: Option<&str>) {
        let begun = Run::begin(
            RunId::from_parts(0, 1),
            RunKind::Session,
            "coder",
            Timestamp::from_millis(0),
        );
        let tokens = Usage { output_tokens: output, ..Usage::default() };
        let session = Run { outcome: Some(outcome), turns, tokens, ..begun };
        assert_eq!(SessionFailure::of(&session).map(SessionFailure::as_str), expected);
    }

    #[test]
    fn a_session_that_reached_no_model_failed_at_its_start() {
        check(Outcome::Failure, 0, 0, Some("failed-startup"));
        check(Outcome::NeedsHuman, 0, 0, Some("failed-startup"));
        check(Outcome::Failure, 3, 0, Some("failed-partial"));
        check(Outcome::Failure, 0, 7, Some("failed-partial"));
        check(Outcome::TimedOut, 0, 0, Some("failed-limit"));
        check(Outcome::Success, 0, 0, None);
        check(Outcome::Interrupted, 0, 0, None);
    }
}
