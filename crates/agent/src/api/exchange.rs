//! One complete answer from the model, however often it has to be asked for.
//!
//! A call that broke off is made again from the last complete message: nothing of a broken
//! answer enters the conversation, and no broken answer is ever taken for a whole one. What it
//! cost is booked all the same, as far as the server said.

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use serde_json::Value;
use spore_effects::Clock;
use spore_model::{Timestamp, Usage};

use super::connection::{AnswerPiece, Connection};
use super::conversation::{AnswerReader, ModelReply, ModelRequest, StreamFault};
use super::endpoint::Endpoint;
use super::retry::{CallTrouble, LimitReset, Retries, RetryStep, TroubleCounts, relief, seed_of};
use super::sse::EventStream;
use super::{Protocol, chat, messages, responses};
use crate::AgentWatch;

/// How often the caller is asked whether to go on.
const HEARTBEAT: Duration = Duration::from_millis(50);

/// How much of an error's body is read.
const COMPLAINT_BYTES: usize = 64 << 10;

/// More than any model says at once.
const ANSWER_BYTES: usize = 64 << 20;

pub(super) struct ModelExchange<'a> {
    pub(super) protocol: Protocol,
    pub(super) endpoint: &'a Endpoint,
    pub(super) retries: Retries,
    pub(super) clock: &'a dyn Clock,
    pub(super) deadline: Instant,
    pub(super) first_output: Duration,
    pub(super) idle: Duration,
    pub(super) longest_line: usize,
    /// What the pauses' jitter follows from.
    pub(super) word: &'a str,
    pub(super) line: Connection,
    /// What broken answers consumed.
    pub(super) lost: Usage,
}

/// Why there is no answer and will not be one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum NoAnswer {
    Cancelled,
    WallClock,
    Parked {
        resets_at: Option<Timestamp>,
        reason: String,
    },
    /// What was asked is longer than the model can read; the server may have said how much
    /// that is.
    TooLong {
        window: Option<u64>,
        reason: String,
    },
    /// The request had tools, and this model or its server takes none.
    NoTools(String),
    /// No server answers, it stops in the middle of its answers, or it is broken.
    Gone(String),
    Failed(String),
}

/// Hears of a limit, and when it is over.
pub(super) type OnLimit<'a> = dyn FnMut(&mut dyn AgentWatch, Option<Timestamp>, &str) + 'a;

enum CallFailure {
    End(NoAnswer),
    Trouble(CallTrouble),
}

impl From<StreamFault> for CallFailure {
    fn from(fault: StreamFault) -> Self {
        Self::Trouble(CallTrouble::Stream(fault.to_string()))
    }
}

impl ModelExchange<'_> {
    /// Asks until there is an answer or no hope. `on_limit` hears of every limit met.
    pub(super) fn reply(
        &mut self,
        ask: &ModelRequest<'_>,
        turn: u32,
        watch: &mut dyn AgentWatch,
        on_limit: &mut OnLimit<'_>,
    ) -> Result<ModelReply, NoAnswer> {
        let seed = seed_of(self.word, turn);
        let mut met = TroubleCounts::default();
        let begun = self.clock.monotonic();
        loop {
            let trouble = match self.attempt(ask, watch) {
                Ok(reply) => return Ok(reply),
                Err(CallFailure::End(end)) => return Err(end),
                Err(CallFailure::Trouble(trouble)) => trouble,
            };
            self.line.hang_up();
            let reason = self.endpoint.mask(&told(&trouble));
            let now = self.clock.now();
            let step = self.retries.decide(&trouble, met, seed, now);
            if let CallTrouble::Status { code: 429, relief, .. } = &trouble {
                let passed = relief.after.and_then(|after| i64::try_from(after.as_millis()).ok());
                let resets_at = passed
                    .map(|millis| Timestamp::from_millis(now.as_millis().saturating_add(millis)));
                on_limit(watch, resets_at, &reason);
            }
            let is_loading = matches!(trouble, CallTrouble::Loading(_));
            if is_loading && begun.elapsed() > self.first_output {
                return Err(no_answer(&trouble, reason));
            }
            match step {
                RetryStep::Wait(time) => self.pause(time, watch)?,
                RetryStep::Park(resets_at) => return Err(NoAnswer::Parked { resets_at, reason }),
                RetryStep::Fail => return Err(no_answer(&trouble, reason)),
            }
            match trouble {
                CallTrouble::Stream(_) => met.broken_streams += 1,
                CallTrouble::Loading(_) => {}
                _ => met.refusals += 1,
            }
        }
    }

    fn attempt(
        &mut self,
        ask: &ModelRequest<'_>,
        watch: &mut dyn AgentWatch,
    ) -> Result<ModelReply, CallFailure> {
        let (body, mut reader): (Value, Box<dyn AnswerReader>) = match self.protocol {
            Protocol::Messages => (messages::body(ask), Box::<messages::MessagesAnswer>::default()),
            Protocol::Responses => {
                (responses::body(ask), Box::<responses::ResponsesAnswer>::default())
            }
            Protocol::Chat => (chat::body(ask), Box::<chat::ChatAnswer>::default()),
        };
        let heard = self.listen(body.to_string().into_bytes(), reader.as_mut(), watch);
        let usage = reader.usage();
        let reply = heard.and_then(|()| reader.finish().map_err(CallFailure::from));
        if reply.is_err() {
            self.lost = self.lost + usage;
        }
        reply
    }

    /// Hands the answer to `reader` until it is complete or the server has ended it.
    fn listen(
        &mut self,
        body: Vec<u8>,
        reader: &mut dyn AnswerReader,
        watch: &mut dyn AgentWatch,
    ) -> Result<(), CallFailure> {
        let pieces = self.line.post(&self.endpoint.url, &self.endpoint.headers, body);
        let mut events = EventStream::new(self.longest_line);
        let mut bytes = 0;
        let mut refusal: Option<ErrorAnswer> = None;
        let mut is_answered = false;
        let mut last_heard = self.clock.monotonic();
        loop {
            let piece = pieces.recv_timeout(HEARTBEAT);
            if piece.is_ok() {
                last_heard = self.clock.monotonic();
            }
            match (piece, &mut refusal) {
                (Ok(AnswerPiece::Head { status: 200..=299, .. }), _) => is_answered = true,
                (Ok(AnswerPiece::Head { status, headers }), _) => {
                    refusal = Some(ErrorAnswer { status, headers, body: Vec::new() });
                }
                (Ok(AnswerPiece::Bytes(piece)), Some(refusal)) => {
                    let room = COMPLAINT_BYTES.saturating_sub(refusal.body.len());
                    refusal.body.extend_from_slice(&piece[..room.min(piece.len())]);
                }
                (Ok(AnswerPiece::Bytes(piece)), None) => {
                    bytes += piece.len();
                    if bytes > ANSWER_BYTES {
                        return Err(StreamFault::TooLong.into());
                    }
                    for data in events.feed(&piece).map_err(|_| StreamFault::TooLong)? {
                        reader.take(&data)?;
                    }
                    if reader.is_complete() {
                        return Ok(());
                    }
                }
                (
                    Ok(AnswerPiece::End | AnswerPiece::Broken(_))
                    | Err(RecvTimeoutError::Disconnected),
                    Some(refusal),
                ) => {
                    return Err(CallFailure::Trouble(refusal.read(self.clock.now())));
                }
                (Ok(AnswerPiece::Broken(why)), None) if !is_answered => {
                    return Err(CallFailure::Trouble(CallTrouble::Connection(why)));
                }
                (
                    Ok(AnswerPiece::End | AnswerPiece::Broken(_))
                    | Err(RecvTimeoutError::Disconnected),
                    None,
                ) => {
                    return Err(StreamFault::Cut.into());
                }
                (Err(RecvTimeoutError::Timeout), _) => {}
            }
            self.look_around(watch).map_err(CallFailure::End)?;
            let patience = if is_answered { self.idle } else { self.first_output };
            if last_heard.elapsed() > patience {
                return Err(StreamFault::Silent.into());
            }
        }
    }

    fn pause(&self, time: Duration, watch: &dyn AgentWatch) -> Result<(), NoAnswer> {
        let until = self.clock.monotonic() + time;
        loop {
            self.look_around(watch)?;
            let left = until.saturating_duration_since(self.clock.monotonic());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(HEARTBEAT));
        }
    }

    fn look_around(&self, watch: &dyn AgentWatch) -> Result<(), NoAnswer> {
        if watch.cancelled() {
            return Err(NoAnswer::Cancelled);
        }
        if self.clock.monotonic() >= self.deadline {
            return Err(NoAnswer::WallClock);
        }
        Ok(())
    }
}

/// An answer that is an error.
struct ErrorAnswer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl ErrorAnswer {
    fn read(&self, now: Timestamp) -> CallTrouble {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let error = body.get("error").unwrap_or(&body);
        let message = match error {
            Value::String(message) => message.as_str(),
            error => error.get("message").and_then(Value::as_str).unwrap_or_default(),
        };
        if matches!(self.status, 400 | 413 | 500) && tells_of_window(error, message) {
            let window = error.get("n_ctx").and_then(Value::as_u64);
            return CallTrouble::Window { window, message: message.chars().take(300).collect() };
        }
        if matches!(self.status, 400 | 404 | 500 | 501) && tells_of_tools(message) {
            return CallTrouble::NoTools(message.chars().take(300).collect());
        }
        if self.status == 503 && message.to_ascii_lowercase().contains("loading model") {
            return CallTrouble::Loading(message.chars().take(300).collect());
        }
        let is_spent = error.get("code").and_then(Value::as_str) == Some("insufficient_quota");
        CallTrouble::Status {
            code: self.status,
            message: message.chars().take(300).collect(),
            relief: LimitReset { is_spent, ..relief(&self.headers, now) },
        }
    }
}

/// Returns whether an error says that the request was longer than the model's window, in the
/// words of llama.cpp, of LM Studio or of OpenAI.
fn tells_of_window(error: &Value, message: &str) -> bool {
    let is = |name: &str, wanted: &str| error.get(name).and_then(Value::as_str) == Some(wanted);
    let message = message.to_ascii_lowercase();
    is("type", "exceed_context_size_error")
        || is("code", "context_length_exceeded")
        || (message.contains("context")
            && ["length", "size", "window"].iter().any(|word| message.contains(word)))
}

/// Returns whether an error says that this model is given no tools, in the words of Ollama (`… does not
/// support tools`), of llama.cpp (`tools param requires --jinja flag`) or of servers like them.
fn tells_of_tools(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    [
        "not support tool",
        "tools param requires",
        "tools are not supported",
        "tool calling is not supported",
    ]
    .iter()
    .any(|words| message.contains(words))
}

fn no_answer(trouble: &CallTrouble, reason: String) -> NoAnswer {
    match trouble {
        CallTrouble::Window { window, .. } => NoAnswer::TooLong { window: *window, reason },
        CallTrouble::NoTools(_) => NoAnswer::NoTools(reason),
        CallTrouble::Connection(_)
        | CallTrouble::Stream(_)
        | CallTrouble::Loading(_)
        | CallTrouble::Status { code: 500..=599, .. } => NoAnswer::Gone(reason),
        CallTrouble::Status { .. } => NoAnswer::Failed(reason),
    }
}

fn told(trouble: &CallTrouble) -> String {
    match trouble {
        CallTrouble::Status { code, message, .. } => {
            let what = match code {
                401 | 403 => "the key was not accepted",
                404 => "there is no such model or address",
                429 => "the rate limit is reached",
                529 => "the model is overloaded",
                500..=599 => "the model's server has an error",
                _ => "the call was refused",
            };
            let sep = if message.is_empty() { "" } else { ": " };
            format!("{what} ({code}){sep}{message}")
        }
        CallTrouble::Window { message, .. } => {
            format!("the request is longer than the model can read: {message}")
        }
        CallTrouble::NoTools(message) => format!("the model takes no tools: {message}"),
        CallTrouble::Loading(message) => {
            format!("the model's server was not done with reading its weights: {message}")
        }
        CallTrouble::Connection(why) => format!("the model cannot be reached: {why}"),
        CallTrouble::Stream(why) => why.clone(),
    }
}
