//! What tokens cost, by model.

use spore_model::{Usage, Usd};

/// US dollars for a million tokens of each kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Price {
    pub input: Usd,
    pub output: Usd,
    pub cache_read: Usd,
    pub cache_write: Usd,
}

impl Price {
    /// Rounds once, after the sum.
    pub(super) fn of(&self, usage: Usage) -> Usd {
        let part = |tokens: u64, price: Usd| i128::from(tokens) * i128::from(price.as_nanos());
        let sum = part(usage.input_tokens, self.input)
            + part(usage.output_tokens, self.output)
            + part(usage.cache_read_tokens, self.cache_read)
            + part(usage.cache_write_tokens, self.cache_write);
        Usd::from_nanos(i64::try_from(sum / 1_000_000).unwrap_or(i64::MAX))
    }
}

/// Prices by the beginning of a model's name; the longest one that fits counts. A model that
/// is not listed has no price, which is not a price of nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Prices(Vec<(String, Price)>);

impl Prices {
    pub fn new(prices: impl IntoIterator<Item = (String, Price)>) -> Self {
        Self(prices.into_iter().collect())
    }

    pub(super) fn of(&self, model: &str) -> Option<Price> {
        let fitting = self.0.iter().filter(|(start, _)| model.starts_with(start.as_str()));
        fitting.max_by_key(|(start, _)| start.len()).map(|(_, price)| *price)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(dollars: f64) -> Price {
        let usd = Usd::from_dollars(dollars).unwrap();
        Price { input: usd, output: usd, cache_read: usd, cache_write: usd }
    }

    #[test]
    fn the_longest_name_that_fits_counts() {
        let prices = Prices::new([("m".to_owned(), flat(1.0)), ("m-mini".to_owned(), flat(2.0))]);
        assert_eq!(prices.of("m-mini-2026"), Some(flat(2.0)));
        assert_eq!(prices.of("m-large"), Some(flat(1.0)));
        assert_eq!(prices.of("other"), None);
    }

    #[test]
    fn each_kind_has_its_price_and_the_sum_is_rounded_once() {
        let usd = |dollars| Usd::from_dollars(dollars).unwrap();
        let price = Price {
            input: usd(3.0),
            output: usd(15.0),
            cache_read: usd(0.3),
            cache_write: usd(3.75),
        };
        let usage = Usage {
            input_tokens: 1_000,
            output_tokens: 100,
            cache_read_tokens: 10_000,
            cache_write_tokens: 400,
        };
        assert_eq!(price.of(usage), usd(0.003 + 0.0015 + 0.003 + 0.0015));
        let third = Price { input: Usd::from_nanos(333_333), ..flat(0.0) };
        let usage = Usage { input_tokens: 3, ..Usage::default() };
        assert_eq!(third.of(usage), Usd::from_nanos(0));
    }
}
