//! One session with an ACP agent, from its lines so far. Pure: lines in, events and answers
//! out, so that a recorded session gives the same events every time.
//!
//! A tool call is known by its id and put together from whatever tells of it, in any order:
//! some agents announce one twice, some only when they ask for leave, some when it is over.

use std::collections::{HashMap, HashSet, VecDeque};
use std::mem;
use std::path::Path;

use serde_json::{Value, json};
use spore_model::{Outcome, Usage, Usd};

use super::files::Write;
use super::opening::{AcpOpening, INITIALIZE, MODEL, PROMPT, SESSION, VERSION, cancel, hello};
use super::preset::Preset;
use super::usage::UsageTally;
use super::wire::{Agreed, OpenedSession, PermissionOption, PermissionRequest, ToolCall};
use crate::claude::Exit;
use crate::control::ProtocolTurn;
use crate::health::{self, ServerRefusal, ServerTrouble, Signs, one_line};
use crate::policy::Policy;
use crate::rpc::{self, Complaint, RpcMessage};
use crate::{AgentEvent, CallsCounted, Request, ResultEvent, SessionReport};

/// How Gemini and qwen-code begin the text of an answer that never was one.
const API_ERROR: &str = "[API Error:";

/// The error code `Authentication required` of ACP: a person has to sign in first.
/// <https://agentclientprotocol.com/protocol/schema>
const SIGN_IN: i64 = -32000;

/// Where agents name the file that a tool works on.
const PATHS: &[&str] = &["file_path", "filePath", "filepath", "path", "absolute_path", "parentDir"];

pub struct AcpSession {
    opening: AcpOpening,
    policy: Policy,
    preset: Preset,
    dir: String,
    limit_of_turns: u32,
    limit_of_cost: Option<Usd>,
    session: Option<String>,
    /// Questions that wait until the one before them is answered.
    settings: VecDeque<(u64, String)>,
    has_tried_to_load: bool,
    is_prompted: bool,
    say: Vec<String>,
    writes: Vec<Write>,
    calls: HashMap<String, AnnouncedCall>,
    running: HashSet<String>,
    /// A call to the model is being answered.
    is_answering: bool,
    turns: u32,
    text: String,
    thought: String,
    last_text: String,
    tally: UsageTally,
    is_lost: bool,
    signs: Signs,
}

/// A tool call, from all updates about it so far.
#[derive(Clone, Debug, Default)]
struct AnnouncedCall {
    kind: String,
    own_name: Option<String>,
    title: String,
    path: Option<String>,
    command: Option<String>,
    is_told: bool,
}

impl AcpSession {
    pub fn new(request: &Request, preset: &Preset) -> Self {
        Self {
            opening: AcpOpening::new(request, preset),
            policy: Policy::new(&request.tools),
            preset: preset.clone(),
            dir: request.dir_inside().to_string_lossy().into_owned(),
            limit_of_turns: request.limits.turns,
            limit_of_cost: request.limits.usd,
            session: None,
            settings: VecDeque::new(),
            has_tried_to_load: false,
            is_prompted: false,
            say: Vec::new(),
            writes: Vec::new(),
            calls: HashMap::new(),
            running: HashSet::new(),
            is_answering: false,
            turns: 0,
            text: String::new(),
            thought: String::new(),
            last_text: String::new(),
            tally: UsageTally::default(),
            is_lost: false,
            signs: Signs::default(),
        }
    }

    /// Returns what goes over stdin before the agent has printed anything.
    pub fn opening(&self) -> String {
        hello()
    }

    /// Reads one line. Lines that only keep the program's own books give no event.
    pub fn line(&mut self, text: &str) -> Vec<AgentEvent> {
        if text.trim().is_empty() {
            return Vec::new();
        }
        let raw = || vec![AgentEvent::Raw { line: text.to_owned() }];
        match RpcMessage::read(text) {
            Some(RpcMessage::Answer { id, answer }) => self.answered(id, answer),
            Some(RpcMessage::Question { id, method, params }) => self.asked(&id, &method, params),
            Some(RpcMessage::Notice { method, params }) if method == "session/update" => {
                self.update(&params["update"]).unwrap_or_else(raw)
            }
            _ => raw(),
        }
    }

    /// Takes the lines to send and the state of the turn.
    pub(super) fn take_turn(&mut self) -> ProtocolTurn {
        let session = self.session.as_deref().filter(|_| self.is_prompted);
        ProtocolTurn {
            say: mem::take(&mut self.say),
            busy: !self.running.is_empty(),
            interrupt: session.map(cancel),
        }
    }

    /// Takes the lines that are to be sent now; for tests on recordings.
    pub fn take_answers(&mut self) -> Vec<String> {
        self.take_turn().say
    }

    /// Writes that are to be done and answered, once.
    pub(super) fn take_writes(&mut self) -> Vec<Write> {
        mem::take(&mut self.writes)
    }

    pub(super) fn answer(&mut self, line: String) {
        self.say.push(line);
    }

    /// Tells whether the turn is over.
    pub fn is_finished(&self) -> bool {
        self.signs.is_whole || self.signs.flaw.is_some()
    }

    pub(super) fn give_up(&self) -> Option<&str> {
        self.signs.give_up.as_ref().map(|(_, reason)| reason.as_str())
    }

    pub(super) fn lost_conversation(&self) -> bool {
        self.is_lost
    }

    pub(super) fn is_alive(&self) -> bool {
        self.is_prompted
    }

    /// Judges the session by all its signs.
    pub fn conclude(&self, exit: &Exit) -> SessionReport {
        let last = if self.text.is_empty() { &self.last_text } else { &self.text };
        let (usage, usage_bounds) = self.usage();
        SessionReport {
            final_text: last.clone(),
            session_id: self.session.clone(),
            turns: self.turns(),
            usage,
            usage_bounds,
            counted: self.counted(usage_bounds.is_none()),
            cost: self.tally.cost,
            ..health::judge(&self.signs, exit)
        }
    }

    /// The calls to the model: counted by the agent, or by what came between tools.
    fn turns(&self) -> u32 {
        if self.tally.counted_calls > 0 { self.tally.counted_calls } else { self.turns }
    }

    /// A session that said nothing before it was prompted, or that the model refused, cost
    /// nothing.
    fn made_no_call(&self) -> bool {
        let is_refused = self.signs.trouble.is_some() && self.is_finished();
        !self.is_prompted || (self.turns() == 0 && is_refused)
    }

    fn counted(&self, is_exact: bool) -> CallsCounted {
        match (self.made_no_call(), self.is_finished() && is_exact) {
            (true, _) => CallsCounted::NoneMade,
            (_, true) => CallsCounted::All,
            _ => CallsCounted::InDoubt,
        }
    }

    /// What was used, and the bounds of it where that is an estimate.
    fn usage(&self) -> (Usage, Option<(Usage, Usage)>) {
        if self.made_no_call() {
            return (Usage::default(), None);
        }
        self.tally.usage(self.turns(), self.preset.counts_last_call_only)
    }

    fn answered(&mut self, id: u64, answer: Result<Value, Complaint>) -> Vec<AgentEvent> {
        let result = match answer {
            Ok(result) => result,
            Err(complaint) => {
                self.complained(id, &complaint);
                return self.flush();
            }
        };
        match id {
            INITIALIZE => self.agreed(&result),
            SESSION => self.opened(&result),
            PROMPT => return self.ended(&result),
            _ => self.proceed(),
        }
        Vec::new()
    }

    fn agreed(&mut self, result: &Value) {
        let agreed: Agreed = serde_json::from_value(result.clone()).unwrap_or_default();
        if agreed.protocol_version != VERSION {
            let version = &agreed.protocol_version;
            self.fail(format!("it speaks version {version} of ACP and not {VERSION}"));
            return;
        }
        match self.opening.session(&agreed) {
            Some(line) => self.say.push(line),
            None => {
                self.is_lost = true;
                self.fail("it cannot go on with an earlier conversation".to_owned());
            }
        }
    }

    fn opened(&mut self, result: &Value) {
        let opened: OpenedSession = serde_json::from_value(result.clone()).unwrap_or_default();
        let earlier = self.opening.earlier.as_ref().map(|earlier| earlier.session_id.clone());
        let Some(session) = opened.session_id.clone().or(earlier) else {
            self.fail("it opened a session without a name".to_owned());
            return;
        };
        match self.opening.settings(&session, &opened) {
            Ok(settings) => self.settings = settings.into(),
            Err(reason) => self.fail(reason),
        }
        self.session = Some(session);
        self.proceed();
    }

    /// Says what is next: a setting, or the prompt when all are made.
    fn proceed(&mut self) {
        if self.is_prompted || self.is_finished() {
            return;
        }
        if let Some((_, line)) = self.settings.pop_front() {
            self.say.push(line);
        } else if let Some(session) = &self.session {
            self.say.push(self.opening.prompt(session));
            self.is_prompted = true;
        }
    }

    fn complained(&mut self, id: u64, complaint: &Complaint) {
        let text = complaint.text();
        let status = u64::try_from(complaint.code).ok();
        match id {
            // qwen-code answers a prompt that was cancelled with this error.
            PROMPT if text.contains("aborted") => self.fail("its turn was broken off".to_owned()),
            PROMPT => {
                self.signs.trouble = Some(ServerTrouble::new(status, &text));
                self.fail("its turn failed".to_owned());
            }
            SESSION | INITIALIZE if complaint.code == SIGN_IN => {
                self.signs.trouble = Some(ServerTrouble::of(ServerRefusal::SignIn, &text));
                self.fail("it is not signed in".to_owned());
            }
            // An agent that announces `session/resume` and does not know it may still load.
            SESSION if complaint.code == rpc::NO_SUCH_METHOD && !self.has_tried_to_load => {
                self.has_tried_to_load = true;
                self.say.push(self.opening.load());
            }
            SESSION if self.opening.earlier.is_some() => {
                self.is_lost = true;
                self.fail(format!("there is no such conversation: {}", one_line(&text)));
            }
            MODEL => self.fail(format!("it did not take the model: {}", one_line(&text))),
            _ => self.fail(format!("it could not begin: {}", one_line(&text))),
        }
    }

    fn fail(&mut self, reason: String) {
        self.signs.flaw.get_or_insert((Outcome::Failure, reason));
    }

    fn give_up_because(&mut self, outcome: Outcome, reason: &str) {
        self.signs.give_up.get_or_insert((outcome, reason.to_owned()));
    }

    /// Answers a question. One that we do not know gets a no.
    fn asked(&mut self, id: &Value, method: &str, params: Value) -> Vec<AgentEvent> {
        match method {
            "session/request_permission" => {
                let Ok(question) = serde_json::from_value::<PermissionRequest>(params) else {
                    let line = rpc::refuse(id, rpc::REFUSED, "the question cannot be read");
                    self.say.push(line);
                    return Vec::new();
                };
                let mut events = self.upsert(&question.tool_call);
                let allowed = self.allows(&question.tool_call);
                if !allowed {
                    let tool = self.tool_of(&question.tool_call.tool_call_id);
                    events.push(AgentEvent::ToolRefused { tool });
                    // Not every agent sends an update for a call that was refused.
                    events.extend(self.over(&question.tool_call.tool_call_id, false));
                }
                let outcome = choose(&question.options, allowed);
                self.say.push(rpc::answer(id, &json!({ "outcome": outcome })));
                events
            }
            "fs/write_text_file" if self.policy.allows("edit", None) => {
                let word = |name: &str| params[name].as_str().unwrap_or_default().to_owned();
                let (path, content) = (word("path"), word("content"));
                self.writes.push(Write { id: id.clone(), path, content });
                Vec::new()
            }
            "fs/write_text_file" => {
                self.say.push(rpc::refuse(id, rpc::REFUSED, "this role may not write"));
                vec![AgentEvent::ToolRefused { tool: "edit".to_owned() }]
            }
            _ => {
                self.say.push(rpc::refuse(id, rpc::NO_SUCH_METHOD, "that is not offered here"));
                Vec::new()
            }
        }
    }

    /// Decides by the kind of the deed and by where it is done.
    fn allows(&self, asked: &ToolCall) -> bool {
        let call = self.calls.get(&asked.tool_call_id).cloned().unwrap_or_default();
        let kind = match (call.kind.as_str(), &call.command) {
            ("" | "other", Some(_)) => "execute",
            ("", None) => "other",
            (kind, _) => kind,
        };
        self.policy.allows(kind, call.command.as_deref())
            && (self.is_inside(asked) || self.policy.is_free())
    }

    /// Tells whether all places that a call names are in the checkout.
    fn is_inside(&self, call: &ToolCall) -> bool {
        let locations = call.locations.iter().flatten().map(|location| location.path.as_str());
        let named = PATHS.iter().filter_map(|&name| call.input(&[name]));
        locations.chain(named).all(|path| {
            let path = Path::new(path);
            let climbs = path.components().any(|part| part.as_os_str() == "..");
            !climbs && (path.is_relative() || path.starts_with(&self.dir))
        })
    }

    /// Reads a `session/update`; `None` for a kind that is not known here.
    fn update(&mut self, update: &Value) -> Option<Vec<AgentEvent>> {
        let kind = update["sessionUpdate"].as_str()?;
        // `session/load` repeats the earlier conversation as updates, before our prompt.
        if !self.is_prompted {
            return Some(Vec::new());
        }
        match kind {
            "agent_message_chunk" => Some(self.piece(update, false)),
            "agent_thought_chunk" => Some(self.piece(update, true)),
            "tool_call" | "tool_call_update" => {
                let call: ToolCall = serde_json::from_value(update.clone()).ok()?;
                Some(self.upsert(&call))
            }
            "usage_update" => {
                self.tally.update(update);
                let spent = self.limit_of_cost.zip(self.tally.cost);
                if spent.is_some_and(|(limit, cost)| cost > limit) {
                    self.give_up_because(Outcome::NeedsHuman, "it reached its budget");
                }
                Some(Vec::new())
            }
            "user_message_chunk"
            | "plan"
            | "available_commands_update"
            | "current_mode_update"
            | "config_option_update"
            | "session_info_update" => Some(Vec::new()),
            _ => None,
        }
    }

    fn piece(&mut self, update: &Value, is_thought: bool) -> Vec<AgentEvent> {
        let text = update["content"]["text"].as_str().unwrap_or_default();
        let mut events = Vec::new();
        if !text.is_empty() {
            self.begin_answer();
            self.tally.said(text);
            // Text after thinking ends the thinking, and the other way round.
            if is_thought == self.thought.is_empty() {
                events = self.flush();
            }
            if is_thought { &mut self.thought } else { &mut self.text }.push_str(text);
        }
        if let Some(usage) = self.tally.piece(&update["_meta"]) {
            events.push(AgentEvent::Usage { usage });
        }
        events
    }

    /// Counts an answer of the model when its first part comes.
    fn begin_answer(&mut self) {
        if mem::replace(&mut self.is_answering, true) {
            return;
        }
        self.turns += 1;
        if self.turns > self.limit_of_turns {
            self.give_up_because(Outcome::Failure, "it reached its limit of turns");
        }
    }

    fn upsert(&mut self, update: &ToolCall) -> Vec<AgentEvent> {
        let mut events = self.flush();
        let id = &update.tool_call_id;
        if !self.calls.contains_key(id) {
            self.begin_answer();
            self.running.insert(id.clone());
        }
        let mut call = self.calls.remove(id).unwrap_or_default();
        call.learn(update, &self.dir);
        if let Some(input) = &update.raw_input
            && !call.is_told
        {
            self.tally.said(&input.to_string());
        }
        let is_over = matches!(update.status.as_deref(), Some("completed" | "failed"));
        if (is_over || call.has_substance()) && !mem::replace(&mut call.is_told, true) {
            events.push(call.told());
        }
        self.calls.insert(id.clone(), call);
        if is_over {
            events.extend(self.over(id, update.status.as_deref() == Some("completed")));
        }
        events
    }

    /// Ends a call, once; what the model says after it is another answer.
    fn over(&mut self, id: &str, ok: bool) -> Option<AgentEvent> {
        if !self.running.remove(id) {
            return None;
        }
        self.is_answering = false;
        Some(AgentEvent::ToolResult { tool: self.tool_of(id), ok })
    }

    fn tool_of(&self, id: &str) -> String {
        self.calls.get(id).map(AnnouncedCall::tool).unwrap_or_default()
    }

    /// Passes on what was said in pieces, now that it is whole.
    fn flush(&mut self) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        if !self.thought.is_empty() {
            events.push(AgentEvent::Thinking { text: mem::take(&mut self.thought) });
        }
        if !self.text.is_empty() {
            self.last_text = mem::take(&mut self.text);
            events.push(AgentEvent::Text { text: self.last_text.clone() });
        }
        events
    }

    fn ended(&mut self, result: &Value) -> Vec<AgentEvent> {
        let mut events = self.flush();
        self.running.clear();
        self.tally.answer(result);
        match result["stopReason"].as_str() {
            Some("end_turn") => self.signs.is_whole = true,
            Some("max_tokens") => self.fail("its answer reached the limit of tokens".to_owned()),
            Some("max_turn_requests") => self.fail("it reached its limit of turns".to_owned()),
            Some("refusal") => self.fail("the model refused to answer".to_owned()),
            Some("cancelled") => self.fail("its turn was broken off".to_owned()),
            other => self.fail(format!("it ended for no good reason: {}", other.unwrap_or("none"))),
        }
        if let Some(error) = self.last_text.strip_prefix(API_ERROR) {
            let error = error.trim().trim_end_matches(']');
            self.signs.trouble = Some(ServerTrouble::new(None, error));
        } else if self.signs.is_whole && self.turns == 0 {
            // opencode ends a turn like this, without an error, when it cannot reach the model.
            self.fail("it said nothing and did nothing".to_owned());
        }
        if self.signs.is_whole && self.signs.flaw.is_none() {
            events.push(AgentEvent::Result(ResultEvent {
                text: self.last_text.clone(),
                session_id: self.session.clone(),
                turns: self.turns(),
                usage: self.usage().0,
                cost_usd: self.tally.cost,
            }));
        }
        events
    }
}

/// Chooses by the kind of the options: their ids are every agent's own.
fn choose(options: &[PermissionOption], allowed: bool) -> Value {
    let wanted: [&str; 2] =
        if allowed { ["allow_once", "allow_always"] } else { ["reject_once", "reject_always"] };
    let chosen = wanted.iter().find_map(|kind| options.iter().find(|option| option.kind == *kind));
    match chosen {
        Some(option) => json!({ "outcome": "selected", "optionId": option.option_id }),
        None => json!({ "outcome": "cancelled" }),
    }
}

impl AnnouncedCall {
    fn learn(&mut self, update: &ToolCall, dir: &str) {
        if let Some(kind) = &update.kind {
            self.kind.clone_from(kind);
        }
        if let Some(name) = update.own_name() {
            self.own_name = Some(name.to_owned());
        }
        if let Some(title) = update.title.as_ref().filter(|_| self.title.is_empty()) {
            self.title.clone_from(title);
        }
        // Gemini CLI gives a command only in the title of the call.
        let title = update.title.as_deref();
        let title = title.filter(|_| self.kind == "execute" && update.raw_input.is_none());
        if let Some(command) = update.input(&["command", "cmd"]).or(title)
            && (title != Some(command) || self.command.is_none())
        {
            self.command = Some(command.to_owned());
        }
        let locations = update.locations.iter().flatten();
        let location = locations.map(|location| location.path.as_str()).next();
        if let Some(path) = location.or_else(|| update.input(PATHS)) {
            let inside = path.strip_prefix(dir).and_then(|path| path.strip_prefix('/'));
            self.path = Some(inside.unwrap_or(path).to_owned());
        }
    }

    fn has_substance(&self) -> bool {
        self.path.is_some() || self.command.is_some()
    }

    /// The agent's own name of the tool, or the kind of thing that it does.
    fn tool(&self) -> String {
        match (&self.own_name, self.kind.as_str()) {
            (Some(name), _) => name.clone(),
            (None, "" | "other") => one_line(&self.title),
            (None, kind) => kind.to_owned(),
        }
    }

    fn told(&self) -> AgentEvent {
        let summary = self.command.as_ref().or(self.path.as_ref()).unwrap_or(&self.title);
        AgentEvent::ToolUse {
            tool: self.tool(),
            summary: one_line(summary),
            path: self.path.clone(),
        }
    }
}
