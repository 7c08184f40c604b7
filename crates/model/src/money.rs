//! Money, exact in sums and honest about guesses.

use schemars::JsonSchema;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// US dollars in billionths: prices per token reach below a millionth, and sums must not drift.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Usd(i64);

impl Usd {
    pub const ZERO: Self = Self(0);
    /// Where sums stop.
    pub const MAX: Self = Self(i64::MAX);

    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Returns `None` for what is no amount of money: negative, infinite, not a number.
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        let nanos = (dollars * 1e9).round();
        (0.0..9e18).contains(&nanos).then_some(Self(nanos as i64))
    }

    /// Like [`Self::from_dollars`], and as much as can be written for more than that.
    pub fn from_dollars_at_most(dollars: f64) -> Option<Self> {
        let is_too_much = dollars.is_finite() && dollars >= 9e9 || dollars == f64::INFINITY;
        if is_too_much { Some(Self::MAX) } else { Self::from_dollars(dollars) }
    }

    pub fn as_dollars(self) -> f64 {
        self.0 as f64 / 1e9
    }

    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0).max(0))
    }
}

impl Add for Usd {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Usd {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Usd {
    /// Cents as people write them; four digits where cents would hide the amount.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 || self.0 >= 100_000_000 {
            write!(f, "${:.2}", self.as_dollars())
        } else {
            write!(f, "${:.4}", self.as_dollars())
        }
    }
}

impl fmt::Debug for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.as_dollars())
    }
}

impl JsonSchema for Usd {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Usd".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "description": "US dollars", "type": "number" })
    }
}

impl Serialize for Usd {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_dollars())
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        // A sum that stopped at the largest amount was written as one, too.
        Self::from_dollars_at_most(dollars)
            .ok_or_else(|| serde::de::Error::custom(format!("{dollars} is not an amount of money")))
    }
}

/// What a session or a run cost, and whether that is the agent's figure or our estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    pub usd: Usd,
    /// True where the agent named no price: unknown is not zero.
    pub estimated: bool,
}

impl Cost {
    pub fn exact(usd: Usd) -> Self {
        Self { usd, estimated: false }
    }

    pub fn estimated(usd: Usd) -> Self {
        Self { usd, estimated: true }
    }
}

impl Add for Cost {
    type Output = Self;

    /// A sum with one guess in it is a guess.
    fn add(self, other: Self) -> Self {
        Self { usd: self.usd + other.usd, estimated: self.estimated || other.estimated }
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), Add::add)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = if self.estimated { "~" } else { "" };
        write!(f, "{about}{}", self.usd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sums_do_not_drift() {
        let price = Usd::from_dollars(0.000_000_25).unwrap();
        let total: Usd = std::iter::repeat_n(price, 4_000_000).sum();
        assert_eq!(total, Usd::from_dollars(1.0).unwrap());
    }

    #[test]
    fn what_is_no_amount_of_money_is_refused() {
        for dollars in [-0.01, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(Usd::from_dollars(dollars), None, "{dollars}");
        }
    }

    #[test]
    fn an_amount_that_is_too_large_stays_the_largest() {
        assert_eq!(Usd::MAX + Usd::from_nanos(1), Usd::MAX);
        let text = serde_json::to_string(&Usd::MAX).unwrap();
        assert_eq!(serde_json::from_str::<Usd>(&text).unwrap(), Usd::MAX);
        assert_eq!(Usd::from_dollars_at_most(1e300), Some(Usd::MAX));
        assert_eq!(Usd::from_dollars_at_most(0.5), Usd::from_dollars(0.5));
        assert_eq!(Usd::from_dollars_at_most(-1.0), None);
        assert_eq!(Usd::from_dollars_at_most(f64::NAN), None);
    }

    #[test]
    fn a_guess_in_a_sum_is_shown() {
        let sum = Cost::exact(Usd::from_nanos(1_250_000_000)) + Cost::estimated(Usd::from_nanos(1));
        assert_eq!(sum.to_string(), "~$1.25");
        assert_eq!(Usd::from_nanos(1_234_567).to_string(), "$0.0012");
    }
}
