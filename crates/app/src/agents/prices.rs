//! What a session cost: what the agent said, else its tokens at the price of its model.
//!
//! Exact where both are known for sure. Of a session that was cut off, or may have had prompts
//! of the dearer kind, or whose model is not known, the cost is estimated and marked so. Of a
//! count that cannot be true nothing is known but that the session was not free.

use spore_agent::api::LocalPreset;
use spore_agent::{CallsCounted, Price, PriceList, SessionReport};
use spore_config::Config;
use spore_model::{Cost, Outcome, Usage, Usd};

use crate::base::error::bug;
use crate::{Error, Result};

/// Tokens that are paid for where the agent's count of them cannot be true: a whole window.
const WINDOW: u64 = 1_000_000;

const LIST: &str = include_str!("../../../../assets/prices.toml");

/// The vendors' list prices, and on top what a person set.
pub(crate) fn prices(config: &Config) -> Result<PriceList> {
    let own = config.prices.models.iter().map(|(name, price)| {
        let price = Price {
            input: price.input,
            output: price.output,
            cache_read: price.cached_input,
            cache_write: price.cache_write,
            up_to: None,
        };
        (name.clone(), price)
    });
    Ok(PriceList::new(listed()?).with_own(own))
}

fn listed() -> Result<Vec<(String, Price)>> {
    let table: toml_edit::DocumentMut = LIST.parse().map_err(bug)?;
    table.iter().map(|(name, item)| Ok((name.to_owned(), entry(name, item)?))).collect()
}

fn entry(name: &str, item: &toml_edit::Item) -> Result<Price> {
    let wrong = || Error::new(spore_model::Fault::Bug, format!("assets/prices.toml: {name}"));
    let price = |field: &str| -> Result<Option<Usd>> {
        let Some(value) = item.get(field) else { return Ok(None) };
        let usd = value.as_float().and_then(Usd::from_dollars);
        usd.map(Some).ok_or_else(wrong)
    };
    let input = price("input")?.ok_or_else(wrong)?;
    Ok(Price {
        input,
        output: price("output")?.ok_or_else(wrong)?,
        cache_read: price("cached_input")?.unwrap_or(input),
        cache_write: price("cache_write")?.unwrap_or(input),
        up_to: item
            .get("up_to")
            .and_then(toml_edit::Item::as_integer)
            .and_then(|n| n.try_into().ok()),
    })
}

/// What a session cost. `asked` is the model it was asked to use.
pub(crate) fn cost_of(
    config: &Config,
    report: &SessionReport,
    asked: Option<&str>,
) -> Result<Cost> {
    let is_possible = report.usage.is_possible();
    // A price of nothing beside a count that cannot be true is as little to be believed.
    if let Some(said) = report.cost.filter(|said| is_possible || *said > Usd::ZERO) {
        return Ok(Cost::exact(said));
    }
    if report.counted == CallsCounted::NoneMade && report.usage == Usage::default() {
        return Ok(Cost::exact(Usd::ZERO));
    }
    // Of a session that broke off before it said anything not even the tokens are known, but
    // free it was not.
    let lost = Usd::from_dollars_at_most(config.prices.lost_session_usd).unwrap_or_default();
    if report.usage == Usage::default() {
        return Ok(Cost::estimated(lost));
    }
    let usage = report.usage.with_impossible_as(WINDOW);
    let at_least = if is_possible { Usd::ZERO } else { lost };
    let model = report.model.as_deref().or(asked);
    let prices = prices(config)?;
    let Some(price) = model.and_then(|model| prices.of(model)) else {
        return Ok(Cost::estimated(fallback(config, usage).max(at_least)));
    };
    let is_whole = report.outcome == Outcome::Success || report.counted == CallsCounted::All;
    let is_sure = is_possible && is_whole && price.covers(usage.read_tokens());
    let usd = price.of(usage).max(at_least);
    Ok(if is_sure { Cost::exact(usd) } else { Cost::estimated(usd) })
}

/// What a session that goes on has cost so far; no more than an estimate.
pub(crate) fn cost_so_far(
    config: &Config,
    backend: &str,
    model: Option<&str>,
    usage: Usage,
) -> Cost {
    // A model of this machine costs nothing, whatever it is called.
    if LocalPreset::named(backend).is_some() {
        return Cost::exact(Usd::ZERO);
    }
    let price = model.and_then(|model| prices(config).ok()?.of(model));
    let usage = usage.with_impossible_as(WINDOW);
    Cost::estimated(price.map_or_else(|| fallback(config, usage), |price| price.of(usage)))
}

fn fallback(config: &Config, usage: Usage) -> Usd {
    let prices = &config.prices;
    let dollars = usage.read_tokens() as f64 * prices.fallback_input_usd_per_million / 1e6
        + usage.output_tokens as f64 * prices.fallback_output_usd_per_million / 1e6;
    Usd::from_dollars_at_most(dollars).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use spore_config::{SettingsLayer, SettingsOrigin};

    use super::*;

    #[test]
    fn a_model_of_this_machine_costs_nothing_also_while_it_is_at_work() {
        let config = config("");
        let usage = Usage { input_tokens: 1_000, output_tokens: 1_000, ..Usage::default() };
        assert_eq!(cost_so_far(&config, "ollama", None, usage), Cost::exact(Usd::ZERO));
        assert!(cost_so_far(&config, "api", None, usage).usd > Usd::ZERO);
    }

    fn config(text: &str) -> Config {
        let layer =
            SettingsLayer { origin: SettingsOrigin::Flag("test".into()), text: text.to_owned() };
        Config::load(&[layer]).unwrap().config
    }

    #[test]
    fn the_list_can_be_read_and_every_price_makes_sense() {
        let listed = listed().unwrap();
        assert!(listed.len() > 20);
        for (name, price) in listed {
            let ordered = price.cache_read <= price.input && price.input < price.output;
            assert!(ordered && price.cache_write >= price.input, "{name}: {price:?}");
        }
    }

    #[track_caller]
    fn check(settings: &str, report: SessionReport, asked: Option<&str>, expected: &str) {
        let cost = cost_of(&config(settings), &report, asked).unwrap();
        assert_eq!(
            format!("{}{}", if cost.estimated { "~" } else { "" }, cost.usd.as_dollars()),
            expected
        );
    }

    fn used(input: u64, cached: u64, output: u64) -> SessionReport {
        let usage = Usage {
            input_tokens: input,
            cache_read_tokens: cached,
            output_tokens: output,
            ..Usage::default()
        };
        SessionReport { usage, ..SessionReport::ended(Outcome::Success, None) }
    }

    #[test]
    fn a_cost_is_exact_where_tokens_and_price_are_known() {
        let mtok = 1_000_000;
        check("", used(mtok, mtok, mtok), Some("claude-sonnet-4-5-20250929"), "18.3");
        let own =
            "prices.\"claude-sonnet-4-5\".input = 1.0\nprices.\"claude-sonnet-4-5\".output = 2.0";
        check(own, used(mtok, mtok, mtok), Some("claude-sonnet-4-5-20250929"), "4");
        check("", used(mtok, 0, 0), Some("nobody-knows"), "~5");
        check("", used(mtok, 0, 0), None, "~5");
        // What the agent says it used wins over what it was asked to use.
        let said = SessionReport { model: Some("gpt-5-nano".to_owned()), ..used(mtok, 0, 0) };
        check("", said, Some("opus"), "0.05");
        let told = SessionReport { cost: Usd::from_dollars(0.25), ..used(1, 0, 0) };
        check("", told, Some("gpt-5"), "0.25");
    }

    #[test]
    fn a_cost_is_estimated_where_anything_is_in_doubt() {
        check("", used(200_000, 72_000, 1_000), Some("gpt-5.4"), "0.533");
        check("", used(200_000, 72_001, 1_000), Some("gpt-5.4"), "~0.53300025");
        let cut = SessionReport { outcome: Outcome::TimedOut, ..used(1_000_000, 0, 0) };
        check("", cut, Some("gpt-5"), "~1.25");
        check("", SessionReport::ended(Outcome::Failure, None), Some("gpt-5"), "~1");
    }

    #[test]
    fn a_session_that_was_cut_short_costs_what_its_calls_cost() {
        let cut = |counted, usage: SessionReport| SessionReport {
            outcome: Outcome::Interrupted,
            counted,
            ..usage
        };
        let nothing = || SessionReport::ended(Outcome::Interrupted, None);
        check("", cut(CallsCounted::NoneMade, nothing()), None, "0");
        check("", cut(CallsCounted::InDoubt, nothing()), None, "~1");
        let used = || used(1_000_000, 0, 0);
        check("", cut(CallsCounted::All, used()), Some("gpt-5"), "1.25");
        check("", cut(CallsCounted::InDoubt, used()), Some("gpt-5"), "~1.25");
        check("", cut(CallsCounted::All, used()), Some("nobody-knows"), "~5");
    }

    #[test]
    fn a_count_that_cannot_be_true_is_not_free() {
        for count in [u64::MAX, u64::MAX - 1, i64::MAX as u64, 1_000_000_000_001] {
            check("", used(count, 0, 0), None, "~5");
            check("", used(count, count, 0), None, "~10");
            check("", used(0, count, 0), Some("gpt-5"), "~1");
            check("", used(0, 0, count), Some("gpt-5"), "~10");
            let free = SessionReport { cost: Some(Usd::ZERO), ..used(count, 0, 0) };
            check("", free, None, "~5");
        }
    }

    proptest::proptest! {
        #[test]
        fn more_tokens_never_cost_nothing(input in 1_000u64.., cached: u64, output: u64) {
            for model in [None, Some("gpt-5"), Some("claude-sonnet-4-5")] {
                let report = used(input, cached, output);
                let cost = cost_of(&config(""), &report, model).unwrap();
                proptest::prop_assert!(cost.usd > Usd::ZERO);
                proptest::prop_assert!(cost.estimated || report.usage.is_possible());
            }
        }
    }
}
