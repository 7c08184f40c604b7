//! The lines of `stream-json` as they are written, before anything is made of them.
//!
//! One flat shape, each field optional: Claude Code adds fields and kinds with every release,
//! and qwen-code leaves half of them out. A field of another type than the one known here
//! makes the line unreadable, and an unreadable line is kept raw. Fields that no code reads,
//! above all the output of tools, are skipped and never copied.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use spore_model::{Usage, Usd, token_count};

#[derive(Debug, Deserialize)]
pub(super) struct StreamLine {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) subtype: Option<String>,
    pub(super) session_id: Option<String>,
    /// Set on what a subagent does: the call that started it.
    pub(super) parent_tool_use_id: Option<String>,
    /// On `system/init`, as is `mcp_servers`.
    pub(super) cwd: Option<String>,
    pub(super) mcp_servers: Option<Vec<ServerStatus>>,
    pub(super) message: Option<ClaudeMessage>,
    /// A word on assistant lines and on `system/api_retry`; elsewhere it may be anything.
    pub(super) error: Option<Value>,
    /// On `system/api_retry`, as is `error_status`.
    pub(super) attempt: Option<u32>,
    pub(super) error_status: Option<u16>,
    pub(super) rate_limit_info: Option<RateLimitInfo>,
    /// On `control_request`.
    pub(super) request_id: Option<String>,
    /// On `system/status`.
    pub(super) status: Option<Value>,
    /// On `stream_event`: a piece of an answer.
    pub(super) event: Option<StreamedPiece>,
}

/// A piece of an answer as the API sent it. The text itself is not read here: it comes whole.
#[derive(Debug, Deserialize)]
pub(super) struct StreamedPiece {
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// On `message_start`.
    pub(super) message: Option<ClaudeMessage>,
    /// On `message_delta`: what the answer used.
    pub(super) usage: Option<ClaudeUsage>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ServerStatus {
    pub(super) name: String,
    pub(super) status: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ClaudeMessage {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    #[serde(default, deserialize_with = "blocks")]
    pub(super) content: Vec<ContentBlock>,
    /// What was known when the answer began: the input is right, the output is not.
    pub(super) usage: Option<ClaudeUsage>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ContentBlock {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) input: Option<Value>,
    pub(super) tool_use_id: Option<String>,
    pub(super) is_error: Option<bool>,
    /// What a tool said: text, or blocks of it.
    content: Option<Value>,
}

impl ContentBlock {
    /// Tells whether the result of a call says that its tool is withheld from the session. Such a
    /// call is not among the denials that the last line lists.
    pub(super) fn is_withheld(&self) -> bool {
        let said = self.content.as_ref().and_then(Value::as_str).unwrap_or_default();
        self.is_error == Some(true)
            && said.starts_with("<tool_use_error>Error: No such tool available:")
            && said.contains("exists but is not enabled")
    }
}

/// `resetsAt` is in seconds.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RateLimitInfo {
    pub(super) status: Option<String>,
    pub(super) resets_at: Option<i64>,
    pub(super) rate_limit_type: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClaudeUsage {
    #[serde(deserialize_with = "token_count")]
    input_tokens: u64,
    #[serde(deserialize_with = "token_count")]
    output_tokens: u64,
    #[serde(deserialize_with = "token_count")]
    cache_read_input_tokens: u64,
    #[serde(deserialize_with = "token_count")]
    cache_creation_input_tokens: u64,
}

impl From<ClaudeUsage> for Usage {
    fn from(raw: ClaudeUsage) -> Self {
        Self {
            input_tokens: raw.input_tokens,
            output_tokens: raw.output_tokens,
            cache_read_tokens: raw.cache_read_input_tokens,
            cache_write_tokens: raw.cache_creation_input_tokens,
        }
    }
}

/// The last line of a turn. Which of its fields are to be believed is for `health` to say.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ResultLine {
    pub(super) subtype: Option<String>,
    #[serde(default)]
    pub(super) is_error: bool,
    pub(super) api_error_status: Option<u16>,
    /// Three states: a reason; `null`, which is a stream that was cut; and absent, which is
    /// qwen-code.
    #[serde(default, deserialize_with = "present")]
    pub(super) stop_reason: Option<Option<String>>,
    #[serde(default, deserialize_with = "turns")]
    pub(super) num_turns: u32,
    pub(super) result: Option<String>,
    pub(super) structured_output: Option<Value>,
    #[serde(default, deserialize_with = "dollars")]
    pub(super) total_cost_usd: Option<f64>,
    usage: Option<ClaudeUsage>,
    #[serde(default, rename = "modelUsage")]
    model_usage: BTreeMap<String, ModelUsage>,
    #[serde(default)]
    pub(super) permission_denials: Vec<Denial>,
    #[serde(default)]
    pub(super) errors: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ModelUsage {
    #[serde(deserialize_with = "token_count")]
    input_tokens: u64,
    #[serde(deserialize_with = "token_count")]
    output_tokens: u64,
    #[serde(deserialize_with = "token_count")]
    cache_read_input_tokens: u64,
    #[serde(deserialize_with = "token_count")]
    cache_creation_input_tokens: u64,
    #[serde(rename = "costUSD", deserialize_with = "dollars")]
    cost_usd: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Denial {
    pub(super) tool_name: String,
}

impl ResultLine {
    /// Returns the tokens of the whole process. `modelUsage` comes first: it counts subagents
    /// too, and where a budget ended the session `usage` is all zero.
    pub(super) fn tokens(&self) -> Usage {
        if self.model_usage.is_empty() {
            return self.usage.map(Usage::from).unwrap_or_default();
        }
        self.model_usage
            .values()
            .map(|model| Usage {
                input_tokens: model.input_tokens,
                output_tokens: model.output_tokens,
                cache_read_tokens: model.cache_read_input_tokens,
                cache_write_tokens: model.cache_creation_input_tokens,
            })
            .sum()
    }

    /// Returns the price of the whole process, where the agent named one.
    pub(super) fn cost(&self) -> Option<Usd> {
        let by_model = || {
            let costs = self.model_usage.values().map(|model| model.cost_usd);
            costs.sum::<Option<f64>>().filter(|_| !self.model_usage.is_empty())
        };
        self.total_cost_usd.or_else(by_model).and_then(Usd::from_dollars)
    }
}

/// Reads a number of dollars; what is none is no price.
fn dollars<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_f64())
}

/// Reads a number of turns; what is none counts for nothing.
fn turns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    Ok(u32::try_from(token_count(deserializer)?).unwrap_or(0))
}

/// Tells a field that is `null` from one that is not there.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Reads a list of blocks. A user's message may be bare text instead, which is our own prompt
/// come back: nothing to read there.
fn blocks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ContentBlock>, D::Error> {
    struct Blocks;

    impl<'de> Visitor<'de> for Blocks {
        type Value = Vec<ContentBlock>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of blocks or text")
        }

        fn visit_str<E>(self, _: &str) -> Result<Vec<ContentBlock>, E> {
            Ok(Vec::new())
        }

        fn visit_unit<E>(self) -> Result<Vec<ContentBlock>, E> {
            Ok(Vec::new())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<ContentBlock>, A::Error> {
            let mut blocks = Vec::new();
            while let Some(block) = list.next_element()? {
                blocks.push(block);
            }
            Ok(blocks)
        }
    }

    deserializer.deserialize_any(Blocks)
}
