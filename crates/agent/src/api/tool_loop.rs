//! The tool loop: ask, do what the model calls for, answer, ask again.

use std::fs::File;
use std::io::Write;
use std::time::Instant;

use serde_json::{Value, json};
use spore_effects::Clock;
use spore_effects::session::ProcessIdentity;
use spore_model::{Outcome, Timestamp, Usage, Usd};
use spore_secrets::KnownSecrets;
use spore_tools::{Reach, Registry, ToolAnswer, ToolCaller};

use super::ApiSettings;
use super::conversation::{
    CallAnswer, ConversationTurn, ModelReply, ModelRequest, RequestedCall, StopReason,
};
use super::endpoint::Endpoint;
use super::exchange::{ModelExchange, NoAnswer};
use crate::prices::Price;
use crate::{AgentEvent, AgentWatch, BoxError, Request, ResultEvent, SessionReport};

const NUDGE: &str = "Hand in your result with the submit tool.";

pub(super) struct ToolLoop<'a> {
    pub(super) request: &'a Request,
    pub(super) settings: &'a ApiSettings,
    pub(super) model: &'a str,
    pub(super) price: Option<Price>,
    pub(super) tools: Registry,
    /// Servers, and whether they were reached.
    pub(super) mcp: Vec<(String, String)>,
    pub(super) exchange: ModelExchange<'a>,
    pub(super) notes: SessionLog<'a>,
    pub(super) progress: LoopProgress,
}

/// How far a session has come.
#[derive(Default)]
pub(super) struct LoopProgress {
    turns: u32,
    nudges: u32,
    usage: Usage,
    last_input: u64,
    /// The longest prompt so far: above a size some models have another price.
    longest_input: u64,
    final_text: String,
    structured: Option<Value>,
}

/// The transcript and the events of a session, with keys struck out.
pub(super) struct SessionLog<'a> {
    pub(super) file: File,
    pub(super) left: u64,
    pub(super) endpoint: &'a Endpoint,
    pub(super) secrets: KnownSecrets,
}

impl SessionLog<'_> {
    /// Returns `text` without keys and other secrets.
    fn mask(&self, text: &str) -> String {
        self.secrets.strike(&self.endpoint.mask(text)).into_owned()
    }

    /// Tells `event` and keeps it, together with what only the transcript has room for.
    fn add(&mut self, watch: &mut dyn AgentWatch, event: &AgentEvent, more: &[(&str, Value)]) {
        let mut line = serde_json::to_value(event).unwrap_or_default();
        for (name, value) in more {
            line[*name] = value.clone();
        }
        let line = self.mask(&line.to_string()) + "\n";
        // A full disk must not end the session: the transcript just stops.
        if line.len() as u64 <= self.left && self.file.write_all(line.as_bytes()).is_ok() {
            self.left -= line.len() as u64;
        }
        watch.event(event);
    }
}

impl ToolLoop<'_> {
    pub(super) fn run(mut self, watch: &mut dyn AgentWatch) -> SessionReport {
        let mut turns = vec![ConversationTurn::Said(self.request.prompt.clone())];
        let mut resets_at = None;
        let (outcome, reason) = loop {
            if let Some(full) = self.is_full() {
                break (Outcome::Partial, Some(full));
            }
            let reply = match self.ask(&turns, watch) {
                Ok(reply) => reply,
                Err(NoAnswer::Cancelled) => {
                    break (Outcome::Interrupted, Some("it was interrupted".to_owned()));
                }
                Err(NoAnswer::WallClock) => {
                    break (Outcome::TimedOut, Some("its time was over".to_owned()));
                }
                Err(NoAnswer::Parked { resets_at: at, reason }) => {
                    resets_at = at;
                    break (Outcome::QuotaParked, Some(reason));
                }
                Err(NoAnswer::Failed(reason)) => break (Outcome::Failure, Some(reason)),
            };
            self.take_in(&reply, watch);
            if let Some(ended) = self.go_on(reply, &mut turns, watch) {
                break ended;
            }
        };
        self.report(outcome, reason, resets_at, watch)
    }

    /// Why there must not be another call.
    fn is_full(&self) -> Option<String> {
        let budget = self.settings.context_window as f64 * self.settings.context_share;
        if self.progress.turns >= self.request.limits.turns {
            Some(format!("its {} turns were used up", self.request.limits.turns))
        } else if self.progress.last_input as f64 > budget {
            Some(format!("its context was full: {} tokens", self.progress.last_input))
        } else if let (Some(cost), Some(cap)) = (self.cost(), self.request.limits.usd)
            && cost >= cap
        {
            Some(format!("its budget was used up: {cost}"))
        } else {
            None
        }
    }

    fn ask(
        &mut self,
        turns: &[ConversationTurn],
        watch: &mut dyn AgentWatch,
    ) -> Result<ModelReply, NoAnswer> {
        let ask = ModelRequest {
            model: self.model,
            system: &self.request.system_prompt,
            tools: &self.tools,
            turns,
            max_output_tokens: self.settings.max_output_tokens,
        };
        let notes = &mut self.notes;
        let mut on_limit =
            |watch: &mut dyn AgentWatch, resets_at: Option<Timestamp>, reason: &str| {
                let event = AgentEvent::RateLimit { resets_at, reason: reason.to_owned() };
                notes.add(watch, &event, &[]);
            };
        self.exchange.reply(&ask, self.progress.turns, watch, &mut on_limit)
    }

    /// Books a complete answer and tells what was said.
    fn take_in(&mut self, reply: &ModelReply, watch: &mut dyn AgentWatch) {
        let usage = reply.usage;
        self.progress.turns += 1;
        self.progress.usage = self.progress.usage + usage;
        // All that the model had to read, from wherever it came.
        self.progress.last_input = usage.read_tokens();
        self.progress.longest_input = self.progress.longest_input.max(self.progress.last_input);
        if !reply.thinking.is_empty() {
            let event = AgentEvent::Thinking { text: self.notes.mask(&reply.thinking) };
            self.notes.add(watch, &event, &[]);
        }
        if !reply.text.is_empty() {
            self.progress.final_text = self.notes.mask(&reply.text);
            let event = AgentEvent::Text { text: self.progress.final_text.clone() };
            self.notes.add(watch, &event, &[]);
        }
        self.notes.add(watch, &AgentEvent::Usage { usage }, &[]);
    }

    /// Does what the answer calls for; returns how the session ended, if it did.
    fn go_on(
        &mut self,
        reply: ModelReply,
        turns: &mut Vec<ConversationTurn>,
        watch: &mut dyn AgentWatch,
    ) -> Option<(Outcome, Option<String>)> {
        match reply.stop {
            StopReason::Refused => {
                return Some((Outcome::Failure, Some("the model refused".to_owned())));
            }
            StopReason::Length => {
                let reason = "its answer was cut off at the longest allowed".to_owned();
                return Some((Outcome::Partial, Some(reason)));
            }
            StopReason::Done => {}
        }
        if !reply.calls.is_empty() {
            let answers = reply.calls.iter().map(|call| self.call(call, watch)).collect();
            turns.push(ConversationTurn::Replied(reply.raw));
            turns.push(ConversationTurn::Answered(answers));
            return self.progress.structured.is_some().then_some((Outcome::Success, None));
        }
        if self.request.schema.is_none() {
            return Some((Outcome::Success, None));
        }
        if self.progress.nudges >= self.settings.nudges {
            let reason = "it ended without handing in a result".to_owned();
            return Some((Outcome::Failure, Some(reason)));
        }
        self.progress.nudges += 1;
        turns.push(ConversationTurn::Replied(reply.raw));
        turns.push(ConversationTurn::Said(NUDGE.to_owned()));
        None
    }

    fn call(&mut self, call: &RequestedCall, watch: &mut dyn AgentWatch) -> CallAnswer {
        let arguments = call.arguments.clone().unwrap_or_default();
        let used = AgentEvent::ToolUse {
            tool: self.notes.mask(&call.name),
            summary: self.notes.mask(&summary(&call.name, &arguments)),
            path: arguments.get("path").and_then(Value::as_str).map(|path| self.notes.mask(path)),
        };
        self.notes.add(watch, &used, &[("input", arguments.clone())]);
        let answer = match &call.arguments {
            Some(arguments) => {
                let (clock, deadline) = (self.exchange.clock, self.exchange.deadline);
                let mut caller = WatchCaller { watch, clock, deadline };
                self.tools.call(&call.name, arguments, &mut caller)
            }
            None => ToolAnswer::error("the arguments are not JSON"),
        };
        let is_submit = self.tools.get(&call.name).is_some_and(|tool| tool.reach == Reach::Submit);
        if is_submit && !answer.is_error {
            let mut handed_in = arguments;
            self.notes.secrets.strike_json(&mut handed_in);
            self.progress.structured = Some(handed_in);
        }
        if answer.is_refused {
            let tool = self.notes.mask(&call.name);
            self.notes.add(watch, &AgentEvent::ToolRefused { tool }, &[]);
        }
        let text = self.notes.mask(&answer.text);
        let done = AgentEvent::ToolResult { tool: call.name.clone(), ok: !answer.is_error };
        self.notes.add(watch, &done, &[("text", Value::from(text.as_str()))]);
        CallAnswer { id: call.id.clone(), text, is_error: answer.is_error }
    }

    fn usage(&self) -> Usage {
        self.progress.usage + self.exchange.lost
    }

    fn cost(&self) -> Option<Usd> {
        self.price.map(|price| price.of(self.usage()))
    }

    fn report(
        mut self,
        outcome: Outcome,
        reason: Option<String>,
        resets_at: Option<Timestamp>,
        watch: &mut dyn AgentWatch,
    ) -> SessionReport {
        let longest = self.progress.longest_input;
        let is_sure = self.price.is_some_and(|price| price.covers(longest));
        let (usage, cost) = (self.usage(), self.cost().filter(|_| is_sure));
        let mut final_text = std::mem::take(&mut self.progress.final_text);
        if final_text.is_empty()
            && let Some(structured) = &self.progress.structured
        {
            final_text = structured.to_string();
        }
        let turns = self.progress.turns;
        let result = ResultEvent {
            text: final_text.clone(),
            session_id: None,
            turns,
            usage,
            cost_usd: cost,
        };
        let more = [("outcome", json!(outcome)), ("reason", json!(reason))];
        self.notes.add(watch, &AgentEvent::Result(result), &more);
        SessionReport {
            mcp: self.mcp,
            final_text,
            structured: self.progress.structured.take(),
            turns,
            usage,
            cost,
            model: Some(self.model.to_owned()),
            resets_at,
            ..SessionReport::ended(outcome, reason)
        }
    }
}

/// Sums a call up in one line for people.
fn summary(tool: &str, arguments: &Value) -> String {
    let told = ["command", "path", "pattern"]
        .iter()
        .find_map(|name| arguments.get(name).and_then(Value::as_str))
        .unwrap_or(tool);
    spore_plain::line_within(told, 200)
}

/// The tools' view of the session's watch.
struct WatchCaller<'a> {
    watch: &'a mut dyn AgentWatch,
    clock: &'a dyn Clock,
    deadline: Instant,
}

impl ToolCaller for WatchCaller<'_> {
    fn starting(&mut self, process: &ProcessIdentity) -> Result<(), BoxError> {
        self.watch.starting(process)
    }

    fn cancelled(&self) -> bool {
        self.watch.cancelled() || self.clock.monotonic() >= self.deadline
    }
}
