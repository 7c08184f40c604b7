//! What a session used. Every agent has a place of its own for that: the answer to the prompt
//! (opencode), its `_meta.quota` (Gemini), `_meta.usage` of a piece of text (qwen), or none.

use serde_json::Value;
use spore_model::{Usage, Usd};

use crate::health::{tokens, usage_of};

/// Tokens that a call reads where the agent gives no count: mostly its instructions and tools.
const USUAL_CONTEXT: u64 = 20_000;

/// The most tokens that a call can read where the agent gives no count.
const WINDOW: u64 = 1_000_000;

/// Tokens that a call may have written and the agent does not show: hidden thinking.
const UNHEARD: u64 = 8_000;

#[derive(Clone, Debug, Default)]
pub(super) struct UsageTally {
    /// The sum over the calls that were counted one by one.
    calls: Usage,
    pub(super) counted_calls: u32,
    /// What the answer to the prompt says.
    whole: Option<Usage>,
    /// Estimated tokens of the text that was shown, for an agent that gives no count.
    said: u64,
    /// The context of the last call, where it was told.
    context: u64,
    pub(super) cost: Option<Usd>,
}

impl UsageTally {
    /// Reads `_meta` of a piece of text: the tokens of one call.
    pub(super) fn piece(&mut self, meta: &Value) -> Option<Usage> {
        let usage = read(&meta["usage"])?;
        self.calls = self.calls + usage;
        self.counted_calls += 1;
        Some(usage)
    }

    pub(super) fn said(&mut self, text: &str) {
        self.said += crate::health::estimated_tokens(text);
    }

    /// Reads a `usage_update`: how full the context is, and what all of it cost.
    pub(super) fn update(&mut self, update: &Value) {
        self.context = told(update, "used").unwrap_or(self.context);
        let cost = &update["cost"];
        if cost["currency"] == "USD" {
            // A model without a price costs nothing, by the agent's count: that is no price.
            let amount = cost["amount"].as_f64().filter(|amount| *amount > 0.0);
            self.cost = amount.and_then(Usd::from_dollars).or(self.cost);
        }
    }

    /// Reads the answer to the prompt.
    pub(super) fn answer(&mut self, answer: &Value) {
        let quota = &answer["_meta"]["quota"]["token_count"];
        let in_quota = || {
            let read = |name: &str| told(quota, name);
            Some(usage_of(read("input_tokens")?, 0, 0, read("output_tokens")?))
        };
        // opencode reports a usage of all zeros for a turn that was broken off.
        let is_told = |usage: &Usage| *usage != Usage::default();
        self.whole = read(&answer["usage"]).or_else(in_quota).filter(is_told);
    }

    /// The tokens of the session, which made so many calls; with the bounds in which the true
    /// count lies, where they are an estimate.
    pub(super) fn usage(
        &self,
        calls: u32,
        last_call_only: bool,
    ) -> (Usage, Option<(Usage, Usage)>) {
        let whole = self.whole.filter(|_| !last_call_only || calls <= 1);
        if self.counted_calls > 0 {
            return (self.calls, None);
        }
        if let Some(whole) = whole {
            return (whole, None);
        }
        let last = self.whole.unwrap_or_else(|| usage_of(self.context, 0, 0, 0));
        let input = last.read_tokens();
        let calls = u64::from(calls.max(1));
        // Each call reads what those before it left, so the last that was told is the longest;
        // where none was, an agent's own instructions may fill a window.
        let most = calls.saturating_mul(if input > 0 { input } else { WINDOW });
        let estimate = Usage {
            input_tokens: if input > 0 { most } else { USUAL_CONTEXT * calls },
            output_tokens: self.said.max(last.output_tokens),
            ..Usage::default()
        };
        let low =
            Usage { input_tokens: input, output_tokens: last.output_tokens, ..Usage::default() };
        let high = Usage {
            input_tokens: most,
            output_tokens: estimate.output_tokens.saturating_mul(4).saturating_add(UNHEARD * calls),
            ..Usage::default()
        };
        (estimate, Some((low, high)))
    }
}

/// A count of tokens by its name, if anything is told there.
fn told(counts: &Value, name: &str) -> Option<u64> {
    counts.get(name).filter(|told| !told.is_null()).map(tokens)
}

/// Reads the protocol's own shape; an input that was cached is counted beside the rest.
fn read(usage: &Value) -> Option<Usage> {
    let read = |name: &str| told(usage, name);
    let (input, output) = (read("inputTokens")?, read("outputTokens")?);
    let cache_read = read("cachedReadTokens").unwrap_or(0);
    let cache_write = read("cachedWriteTokens").unwrap_or(0);
    Some(usage_of(input, cache_read, cache_write, output))
}
