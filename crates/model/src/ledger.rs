//! What model calls consumed.

use std::iter::Sum;
use std::ops::Add;

use serde::{Deserialize, Serialize};

use crate::{Cost, RunId, Timestamp};

/// Tokens by kind. They have different prices, so they are never added together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens + other.input_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
            cache_read_tokens: self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens: self.cache_write_tokens + other.cache_write_tokens,
        }
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), Add::add)
    }
}

/// One paid session, booked once. The key is the session's own run: a session that was cut
/// short by a crash and started again is two sessions and two rows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
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
    pub booked: Timestamp,
}
