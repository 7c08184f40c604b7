//! A scenario: the turns in their order, and what tokens cost.
//!
//! Written in Rust by tests and in TOML by people; `scenarios/tour.toml` shows every key. A
//! turn is chosen by its condition, not by its place alone, so agents that ask in parallel and
//! clients that retry stay predictable: the first turn that is not used up and whose condition
//! holds.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use spore_model::{Usage, Usd};

use crate::turn::{Turn, TurnFault, TurnPart, TurnStop, VendorRefusal, When};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelScenario {
    pub(crate) turns: Vec<Turn>,
    pub(crate) prices: BTreeMap<String, ScriptedPrice>,
    /// What `GET /v1/models` lists; nothing is there to be got where there are none.
    pub(crate) models: Vec<String>,
}

/// Dollars for a million tokens of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptedPrice {
    pub input: Usd,
    pub output: Usd,
    pub cached: Usd,
    /// What enters the cache; the price of input unless the scenario names one.
    pub written: Usd,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelScenarioError {
    #[error("the scenario is not valid: {0}")]
    Syntax(String),
    #[error("turn {turn} of the scenario: {what}")]
    Turn { turn: usize, what: &'static str },
}

impl ModelScenario {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn parse(text: &str) -> Result<Self, ModelScenarioError> {
        let raw: RawScenario = toml_edit::de::from_str(text)
            .map_err(|error| ModelScenarioError::Syntax(error.to_string().trim_end().to_owned()))?;
        let turns = raw.turns.into_iter().enumerate().map(|(index, turn)| {
            turn.read().map_err(|what| ModelScenarioError::Turn { turn: index + 1, what })
        });
        let prices = raw.prices.into_iter().map(|(model, price)| (model, price.read())).collect();
        Ok(Self { turns: turns.collect::<Result<_, _>>()?, prices, models: Vec::new() })
    }

    #[must_use]
    pub fn turn(mut self, turn: Turn) -> Self {
        self.turns.push(turn);
        self
    }

    /// Sets the price of a model; the model `*` stands for all that have none.
    #[must_use]
    pub fn price(mut self, model: &str, price: ScriptedPrice) -> Self {
        self.prices.insert(model.to_owned(), price);
        self
    }

    /// Lists a model at `/v1/models`, as servers on one's own machine do.
    #[must_use]
    pub fn serving(mut self, model: &str) -> Self {
        self.models.push(model.to_owned());
        self
    }

    pub(crate) fn price_of(&self, model: &str) -> Option<&ScriptedPrice> {
        self.prices.get(model).or_else(|| self.prices.get("*"))
    }
}

impl ScriptedPrice {
    pub fn per_million(input: Usd, output: Usd, cached: Usd) -> Self {
        Self { input, output, cached, written: input }
    }

    /// Returns the cost, rounded down to a billionth of a dollar once, after the sum.
    pub(crate) fn of(&self, usage: Usage) -> Usd {
        let share = |tokens: u64, price: Usd| i128::from(tokens) * i128::from(price.as_nanos());
        let sum = share(usage.input_tokens, self.input)
            + share(usage.output_tokens, self.output)
            + share(usage.cache_read_tokens, self.cached)
            + share(usage.cache_write_tokens, self.written);
        Usd::from_nanos(i64::try_from(sum / 1_000_000).unwrap_or(i64::MAX))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScenario {
    #[serde(default, rename = "turn")]
    turns: Vec<RawTurn>,
    #[serde(default)]
    prices: BTreeMap<String, RawPrice>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPrice {
    input: Usd,
    output: Usd,
    #[serde(default)]
    cached: Usd,
    written: Option<Usd>,
}

impl RawPrice {
    fn read(self) -> ScriptedPrice {
        ScriptedPrice {
            input: self.input,
            output: self.output,
            cached: self.cached,
            written: self.written.unwrap_or(self.input),
        }
    }
}

/// One `[[turn]]` as it is written; [`RawTurn::read`] says what it means.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawTurn {
    name: Option<String>,
    when: When,
    thinking: Option<String>,
    text: Option<String>,
    tools: Vec<RawCall>,
    huge_mb: Option<usize>,
    stop: Option<TurnStop>,
    usage: Option<RawUsage>,
    headers: BTreeMap<String, String>,
    times: Option<u32>,
    sticky: bool,
    delay_ms: u64,
    event_delay_ms: u64,
    piece: Option<usize>,
    error: Option<RawRefusal>,
    hang: bool,
    hang_after: Option<usize>,
    cut_after: Option<usize>,
    end_after: Option<usize>,
    malformed_after: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCall {
    name: String,
    namespace: Option<String>,
    #[serde(default = "no_arguments")]
    input: Value,
}

fn no_arguments() -> Value {
    Value::Object(serde_json::Map::new())
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawUsage {
    input: u64,
    cached: u64,
    written: u64,
    output: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRefusal {
    status: u16,
    message: Option<String>,
    kind: Option<String>,
    retry_after: Option<u32>,
    reset: Option<String>,
    body: Option<Value>,
    /// Inside the stream, after so many events.
    after: Option<usize>,
}

impl RawTurn {
    fn read(mut self) -> Result<Turn, &'static str> {
        let fault = self.fault()?;
        let parts = self.parts();
        if parts.is_empty() && fault.is_none() {
            return Err("nothing to do: one of text, thinking, tools, huge_mb, error, hang is \
                        needed");
        }
        let mut turn = Turn { parts, fault, name: self.name, when: self.when, ..Turn::silent() };
        turn.stop = self.stop;
        turn.usage = self.usage.map(|usage| Usage {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read_tokens: usage.cached,
            cache_write_tokens: usage.written,
        });
        turn.headers = self.headers.into_iter().collect();
        turn = turn
            .delay(Duration::from_millis(self.delay_ms))
            .delay_between(Duration::from_millis(self.event_delay_ms));
        if let Some(piece) = self.piece {
            turn = turn.pieces_of(piece);
        }
        match (self.times, self.sticky) {
            (Some(_), true) => Err("times and sticky exclude each other"),
            (Some(0), _) => Err("times must be at least 1"),
            (Some(times), false) => Ok(turn.times(times)),
            (None, true) => Ok(turn.sticky()),
            (None, false) => Ok(turn),
        }
    }

    /// Thinking, then text, then calls: the order in which models speak.
    fn parts(&mut self) -> Vec<TurnPart> {
        let calls = std::mem::take(&mut self.tools).into_iter().map(|call| TurnPart::Call {
            name: call.name,
            namespace: call.namespace,
            input: call.input,
        });
        let spoken = [
            self.thinking.take().map(TurnPart::Thinking),
            self.text.take().map(TurnPart::Text),
            self.huge_mb.map(TurnPart::Huge),
        ];
        spoken.into_iter().flatten().chain(calls).collect()
    }

    fn fault(&mut self) -> Result<Option<TurnFault>, &'static str> {
        let mut faults = [
            self.error.take().map(RawRefusal::read).transpose()?,
            self.hang.then_some(TurnFault::HangBeforeHeaders),
            self.hang_after.map(TurnFault::HangAfter),
            self.cut_after.map(TurnFault::CutAfter),
            self.end_after.map(TurnFault::EndAfter),
            self.malformed_after.map(TurnFault::MalformedAfter),
        ]
        .into_iter()
        .flatten();
        let fault = faults.next();
        match faults.next() {
            Some(_) => Err("one thing may go wrong in a turn, not two"),
            None => Ok(fault),
        }
    }
}

impl RawRefusal {
    fn read(self) -> Result<TurnFault, &'static str> {
        if !(400..600).contains(&self.status) {
            return Err("the status of an error is between 400 and 599");
        }
        let refusal = VendorRefusal {
            status: self.status,
            message: self.message,
            kind: self.kind,
            retry_after: self.retry_after,
            reset: self.reset,
            body: self.body,
        };
        Ok(match self.after {
            Some(events) => TurnFault::FailAfter(events, refusal),
            None => TurnFault::Refused(refusal),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn refused(turn: &str, what: &str) {
        let error = ModelScenario::parse(&format!("[[turn]]\n{turn}\n")).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }

    #[test]
    fn toml_and_builder_say_the_same() {
        let text = r#"
            [prices]
            "claude-opus-4-8" = { input = 5.0, output = 25.0, cached = 0.5 }

            [[turn]]
            name = "writes"
            when = { contains = "hello", role_word = "coder" }
            thinking = "A file."
            text = "Writing."
            tools = [{ name = "Write", input = { file_path = "a.txt", content = "hi" } }]
            usage = { input = 1000, cached = 200, output = 50 }
            times = 2

            [[turn]]
            tools = [{ name = "ping", namespace = "mcp__echo" }]
            sticky = true
            cut_after = 3

            [[turn]]
            error = { status = 429, retry_after = 1 }
        "#;
        let dollars = |dollars| Usd::from_dollars(dollars).unwrap();
        let price = ScriptedPrice::per_million(dollars(5.0), dollars(25.0), dollars(0.5));
        let usage = Usage {
            input_tokens: 1000,
            cache_read_tokens: 200,
            output_tokens: 50,
            ..Usage::default()
        };
        let built = ModelScenario::new()
            .price("claude-opus-4-8", price)
            .turn(
                Turn::silent()
                    .named("writes")
                    .when(When { role_word: Some("coder".into()), ..When::contains("hello") })
                    .thinking("A file.")
                    .text("Writing.")
                    .call("Write", json!({"file_path": "a.txt", "content": "hi"}))
                    .usage(usage)
                    .times(2),
            )
            .turn(Turn::silent().call_in("mcp__echo", "ping", json!({})).sticky().cut_after(3))
            .turn(Turn::refuses(VendorRefusal::new(429).retry_after(1)));
        assert_eq!(ModelScenario::parse(text), Ok(built));
    }

    #[test]
    fn the_tour_is_a_scenario() {
        let tour = ModelScenario::parse(include_str!("../scenarios/tour.toml")).unwrap();
        let faults = tour.turns.iter().filter(|turn| turn.fault.is_some()).count();
        assert_eq!((tour.turns.len(), faults), (11, 7));
    }

    #[test]
    fn a_turn_that_makes_no_sense_is_named() {
        refused("name = 'empty'", "turn 1 of the scenario: nothing to do");
        refused("text = 'a'\nhang = true\ncut_after = 1", "not two");
        refused("text = 'a'\ntimes = 0", "at least 1");
        refused("text = 'a'\ntimes = 2\nsticky = true", "exclude each other");
        refused("error = { status = 200 }", "between 400 and 599");
        refused("txt = 'a'", "unknown field");
        refused("text = 'a'\nstop = 'tired'", "unknown variant");
    }

    #[test]
    fn a_cost_is_rounded_once() {
        let third = Usd::from_nanos(333_333);
        let price = ScriptedPrice::per_million(third, third, third);
        let usage = Usage {
            input_tokens: 1,
            output_tokens: 1,
            cache_read_tokens: 1,
            cache_write_tokens: 1,
        };
        assert_eq!(price.of(usage), Usd::from_nanos(1));
    }
}
