//! One line of the spine.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{EventId, RunId, Timestamp, TraceId};

/// Who an event comes from. The split into external and internal is what keeps memory from
/// learning from Spore's own chatter: only external events are evidence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    Human,
    Git,
    Ci,
    Channel,
    /// A gate's result: the project's own commands said it, not an agent.
    Check,
    /// A verdict.
    Verifier,
    Runner,
    System,
    Cadence,
    Meta,
    Route,
    Gateway,
}

impl SourceKind {
    pub const ALL: [Self; 12] = [
        Self::Human,
        Self::Git,
        Self::Ci,
        Self::Channel,
        Self::Check,
        Self::Verifier,
        Self::Runner,
        Self::System,
        Self::Cadence,
        Self::Meta,
        Self::Route,
        Self::Gateway,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Git => "git",
            Self::Ci => "ci",
            Self::Channel => "channel",
            Self::Check => "check",
            Self::Verifier => "verifier",
            Self::Runner => "runner",
            Self::System => "system",
            Self::Cadence => "cadence",
            Self::Meta => "meta",
            Self::Route => "route",
            Self::Gateway => "gateway",
        }
    }

    /// Returns whether an event of this kind may serve as evidence.
    pub const fn is_external(self) -> bool {
        matches!(
            self,
            Self::Human | Self::Git | Self::Ci | Self::Channel | Self::Check | Self::Verifier
        )
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A kind that is not on the list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a kind of event source")]
pub struct UnknownSourceKind(String);

impl FromStr for SourceKind {
    type Err = UnknownSourceKind;

    fn from_str(text: &str) -> Result<Self, UnknownSourceKind> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| UnknownSourceKind(text.chars().take(80).collect()))
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EventSource {
    pub kind: SourceKind,
    pub name: String,
    /// Whether Spore itself wrote it, through its outbox. What is appended never is, so that
    /// neither a session nor a script can tell of a run or of tools in Spore's name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
}

/// The types of events that Spore's own writers alone put on the spine.
const OWN_TYPES: [&str; 41] = [
    "bounce.closed",
    "bounce.started",
    "campaign.changed",
    "commit.applied",
    "commit.created",
    "commit.landed",
    "context.compiled",
    "correction.edited",
    "correction.reverted",
    "gates.finished",
    "investigation.cleared",
    "investigation.entries",
    "investigation.plan",
    "investigation.survey",
    "investigation.synthesis",
    "memory.crystallized",
    "memory.imported",
    "memory.judged",
    "memory.restored",
    "memory.scanned",
    "memory.undone",
    "memory.updated",
    "memory.woven",
    "race.won",
    "run.cancelled",
    "run.escalated",
    "run.finished",
    "run.parked",
    "run.resumed",
    "run.rolled_back",
    "run.started",
    "run.summarized",
    "session.finished",
    "session.lost",
    "session.started",
    "session.stopped",
    "snapshot.taken",
    "task.reopened",
    "tools.used",
    "verdict.given",
    "work.rebased",
];

/// Returns whether events of a type are Spore's own to write.
pub fn is_own_type(what: &str) -> bool {
    OWN_TYPES.binary_search(&what).is_ok()
}

/// Something that happened. Ids sort by time; `payload` is data, never an instruction.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Event {
    pub id: EventId,
    pub ts: Timestamp,
    pub source: EventSource,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceId>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub payload: Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_a_kind_is_the_same_in_text_and_in_json() {
        for kind in SourceKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
    }

    #[test]
    fn spores_own_types_are_found_by_their_order() {
        assert!(OWN_TYPES.is_sorted());
        assert!(OWN_TYPES.into_iter().all(is_own_type) && !is_own_type("memory.feedback"));
    }

    #[test]
    fn an_event_is_one_line_of_json() {
        let event = Event {
            id: EventId::from_parts(1_767_225_600_000, 1),
            ts: Timestamp::from_millis(1_767_225_600_000),
            source: EventSource { kind: SourceKind::Check, name: "cargo test".into(), own: true },
            kind: "gate.finished".into(),
            session_key: None,
            run: None,
            trace: None,
            payload: serde_json::json!({"log": "a\nb"}),
        };
        let line = serde_json::to_string(&event).unwrap();
        assert!(!line.contains('\n'));
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event);
    }
}
