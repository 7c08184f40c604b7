//! What agents print in their one-shot modes, read line by line.
//!
//! `codex exec --json`, `opencode run --format json` and `gemini -o stream-json`: modes that
//! Spore does not drive by itself, because the agents' own protocols give more (see `codex`
//! and `acp`). A template of the command backend that runs one of them names its format, and
//! its sessions have events, figures and an outcome all the same. qwen-code prints Claude
//! Code's format and is read by `claude`.
//!
//! Pure, as the other readers are: lines in, events out.

mod codex;
mod gemini;
mod opencode;

use serde_json::Value;
use spore_model::{Outcome, Usage, Usd};

use crate::claude::Exit;
use crate::health::{self, ServerTrouble, Signs};
use crate::{AgentEvent, ResultEvent, SessionReport};

/// The format that a program prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrintedFormat {
    /// `codex exec --json`.
    Codex,
    /// `opencode run --format json`.
    Opencode,
    /// `gemini -o stream-json`.
    Gemini,
}

/// One session, from its lines so far.
#[derive(Debug)]
pub struct PrintedSession {
    language: PrintedFormat,
    /// What earlier turns of the conversation used: Codex counts from its beginning.
    earlier: Usage,
    session: Option<String>,
    /// Calls of tools that have not come back, by their ids.
    running: Vec<(String, String)>,
    turns: u32,
    usage: Usage,
    cost: Option<Usd>,
    text: String,
    signs: Signs,
}

impl PrintedSession {
    pub fn new(language: PrintedFormat) -> Self {
        Self {
            language,
            earlier: Usage::default(),
            session: None,
            running: Vec::new(),
            turns: 0,
            usage: Usage::default(),
            cost: None,
            text: String::new(),
            signs: Signs::default(),
        }
    }

    /// A session that goes on with a conversation which had used so much.
    #[must_use]
    pub fn after(mut self, earlier: Usage) -> Self {
        self.earlier = earlier;
        self
    }

    /// Reads one line; one that is not understood is an event of its own.
    pub fn line(&mut self, text: &str) -> Vec<AgentEvent> {
        if text.trim().is_empty() {
            return Vec::new();
        }
        let known = serde_json::from_str(text).ok().and_then(|line: Value| self.known(&line));
        known.unwrap_or_else(|| vec![AgentEvent::Raw { line: text.to_owned() }])
    }

    /// Reads a line of a known type; `None` for any other.
    fn known(&mut self, line: &Value) -> Option<Vec<AgentEvent>> {
        match self.language {
            PrintedFormat::Codex => codex::line(self, line),
            PrintedFormat::Opencode => opencode::line(self, line),
            PrintedFormat::Gemini => gemini::line(self, line),
        }
    }

    /// Tells whether a tool is running, so that silence is work.
    pub fn tool_in_flight(&self) -> bool {
        !self.running.is_empty()
    }

    /// Tells whether it took a turn.
    pub fn is_alive(&self) -> bool {
        self.turns > 0 || self.signs.is_whole
    }

    /// Judges the session by all its signs.
    pub fn conclude(&self, exit: &Exit) -> SessionReport {
        let mut signs = self.signs.clone();
        // opencode has no last word: it is over when it exits, if its last step was a last one.
        if self.language == PrintedFormat::Opencode && !signs.is_whole && signs.trouble.is_none() {
            let reason = "it stopped in the middle of its work".to_owned();
            signs.flaw = (self.turns > 0).then_some((Outcome::Failure, reason));
        }
        SessionReport {
            final_text: self.text.clone(),
            session_id: self.session.clone(),
            turns: self.turns,
            usage: self.usage,
            cost: self.cost,
            ..health::judge(&signs, exit)
        }
    }

    fn said(&mut self, text: &str) -> Vec<AgentEvent> {
        text.clone_into(&mut self.text);
        vec![AgentEvent::Text { text: text.to_owned() }]
    }

    fn begun(&mut self, id: &str, tool: &str, summary: &str, path: Option<&str>) -> AgentEvent {
        self.running.push((id.to_owned(), tool.to_owned()));
        AgentEvent::ToolUse {
            tool: tool.to_owned(),
            summary: health::one_line(summary),
            path: path.map(str::to_owned),
        }
    }

    /// Ends every call of this id.
    fn over(&mut self, id: &str, ok: bool) -> Vec<AgentEvent> {
        let (over, running) = self.running.drain(..).partition(|(known, _)| known == id);
        self.running = running;
        let over: Vec<(String, String)> = over;
        over.into_iter().map(|(_, tool)| AgentEvent::ToolResult { tool, ok }).collect()
    }

    fn troubled(&mut self, status: Option<u64>, text: &str) -> Vec<AgentEvent> {
        let trouble = ServerTrouble::new(status, text);
        let event = (trouble.refusal == health::ServerRefusal::Quota)
            .then(|| AgentEvent::RateLimit { resets_at: None, reason: trouble.text.clone() });
        self.signs.trouble = Some(trouble);
        event.into_iter().collect()
    }

    fn finished(&mut self) -> Vec<AgentEvent> {
        self.signs.is_whole = true;
        self.signs.trouble = None;
        vec![AgentEvent::Result(ResultEvent {
            text: self.text.clone(),
            session_id: self.session.clone(),
            turns: self.turns,
            usage: self.usage,
            cost_usd: self.cost,
        })]
    }
}

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}
