//! Attends one agent session: its process is on record before it starts and off it when
//! nothing of it is left; what it says goes to the progress; an interrupt ends it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use spore_agent::{Agent, AgentError, AgentEvent, AgentWatch, BoxError, Request, SessionReport};
use spore_config::Config;
use spore_effects::session::{Enforced, ProcessIdentity};
use spore_model::{Outcome, RefusedCalls, RunId, SessionToken, ToolUse};
use spore_store::{Journal, ProcessRow};

use crate::base::run_files::SessionFiles;
use crate::session::allowance::SessionAllowance;
use crate::session::broker::{SERVER_NAME, SessionAccess};
use crate::session::live::LiveSession;
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
    pub(crate) live: RefCell<LiveSession<'a>>,
    /// What is done where the conversation that it goes on with is lost.
    pub(crate) fresh: Option<&'a FreshStart>,
    /// What it and those that it starts may cost.
    pub(crate) allowance: &'a SessionAllowance,
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
        watch.show();
        let started = clock.monotonic();
        let ran = agent.run(request, &mut watch);
        journal.process_ended(&token, clock.now())?;
        let unserved = watch.unserved(true);
        let Watcher { session, tools, .. } = watch;
        let live = session.live.into_inner();
        let tools = ToolsUsed { refused: live.refused().clone(), ..tools };
        live.file.end(session.progress);
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

/// Which tools a session used, on which paths, and how often, and which it was refused.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ToolsUsed {
    calls: BTreeMap<UsedOn, ToolCount>,
    pub(crate) refused: RefusedCalls,
    /// Calls that change files, and such that run commands.
    edits: u32,
    commands: u32,
}

/// A tool, and what it was used on: a path, or a command.
type UsedOn = (String, Option<String>, Option<String>);

/// How often a call was made, and how many others had been made before the first time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct ToolCount {
    first: usize,
    times: u32,
}

/// A session that touches more places than this is told about by its first ones.
const MOST_TOOL_LINES: usize = 200;
const TOOL_PATH_CHARS: usize = 300;

impl ToolsUsed {
    fn note(&mut self, tool: &str, path: Option<&str>, summary: &str) {
        let reach = CallReach::of(tool);
        match reach {
            CallReach::Edit => self.edits += 1,
            CallReach::Command => self.commands += 1,
            CallReach::Other => {}
        }
        let short = |text: &str| text.chars().take(TOOL_PATH_CHARS).collect::<String>();
        let is_command = reach == CallReach::Command && !summary.is_empty();
        let key = (short(tool), path.map(short), is_command.then(|| short(summary)));
        let first = self.calls.len();
        if first < MOST_TOOL_LINES || self.calls.contains_key(&key) {
            self.calls.entry(key).or_insert(ToolCount { first, times: 0 }).times += 1;
        }
    }

    /// Returns the payload of the event that tells about them; nothing if there were none.
    /// They are in the order of their first use. Paths are those of the project, whatever checkout `dir` they were used in.
    pub(crate) fn payload(&self, role: &str, dir: &Path) -> Option<serde_json::Value> {
        let within = |path: &String| {
            let below = Path::new(path).strip_prefix(dir);
            below.map_or_else(|_| path.clone(), |path| path.display().to_string())
        };
        let mut calls: Vec<_> = self.calls.iter().collect();
        calls.sort_by_key(|(_, count)| count.first);
        let lines = calls.into_iter().map(|((tool, path, command), count)| {
            let path = path.as_ref().map(within);
            let mut line = serde_json::json!({ "tool": tool, "path": path, "times": count.times });
            if let Some(command) = command {
                line["command"] = serde_json::json!(command);
            }
            line
        });
        let tools: Vec<_> = lines.collect();
        let mut payload = serde_json::json!({ "role": role, "tools": tools });
        if !self.refused.is_empty() {
            payload["refused"] = serde_json::json!(self.refused);
        }
        (!tools.is_empty() || !self.refused.is_empty()).then_some(payload)
    }

    /// Returns how often each tool was used, the most used first.
    pub(crate) fn by_tool(&self) -> Vec<ToolUse> {
        const MOST_TOOLS: usize = 24;
        let mut sums: BTreeMap<&str, u32> = BTreeMap::new();
        for ((tool, ..), count) in &self.calls {
            let sum = sums.entry(tool).or_default();
            *sum = sum.saturating_add(count.times);
        }
        let used = sums.into_iter().map(|(tool, times)| ToolUse { tool: tool.to_owned(), times });
        let mut used: Vec<ToolUse> = used.collect();
        used.sort_by_key(|one| std::cmp::Reverse(one.times));
        used.truncate(MOST_TOOLS);
        used
    }

    /// Returns whether the session tried to change files and was let change none. A command that
    /// got through may have changed some, unless others were refused: agents let those run by
    /// themselves that only look.
    pub(crate) fn changed_nothing_it_tried(&self) -> bool {
        let refused = |kind| -> u32 {
            let tools = self.refused.tools().filter(|one| CallReach::of(&one.tool) == kind);
            tools.map(|one| one.times).sum()
        };
        let (edits, commands) = (refused(CallReach::Edit), refused(CallReach::Command));
        edits > 0 && edits >= self.edits && (commands > 0 || self.commands == 0)
    }
}

/// What a call of a tool may do, by its name with whichever agent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallReach {
    Edit,
    Command,
    Other,
}

impl CallReach {
    fn of(tool: &str) -> Self {
        const EDITS: [&str; 7] = ["write", "edit", "patch", "replace", "delete", "move", "create"];
        const COMMANDS: [&str; 4] = ["bash", "shell", "exec", "run"];
        let tool = tool.to_ascii_lowercase();
        let is = |words: &[&str]| words.iter().any(|word| tool.contains(word));
        // A list of things to do is no file; tools of servers change no files here.
        if tool.contains("todo") || tool.starts_with("mcp__") {
            Self::Other
        } else if is(&EDITS) {
            Self::Edit
        } else if is(&COMMANDS) {
            Self::Command
        } else {
            Self::Other
        }
    }
}

impl Watcher<'_> {
    fn show(&mut self) {
        self.session.live.get_mut().file.show(self.session.progress);
    }

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
        if let AgentEvent::ToolUse { tool, path, summary } = event {
            self.tools.note(tool, path.as_deref(), summary);
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
        let live = self.session.live.get_mut();
        live.hear(event);
        self.session.allowance.has_spent(live.file.state.cost.usd);
        self.show();
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
        // Asked several times a second: what the last events left to be written is written now.
        if let Ok(mut live) = self.session.live.try_borrow_mut() {
            live.file.keep_up();
        }
        self.session.around.interrupt.is_raised()
    }

    fn worthless(&self) -> Option<String> {
        let is_overdrawn = self.session.allowance.is_overdrawn();
        let used_up = || "it reached its budget, with what it started".to_owned();
        self.unserved(false).or_else(|| is_overdrawn.then(used_up))
    }
}

/// The longest silence of a session, where the agent says whether a tool is running.
pub(crate) fn idle(agent: &dyn Agent, config: &Config) -> Option<std::time::Duration> {
    agent.capabilities().tool_in_flight.then_some(config.session.idle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(used: &[&str], refused: &[&str], expected: bool) {
        let mut tools = ToolsUsed::default();
        used.iter().for_each(|tool| tools.note(tool, None, ""));
        refused.iter().for_each(|tool| tools.refused.note(tool));
        assert_eq!(tools.changed_nothing_it_tried(), expected, "{used:?} {refused:?}");
    }

    #[test]
    fn a_session_whose_every_write_was_refused_is_known() {
        check(&["Read", "Write", "Edit"], &["Write", "Edit"], true);
        check(&["Write", "Write"], &["Write"], false);
        check(&["Read"], &[], false);
        check(&["TodoWrite"], &[], false);
        check(&["Bash"], &["Bash"], false);
        check(&["Write", "Bash"], &["Write"], false);
        check(&["Write", "Bash", "Bash"], &["Write", "Bash"], true);
        // An agent that asks names the kind of the deed, and its own tool otherwise.
        check(&["apply_patch"], &["edit"], true);
        check(&["mcp__spore__create_node"], &["mcp__spore__create_node"], false);
    }
}
