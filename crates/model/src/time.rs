//! A point in time, to the millisecond.

use schemars::JsonSchema;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970, UTC. Written as RFC 3339 wherever a person or a file sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(i64);

/// Text that is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a time such as 2026-01-31T12:00:00Z")]
pub struct BadTime(String);

impl Timestamp {
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns the whole seconds, as git wants them.
    pub const fn as_seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// Returns the UTC day, `2026-01-31`: the name of a partition of the spine.
    pub fn day(self) -> String {
        self.to_string()[..10].to_owned()
    }

    /// Returns the time that passed since `earlier`, zero if the clock went backwards.
    pub fn since(self, earlier: Self) -> std::time::Duration {
        std::time::Duration::from_millis(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A clock outside jiff's ten thousand years is a broken clock, not a reason to fail.
        let time = jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        write!(f, "{time:.3}")
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = BadTime;

    fn from_str(text: &str) -> Result<Self, BadTime> {
        text.parse::<jiff::Timestamp>()
            .map(|time| Self(time.as_millisecond()))
            .map_err(|_| BadTime(text.chars().take(80).collect()))
    }
}

impl TryFrom<String> for Timestamp {
    type Error = BadTime;

    fn try_from(text: String) -> Result<Self, BadTime> {
        text.parse()
    }
}

impl From<Timestamp> for String {
    fn from(time: Timestamp) -> String {
        time.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_survives_its_text() {
        let time = Timestamp::from_millis(1_767_225_600_007);
        assert_eq!(time.to_string(), "2026-01-01T00:00:00.007Z");
        assert_eq!(time.to_string().parse(), Ok(time));
        assert_eq!(time.day(), "2026-01-01");
    }

    #[test]
    fn a_clock_that_went_backwards_gives_no_negative_duration() {
        let (early, late) = (Timestamp::from_millis(5), Timestamp::from_millis(9));
        assert_eq!(early.since(late), std::time::Duration::ZERO);
        assert_eq!(late.since(early).as_millis(), 4);
    }
}
