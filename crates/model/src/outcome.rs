//! How a run ended, and the exit code that follows from it: the one place that says so.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The end of a run, as its caller has to understand it.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Success,
    Failure,
    /// Nesting reached its limit; nothing was started.
    DepthExceeded,
    /// Parked until a person decides or raises the budget.
    NeedsHuman,
    NeedsRefinement,
    NeedsEscalation,
    /// Some of several parts failed.
    Partial,
    Interrupted,
    TimedOut,
    /// Parked until a quota or rate limit resets.
    QuotaParked,
}

impl Outcome {
    pub const ALL: [Self; 10] = [
        Self::Success,
        Self::Failure,
        Self::DepthExceeded,
        Self::NeedsHuman,
        Self::NeedsRefinement,
        Self::NeedsEscalation,
        Self::Partial,
        Self::Interrupted,
        Self::TimedOut,
        Self::QuotaParked,
    ];

    /// Returns the exit code of a process whose run ended so.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::DepthExceeded => 2,
            Self::NeedsHuman => 3,
            Self::NeedsRefinement => 10,
            Self::NeedsEscalation => 11,
            Self::Partial => 12,
            Self::Interrupted => 20,
            Self::TimedOut => 21,
            Self::QuotaParked => 75,
        }
    }

    /// Reads a child's exit code. A code that is not ours means an ordinary failure, decided
    /// by the caller: it is `None` here.
    pub fn from_exit_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.exit_code() == code)
    }
}

/// Why a call could not even become a run. The codes are those of `sysexits.h`, so that none
/// of them collides with an [`Outcome`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The call's words are off.
    Usage,
    /// What was handed in is broken: a corrupt database, an empty repository, a red baseline.
    BadInput,
    /// A program or file that is needed is not there.
    Missing,
    /// Ours.
    Bug,
    /// The machine refused: full disk, read-only directory.
    Io,
    Config,
}

impl Fault {
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Usage => 64,
            Self::BadInput => 65,
            Self::Missing => 69,
            Self::Bug => 70,
            Self::Io => 74,
            Self::Config => 78,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_tell_outcomes_and_faults_apart() {
        let faults =
            [Fault::Usage, Fault::BadInput, Fault::Missing, Fault::Bug, Fault::Io, Fault::Config];
        let mut codes: Vec<u8> = Outcome::ALL.iter().map(|outcome| outcome.exit_code()).collect();
        codes.extend(faults.iter().map(|fault| fault.exit_code()));
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
    }

    #[test]
    fn an_outcome_survives_its_exit_code() {
        for outcome in Outcome::ALL {
            assert_eq!(Outcome::from_exit_code(outcome.exit_code()), Some(outcome));
        }
        assert_eq!(Outcome::from_exit_code(137), None);
    }
}
