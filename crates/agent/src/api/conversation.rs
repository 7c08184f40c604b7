//! A conversation with a model, in no vendor's words.
//!
//! Each protocol turns an [`ModelRequest`] into a body and the events of the answer into a [`ModelReply`].
//! What the model said is kept in the vendor's own shape beside it, because that is what has
//! to be sent back: signatures and ids that mean nothing to us are part of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use spore_model::Usage;
use spore_tools::Registry;

use crate::health::tokens;

/// Everything that one call to the model says.
pub(super) struct ModelRequest<'a> {
    pub(super) model: &'a str,
    pub(super) system: &'a str,
    pub(super) tools: &'a Registry,
    pub(super) turns: &'a [ConversationTurn],
    pub(super) max_output_tokens: u32,
    /// What only some servers of the Chat protocol understand.
    pub(super) more: Vec<(&'static str, Value)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ConversationTurn {
    Said(String),
    /// What the model said, as the vendor wants it back.
    Replied(Vec<Value>),
    Answered(Vec<CallAnswer>),
    /// The results of calls that the model wrote as text.
    Told(String),
}

/// The answer to one tool call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CallAnswer {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) is_error: bool,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct RequestedCall {
    pub(super) id: String,
    pub(super) name: String,
    /// `None` where what the model wrote is not JSON.
    pub(super) arguments: Option<Value>,
}

impl RequestedCall {
    /// Reads the arguments as they were streamed. No text means no arguments.
    pub(super) fn new(id: &str, name: &str, arguments: &str) -> Self {
        let text = if arguments.trim().is_empty() { "{}" } else { arguments };
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: serde_json::from_str(text).ok(),
        }
    }
}

/// Why the model stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StopReason {
    /// The answer is complete, or the model waits for the results of its calls.
    Done,
    /// The answer was cut off at the longest length allowed.
    Length,
    Refused,
}

/// A complete answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct ModelReply {
    pub(super) text: String,
    pub(super) thinking: String,
    pub(super) calls: Vec<RequestedCall>,
    pub(super) stop: StopReason,
    pub(super) usage: Usage,
    pub(super) raw: Vec<Value>,
}

/// Why a stream is not a reply.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum StreamFault {
    #[error("the answer broke off")]
    Cut,
    #[error("the answer cannot be read: {0}")]
    Malformed(String),
    #[error("the answer has no end")]
    TooLong,
    #[error("the model fell silent")]
    Silent,
    #[error("the model's server gave up: {0}")]
    Reported(String),
}

impl StreamFault {
    pub(super) fn malformed(why: impl ToString) -> Self {
        Self::Malformed(why.to_string().chars().take(200).collect())
    }

    pub(super) fn reported(error: &Value) -> Self {
        let word = |name: &str| error.get(name).and_then(Value::as_str);
        let message = word("message").or(word("code")).or(word("type")).unwrap_or("no reason");
        Self::Reported(message.chars().take(200).collect())
    }
}

/// Puts the events of one answer together.
pub(super) trait AnswerReader {
    /// Takes the data of one event.
    fn take(&mut self, data: &str) -> Result<(), StreamFault>;

    /// Says whether the protocol's last event was seen.
    fn is_complete(&self) -> bool;

    /// What the server has counted so far. A broken answer is paid for, too.
    fn usage(&self) -> Usage;

    /// Returns the reply, or [`StreamFault::Cut`] if its end was not seen.
    fn finish(self: Box<Self>) -> Result<ModelReply, StreamFault>;
}

/// Text at `pointer`, or nothing.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A count of tokens at `pointer`, if anything is told there.
pub(super) fn counted(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).filter(|told| !told.is_null()).map(tokens)
}

pub(super) fn number(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}
