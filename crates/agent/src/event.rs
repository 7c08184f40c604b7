//! What agents say, in one language.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use spore_model::{Timestamp, Usage, Usd};

/// One thing that happened in a session. What no parser knows is kept as it came.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentEvent {
    Text {
        text: String,
    },
    Thinking {
        text: String,
    },
    ToolUse {
        tool: String,
        /// One line for people: the command, the path.
        summary: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    ToolResult {
        tool: String,
        ok: bool,
    },
    /// A call of a tool that the session may not use. What the agent answered for it is told as
    /// a result of its own.
    ToolRefused {
        tool: String,
    },
    /// Tokens of one call to the model.
    Usage {
        usage: Usage,
    },
    RateLimit {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resets_at: Option<Timestamp>,
        reason: String,
    },
    McpStatus {
        server: String,
        status: String,
    },
    Result(ResultEvent),
    Raw {
        line: String,
    },
}

/// The end of a session, as the agent tells it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ResultEvent {
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    pub turns: u32,
    #[serde(default)]
    pub usage: Usage,
    /// What is no amount of money is no price.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "price")]
    pub cost_usd: Option<Usd>,
}

fn price<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Usd>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_f64().and_then(Usd::from_dollars))
}

impl AgentEvent {
    /// Reads a line of our own format. A line that is something else is kept raw.
    pub(crate) fn from_line(line: &str) -> Self {
        serde_json::from_str(line).unwrap_or_else(|_| Self::Raw { line: line.to_owned() })
    }
}
