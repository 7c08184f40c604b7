//! Makes events of Claude Code's lines, and keeps of a session what its end is judged by.
//!
//! Pure: lines in, events out, no clock and no files, so that a recorded transcript gives the
//! same events every time. qwen-code speaks the same language with fewer words and is read by
//! the same code. A line that is not understood is never an error: it is an event of its own.
//!
//! What a subagent says is not the session's: its words, tokens and turns are left to the
//! final sums. Its tool calls are passed on, because the files it writes are real.

use std::collections::HashMap;

use spore_model::{Timestamp, Usage};

use super::calls::ModelCalls;
use super::health::{self, ApiRefusal, Exit};
use super::line::{ClaudeMessage, ContentBlock, ResultLine, StreamLine, StreamedPiece};
use super::summary;
use crate::{AgentEvent, ResultEvent, SessionReport};

/// The model that Claude Code names for a message it made up itself, such as an API error.
const SYNTHETIC: &str = "<synthetic>";

/// What the session must have, for its end to be good.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionNeeds {
    /// A schema was given, so there must be a structured result.
    pub structured: bool,
    /// Servers without which the session is worthless.
    pub required_servers: Vec<String>,
    /// How often in a row the API may refuse the key before the session is given up. The program
    /// itself goes on for minutes; one or two refusals may be a token that is just being renewed.
    pub sign_in_attempts: u32,
}

/// One session, from its lines so far.
#[derive(Debug)]
pub struct ClaudeStream {
    pub(super) expectations: SessionNeeds,
    pub(super) session_id: Option<String>,
    dir: Option<String>,
    /// The message that each speaker is in: the session's own under `None`, subagents by the
    /// call that started them. One message comes in several lines.
    speaking: HashMap<Option<String>, String>,
    tools: HashMap<String, RunningCall>,
    /// The calls that were heard.
    pub(super) calls: ModelCalls,
    /// The model that answered last.
    pub(super) model: Option<String>,
    pub(super) last_text: String,
    pub(super) mcp: Vec<(String, String)>,
    /// What the API last refused, until it answers again.
    pub(super) refusal: Option<ApiRefusal>,
    /// When the limit that was hit is over.
    pub(super) resets_at: Option<Timestamp>,
    give_up: Option<String>,
    /// The program wants to know something; its number for that.
    question: Option<String>,
    pub(super) result: Option<ResultLine>,
}

#[derive(Debug)]
struct RunningCall {
    tool: String,
    speaker: Option<String>,
}

impl ClaudeStream {
    pub fn new(expectations: SessionNeeds) -> Self {
        Self {
            expectations,
            session_id: None,
            dir: None,
            speaking: HashMap::new(),
            tools: HashMap::new(),
            calls: ModelCalls::default(),
            model: None,
            last_text: String::new(),
            mcp: Vec::new(),
            refusal: None,
            resets_at: None,
            give_up: None,
            question: None,
            result: None,
        }
    }

    /// Reads one line. Lines that only keep the program's own books give no event.
    pub fn line(&mut self, text: &str) -> Vec<AgentEvent> {
        if text.trim().is_empty() {
            return Vec::new();
        }
        let raw = || vec![AgentEvent::Raw { line: text.to_owned() }];
        let Ok(line) = serde_json::from_str::<StreamLine>(text) else { return raw() };
        if line.kind == "user" {
            self.calls.printed(text.len());
        }
        if line.session_id.as_ref().is_some_and(|id| !id.is_empty()) {
            self.session_id.clone_from(&line.session_id);
        }
        match (line.kind.as_str(), line.subtype.as_deref()) {
            ("system", Some("init")) => self.init(line),
            ("system", Some("api_retry")) => self.api_retry(&line),
            ("system", Some("status")) => {
                if line.status.as_ref().is_some_and(|status| status == "requesting") {
                    self.calls.asks();
                }
                Vec::new()
            }
            ("system", Some(subtype)) if is_bookkeeping(subtype) => Vec::new(),
            ("assistant", _) => self.assistant(line),
            ("user", _) => self.user(&line.parent_tool_use_id, line.message),
            ("rate_limit_event", _) => self.rate_limit(&line),
            ("result", _) => match serde_json::from_str(text) {
                Ok(result) => self.result(result),
                Err(_) => raw(),
            },
            ("control_request", _) => {
                self.question = line.request_id;
                raw()
            }
            ("stream_event", _) => self.piece(&line.parent_tool_use_id, line.event),
            ("control_response" | "keep_alive", _) => Vec::new(),
            _ => raw(),
        }
    }

    /// Tells whether a tool is running, so that silence is work.
    pub fn tool_in_flight(&self) -> bool {
        !self.tools.is_empty()
    }

    /// Tells whether the agent took a turn or ended the session by itself.
    pub fn is_alive(&self) -> bool {
        self.calls.own > 0 || self.result.is_some()
    }

    /// Tells whether the turn is over.
    pub fn is_finished(&self) -> bool {
        self.result.is_some()
    }

    /// Returns why nothing good can come of this session any more.
    pub fn give_up(&self) -> Option<&str> {
        self.give_up.as_deref()
    }

    /// Tells whether the conversation that was to be resumed is not there. It is bound to the
    /// directory it was held in.
    pub fn lost_conversation(&self) -> bool {
        self.result.as_ref().is_some_and(health::is_lost_conversation)
    }

    /// Returns the number of a question that has no answer yet, once.
    pub fn take_question(&mut self) -> Option<String> {
        self.question.take()
    }

    /// Judges the session by all its signs. See `health`.
    pub fn conclude(&self, exit: &Exit) -> SessionReport {
        health::conclude(self, exit)
    }

    /// Returns how often the model answered the session. The program's own number counts
    /// messages as well that it made up itself.
    pub(super) fn turns(&self, result: Option<&ResultLine>) -> u32 {
        let own = self.calls.own;
        match result {
            // Where no pieces come, a message may have any id or none.
            Some(result) if !self.calls.come_in_pieces => result.num_turns,
            _ => own,
        }
    }

    fn init(&mut self, line: StreamLine) -> Vec<AgentEvent> {
        self.dir = line.cwd;
        let mut events = Vec::new();
        for server in line.mcp_servers.unwrap_or_default() {
            // Each turn begins with an init; a status is news only when it changes.
            let known = self.mcp.iter_mut().find(|(name, _)| *name == server.name);
            match known {
                Some((_, status)) if *status == server.status => continue,
                Some((_, status)) => status.clone_from(&server.status),
                None => self.mcp.push((server.name.clone(), server.status.clone())),
            }
            events.push(AgentEvent::McpStatus { server: server.name, status: server.status });
        }
        self.give_up = self.give_up.take().or_else(|| self.missing_server());
        events
    }

    fn missing_server(&self) -> Option<String> {
        let status_of = |required: &String| {
            self.mcp.iter().find(|(name, _)| name == required).map(|(_, status)| status.as_str())
        };
        self.expectations.required_servers.iter().find_map(|required| match status_of(required) {
            Some("connected") => None,
            Some(status) => Some(format!("the MCP server {required} is needed and is {status}")),
            None => Some(format!("the MCP server {required} is needed and was not started")),
        })
    }

    fn api_retry(&mut self, line: &StreamLine) -> Vec<AgentEvent> {
        let word = line.error.as_ref().and_then(|error| error.as_str());
        let refusal = ApiRefusal::new(line.error_status, word, "");
        let attempt = line.attempt.unwrap_or(1);
        let mut events = Vec::new();
        match refusal {
            ApiRefusal::SignIn if attempt >= self.expectations.sign_in_attempts => {
                self.give_up.get_or_insert_with(|| {
                    format!("it is not signed in: the API refused it {attempt} times")
                });
            }
            ApiRefusal::Quota => {
                let status =
                    line.error_status.map_or_else(String::new, |code| format!(" ({code})"));
                let reason = format!("{}{status}, try {attempt}", word.unwrap_or("rate_limit"));
                events.push(AgentEvent::RateLimit { resets_at: None, reason });
            }
            _ => {}
        }
        self.calls.refused();
        self.refusal = Some(refusal);
        events
    }

    fn rate_limit(&mut self, line: &StreamLine) -> Vec<AgentEvent> {
        let Some(info) = &line.rate_limit_info else { return Vec::new() };
        let status = info.status.as_deref().unwrap_or("unknown");
        if status == "allowed" {
            return Vec::new();
        }
        let resets_at = info.resets_at.map(|seconds| Timestamp::from_millis(seconds * 1000));
        if status == "rejected" {
            self.resets_at = resets_at;
        }
        let reason = match &info.rate_limit_type {
            Some(kind) => format!("{kind}: {status}"),
            None => status.to_owned(),
        };
        vec![AgentEvent::RateLimit { resets_at, reason }]
    }

    fn assistant(&mut self, line: StreamLine) -> Vec<AgentEvent> {
        let Some(message) = line.message else { return Vec::new() };
        let speaker = line.parent_tool_use_id;
        if message.model.as_deref() == Some(SYNTHETIC) {
            let word = line.error.as_ref().and_then(|error| error.as_str());
            return self.synthetic(&speaker, word, message.content);
        }
        let mut events = Vec::from_iter(self.new_message(&speaker, &message));
        for block in message.content {
            events.extend(self.block(&speaker, block));
        }
        events
    }

    /// Reads a message that the program wrote itself and that costs nothing: an error.
    fn synthetic(
        &mut self,
        speaker: &Option<String>,
        word: Option<&str>,
        blocks: Vec<ContentBlock>,
    ) -> Vec<AgentEvent> {
        if speaker.is_some() {
            return Vec::new();
        }
        let texts: Vec<String> = blocks.into_iter().filter_map(|block| block.text).collect();
        if word.is_some() {
            self.calls.refused();
            self.refusal = Some(ApiRefusal::new(None, word, &texts.join(" ")));
        }
        texts.into_iter().map(|text| AgentEvent::Text { text }).collect()
    }

    /// Reads a piece of an answer. Its beginning and its end are the call's; what is said in
    /// between comes whole in a line of its own.
    fn piece(&mut self, speaker: &Option<String>, piece: Option<StreamedPiece>) -> Vec<AgentEvent> {
        let Some(piece) = piece else { return Vec::new() };
        match piece.kind.as_str() {
            "message_start" => {
                if let Some(message) = &piece.message {
                    self.answered(speaker, message, true);
                }
                Vec::new()
            }
            "message_delta" => {
                if let Some(usage) = piece.usage {
                    self.calls.counts(speaker, usage.into());
                }
                Vec::new()
            }
            "message_stop" => {
                let usage = self.calls.ends(speaker).filter(|_| speaker.is_none());
                usage.map(|usage| AgentEvent::Usage { usage }).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Counts a message when its first line comes, unless its pieces were counted.
    fn new_message(
        &mut self,
        speaker: &Option<String>,
        message: &ClaudeMessage,
    ) -> Option<AgentEvent> {
        if !self.answered(speaker, message, false) || speaker.is_some() {
            return None;
        }
        let usage = message.usage.map(Usage::from).unwrap_or_default();
        (usage.read_tokens() > 0).then_some(AgentEvent::Usage { usage })
    }

    /// Takes note of an answer that begins. Returns whether it is new.
    fn answered(
        &mut self,
        speaker: &Option<String>,
        message: &ClaudeMessage,
        in_pieces: bool,
    ) -> bool {
        let id = message.id.clone().unwrap_or_default();
        if self.speaking.get(speaker) == Some(&id) {
            return false;
        }
        self.speaking.insert(speaker.clone(), id);
        self.refusal = None;
        // A speaker that speaks again has the results of its calls, even if their lines were too
        // long to be read.
        self.tools.retain(|_, call| call.speaker != *speaker);
        let usage = message.usage.map(Usage::from).unwrap_or_default();
        self.calls.begins(speaker, usage, in_pieces);
        if speaker.is_none() && message.model.is_some() {
            self.model.clone_from(&message.model);
        }
        true
    }

    fn block(&mut self, speaker: &Option<String>, block: ContentBlock) -> Option<AgentEvent> {
        let own = speaker.is_none();
        match block.kind.as_str() {
            "text" => {
                let text = block.text?;
                self.calls.says(speaker, &text);
                own.then(|| {
                    self.last_text.clone_from(&text);
                    AgentEvent::Text { text }
                })
            }
            "thinking" => {
                let text = block.thinking?;
                self.calls.says(speaker, &text);
                own.then_some(AgentEvent::Thinking { text })
            }
            "tool_use" => {
                let tool = block.name.unwrap_or_default();
                let input = block.input.unwrap_or_default();
                self.calls.says(speaker, &input.to_string());
                let event = summary::tool_use(&tool, &input, self.dir.as_deref());
                let call = RunningCall { tool, speaker: speaker.clone() };
                self.tools.insert(block.id.unwrap_or_default(), call);
                Some(event)
            }
            _ => None,
        }
    }

    fn user(
        &mut self,
        speaker: &Option<String>,
        message: Option<ClaudeMessage>,
    ) -> Vec<AgentEvent> {
        let blocks = message.map(|message| message.content).unwrap_or_default();
        let results: Vec<ContentBlock> =
            blocks.into_iter().filter(|block| block.kind == "tool_result").collect();
        let told = !results.is_empty();
        let events = results
            .into_iter()
            .flat_map(|block| {
                let call = block.tool_use_id.as_ref().and_then(|id| self.tools.remove(id));
                let tool = call.map(|call| call.tool).unwrap_or_default();
                let refused =
                    block.is_withheld().then(|| AgentEvent::ToolRefused { tool: tool.clone() });
                let ok = block.is_error != Some(true);
                std::iter::once(AgentEvent::ToolResult { tool, ok }).chain(refused)
            })
            .collect();
        // The program asks the model at once, and may end before its line that says so is heard.
        if told && speaker.is_none() && !self.tools.values().any(|call| call.speaker.is_none()) {
            self.calls.is_next();
        }
        events
    }

    fn result(&mut self, result: ResultLine) -> Vec<AgentEvent> {
        self.tools.clear();
        self.calls.no_more();
        let turns = self.turns(Some(&result));
        let event = ResultEvent {
            text: result.result.clone().unwrap_or_default(),
            session_id: self.session_id.clone(),
            turns,
            usage: result.tokens(),
            cost_usd: result.cost(),
        };
        // Only now it says which of the failed calls were refused.
        let refused = result.permission_denials.iter();
        let refused = refused.map(|one| AgentEvent::ToolRefused { tool: one.tool_name.clone() });
        let events = refused.chain([AgentEvent::Result(event)]).collect();
        self.result = Some(result);
        events
    }
}

/// Tells whether a system line is only about the program and its subagents: the session
/// needs none of them.
fn is_bookkeeping(subtype: &str) -> bool {
    subtype.starts_with("task_")
        || subtype.starts_with("hook_")
        || ["thinking_tokens", "compact_boundary"].contains(&subtype)
}
