//! What a session or a check does now, where another process can read it.
//!
//! `.spore/runs/<root>/live/<id>.json`, written at most a few times a second and gone at the end.
//! It is no effect: nothing that decides reads it, a run that goes on after a crash clears it
//! away, and a full disk costs nothing but the sight of it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use spore_agent::AgentEvent;
use spore_model::{Cost, RefusedCalls, RunId, Timestamp, Usage};
use spore_runs::{Live, LiveKind};

use crate::base::files::remove_empty_dir;
use crate::base::progress::agent_line;
use crate::{Progress, Surroundings, Update, Workspace};

/// How often the file is written at most.
const PAUSE: Duration = Duration::from_millis(250);

/// The file of something that is going on.
pub(crate) struct LiveFile<'a> {
    around: &'a Surroundings,
    path: PathBuf,
    pub(crate) state: Live,
    written: Option<Instant>,
    is_behind: bool,
}

impl<'a> LiveFile<'a> {
    pub(crate) fn new(
        around: &'a Surroundings,
        workspace: &Workspace,
        root: RunId,
        state: Live,
    ) -> Self {
        let path = workspace.run_files(root).live(state.id);
        Self { around, path, state, written: None, is_behind: true }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.around.clock.now()
    }

    /// Tells the progress at once what changed, and other processes when it is time.
    pub(crate) fn show(&mut self, progress: &mut dyn Progress) {
        self.state.updated = self.now();
        self.is_behind = true;
        progress.update(&Update::Live { live: self.state.clone() });
        self.keep_up();
    }

    /// Writes what has not been written yet, if it is time.
    pub(crate) fn keep_up(&mut self) {
        let now = self.around.clock.monotonic();
        let is_due = self.written.is_none_or(|written| now.duration_since(written) >= PAUSE);
        if self.is_behind && is_due {
            let text = serde_json::to_vec(&self.state).unwrap_or_default();
            self.around.write_fleeting(&self.path, &text);
            self.written = Some(now);
            self.is_behind = false;
        }
    }

    pub(crate) fn end(self, progress: &mut dyn Progress) {
        progress.update(&Update::LiveEnded { id: self.state.id });
        self.around.remove_fleeting(&self.path);
        self.path.parent().into_iter().for_each(remove_empty_dir);
    }
}

/// A session at work, from its events so far.
pub(crate) struct LiveSession<'a> {
    pub(crate) file: LiveFile<'a>,
    price: Box<dyn Fn(Usage) -> Cost + 'a>,
    usage: Usage,
    /// Calls of the model that told their tokens, and answers that were heard: not every agent
    /// tells the first.
    counted: u32,
    answers: u32,
    is_answering: bool,
    refused: RefusedCalls,
}

impl<'a> LiveSession<'a> {
    /// `price` says what tokens cost.
    pub(crate) fn new(file: LiveFile<'a>, price: Box<dyn Fn(Usage) -> Cost + 'a>) -> Self {
        let usage = Usage::default();
        let refused = RefusedCalls::default();
        Self { file, price, usage, counted: 0, answers: 0, is_answering: false, refused }
    }

    pub(crate) fn live(id: RunId, name: &str, now: Timestamp) -> Live {
        Live::new(id, LiveKind::Session, name, now)
    }

    pub(crate) fn hear(&mut self, event: &AgentEvent) {
        let state = &mut self.file.state;
        match event {
            AgentEvent::Text { .. } | AgentEvent::Thinking { .. } | AgentEvent::ToolUse { .. } => {
                if !std::mem::replace(&mut self.is_answering, true) {
                    self.answers += 1;
                }
                state.doing = Some(match event {
                    AgentEvent::Thinking { .. } => "thinking".to_owned(),
                    told => agent_line(told),
                });
                if let AgentEvent::ToolUse { .. } = event {
                    state.tell(&agent_line(event));
                }
            }
            AgentEvent::ToolResult { .. } => {
                self.is_answering = false;
                state.doing = None;
            }
            AgentEvent::ToolRefused { tool } => {
                self.refused.note(tool);
                state.refused = self.refused.count();
                state.tell(&agent_line(event));
            }
            AgentEvent::Usage { usage } => {
                self.counted += 1;
                self.usage = self.usage + *usage;
                state.cost = (self.price)(self.usage);
            }
            AgentEvent::RateLimit { .. } => state.doing = Some(agent_line(event)),
            AgentEvent::Result(result) => {
                self.counted = result.turns;
                self.answers = 0;
                state.doing = None;
                if let Some(usd) = result.cost_usd {
                    state.cost = Cost::exact(usd);
                }
            }
            AgentEvent::McpStatus { .. } | AgentEvent::Raw { .. } => {}
        }
        state.turns = self.counted.max(self.answers);
    }

    /// Returns what the session was not let do.
    pub(crate) fn refused(&self) -> &RefusedCalls {
        &self.refused
    }
}
