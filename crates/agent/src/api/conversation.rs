//! A conversation with a model, in no vendor's words.
//!
//! Each protocol turns an [`Ask`] into a body and the events of the answer into a [`Reply`].
//! What the model said is kept in the vendor's own shape beside it, because that is what has
//! to be sent back: signatures and ids that mean nothing to us are part of it.

use serde_json::Value;
use spore_model::Usage;
use spore_tools::Registry;

/// Everything that one call to the model says.
pub(super) struct Ask<'a> {
    pub(super) model: &'a str,
    pub(super) system: &'a str,
    pub(super) tools: &'a Registry,
    pub(super) turns: &'a [Turn],
    pub(super) max_output_tokens: u32,
}

pub(super) enum Turn {
    Said(String),
    /// What the model said, as the vendor wants it back.
    Replied(Vec<Value>),
    Answered(Vec<Answered>),
}

/// The answer to one tool call.
pub(super) struct Answered {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) is_error: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    /// `None` where what the model wrote is not JSON.
    pub(super) arguments: Option<Value>,
}

impl Call {
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// It has said what it wanted to say, or waits for the answers to its calls.
    Done,
    /// It was cut off at the longest answer allowed.
    Length,
    Refused,
}

/// A complete answer.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) thinking: String,
    pub(super) calls: Vec<Call>,
    pub(super) stop: Stop,
    pub(super) usage: Usage,
    pub(super) raw: Vec<Value>,
}

/// Why a stream is not a reply.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum Fault {
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

impl Fault {
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
pub(super) trait Reader {
    /// Takes the data of one event.
    fn take(&mut self, data: &str) -> Result<(), Fault>;

    /// Says whether the protocol's last event was seen.
    fn is_complete(&self) -> bool;

    /// What the server has counted so far. A broken answer is paid for, too.
    fn usage(&self) -> Usage;

    /// Returns the reply, or [`Fault::Cut`] if its end was not seen.
    fn finish(self: Box<Self>) -> Result<Reply, Fault>;
}

/// Text at `pointer`, or nothing.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn number(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}
