//! The three kinds of effect a step may have, by what a crash may do to it.

use serde::{Deserialize, Serialize};

/// What may happen to an effect when the process dies between its intent and its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// A commit, ref, row, file or event: doing it again with the same key changes nothing.
    Keyed,
    /// May run again, under a higher attempt number; only the newest attempt's result counts.
    Fenced,
    /// Costs money: may happen again after a crash, and every time is booked.
    Paid,
}
