//! How far the checks of a change go.

use schemars::JsonSchema;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What is known of a verified change beside its verifier's word, the least first. Each includes
/// those before it.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ProofLevel {
    /// The project's own checks are green.
    Checked,
    /// They are so with everything but the product as it was at the base, and nothing that they go
    /// by was touched.
    Proved,
    /// And every part of the change is noticed by one of them.
    Seen,
    /// And so are checks that the coder never saw.
    HeldOut,
}

impl ProofLevel {
    pub const ALL: [Self; 4] = [Self::Checked, Self::Proved, Self::Seen, Self::HeldOut];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Checked => "checked",
            Self::Proved => "proved",
            Self::Seen => "seen",
            Self::HeldOut => "held-out",
        }
    }
}

impl fmt::Display for ProofLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ProofLevel {
    type Err = UnknownLevel;

    fn from_str(word: &str) -> Result<Self, UnknownLevel> {
        Self::ALL.into_iter().find(|level| level.as_str() == word).ok_or(UnknownLevel)
    }
}

/// How long the parts of a change are taken back one by one, to see whether a check notices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeTime {
    /// They are not.
    #[default]
    Off,
    /// In proportion to what the checks of the change took.
    Auto,
    /// As long as it takes.
    All,
    For(Duration),
}

impl ProbeTime {
    /// However long the checks take, probes have no more by themselves.
    const MOST: Duration = Duration::from_secs(300);
    /// However short they are, this is nothing beside an agent's session.
    const LEAST: Duration = Duration::from_secs(10);

    /// Returns the limit where the checks of the change took `checks`; nothing where there is none.
    pub fn limit(self, checks: Duration) -> Option<Duration> {
        match self {
            Self::Off => Some(Duration::ZERO),
            Self::Auto => Some(checks.saturating_mul(2).clamp(Self::LEAST, Self::MOST)),
            Self::All => None,
            Self::For(time) => Some(time),
        }
    }

    /// Returns it for one who insists that every part is seen: what was left to Spore takes as long
    /// as it takes.
    #[must_use]
    pub const fn insisted(self) -> Self {
        match self {
            Self::Off | Self::Auto => Self::All,
            named => named,
        }
    }
}

/// A word that names no level.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a level of proof is one of checked, proved, seen, held-out")]
pub struct UnknownLevel;

/// What the checks of one change prove, as a run keeps it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProofSummary {
    pub level: ProofLevel,
    /// In one line, as a commit says it: `proved, 41 kept, 3 new`.
    pub line: String,
    /// Why the level is not higher, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_take_no_longer_than_twice_the_checks_unless_a_person_says_so() {
        let (second, hour) = (Duration::from_secs(1), Duration::from_secs(3600));
        assert_eq!(ProbeTime::Auto.limit(second), Some(ProbeTime::LEAST));
        assert_eq!(ProbeTime::Auto.limit(second * 60), Some(second * 120));
        assert_eq!(ProbeTime::Auto.limit(hour), Some(ProbeTime::MOST));
        assert_eq!(ProbeTime::For(hour).limit(second), Some(hour));
        assert_eq!(ProbeTime::Auto.insisted().limit(second), None);
        assert_eq!(ProbeTime::For(second).insisted().limit(hour), Some(second));
    }

    #[test]
    fn levels_have_an_order_and_a_word() {
        assert!(ProofLevel::ALL.is_sorted());
        for level in ProofLevel::ALL {
            assert_eq!(level.as_str().parse(), Ok(level));
            assert_eq!(serde_json::to_value(level).unwrap(), level.as_str());
        }
        assert_eq!("sure".parse::<ProofLevel>(), Err(UnknownLevel));
    }
}
