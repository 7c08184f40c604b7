//! Attends one agent session: its process is on record before it starts and off it when
//! nothing of it is left; what it says goes to the progress; an interrupt ends it.

use std::collections::BTreeMap;
use std::path::Path;

use spore_agent::{Agent, AgentError, AgentEvent, AgentWatch, BoxError, Request, SessionReport};
use spore_config::Config;
use spore_effects::session::{Enforced, ProcessIdentity};
use spore_model::{RunId, SessionToken};
use spore_store::{Journal, ProcessRow};

use crate::base::run_files::SessionFiles;
use crate::{Error, Progress, Result, Surroundings, Update};

/// Watches over one session.
pub(crate) struct SessionWatch<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) journal: &'a dyn Journal,
    pub(crate) progress: &'a mut dyn Progress,
    /// The run at the root of the tree, and the session's own.
    pub(crate) root: RunId,
    pub(crate) session: RunId,
    pub(crate) files: &'a SessionFiles,
}

impl SessionWatch<'_> {
    /// Lets the agent work until it is done; tells which tools it used.
    pub(crate) fn run(
        self,
        agent: &dyn Agent,
        request: &Request,
    ) -> Result<(SessionReport, ToolsUsed)> {
        let (journal, clock) = (self.journal, &self.around.clock);
        let token = request.token.clone();
        let mut watch = Watcher {
            session: self,
            token: token.clone(),
            role: request.role.clone(),
            tools: ToolsUsed::default(),
        };
        let started = clock.monotonic();
        let ran = agent.run(request, &mut watch);
        journal.process_ended(&token, clock.now())?;
        let tools = std::mem::take(&mut watch.tools);
        let timed = |report| (SessionReport { duration: started.elapsed(), ..report }, tools);
        ran.map(timed).map_err(|error| match error {
            // What refused the start was the journal, and its error says more.
            AgentError::Refused(source) => match source.downcast::<Error>() {
                Ok(ours) => *ours,
                Err(other) => AgentError::Refused(other).into(),
            },
            other => other.into(),
        })
    }
}

/// A watch whose session is running.
struct Watcher<'a> {
    session: SessionWatch<'a>,
    token: SessionToken,
    role: String,
    tools: ToolsUsed,
}

/// Which tools a session used, on which paths, and how often.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ToolsUsed(BTreeMap<(String, Option<String>), u32>);

/// A session that touches more places than this is told about by its first ones.
const MOST_TOOL_LINES: usize = 200;
const TOOL_PATH_CHARS: usize = 300;

impl ToolsUsed {
    fn note(&mut self, tool: &str, path: Option<&str>) {
        let short = |text: &str| text.chars().take(TOOL_PATH_CHARS).collect::<String>();
        let key = (short(tool), path.map(short));
        if self.0.len() < MOST_TOOL_LINES || self.0.contains_key(&key) {
            *self.0.entry(key).or_default() += 1;
        }
    }

    /// Returns the payload of the event that tells about them; nothing if there were none.
    /// Paths are those of the project, whatever checkout `dir` they were used in.
    pub(crate) fn payload(&self, role: &str, dir: &Path) -> Option<serde_json::Value> {
        let within = |path: &String| {
            let below = Path::new(path).strip_prefix(dir);
            below.map_or_else(|_| path.clone(), |path| path.display().to_string())
        };
        let lines = self.0.iter().map(|((tool, path), times)| {
            serde_json::json!({ "tool": tool, "path": path.as_ref().map(within), "times": times })
        });
        let tools: Vec<_> = lines.collect();
        (!tools.is_empty()).then(|| serde_json::json!({ "role": role, "tools": tools }))
    }
}

impl Watcher<'_> {
    /// Thoughts are for people who look into a run later; losing one ends no session.
    fn keep_thought(&self, text: &str) {
        let line = format!("{text}\n");
        let _ = self.session.around.append_file(&self.session.files.thinking(), line.as_bytes());
    }
}

impl AgentWatch for Watcher<'_> {
    fn starting(&mut self, process: &ProcessIdentity) -> std::result::Result<(), BoxError> {
        let around = self.session.around;
        let row = ProcessRow {
            token: self.token.clone(),
            root: self.session.root,
            session: self.session.session,
            pid: process.pid,
            start_ticks: process.start_ticks,
            boot_id: process.boot_id.clone(),
            started: around.clock.now(),
        };
        self.session
            .journal
            .process_started(&row)
            .map_err(|error| Box::new(Error::from(error)) as BoxError)
    }

    /// Keeps what the kernel took on, right by right, beside the transcript.
    fn confined(&mut self, enforced: Option<&Enforced>) {
        let Some(enforced) = enforced else { return };
        let _ = self.session.around.write_json(&self.session.files.sandbox(), enforced);
    }

    fn event(&mut self, event: &AgentEvent) {
        if let AgentEvent::Thinking { text } = event {
            self.keep_thought(text);
        }
        if let AgentEvent::ToolUse { tool, path, .. } = event {
            self.tools.note(tool, path.as_deref());
        }
        let update = Update::Agent { role: self.role.clone(), event: event.clone() };
        self.session.progress.update(&update);
    }

    fn cancelled(&self) -> bool {
        self.session.around.interrupt.is_raised()
    }
}

/// The longest silence of a session, where the agent says whether a tool is running.
pub(crate) fn idle(agent: &dyn Agent, config: &Config) -> Option<std::time::Duration> {
    agent.capabilities().tool_in_flight.then_some(config.session.idle)
}
