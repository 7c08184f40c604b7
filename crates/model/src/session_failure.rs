//! How a session failed that did.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Outcome;

/// By what a session that did not end well was stopped, so that people and statistics need not read
/// sentences.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
)]
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
