//! One session with Codex's app-server, from its lines so far. Pure: lines in, events and
//! answers out, so that a recorded session gives the same events every time.

use std::collections::HashMap;
use std::mem;

use serde::Deserialize;
use serde_json::{Value, json};
use spore_model::{Outcome, Usage, token_count};

use super::item::{TurnItem, unwrapped};
use super::opening::{CodexOpening, INITIALIZE, THREAD, TURN, hello, interrupt};
use crate::claude::Exit;
use crate::control::ProtocolTurn;
use crate::health::{self, ServerRefusal, ServerTrouble, Signs, estimated_tokens, usage_of};
use crate::policy::Policy;
use crate::rpc::{self, Complaint, RpcMessage};
use crate::{AgentEvent, CallsCounted, Request, ResultEvent, SessionReport};

#[derive(Debug)]
pub struct CodexSession {
    opening: CodexOpening,
    policy: Policy,
    dir: String,
    schema: Option<Value>,
    required_servers: Vec<String>,
    limit_of_turns: u32,
    thread: Option<String>,
    turn: Option<String>,
    say: Vec<String>,
    interrupt: Option<String>,
    /// Calls of tools that have not come back.
    running: HashMap<String, String>,
    mcp: Vec<(String, String)>,
    meters: HashMap<String, Meter>,
    turns: u32,
    last_text: String,
    /// Tokens of what was said since the last count, estimated.
    uncounted: u64,
    is_lost: bool,
    signs: Signs,
}

/// What a thread has used. Codex counts from its beginning, also through a resume.
#[derive(Clone, Copy, Debug)]
struct Meter {
    at_start: Usage,
    now: Usage,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Breakdown {
    #[serde(deserialize_with = "token_count")]
    input_tokens: u64,
    #[serde(deserialize_with = "token_count")]
    cached_input_tokens: u64,
    #[serde(default, deserialize_with = "token_count")]
    cache_write_input_tokens: u64,
    #[serde(deserialize_with = "token_count")]
    output_tokens: u64,
}

impl From<Breakdown> for Usage {
    fn from(raw: Breakdown) -> Self {
        let Breakdown { input_tokens, cached_input_tokens, output_tokens, .. } = raw;
        usage_of(input_tokens, cached_input_tokens, raw.cache_write_input_tokens, output_tokens)
    }
}

impl CodexSession {
    pub fn new(request: &Request) -> Self {
        let required = request.mcp_servers.iter().filter(|server| server.required);
        Self {
            opening: CodexOpening::new(request),
            policy: Policy::new(&request.tools),
            dir: request.dir_inside().to_string_lossy().into_owned(),
            schema: request.schema.clone(),
            required_servers: required.map(|server| server.name.clone()).collect(),
            limit_of_turns: request.limits.turns,
            thread: None,
            turn: None,
            say: Vec::new(),
            interrupt: None,
            running: HashMap::new(),
            mcp: Vec::new(),
            meters: HashMap::new(),
            turns: 0,
            last_text: String::new(),
            uncounted: 0,
            is_lost: false,
            signs: Signs::default(),
        }
    }

    /// Returns what goes over stdin before the program has printed anything.
    pub fn opening(&self) -> String {
        hello()
    }

    /// Reads one line. Lines that only keep the program's own books give no event.
    pub fn line(&mut self, text: &str) -> Vec<AgentEvent> {
        if text.trim().is_empty() {
            return Vec::new();
        }
        match RpcMessage::read(text) {
            Some(RpcMessage::Answer { id, answer }) => self.answered(id, answer),
            Some(RpcMessage::Question { id, method, params }) => {
                let (line, refused) = self.reply(&id, &method, &params);
                self.say.push(line);
                let told = refused.map(|tool| AgentEvent::ToolRefused { tool: tool.to_owned() });
                told.into_iter().collect()
            }
            Some(RpcMessage::Notice { method, params }) => match self.notice(&method, &params) {
                Some(events) => events,
                None => vec![AgentEvent::Raw { line: text.to_owned() }],
            },
            None => vec![AgentEvent::Raw { line: text.to_owned() }],
        }
    }

    /// Takes the lines to send and the state of the turn.
    pub(super) fn take_turn(&mut self) -> ProtocolTurn {
        ProtocolTurn {
            say: mem::take(&mut self.say),
            busy: !self.running.is_empty(),
            interrupt: self.interrupt.clone(),
        }
    }

    /// Takes the lines that are to be sent now; for tests on recordings.
    pub fn take_answers(&mut self) -> Vec<String> {
        self.take_turn().say
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
        self.turn.is_some()
    }

    /// Judges the session by all its signs.
    pub fn conclude(&self, exit: &Exit) -> SessionReport {
        let structured = self.structured();
        let mut signs = self.signs.clone();
        if self.schema.is_some() && structured.is_none() && signs.is_whole {
            let reason = "it gave no structured result".to_owned();
            signs.flaw.get_or_insert((Outcome::Failure, reason));
        }
        SessionReport {
            final_text: self.last_text.clone(),
            structured,
            session_id: self.thread.clone(),
            turns: self.turns,
            usage: self.usage(),
            counted: self.calls_counted(),
            mcp: self.mcp.clone(),
            ..health::judge(&signs, exit)
        }
    }

    /// Every call that was counted, and an estimate of what was said after the last count.
    fn usage(&self) -> Usage {
        let counted: Usage = self.meters.values().map(Meter::used).sum();
        counted + Usage { output_tokens: self.uncounted, ..Usage::default() }
    }

    /// Codex counts a call when it is over. Before a turn has begun there is none, nor where the
    /// model refused.
    fn calls_counted(&self) -> CallsCounted {
        let was_refused = self.signs.trouble.is_some() && self.is_finished();
        let is_silent = self.turns == 0 && self.uncounted == 0;
        if is_silent && (self.turn.is_none() || was_refused) {
            CallsCounted::NoneMade
        } else if self.is_finished() && self.uncounted == 0 {
            CallsCounted::All
        } else {
            CallsCounted::InDoubt
        }
    }

    fn structured(&self) -> Option<Value> {
        let schema = self.schema.as_ref()?;
        let value: Value = serde_json::from_str(&self.last_text).ok()?;
        spore_tools::misfit(schema, &value).is_none().then_some(value)
    }

    fn answered(&mut self, id: u64, answer: Result<Value, Complaint>) -> Vec<AgentEvent> {
        match (id, answer) {
            (INITIALIZE, Ok(_)) => self.say.extend(self.opening.thread()),
            (THREAD, Ok(result)) => {
                let thread = result["thread"]["id"].as_str().unwrap_or_default().to_owned();
                self.say.push(self.opening.turn(&thread));
                self.thread = Some(thread);
            }
            (TURN, Ok(result)) => self.turn_is(&result["turn"]),
            (INITIALIZE | THREAD | TURN, Err(complaint)) => {
                let text = complaint.text();
                // Codex refuses an id that it cannot parse like one that it does not know.
                self.is_lost = id == THREAD
                    && ["no rollout found", "not found", "invalid thread id"]
                        .iter()
                        .any(|words| text.contains(words));
                let reason = format!("it could not begin: {}", health::one_line(&text));
                self.signs.flaw = Some((Outcome::Failure, reason));
            }
            _ => {}
        }
        Vec::new()
    }

    fn turn_is(&mut self, turn: &Value) {
        let (Some(thread), Some(id)) = (&self.thread, turn["id"].as_str()) else { return };
        self.interrupt = Some(interrupt(thread, id));
        self.turn = Some(id.to_owned());
    }

    /// Answers a question by the role's policy, and names the kind of deed where that is a no. A
    /// question that we do not know gets one, too.
    fn reply(&self, id: &Value, method: &str, params: &Value) -> (String, Option<&'static str>) {
        let decide = |allowed: bool, kind: &'static str| {
            let decision = if allowed { "accept" } else { "decline" };
            let line = rpc::answer(id, &json!({ "decision": decision }));
            (line, (!allowed).then_some(kind))
        };
        match method {
            "item/commandExecution/requestApproval" => {
                let command = params["command"].as_str().map(unwrapped);
                let place = params["cwd"].as_str().is_none_or(|cwd| cwd.starts_with(&self.dir));
                decide(place && self.policy.allows("execute", command.as_deref()), "execute")
            }
            "item/fileChange/requestApproval" => {
                // No role may write outside of the checkout, which `grantRoot` asks for.
                let wider = params["grantRoot"].is_string();
                decide(!wider && self.policy.allows("edit", None), "edit")
            }
            "mcpServer/elicitation/request" => {
                let no = json!({ "action": "decline", "content": null, "_meta": null });
                (rpc::answer(id, &no), None)
            }
            _ => (rpc::refuse(id, rpc::NO_SUCH_METHOD, "nobody is here to answer"), None),
        }
    }

    /// Reads a notification; `None` for a method that is not known here.
    fn notice(&mut self, method: &str, params: &Value) -> Option<Vec<AgentEvent>> {
        match method {
            "item/started" | "item/completed" => {
                let item: TurnItem = serde_json::from_value(params["item"].clone()).ok()?;
                if !self.is_ours(params) {
                    return Some(Vec::new());
                }
                Some(if method == "item/started" { self.begun(&item) } else { self.done(&item) })
            }
            "item/agentMessage/delta" => {
                // The model answers: an earlier refusal is over.
                self.signs.trouble = None;
                let piece = params["delta"].as_str().unwrap_or_default();
                self.uncounted += estimated_tokens(piece);
                Some(Vec::new())
            }
            "thread/tokenUsage/updated" => self.counted(params),
            "turn/started" if self.is_ours(params) => {
                self.turn_is(&params["turn"]);
                Some(Vec::new())
            }
            "turn/completed" if self.is_ours(params) => Some(self.ended(&params["turn"])),
            "error" => Some(self.troubled(params)),
            "mcpServer/startupStatus/updated" => Some(self.server(params)),
            _ => is_bookkeeping(method).then(Vec::new),
        }
    }

    /// Tells whether a notification is about the session's own thread, not a subagent's.
    fn is_ours(&self, params: &Value) -> bool {
        self.thread.is_none() || self.thread.as_deref() == params["threadId"].as_str()
    }

    fn begun(&mut self, item: &TurnItem) -> Vec<AgentEvent> {
        let Some(call) = item.call(&self.dir) else { return Vec::new() };
        self.running.insert(item.id.clone(), call.tool);
        call.told
    }

    fn done(&mut self, item: &TurnItem) -> Vec<AgentEvent> {
        match item.kind.as_str() {
            "agentMessage" if !item.text.is_empty() => {
                self.last_text.clone_from(&item.text);
                return vec![AgentEvent::Text { text: item.text.clone() }];
            }
            "reasoning" if !item.thought().is_empty() => {
                return vec![AgentEvent::Thinking { text: item.thought() }];
            }
            _ => {}
        }
        let Some(call) = item.call(&self.dir) else { return Vec::new() };
        // Codex may report a quick call only when it is complete.
        let known = self.running.remove(&item.id).is_some();
        let result = AgentEvent::ToolResult { tool: call.tool, ok: item.went_well() };
        let results = vec![result; call.told.len()];
        if known { results } else { call.told.into_iter().chain(results).collect() }
    }

    fn counted(&mut self, params: &Value) -> Option<Vec<AgentEvent>> {
        let thread = params["threadId"].as_str()?.to_owned();
        let read = |field: &str| -> Option<Usage> {
            let raw = params["tokenUsage"][field].clone();
            serde_json::from_value::<Breakdown>(raw).ok().map(Usage::from)
        };
        let (total, last) = (read("total")?, read("last")?);
        // A count before our turn has begun is the usage of earlier turns of the thread.
        let earlier = self.turn.is_none() && self.thread.as_deref() == Some(thread.as_str());
        let meter = self.meters.entry(thread).or_insert_with(|| Meter {
            at_start: if earlier { total } else { minus(total, last) },
            now: total,
        });
        if earlier {
            *meter = Meter { at_start: total, now: total };
            return Some(Vec::new());
        }
        let fresh = meter.now != total || meter.used() == last;
        meter.now = total;
        self.uncounted = 0;
        if !fresh {
            return Some(Vec::new());
        }
        self.turns += 1;
        if self.turns > self.limit_of_turns && !self.is_finished() {
            let reason = "it reached its limit of turns".to_owned();
            self.signs.give_up.get_or_insert((Outcome::Failure, reason));
        }
        Some(vec![AgentEvent::Usage { usage: last }])
    }

    fn server(&mut self, params: &Value) -> Vec<AgentEvent> {
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let status = match params["status"].as_str() {
            Some("ready") => "connected",
            Some("starting") | None => return Vec::new(),
            Some(other) => other,
        };
        if status != "connected" && self.required_servers.contains(&name) {
            let reason = format!("the MCP server {name} is needed and is {status}");
            self.signs.give_up.get_or_insert((Outcome::Failure, reason));
        }
        self.mcp.retain(|(known, _)| *known != name);
        self.mcp.push((name.clone(), status.to_owned()));
        vec![AgentEvent::McpStatus { server: name, status: status.to_owned() }]
    }

    fn troubled(&mut self, params: &Value) -> Vec<AgentEvent> {
        let trouble = trouble_of(&params["error"]);
        let event = (trouble.refusal == ServerRefusal::Quota)
            .then(|| AgentEvent::RateLimit { resets_at: None, reason: trouble.text.clone() });
        self.signs.trouble = Some(trouble);
        event.into_iter().collect()
    }

    fn ended(&mut self, turn: &Value) -> Vec<AgentEvent> {
        self.running.clear();
        match turn["status"].as_str() {
            Some("completed") => {
                self.signs.is_whole = true;
                self.signs.trouble = None;
                let missing = self.required_servers.iter().find(|name| !self.is_connected(name));
                if let Some(name) = missing {
                    let reason = format!("the MCP server {name} is needed and was not started");
                    self.signs.flaw = Some((Outcome::Failure, reason));
                }
                vec![AgentEvent::Result(ResultEvent {
                    text: self.last_text.clone(),
                    session_id: self.thread.clone(),
                    turns: self.turns,
                    usage: self.usage(),
                    cost_usd: None,
                })]
            }
            Some("interrupted") => {
                let reason = "its turn was broken off".to_owned();
                self.signs.flaw = Some((Outcome::Failure, reason));
                Vec::new()
            }
            _ => {
                self.signs.trouble = Some(trouble_of(&turn["error"]));
                self.signs.flaw = Some((Outcome::Failure, "its turn failed".to_owned()));
                Vec::new()
            }
        }
    }

    fn is_connected(&self, server: &str) -> bool {
        self.mcp.iter().any(|(name, status)| name == server && status == "connected")
    }
}

impl Meter {
    fn used(&self) -> Usage {
        minus(self.now, self.at_start)
    }
}

fn minus(all: Usage, part: Usage) -> Usage {
    Usage {
        input_tokens: all.input_tokens.saturating_sub(part.input_tokens),
        output_tokens: all.output_tokens.saturating_sub(part.output_tokens),
        cache_read_tokens: all.cache_read_tokens.saturating_sub(part.cache_read_tokens),
        cache_write_tokens: all.cache_write_tokens.saturating_sub(part.cache_write_tokens),
    }
}

/// Reads an error: its kind is a word, or a word around the status of HTTP.
fn trouble_of(error: &Value) -> ServerTrouble {
    let text = error["message"].as_str().unwrap_or("no reason was given");
    let info = &error["codexErrorInfo"];
    let details = info.as_object().and_then(|fields| fields.values().next());
    let status = details.and_then(|details| details["httpStatusCode"].as_u64());
    match info.as_str() {
        Some("unauthorized") => ServerTrouble::of(ServerRefusal::SignIn, text),
        Some("usageLimitExceeded" | "rateLimitExceeded" | "serverOverloaded") => {
            ServerTrouble::of(ServerRefusal::Quota, text)
        }
        Some("contextWindowExceeded" | "internalServerError" | "badRequest") => {
            ServerTrouble::of(ServerRefusal::Other, text)
        }
        _ => ServerTrouble::new(status, text),
    }
}

/// Tells whether a notification is only about the program itself: the session needs none of them.
fn is_bookkeeping(method: &str) -> bool {
    let about = ["thread/", "account/", "turn/", "item/", "remoteControl/", "skills/", "hook/"];
    about.iter().any(|start| method.starts_with(start))
        || ["warning", "configWarning", "deprecationNotice", "serverRequest/resolved"]
            .contains(&method)
        || method.starts_with("model")
        || method.starts_with("app/")
}
