//! What tokens cost, by model.

use spore_model::{Usage, Usd};

/// US dollars for a million tokens of each kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Price {
    pub input: Usd,
    pub output: Usd,
    pub cache_read: Usd,
    pub cache_write: Usd,
    /// A longer prompt than this costs more; nothing where all cost the same.
    pub up_to: Option<u64>,
}

impl Price {
    /// What `usage` cost at this price. Rounds once, after the sum.
    pub fn of(&self, usage: Usage) -> Usd {
        let part = |tokens: u64, price: Usd| i128::from(tokens) * i128::from(price.as_nanos());
        let sum = part(usage.input_tokens, self.input)
            + part(usage.output_tokens, self.output)
            + part(usage.cache_read_tokens, self.cache_read)
            + part(usage.cache_write_tokens, self.cache_write);
        Usd::from_nanos(i64::try_from(sum / 1_000_000).unwrap_or(i64::MAX))
    }

    /// Returns whether this price surely holds for one prompt of `tokens`, or for several with
    /// that many together.
    pub fn covers(&self, tokens: u64) -> bool {
        self.up_to.is_none_or(|most| tokens <= most)
    }
}

/// Prices by model. One that is not listed has no price, which is not a price of nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PriceList {
    known: Vec<(String, Price)>,
    own: Vec<(String, Price)>,
}

impl PriceList {
    /// Takes a vendor's list: each name is one model's, and its dated editions'.
    pub fn new(known: impl IntoIterator<Item = (String, Price)>) -> Self {
        Self { known: known.into_iter().collect(), own: Vec::new() }
    }

    /// The list of a server that takes no money.
    pub fn free() -> Self {
        let nothing = Price {
            input: Usd::ZERO,
            output: Usd::ZERO,
            cache_read: Usd::ZERO,
            cache_write: Usd::ZERO,
            up_to: None,
        };
        Self { known: Vec::new(), own: vec![(String::new(), nothing)] }
    }

    /// Adds what a person set, by the beginning of a name. That wins, and the longest name
    /// that fits counts.
    #[must_use]
    pub fn with_own(mut self, own: impl IntoIterator<Item = (String, Price)>) -> Self {
        self.own.extend(own);
        self
    }

    pub fn of(&self, model: &str) -> Option<Price> {
        let longest = |(name, _): &&(String, Price)| name.len();
        let own = self.own.iter().filter(|(name, _)| model.starts_with(name.as_str()));
        let known = || self.known.iter().filter(|(name, _)| is_edition(model, name));
        let found = own.max_by_key(longest).or_else(|| known().max_by_key(longest));
        found.map(|(_, price)| *price)
    }
}

/// Returns whether `model` is `name`, or an edition of it by date. `gpt-5-mini` is no edition
/// of `gpt-5`.
fn is_edition(model: &str, name: &str) -> bool {
    let Some(rest) = model.strip_prefix(name) else { return false };
    let Some(edition) = rest.strip_prefix(['-', '@']) else {
        // A larger window of the same model, as agents write it.
        return rest.is_empty() || rest == "[1m]";
    };
    let digits = edition.bytes().filter(u8::is_ascii_digit).count();
    let is_date = edition.bytes().all(|b| b.is_ascii_digit() || b == b'-') && digits >= 4;
    is_date || edition == "latest" || edition.starts_with("preview")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(dollars: f64) -> Price {
        let usd = Usd::from_dollars(dollars).unwrap();
        Price { input: usd, output: usd, cache_read: usd, cache_write: usd, up_to: None }
    }

    #[test]
    fn a_name_stands_for_its_dated_editions_and_for_no_other_model() {
        let prices =
            PriceList::new([("m".to_owned(), flat(1.0)), ("m-mini".to_owned(), flat(2.0))]);
        for (model, expected) in [
            ("m", Some(1.0)),
            ("m-20260924", Some(1.0)),
            ("m-2026-09-24", Some(1.0)),
            ("m@20260924", Some(1.0)),
            ("m-latest", Some(1.0)),
            ("m-preview-09-2026", Some(1.0)),
            ("m[1m]", Some(1.0)),
            ("m-mini-2026", Some(2.0)),
            ("m-large", None),
            ("m-5", None),
            ("m.1", None),
            ("other", None),
        ] {
            assert_eq!(prices.of(model), expected.map(flat), "{model}");
        }
    }

    #[test]
    fn what_a_person_set_wins_by_the_longest_beginning() {
        let own = [("m".to_owned(), flat(3.0)), ("m-la".to_owned(), flat(4.0))];
        let prices = PriceList::new([("m-mini".to_owned(), flat(2.0))]).with_own(own);
        assert_eq!(prices.of("m-mini"), Some(flat(3.0)));
        assert_eq!(prices.of("m-large"), Some(flat(4.0)));
        assert_eq!(prices.of("n"), None);
    }

    #[test]
    fn each_kind_has_its_price_and_the_sum_is_rounded_once() {
        let usd = |dollars| Usd::from_dollars(dollars).unwrap();
        let price = Price {
            input: usd(3.0),
            output: usd(15.0),
            cache_read: usd(0.3),
            cache_write: usd(3.75),
            up_to: None,
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

    #[test]
    fn a_long_prompt_may_have_another_price() {
        let tiered = Price { up_to: Some(200_000), ..flat(1.0) };
        assert!(tiered.covers(200_000) && !tiered.covers(200_001));
        assert!(flat(1.0).covers(u64::MAX));
    }
}
