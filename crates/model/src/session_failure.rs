//! How a session failed that did.

use serde::{Deserialize, Serialize};

use crate::{Outcome, Run, RunKind, SessionNotes};

/// By what a session that did not end well was stopped, so that people and statistics need not read
/// sentences.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionFailure {
    /// It never began to work: its agent did not start, or lacked what it needs.
    FailedStartup,
    /// It had begun to work and gave up, or handed in something that is not whole.
    FailedPartial,
    /// It reached a limit that it was given: of time, turns, money or quota.
    FailedLimit,
    /// Its model could not be asked: it is not signed in, or the server refused or broke down.
    FailedModel,
    /// Its program ended in the middle of the work, by itself or by a signal.
    FailedProcess,
}

impl SessionFailure {
    pub const ALL: [Self; 5] = [
        Self::FailedStartup,
        Self::FailedPartial,
        Self::FailedLimit,
        Self::FailedModel,
        Self::FailedProcess,
    ];

    /// Settles how a session failed. `cause` is what its backend saw, `worked` whether a model
    /// answered it at all. An interrupted session did not fail: a person or a crash ended it.
    pub fn settle(cause: Option<Self>, outcome: Outcome, worked: bool) -> Option<Self> {
        match (outcome, cause) {
            (Outcome::Success | Outcome::Interrupted, _) => None,
            // A program that ends before its first answer did not start.
            (_, Some(Self::FailedProcess | Self::FailedPartial)) if !worked => {
                Some(Self::FailedStartup)
            }
            (_, Some(cause)) => Some(cause),
            (Outcome::TimedOut | Outcome::QuotaParked, None) => Some(Self::FailedLimit),
            _ if worked => Some(Self::FailedPartial),
            _ => Some(Self::FailedStartup),
        }
    }

    /// Tells by the row of a session how it failed; nothing where it did not, or is not over. Rows
    /// of earlier versions have no note of it, and are judged by their figures.
    pub fn of_row(session: &Run) -> Option<Self> {
        if session.kind != RunKind::Session {
            return None;
        }
        let worked = session.turns > 0 || session.tokens.output_tokens > 0;
        Self::settle(SessionNotes::of_row(session).failure, session.outcome?, worked)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FailedStartup => "failed-startup",
            Self::FailedPartial => "failed-partial",
            Self::FailedLimit => "failed-limit",
            Self::FailedModel => "failed-model",
            Self::FailedProcess => "failed-process",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RunId, Timestamp, Usage};

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
        assert_eq!(SessionFailure::of_row(&session).map(SessionFailure::as_str), expected);
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

    #[test]
    fn what_the_backend_saw_counts_but_for_a_program_that_never_began() {
        use SessionFailure::{FailedLimit, FailedModel, FailedProcess, FailedStartup};
        let settle = SessionFailure::settle;
        assert_eq!(settle(Some(FailedProcess), Outcome::Failure, true), Some(FailedProcess));
        assert_eq!(settle(Some(FailedProcess), Outcome::Failure, false), Some(FailedStartup));
        assert_eq!(settle(Some(FailedModel), Outcome::Failure, false), Some(FailedModel));
        assert_eq!(settle(Some(FailedStartup), Outcome::TimedOut, false), Some(FailedStartup));
        assert_eq!(settle(Some(FailedLimit), Outcome::Failure, true), Some(FailedLimit));
        for cause in SessionFailure::ALL {
            assert_eq!(settle(Some(cause), Outcome::Success, true), None);
            let word = serde_json::to_value(cause).unwrap();
            assert_eq!(word, cause.as_str());
        }
    }
}
