//! Attends one agent session: its process is on record before it starts and off it when
//! nothing of it is left; what it says goes to the progress; an interrupt ends it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use spore_agent::{Agent, AgentError, AgentEvent, AgentWatch, BoxError, Request, SessionReport};
use spore_config::Config;
use spore_effects::session::{Enforced, ProcessIdentity};
use spore_model::{RefusedCalls, RunId, SessionToken};
use spore_store::{Journal, ProcessRow};

use crate::base::run_files::SessionFiles;
use crate::session::live::LiveSession;
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
        watch.show();
        let started = clock.monotonic();
        let ran = agent.run(request, &mut watch);
        journal.process_ended(&token, clock.now())?;
        let Watcher { session, tools, .. } = watch;
        let live = session.live.into_inner();
        let tools = ToolsUsed { refused: live.refused().clone(), ..tools };
        live.file.end(session.progress);
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

/// Which tools a session used, on which paths, and how often, and which it was refused.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ToolsUsed {
    calls: BTreeMap<(String, Option<String>), u32>,
    pub(crate) refused: RefusedCalls,
    /// Calls that change files, and such that run commands.
    edits: u32,
    commands: u32,
}

/// A session that touches more places than this is told about by its first ones.
const MOST_TOOL_LINES: usize = 200;
const TOOL_PATH_CHARS: usize = 300;

impl ToolsUsed {
    fn note(&mut self, tool: &str, path: Option<&str>) {
        match CallReach::of(tool) {
            CallReach::Edit => self.edits += 1,
            CallReach::Command => self.commands += 1,
            CallReach::Other => {}
        }
        let short = |text: &str| text.chars().take(TOOL_PATH_CHARS).collect::<String>();
        let key = (short(tool), path.map(short));
        if self.calls.len() < MOST_TOOL_LINES || self.calls.contains_key(&key) {
            *self.calls.entry(key).or_default() += 1;
        }
    }

    /// Returns the payload of the event that tells about them; nothing if there were none.
    /// Paths are those of the project, whatever checkout `dir` they were used in.
    pub(crate) fn payload(&self, role: &str, dir: &Path) -> Option<serde_json::Value> {
        let within = |path: &String| {
            let below = Path::new(path).strip_prefix(dir);
            below.map_or_else(|_| path.clone(), |path| path.display().to_string())
        };
        let lines = self.calls.iter().map(|((tool, path), times)| {
            serde_json::json!({ "tool": tool, "path": path.as_ref().map(within), "times": times })
        });
        let tools: Vec<_> = lines.collect();
        let mut payload = serde_json::json!({ "role": role, "tools": tools });
        if !self.refused.is_empty() {
            payload["refused"] = serde_json::json!(self.refused);
        }
        (!tools.is_empty() || !self.refused.is_empty()).then_some(payload)
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
        self.session.live.get_mut().hear(event);
        self.show();
    }

    fn cancelled(&self) -> bool {
        // Asked several times a second: what the last events left to be written is written now.
        if let Ok(mut live) = self.session.live.try_borrow_mut() {
            live.file.keep_up();
        }
        self.session.around.interrupt.is_raised()
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
        used.iter().for_each(|tool| tools.note(tool, None));
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
