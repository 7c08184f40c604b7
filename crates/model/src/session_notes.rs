//! What the row of a session notes besides its figures: which tools it used, what it was not let do,
//! how it failed, and until when it has to wait.

use schemars::JsonSchema;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Run, RunKind, SessionFailure, Timestamp};

/// Kept as the settings of the session's row, which needs none of its own.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SessionNotes {
    #[serde(default, skip_serializing_if = "RefusedCalls::is_empty")]
    pub refused: RefusedCalls,
    /// When the limit is over that stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
    /// How it failed, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<SessionFailure>,
    /// The tools it used, the most used first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub used: Vec<ToolUse>,
}

impl SessionFailure {
    /// Tells by the row of a session how it failed; nothing where it did not, or is not over. Rows
    /// of earlier versions have no note of it, and are judged by their figures.
    pub fn of_row(session: &Run) -> Option<Self> {
        if session.kind != RunKind::Session {
            return None;
        }
        let worked = session.turns > 0 || session.tokens.output_tokens > 0;
        Self::settle(SessionNotes::of_row(session).failure, session.outcome?, worked)
    }
}

/// How often a session used a tool.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ToolUse {
    pub tool: String,
    pub times: u32,
}

impl SessionNotes {
    /// Reads the notes of a row; one of another kind has none.
    pub fn of_row(run: &Run) -> Self {
        match run.kind {
            RunKind::Session => serde_json::from_value(run.settings.clone()).unwrap_or_default(),
            _ => Self::default(),
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Tool calls that a session was refused, by the agent's own names of the tools.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct RefusedCalls(Vec<RefusedTool>);

/// How often a tool was refused.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RefusedTool {
    pub tool: String,
    pub times: u32,
}

impl RefusedCalls {
    /// More tools than this are not told apart.
    const MOST: usize = 16;

    pub fn note(&mut self, tool: &str) {
        let short: String = tool.chars().take(60).collect();
        let known = self.0.iter().position(|known| known.tool == short);
        match known {
            Some(at) => self.0[at].times = self.0[at].times.saturating_add(1),
            None if self.0.len() < Self::MOST => {
                self.0.push(RefusedTool { tool: short, times: 1 });
            }
            None => {}
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns how many calls were refused in all.
    pub fn count(&self) -> u32 {
        self.0.iter().fold(0, |sum, one| sum.saturating_add(one.times))
    }

    pub fn tools(&self) -> impl Iterator<Item = &RefusedTool> {
        self.0.iter()
    }
}

/// `3 tool calls were refused (Write 2, Bash)`.
impl fmt::Display for RefusedCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.count();
        let told: Vec<String> = self
            .tools()
            .map(|one| match one.times {
                1 => one.tool.clone(),
                times => format!("{} {times}", one.tool),
            })
            .collect();
        let were = if count == 1 { "call was" } else { "calls were" };
        write!(f, "{count} tool {were} refused ({})", told.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outcome, RunId, Usage};

    #[track_caller]
    fn check_failure(outcome: Outcome, turns: u32, output: u64, expected: Option<&str>) {
        let begun = Run::begin(
            RunId::from_parts(0, 1),
            RunKind::Session,
            "coder",
            Timestamp::from_millis(0),
        );
        let tokens = Usage { output_tokens: output, ..Usage::default() };
        let session = Run { outcome: Some(outcome), turns, tokens, ..begun };
        assert_eq!(SessionFailure::of_row(&session).map(SessionFailure::as_str), expected);
    }

    #[test]
    fn a_session_that_reached_no_model_failed_at_its_start() {
        check_failure(Outcome::Failure, 0, 0, Some("failed-startup"));
        check_failure(Outcome::NeedsHuman, 0, 0, Some("failed-startup"));
        check_failure(Outcome::Failure, 3, 0, Some("failed-partial"));
        check_failure(Outcome::Failure, 0, 7, Some("failed-partial"));
        check_failure(Outcome::TimedOut, 0, 0, Some("failed-limit"));
        check_failure(Outcome::Success, 0, 0, None);
        check_failure(Outcome::Interrupted, 0, 0, None);
    }

    #[test]
    fn refused_calls_are_counted_by_tool() {
        let mut refused = RefusedCalls::default();
        assert!(refused.is_empty());
        refused.note("Write");
        assert_eq!(refused.to_string(), "1 tool call was refused (Write)");
        for tool in ["Bash", "Write"] {
            refused.note(tool);
        }
        assert_eq!(refused.to_string(), "3 tool calls were refused (Write 2, Bash)");
        assert_eq!(refused.count(), 3);
    }

    #[test]
    fn a_row_with_other_settings_or_none_has_no_notes() {
        let id = crate::RunId::from_parts(0, 1);
        let read = |kind, settings| {
            let run = Run::begin(id, kind, "", Timestamp::from_millis(0));
            SessionNotes::of_row(&Run { settings, ..run })
        };
        let mut notes = SessionNotes::default();
        notes.refused.note("Edit");
        let kept = serde_json::to_value(&notes).unwrap();
        assert_eq!(read(RunKind::Session, kept.clone()), notes);
        assert!(read(RunKind::Orchestrate, kept).is_empty());
        assert!(read(RunKind::Session, serde_json::Value::Null).is_empty());
        assert!(read(RunKind::Session, serde_json::json!({ "in_place": true })).is_empty());
    }
}
