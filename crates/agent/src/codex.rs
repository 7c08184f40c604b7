//! The Codex backend, over the program's own `app-server`.
//!
//! `codex exec --json` would be simpler and gives less: it never asks for permission, so a
//! role's commands could only be limited by its sandbox; it says what a session used only at its end, so one
//! that is stopped has no count; a long answer is a long silence; an error is a sentence; a
//! server of tools that did not start is not mentioned. The app-server asks before it runs or
//! writes, counts every call, streams, names errors by kind and can be asked to stop. It is
//! marked experimental, so [`CodexSession`] takes nothing for granted: what it does not know it keeps
//! raw, and a question that it does not know is answered with no. What `exec --json` prints is
//! read by `printed`, for templates of the command backend.
//!
//! Codex brings a sandbox of its own, which cannot start inside of ours. A session that we
//! hold is told to leave it off; any other is held by it, wider or narrower by what the role
//! may do. Its questions are answered by the role's `Policy`.
//!
//! Prompt, role, schema and servers go over stdin: nothing of them is in the arguments.

mod item;
mod opening;
mod session;

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::time::Duration;

use spore_effects::session::Shim;
use spore_effects::{Tool, ToolError};

pub use session::CodexSession;

use crate::claude::Exit;
use crate::control::{self, AttemptOutcome, Dialogue, LineMeaning};
use crate::request::lines_of;
use crate::{Agent, AgentError, AgentWatch, Capabilities, Request, SessionReport, Watchdog};

/// What the program is started with.
const MODE: &str = "app-server";

pub struct CodexAgent {
    program: PathBuf,
    shim: Shim,
    watchdog: Watchdog,
}

impl CodexAgent {
    /// Prepares to run `program`, a path or a name on the session's own `PATH`.
    pub fn new(program: PathBuf, shim: Shim, watchdog: Watchdog) -> Self {
        Self { program, shim, watchdog }
    }

    /// Runs one session, without a second try.
    fn attempt(
        &self,
        request: &Request,
        watch: &mut dyn AgentWatch,
    ) -> Result<(SessionReport, AttemptOutcome), AgentError> {
        let mut talk = CodexSession::new(request);
        let dialogue = Dialogue {
            input: talk.opening(),
            stay_open: true,
            idle: request.limits.idle,
            ..Dialogue::new(self.program.clone(), vec![MODE.to_owned()], request, &self.watchdog)
        };
        let ending = control::run(&self.shim, &dialogue, watch, &mut |watch, line| {
            hear(&mut talk, watch, line)
        })?;
        let report = talk.conclude(&Exit::from(&ending));
        Ok((report, AttemptOutcome::of(talk.lost_conversation(), talk.is_alive(), &ending)))
    }
}

impl Agent for CodexAgent {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resume: true,
            structured_output: true,
            tool_limits: true,
            cost: false,
            usage: true,
            mcp_status: true,
            tool_in_flight: true,
            interrupt: true,
        }
    }

    fn starts_with(&self) -> Vec<PathBuf> {
        vec![self.program.clone()]
    }

    fn recount(&self, transcript: &mut dyn BufRead) -> SessionReport {
        let mut talk = CodexSession::new(&Request::of_nothing());
        lines_of(transcript, &mut |line| drop(talk.line(line)));
        talk.conclude(&Exit::unseen())
    }

    fn run(
        &self,
        request: &Request,
        watch: &mut dyn AgentWatch,
    ) -> Result<SessionReport, AgentError> {
        let mut attempt =
            |request: &Request, watch: &mut dyn AgentWatch| self.attempt(request, watch);
        let clock = self.shim.clock();
        control::with_second_chances(clock, request, &self.watchdog, watch, &mut attempt)
    }
}

/// Asks the program for its version: `0.166.0`.
pub fn version(program: &Path) -> Result<String, ToolError> {
    let answer = Tool::new(program).arg("--version").timeout(Duration::from_secs(10)).output()?;
    Ok(answer.text().split_whitespace().last().unwrap_or_default().to_owned())
}

fn hear(talk: &mut CodexSession, watch: &mut dyn AgentWatch, line: &str) -> LineMeaning {
    for event in talk.line(line) {
        watch.event(&event);
    }
    if talk.is_finished() {
        return LineMeaning::LastWord;
    }
    match talk.give_up() {
        Some(reason) => LineMeaning::Abort(reason.to_owned()),
        None => LineMeaning::Turn(talk.take_turn()),
    }
}
