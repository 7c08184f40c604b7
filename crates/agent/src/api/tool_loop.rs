//! The tool loop: ask, do what the model calls for, answer, ask again.

use std::fs::File;
use std::io::Write;
use std::time::Instant;

use serde_json::{Value, json};
use spore_effects::Clock;
use spore_effects::session::ProcessIdentity;
use spore_model::{Outcome, SessionFailure, Timestamp, Usage, Usd};
use spore_secrets::KnownSecrets;
use spore_tools::{ModelTool, Reach, Registry, ToolAnswer, ToolCaller, written};

use super::conversation::{
    CallAnswer, ConversationTurn, ModelReply, ModelRequest, RequestedCall, StopReason,
};
use super::endpoint::Endpoint;
use super::exchange::{ModelExchange, NoAnswer};
use super::history::{self, TaskTooLong};
use super::kept_turns::{EarlierTurns, TurnCounts, TurnKeeper};
use super::repeats::{KnownAnswer, RepeatedCalls};
use super::{ApiSettings, CallForm};
use crate::prices::Price;
use crate::{AgentEvent, AgentWatch, BoxError, Request, ResultEvent, SessionReport};

/// What helps where a model takes no tools and was to be given some.
const AS_TEXT: &str = "`tools = \"text\"` in its settings has it write its calls";

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
    pub(super) room: ContextRoom,
    /// How this model calls, as far as it has shown.
    pub(super) call_form: CallForm,
    pub(super) keeper: TurnKeeper,
    /// The newest turn with all answers whole, where it does not repeat some of them.
    pub(super) newest_whole: Option<ConversationTurn>,
}

/// How much the model can read, by the settings and by what its server said since.
pub(super) struct ContextRoom {
    window: u64,
    /// The conversation is made to fit; else the session ends when it is full.
    is_small: bool,
    /// How many tokens the server counts for one that was estimated; at least one.
    scale: f64,
    /// What the last request was estimated at.
    asked: u64,
    /// Something that was said is no longer there to read.
    pub(super) has_left_out: bool,
}

impl ContextRoom {
    pub(super) fn of(settings: &ApiSettings) -> Self {
        let window = settings.context_window;
        let is_small = settings.is_small();
        Self { window, is_small, scale: 1.0, asked: 0, has_left_out: false }
    }

    /// What an answer may have: at most a quarter of a small window.
    fn output(&self, most: u32) -> u32 {
        if !self.is_small {
            return most;
        }
        most.min(u32::try_from(self.window / 4).unwrap_or(u32::MAX)).max(1)
    }

    /// Bytes of one result: at most a quarter of a small window.
    fn result_bytes(&self) -> usize {
        usize::try_from(self.window * 3 / 4).unwrap_or(usize::MAX).max(500)
    }

    /// Learns from what the server has counted.
    fn learn(&mut self, counted: u64) {
        if self.asked > 0 {
            self.scale = self.scale.max(counted as f64 / self.asked as f64).min(Self::MOST);
        }
    }

    /// Takes each token for more of the server's; returns whether it could.
    fn counts_more(&mut self) -> bool {
        let is_possible = self.scale < Self::MOST;
        self.scale = (self.scale * 1.25).min(Self::MOST);
        is_possible
    }

    /// The highest `scale`: a text of nothing but digits has less than three.
    const MOST: f64 = 4.0;
}

/// How far a session has come.
#[derive(Default)]
pub(super) struct LoopProgress {
    /// With those of earlier attempts, which are booked as theirs.
    turns: u32,
    earlier_turns: u32,
    nudges: u32,
    /// Calls in a row that could not be read.
    faults: u32,
    /// Calls that were made.
    calls: u32,
    /// A file was changed by a call that was written as text.
    has_changed: bool,
    repeated: RepeatedCalls,
    usage: Usage,
    /// An answer came without a count of its tokens: they are estimated.
    is_estimated: bool,
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
        let (mut turns, mut known) = self.begun();
        let mut resets_at = None;
        let mut failure = None;
        let (outcome, reason) = loop {
            if let Some(reply) = known.take() {
                if let Some(ended) = self.go_on_kept(reply, &mut turns, watch) {
                    break ended;
                }
                continue;
            }
            if let Some(full) = self.is_full() {
                failure = Some(SessionFailure::FailedLimit);
                break (Outcome::Partial, Some(full));
            }
            if let Err(too_long) = self.make_room(&mut turns) {
                failure = Some(SessionFailure::FailedLimit);
                break self.does_not_fit(too_long);
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
                Err(NoAnswer::TooLong { window, reason }) => {
                    if self.is_smaller_than_thought(window) {
                        continue;
                    }
                    failure = Some(SessionFailure::FailedLimit);
                    break (self.beyond_us(), Some(reason));
                }
                Err(NoAnswer::NoTools(reason)) => {
                    if self.call_form == CallForm::Auto {
                        self.call_form = CallForm::Text;
                        continue;
                    }
                    failure = Some(SessionFailure::FailedModel);
                    break (Outcome::Failure, Some(format!("{reason} ({AS_TEXT})")));
                }
                Err(NoAnswer::Gone(why)) => {
                    failure = Some(SessionFailure::FailedModel);
                    let told = self.settings.local.as_ref().map(|local| local.silence(&why));
                    break (self.beyond_us(), Some(told.unwrap_or(why)));
                }
                Err(NoAnswer::Failed(reason)) => {
                    failure = Some(SessionFailure::FailedModel);
                    break (Outcome::Failure, Some(reason));
                }
            };
            let reply = self.counted(reply, &turns);
            self.take_in(&reply, watch);
            let Self { keeper, notes, .. } = &mut self;
            keeper.reply(&reply, &|text| notes.mask(text));
            if let Some(ended) = self.go_on_kept(reply, &mut turns, watch) {
                break ended;
            }
        };
        SessionReport { failure, ..self.report(outcome, reason, resets_at, watch) }
    }

    /// Returns the conversation as it begins, or as earlier attempts at the session left it, with the
    /// answer that nothing has come of yet.
    fn begun(&mut self) -> (Vec<ConversationTurn>, Option<ModelReply>) {
        let notes = &self.notes;
        let files = self.request.turns.as_ref();
        let prompt = &self.request.prompt;
        let (keeper, earlier) = TurnKeeper::open(files, prompt, &|text| notes.mask(text));
        self.keeper = keeper;
        let EarlierTurns { turns, counts, reply } = earlier;
        let progress = &mut self.progress;
        (progress.turns, progress.earlier_turns) = (counts.turns, counts.turns);
        (progress.nudges, progress.faults, progress.calls) =
            (counts.nudges, counts.faults, counts.calls);
        (progress.last_input, progress.longest_input) = (counts.last_input, counts.longest_input);
        progress.has_changed = counts.has_changed;
        progress.repeated = counts.repeated;
        self.call_form = counts.call_form.unwrap_or(self.call_form);
        if let Some(reply) = &reply {
            self.progress.final_text = self.notes.mask(&reply.text);
        }
        let asked = ConversationTurn::Said(prompt.clone());
        (std::iter::once(asked).chain(turns).collect(), reply)
    }

    /// Does what an answer calls for, and keeps what came of it.
    fn go_on_kept(
        &mut self,
        reply: ModelReply,
        turns: &mut Vec<ConversationTurn>,
        watch: &mut dyn AgentWatch,
    ) -> Option<(Outcome, Option<String>)> {
        let had = turns.len();
        if let Some(ended) = self.go_on(reply, turns, watch) {
            return Some(ended);
        }
        let counts = TurnCounts {
            turns: self.progress.turns,
            nudges: self.progress.nudges,
            faults: self.progress.faults,
            calls: self.progress.calls,
            has_changed: self.progress.has_changed,
            repeated: self.progress.repeated.clone(),
            last_input: self.progress.last_input,
            longest_input: self.progress.longest_input,
            call_form: Some(self.call_form),
        };
        let Self { keeper, notes, .. } = self;
        keeper.done(&turns[had..], counts, &|text| notes.mask(text));
        None
    }

    /// Why there must not be another call.
    fn is_full(&self) -> Option<String> {
        let budget = self.settings.context_window as f64 * self.settings.context_share;
        if self.progress.turns >= self.request.limits.turns {
            Some(format!("its {} turns were used up", self.request.limits.turns))
        } else if self.progress.repeated.times() >= self.settings.repeats.max(2) {
            let times = self.progress.repeated.times();
            Some(format!("{times} answers in a row asked for what it had been told"))
        } else if !self.room.is_small && self.progress.last_input as f64 > budget {
            Some(format!("its context was full: {} tokens", self.progress.last_input))
        } else if let (Some(cost), Some(cap)) = (self.cost(), self.request.limits.usd)
            && cost >= cap
        {
            Some(format!("its budget was used up: {cost}"))
        } else {
            None
        }
    }

    /// What goes before the task. A model that writes its calls is told how.
    fn system(&self) -> String {
        let role = &self.request.system_prompt;
        match self.call_form {
            CallForm::Native | CallForm::Auto => role.clone(),
            CallForm::Text => format!("{role}\n\n{}", written::instructions(&self.tools)),
            CallForm::Held => format!("{role}\n\n{}", written::held_instructions(&self.tools)),
        }
    }

    /// Leaves out of a conversation what a small window has no room for.
    fn make_room(&mut self, turns: &mut Vec<ConversationTurn>) -> Result<(), TaskTooLong> {
        if !self.room.is_small {
            return Ok(());
        }
        let output = u64::from(self.room.output(self.settings.max_output_tokens));
        let estimated = self.room.window.saturating_sub(output) as f64 / self.room.scale;
        let fixed = self.fixed_tokens();
        let sum = |turns: &[ConversationTurn]| turns.iter().map(history::tokens).sum::<u64>();
        let before = sum(turns);
        let whole = self.newest_whole.take();
        history::fit(turns, fixed, estimated as u64)?;
        if let (true, Some(whole), Some(newest)) = (sum(turns) < before, whole, turns.last_mut()) {
            // The answer from before may have made room just now: it stands in the newest turn again.
            *newest = whole;
            history::fit(turns, fixed, estimated as u64)?;
        }
        let after = sum(turns);
        self.room.has_left_out |= after < before;
        self.room.asked = fixed + after;
        Ok(())
    }

    /// Estimates what goes with every request besides the conversation.
    fn fixed_tokens(&self) -> u64 {
        let system = history::tokens_of(self.system().len());
        if !matches!(self.call_form, CallForm::Native | CallForm::Auto) {
            return system;
        }
        let bytes = |tool: &ModelTool| {
            tool.schema.to_string().len() + tool.description.len() + tool.name.len()
        };
        system + history::tokens_of(self.tools.tools().iter().map(bytes).sum())
    }

    /// Estimates the tokens of an answer whose server counts none: unknown is not zero.
    fn counted(&mut self, reply: ModelReply, turns: &[ConversationTurn]) -> ModelReply {
        if reply.usage != Usage::default() {
            return reply;
        }
        self.progress.is_estimated = true;
        let asked = self.fixed_tokens() + turns.iter().map(history::tokens).sum::<u64>();
        let said = reply.text.len() + reply.thinking.len();
        let called: usize =
            reply.calls.iter().map(|call| format!("{:?}", call.arguments).len()).sum();
        let usage = Usage {
            input_tokens: asked,
            output_tokens: history::tokens_of(said + called),
            ..Usage::default()
        };
        ModelReply { usage, ..reply }
    }

    fn does_not_fit(&self, TaskTooLong { tokens }: TaskTooLong) -> (Outcome, Option<String>) {
        // As the server counts, which is what its window is counted in.
        let tokens = (tokens as f64 * self.room.scale).ceil() as u64;
        let reason = format!(
            "the task and what has to go with it take about {tokens} tokens, and the model can \
             read {}, its answer included",
            self.room.window
        );
        (self.beyond_us(), Some(reason))
    }

    /// A server that a person runs is mended by a person, and the session is had again then.
    fn beyond_us(&self) -> Outcome {
        if self.settings.local.is_some() { Outcome::NeedsHuman } else { Outcome::Failure }
    }

    /// Takes the server's word that a request was too long, if there is then something to leave out.
    /// Where it names no smaller window its tokens are shorter than was estimated.
    fn is_smaller_than_thought(&mut self, window: Option<u64>) -> bool {
        let smaller = window.filter(|window| *window < self.room.window && *window > 0);
        if let Some(window) = smaller {
            self.room.window = window;
            self.room.is_small = true;
        }
        smaller.is_some() || (self.room.is_small && self.room.counts_more())
    }

    fn ask(
        &mut self,
        turns: &[ConversationTurn],
        watch: &mut dyn AgentWatch,
    ) -> Result<ModelReply, NoAnswer> {
        let system = self.system();
        let none = Registry::default();
        let is_native = matches!(self.call_form, CallForm::Native | CallForm::Auto);
        let max_output_tokens = self.room.output(self.settings.max_output_tokens);
        let mut more = Vec::new();
        if self.settings.local.is_some() {
            // Not all of them know the newer name.
            more.push(("max_tokens", json!(max_output_tokens)));
        }
        if self.call_form == CallForm::Held {
            more.push(("response_format", written::response_format(&self.tools)));
        }
        let ask = ModelRequest {
            model: self.model,
            system: &system,
            tools: if is_native { &self.tools } else { &none },
            turns,
            max_output_tokens,
            more,
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
        self.room.learn(self.progress.last_input);
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
        if reply.stop != StopReason::Refused
            && let Some(read) = self.written(&reply)
        {
            return self.go_on_written(reply, read, turns, watch);
        }
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
        self.without_calls(reply, turns)
    }

    pub(super) fn has_result(&self) -> bool {
        self.progress.structured.is_some()
    }

    pub(super) fn has_called(&self) -> bool {
        self.progress.calls > 0
    }

    /// Takes `text` for the last word of the session.
    pub(super) fn say_last(&mut self, text: &str) {
        self.progress.final_text = self.notes.mask(text);
    }

    /// Counts a nudge, if there may be another one.
    pub(super) fn nudges_once_more(&mut self) -> bool {
        let is_left = self.progress.nudges < self.settings.nudges;
        self.progress.nudges += u32::from(is_left);
        is_left
    }

    /// Returns how many answers in a row could not be read, with this one.
    pub(super) fn count_faults(&mut self, is_fault: bool) -> u32 {
        self.progress.faults = if is_fault { self.progress.faults + 1 } else { 0 };
        self.progress.faults
    }

    /// Ends a session whose model has no more calls, or asks for the result that is missing.
    pub(super) fn without_calls(
        &mut self,
        reply: ModelReply,
        turns: &mut Vec<ConversationTurn>,
    ) -> Option<(Outcome, Option<String>)> {
        let hands_in = self.tools.tools().iter().any(|tool| tool.reach == Reach::Submit);
        if !hands_in {
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

    pub(super) fn call(&mut self, call: &RequestedCall, watch: &mut dyn AgentWatch) -> CallAnswer {
        self.progress.calls += 1;
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
        let mut text = self.notes.mask(&answer.text);
        if self.room.is_small {
            text = spore_tools::both_ends(&text, self.room.result_bytes());
        }
        let done = AgentEvent::ToolResult { tool: call.name.clone(), ok: !answer.is_error };
        self.notes.add(watch, &done, &[("text", Value::from(text.as_str()))]);
        CallAnswer { id: call.id.clone(), text, is_error: answer.is_error }
    }

    /// Counts a call that was written as text; returns whether its answer was known. Native calls are not
    /// counted: large models ask for what changes until it does.
    pub(super) fn count_repeated(
        &mut self,
        call: &RequestedCall,
        answer: &CallAnswer,
    ) -> Option<KnownAnswer> {
        let tool = self.tools.get(&call.name);
        let changes = !answer.is_error && tool.is_some_and(|tool| tool.reach == Reach::Write);
        self.progress.has_changed |= changes;
        self.progress.repeated.count(self.progress.turns, call, &answer.text, changes)
    }

    /// Returns whether a written call has changed a file.
    pub(super) fn has_changed(&self) -> bool {
        self.progress.has_changed
    }

    pub(super) fn can_write(&self) -> bool {
        self.tools.tools().iter().any(|tool| tool.reach == Reach::Write)
    }

    /// Keeps the answers of the newest turn whole where the model was told in their place that they are
    /// those from before.
    pub(super) fn keep_whole(&mut self, whole: Option<ConversationTurn>) {
        self.newest_whole = whole;
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
        // What costs nothing does so however much it was.
        let is_counted = !self.progress.is_estimated || self.cost() == Some(Usd::ZERO);
        let is_sure = is_counted && self.price.is_some_and(|price| price.covers(longest));
        let (usage, cost) = (self.usage(), self.cost().filter(|_| is_sure));
        let mut final_text = std::mem::take(&mut self.progress.final_text);
        if final_text.is_empty()
            && let Some(structured) = &self.progress.structured
        {
            final_text = structured.to_string();
        }
        let turns = self.progress.turns - self.progress.earlier_turns;
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
