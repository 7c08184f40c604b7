//! The Claude Code backend.
//!
//! The program is driven in its own protocol, `stream-json` in both directions: the prompt
//! goes over stdin, stdin stays open so that the session can be asked to stop, and is closed
//! after the result, which makes the program exit. [`ClaudeStream`] understands its lines and
//! judges the end; the command line is made in `invocation`; everything between is
//! `control`'s.
//!
//! The session sees the project's own files (`CLAUDE.md`, `.claude/agents`) and none of the
//! user's: see `invocation` for what that keeps out. It is not a sandbox. A tool that is not
//! allowed is refused by the program, and a shell that is allowed can do what shells do.

mod calls;
mod health;
mod invocation;
mod line;
mod stream;
mod summary;

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::time::Duration;

use spore_effects::session::Shim;
use spore_effects::{Tool, ToolError};

pub use health::{Exit, Stopped};
pub use stream::{ClaudeStream, SessionNeeds};

use crate::control::{self, AttemptOutcome, Dialogue, EndedBy, LineMeaning, SessionEnding};
use crate::request::lines_of;
use crate::{Agent, AgentError, AgentWatch, Capabilities, Request, SessionReport, Watchdog};
use invocation::{Invocation, PrivateFiles};

pub struct ClaudeAgent {
    program: PathBuf,
    shim: Shim,
    watchdog: Watchdog,
    sign_in_attempts: u32,
}

impl ClaudeAgent {
    /// Prepares to run `program`, a path or a name on the session's own `PATH`. A session whose
    /// key the API refused `sign_in_attempts` times in a row is given up.
    pub fn new(program: PathBuf, shim: Shim, watchdog: Watchdog, sign_in_attempts: u32) -> Self {
        Self { program, shim, watchdog, sign_in_attempts }
    }

    /// Runs one session, without a second try.
    fn attempt(
        &self,
        request: &Request,
        watch: &mut dyn AgentWatch,
    ) -> Result<(SessionReport, AttemptOutcome), AgentError> {
        // The files may hold a token, so they are removed with the session.
        let files = PrivateFiles::write(request)
            .map_err(|(path, source)| AgentError::Transcript { path, source })?;
        let invocation = Invocation::new(request, &files);
        let request = &Request { env: invocation.env, ..request.clone() };
        let dialogue = Dialogue {
            input: invocation.input,
            stay_open: true,
            interrupt: Some(invocation::INTERRUPT.to_owned()),
            idle: request.limits.idle,
            ..Dialogue::new(self.program.clone(), invocation.args, request, &self.watchdog)
        };
        let mut stream = ClaudeStream::new(SessionNeeds {
            structured: request.schema.is_some(),
            required_servers: request
                .mcp_servers
                .iter()
                .filter(|server| server.required)
                .map(|server| server.name.clone())
                .collect(),
            sign_in_attempts: self.sign_in_attempts,
        });
        let ending = control::run(&self.shim, &dialogue, watch, &mut |watch, line| {
            hear(&mut stream, watch, line)
        })?;
        let report = stream.conclude(&Exit::from(&ending));
        Ok((report, AttemptOutcome::of(stream.lost_conversation(), stream.is_alive(), &ending)))
    }
}

impl Agent for ClaudeAgent {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resume: true,
            structured_output: true,
            tool_limits: true,
            cost: true,
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
        let mut stream = ClaudeStream::new(SessionNeeds {
            structured: false,
            required_servers: Vec::new(),
            sign_in_attempts: u32::MAX,
        });
        lines_of(transcript, &mut |line| drop(stream.line(line)));
        stream.conclude(&Exit::unseen())
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

/// Asks the program for its version: `2.1.197`.
pub fn version(program: &Path) -> Result<String, ToolError> {
    let answer = Tool::new(program).arg("--version").timeout(Duration::from_secs(10)).output()?;
    Ok(answer.text().split_whitespace().next().unwrap_or_default().to_owned())
}

fn hear(stream: &mut ClaudeStream, watch: &mut dyn AgentWatch, line: &str) -> LineMeaning {
    for event in stream.line(line) {
        watch.event(&event);
    }
    if let Some(id) = stream.take_question() {
        return LineMeaning::Answer(invocation::refusal(&id));
    }
    if stream.is_finished() {
        return LineMeaning::LastWord;
    }
    match stream.give_up() {
        Some(reason) => LineMeaning::Abort(reason.to_owned()),
        None if stream.tool_in_flight() => LineMeaning::Busy,
        None => LineMeaning::GoOn,
    }
}

impl From<&SessionEnding> for Exit {
    fn from(ending: &SessionEnding) -> Self {
        let stopped = match ending.by {
            EndedBy::Itself => None,
            EndedBy::Lingering => Some(Stopped::Lingered),
            EndedBy::Silence => Some(Stopped::NoFirstWord),
            EndedBy::Idle => Some(Stopped::Idle),
            EndedBy::WallClock => Some(Stopped::TimeUp),
            EndedBy::Cancel => Some(Stopped::Cancelled),
            EndedBy::Abort(_) => Some(Stopped::GivenUp),
        };
        let given_up = match &ending.by {
            EndedBy::Abort(reason) => Some(reason.clone()),
            _ => None,
        };
        Self {
            code: ending.end.code,
            stopped,
            given_up,
            complaint: ending.complaint.clone(),
            swept: ending.end.swept,
        }
    }
}
