//! Attends one agent session: its process is on record before it starts and off it when
//! nothing of it is left; what it says goes to the progress; an interrupt ends it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use spore_agent::{Agent, AgentError, AgentEvent, AgentWatch, BoxError, Request, SessionReport};
use spore_config::Config;
use spore_effects::session::{Enforced, ProcessIdentity};
use spore_model::{Outcome, RunId, SessionToken};
use spore_store::{Journal, ProcessRow};

use crate::base::run_files::SessionFiles;
use crate::session::broker::{SERVER_NAME, SessionAccess};
use crate::session::plan::FreshStart;
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
    /// What is done where the conversation that it goes on with is lost.
    pub(crate) fresh: Option<&'a FreshStart>,
    /// The tools that it is worthless without; nothing where it may go on without them.
    pub(crate) served: Option<&'a SessionAccess>,
}

/// How long after its first word an agent may take to start the servers that it was to start
/// before.
const SERVER_GRACE: Duration = Duration::from_secs(10);

impl SessionWatch<'_> {
    /// Lets the agent work until it is done; tells which tools it used.
    pub(crate) fn run(
        self,
        agent: &dyn Agent,
        request: &Request,
    ) -> Result<(SessionReport, ToolsUsed)> {
        let (journal, clock) = (self.journal, &self.around.clock);
        let token = request.token.clone();
        let served = self.served.filter(|served| served.is_needed());
        let mut watch = Watcher {
            session: self,
            token: token.clone(),
            role: request.role.clone(),
            tools: ToolsUsed::default(),
            failed: None,
            // Of one that does not start them for sure, a missing server says nothing.
            silent: served.filter(|_| agent.starts_servers()),
            spoke: None,
        };
        let started = clock.monotonic();
        let ran = agent.run(request, &mut watch);
        journal.process_ended(&token, clock.now())?;
        let tools = std::mem::take(&mut watch.tools);
        let unserved = watch.unserved(true);
        let timed = |report| {
            let report = SessionReport { duration: started.elapsed(), ..report };
            (refused_unserved(report, unserved), tools)
        };
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
    /// What the agent said of our server, where that is not good.
    failed: Option<String>,
    /// The tools of an agent that says nothing of servers.
    silent: Option<&'a SessionAccess>,
    /// When the model's first word was heard.
    spoke: Option<Instant>,
}

/// Refuses the good end of a session that had none of the tools it needs.
fn refused_unserved(report: SessionReport, unserved: Option<String>) -> SessionReport {
    match unserved {
        Some(reason) if report.outcome == Outcome::Success => {
            SessionReport { outcome: Outcome::Failure, reason: Some(reason), ..report }
        }
        _ => report,
    }
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
    /// Says why the session is worthless: the tools that its role needs are not there. The broker
    /// knows it of an agent that does not say; `is_over` is a session that had all its time.
    fn unserved(&self, is_over: bool) -> Option<String> {
        if let Some(status) = &self.failed {
            return Some(format!("the MCP server {SERVER_NAME} is needed and is {status}"));
        }
        let silent = self.silent.filter(|served| !served.is_reached())?;
        let spoke = self.spoke?;
        let is_late = spoke.elapsed() > SERVER_GRACE;
        (silent.is_needed() && (is_over || is_late))
            .then(|| format!("the MCP server {SERVER_NAME} is needed and was not started"))
    }

    fn hear_of_server(&mut self, server: &str, status: &str) {
        let is_ours = server == SERVER_NAME;
        if self.session.served.is_some_and(|served| is_ours && served.is_needed()) {
            let is_good = ["connected", "pending"].contains(&status);
            self.failed = (!is_good).then(|| spore_plain::line_within(status, 40));
        }
    }

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
        match event {
            AgentEvent::McpStatus { server, status } => self.hear_of_server(server, status),
            AgentEvent::Text { .. } | AgentEvent::Thinking { .. } | AgentEvent::ToolUse { .. } => {
                self.spoke.get_or_insert_with(|| self.session.around.clock.monotonic());
            }
            _ => {}
        }
        let update = Update::Agent { role: self.role.clone(), event: event.clone() };
        self.session.progress.update(&update);
    }

    /// Puts the checkout back to where the session began, and tells that it begins anew.
    fn afresh(&mut self) -> std::result::Result<(), BoxError> {
        let Some(fresh) = self.session.fresh else { return Ok(()) };
        fresh
            .checkout
            .reset(&fresh.start)
            .map_err(|error| Box::new(Error::from(error)) as BoxError)?;
        if let Some(left) = fresh.left.clone() {
            self.session.progress.update(&Update::BeginsAnew { role: self.role.clone(), left });
        }
        Ok(())
    }

    fn cancelled(&self) -> bool {
        self.session.around.interrupt.is_raised()
    }

    fn worthless(&self) -> Option<String> {
        self.unserved(false)
    }
}

/// The longest silence of a session, where the agent says whether a tool is running.
pub(crate) fn idle(agent: &dyn Agent, config: &Config) -> Option<std::time::Duration> {
    agent.capabilities().tool_in_flight.then_some(config.session.idle)
}
