//! What model calls consumed.

use schemars::JsonSchema;
use std::fmt;
use std::iter::Sum;
use std::ops::Add;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Cost, RunId, SessionFailure, Timestamp};

/// Tokens by kind. They have different prices, so they are never added together.
///
/// The counts are an agent's, and may be anything. One that is no count, a negative number for
/// instance, is [`Usage::NO_COUNT`] and not zero; sums stop at the largest number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Usage {
    #[serde(deserialize_with = "token_count")]
    pub input_tokens: u64,
    #[serde(deserialize_with = "token_count")]
    pub output_tokens: u64,
    #[serde(deserialize_with = "token_count")]
    pub cache_read_tokens: u64,
    #[serde(deserialize_with = "token_count")]
    pub cache_write_tokens: u64,
}

impl Usage {
    /// Stands for what an agent gave as a count and what cannot be one.
    pub const NO_COUNT: u64 = u64::MAX;

    /// More tokens of one kind than any session uses: a window of ten million in each of a
    /// hundred thousand calls.
    const MOST: u64 = 1_000_000_000_000;

    /// Returns all that the model read, from wherever it came.
    pub fn read_tokens(self) -> u64 {
        self.input_tokens
            .saturating_add(self.cache_read_tokens)
            .saturating_add(self.cache_write_tokens)
    }

    /// Returns whether every count can be true.
    pub fn is_possible(self) -> bool {
        self == self.with_impossible_as(0)
    }

    /// Returns the usage with `count` in the place of each count that cannot be true.
    #[must_use]
    pub fn with_impossible_as(self, count: u64) -> Self {
        let possible = |tokens: u64| if tokens <= Self::MOST { tokens } else { count };
        Self {
            input_tokens: possible(self.input_tokens),
            output_tokens: possible(self.output_tokens),
            cache_read_tokens: possible(self.cache_read_tokens),
            cache_write_tokens: possible(self.cache_write_tokens),
        }
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cache_read_tokens: self.cache_read_tokens.saturating_add(other.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
        }
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), Add::add)
    }
}

/// Reads a count of tokens: nothing is zero, and what is no count is [`Usage::NO_COUNT`]. So
/// one impossible figure does not make the line unreadable that an agent gave it in.
pub fn token_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_any(CountVisitor)
}

struct CountVisitor;

impl<'de> Visitor<'de> for CountVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of tokens")
    }

    fn visit_u64<E>(self, count: u64) -> Result<u64, E> {
        Ok(count)
    }

    fn visit_i64<E>(self, count: i64) -> Result<u64, E> {
        Ok(u64::try_from(count).unwrap_or(Usage::NO_COUNT))
    }

    fn visit_f64<E>(self, count: f64) -> Result<u64, E> {
        let is_count = (0.0..1e18).contains(&count);
        Ok(if is_count { count.ceil() as u64 } else { Usage::NO_COUNT })
    }

    fn visit_unit<E>(self) -> Result<u64, E> {
        Ok(0)
    }

    fn visit_none<E>(self) -> Result<u64, E> {
        Ok(0)
    }

    fn visit_bool<E>(self, _: bool) -> Result<u64, E> {
        Ok(Usage::NO_COUNT)
    }

    fn visit_str<E>(self, _: &str) -> Result<u64, E> {
        Ok(Usage::NO_COUNT)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<u64, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Usage::NO_COUNT)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<u64, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Usage::NO_COUNT)
    }
}

/// One paid session, booked once. The key is the session's own run: a session that was cut
/// short by a crash and started again is two sessions and two rows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LedgerEntry {
    pub session: RunId,
    /// The run that pays, at the root of the tree.
    pub root: RunId,
    pub role: String,
    pub backend: String,
    pub model: Option<String>,
    pub turns: u32,
    pub usage: Usage,
    pub cost: Cost,
    /// True for a session that ended while no Spore process watched it; its figures are estimates.
    pub interrupted: bool,
    /// From its start to its end; nothing where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// How it failed, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<SessionFailure>,
    pub booked: Timestamp,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_is_no_count_is_not_zero() {
        for (told, expected) in [
            (json!(7), 7),
            (json!(7.0), 7),
            (json!(0.2), 1),
            (json!(u64::MAX), u64::MAX),
            (Value::Null, 0),
            (json!(-1), Usage::NO_COUNT),
            (json!(-0.5), Usage::NO_COUNT),
            (json!(1e300), Usage::NO_COUNT),
            (json!("12"), Usage::NO_COUNT),
            (json!(true), Usage::NO_COUNT),
            (json!([1]), Usage::NO_COUNT),
            (json!({ "n": 1 }), Usage::NO_COUNT),
        ] {
            let usage: Usage = serde_json::from_value(json!({ "input_tokens": told })).unwrap();
            assert_eq!(usage.input_tokens, expected, "{told}");
            assert_eq!(usage.output_tokens, 0);
        }
    }

    fn any_usage() -> impl Strategy<Value = Usage> {
        let count = || prop_oneof![any::<u64>(), 0..2_000_000u64, Just(u64::MAX)];
        (count(), count(), count(), count()).prop_map(|(input, output, read, write)| Usage {
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: read,
            cache_write_tokens: write,
        })
    }

    proptest! {
        #[test]
        fn a_sum_is_never_less_than_its_parts(parts in prop::collection::vec(any_usage(), 1..6)) {
            let sum: Usage = parts.iter().copied().sum();
            for part in parts {
                prop_assert!(sum.input_tokens >= part.input_tokens);
                prop_assert!(sum.output_tokens >= part.output_tokens);
                prop_assert!(sum.read_tokens() >= part.read_tokens());
                prop_assert!(part.is_possible() || !sum.is_possible());
            }
        }
    }
}
