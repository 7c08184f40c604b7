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

use super::conversation::{Ask, Fault, Reader, Reply};
use super::endpoint::Endpoint;
use super::line::{Line, Piece};
use super::retry::{Met, Relief, Retries, Step, Trouble, relief, seed_of};
use super::sse::Events;
use super::{Protocol, chat, messages, responses};
use crate::Watch;

/// How often the caller is asked whether to go on.
const HEARTBEAT: Duration = Duration::from_millis(50);

/// How much of an error's body is read.
const COMPLAINT_BYTES: usize = 64 << 10;

/// More than any model says at once.
const ANSWER_BYTES: usize = 64 << 20;

pub(super) struct Exchange<'a> {
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
    pub(super) line: Line,
    /// What broken answers consumed.
    pub(super) lost: Usage,
}

/// Why there is no answer and will not be one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum End {
    Cancelled,
    WallClock,
    Parked { resets_at: Option<Timestamp>, reason: String },
    Failed(String),
}

/// Hears of a limit, and when it is over.
pub(super) type OnLimit<'a> = dyn FnMut(&mut dyn Watch, Option<Timestamp>, &str) + 'a;

enum Stumble {
    End(End),
    Trouble(Trouble),
}

impl From<Fault> for Stumble {
    fn from(fault: Fault) -> Self {
        Self::Trouble(Trouble::Stream(fault.to_string()))
    }
}

impl Exchange<'_> {
    /// Asks until there is an answer or no hope. `on_limit` hears of every limit met.
    pub(super) fn reply(
        &mut self,
        ask: &Ask<'_>,
        turn: u32,
        watch: &mut dyn Watch,
        on_limit: &mut OnLimit<'_>,
    ) -> Result<Reply, End> {
        let seed = seed_of(self.word, turn);
        let mut met = Met::default();
        loop {
            let trouble = match self.attempt(ask, watch) {
                Ok(reply) => return Ok(reply),
                Err(Stumble::End(end)) => return Err(end),
                Err(Stumble::Trouble(trouble)) => trouble,
            };
            self.line.hang_up();
            let reason = self.endpoint.mask(&told(&trouble));
            let now = self.clock.now();
            let step = self.retries.decide(&trouble, met, seed, now);
            if let Trouble::Status { code: 429, relief, .. } = &trouble {
                let passed = relief.after.and_then(|after| i64::try_from(after.as_millis()).ok());
                let resets_at = passed
                    .map(|millis| Timestamp::from_millis(now.as_millis().saturating_add(millis)));
                on_limit(watch, resets_at, &reason);
            }
            match step {
                Step::Wait(time) => self.pause(time, watch)?,
                Step::Park(resets_at) => return Err(End::Parked { resets_at, reason }),
                Step::Fail => return Err(End::Failed(reason)),
            }
            match trouble {
                Trouble::Stream(_) => met.broken_streams += 1,
                _ => met.refusals += 1,
            }
        }
    }

    fn attempt(&mut self, ask: &Ask<'_>, watch: &mut dyn Watch) -> Result<Reply, Stumble> {
        let (body, mut reader): (Value, Box<dyn Reader>) = match self.protocol {
            Protocol::Messages => (messages::body(ask), Box::<messages::Answer>::default()),
            Protocol::Responses => (responses::body(ask), Box::<responses::Answer>::default()),
            Protocol::Chat => (chat::body(ask), Box::<chat::Answer>::default()),
        };
        let heard = self.listen(body.to_string().into_bytes(), reader.as_mut(), watch);
        let usage = reader.usage();
        let reply = heard.and_then(|()| reader.finish().map_err(Stumble::from));
        if reply.is_err() {
            self.lost = self.lost + usage;
        }
        reply
    }

    /// Hands the answer to `reader` until it is complete or the server has ended it.
    fn listen(
        &mut self,
        body: Vec<u8>,
        reader: &mut dyn Reader,
        watch: &mut dyn Watch,
    ) -> Result<(), Stumble> {
        let pieces = self.line.post(&self.endpoint.url, &self.endpoint.headers, body);
        let mut events = Events::new(self.longest_line);
        let mut bytes = 0;
        let mut refusal: Option<Refusal> = None;
        let mut is_answered = false;
        let mut last_heard = Instant::now();
        loop {
            let piece = pieces.recv_timeout(HEARTBEAT);
            if piece.is_ok() {
                last_heard = Instant::now();
            }
            match (piece, &mut refusal) {
                (Ok(Piece::Head { status: 200..=299, .. }), _) => is_answered = true,
                (Ok(Piece::Head { status, headers }), _) => {
                    refusal = Some(Refusal { status, headers, body: Vec::new() });
                }
                (Ok(Piece::Bytes(piece)), Some(refusal)) => {
                    let room = COMPLAINT_BYTES.saturating_sub(refusal.body.len());
                    refusal.body.extend_from_slice(&piece[..room.min(piece.len())]);
                }
                (Ok(Piece::Bytes(piece)), None) => {
                    bytes += piece.len();
                    if bytes > ANSWER_BYTES {
                        return Err(Fault::TooLong.into());
                    }
                    for data in events.feed(&piece).map_err(|_| Fault::TooLong)? {
                        reader.take(&data)?;
                    }
                    if reader.is_complete() {
                        return Ok(());
                    }
                }
                (
                    Ok(Piece::End | Piece::Broken(_)) | Err(RecvTimeoutError::Disconnected),
                    Some(refusal),
                ) => {
                    return Err(Stumble::Trouble(refusal.read(self.clock.now())));
                }
                (Ok(Piece::Broken(why)), None) if !is_answered => {
                    return Err(Stumble::Trouble(Trouble::Connection(why)));
                }
                (Ok(Piece::End | Piece::Broken(_)) | Err(RecvTimeoutError::Disconnected), None) => {
                    return Err(Fault::Cut.into());
                }
                (Err(RecvTimeoutError::Timeout), _) => {}
            }
            self.look_around(watch).map_err(Stumble::End)?;
            let patience = if is_answered { self.idle } else { self.first_output };
            if last_heard.elapsed() > patience {
                return Err(Fault::Silent.into());
            }
        }
    }

    fn pause(&self, time: Duration, watch: &dyn Watch) -> Result<(), End> {
        let until = Instant::now() + time;
        loop {
            self.look_around(watch)?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(HEARTBEAT));
        }
    }

    fn look_around(&self, watch: &dyn Watch) -> Result<(), End> {
        if watch.cancelled() {
            return Err(End::Cancelled);
        }
        if Instant::now() >= self.deadline {
            return Err(End::WallClock);
        }
        Ok(())
    }
}

/// An answer that is an error.
struct Refusal {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Refusal {
    fn read(&self, now: Timestamp) -> Trouble {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let error = body.get("error").unwrap_or(&body);
        let message = match error {
            Value::String(message) => message.as_str(),
            error => error.get("message").and_then(Value::as_str).unwrap_or_default(),
        };
        let is_spent = error.get("code").and_then(Value::as_str) == Some("insufficient_quota");
        Trouble::Status {
            code: self.status,
            message: message.chars().take(300).collect(),
            relief: Relief { is_spent, ..relief(&self.headers, now) },
        }
    }
}

fn told(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Status { code, message, .. } => {
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
        Trouble::Connection(why) => format!("the model cannot be reached: {why}"),
        Trouble::Stream(why) => why.clone(),
    }
}
