//! The Codex backend, over the program's own `app-server`.
//!
//! `codex exec --json` would be simpler and gives less: it asks nobody, so a role's commands
//! could only be limited by its sandbox; it says what a session used only at its end, so one
//! that is stopped has no count; a long answer is a long silence; an error is a sentence; a
//! server of tools that did not start is not mentioned. The app-server asks before it runs or
//! writes, counts every call, streams, names errors by kind and can be asked to stop. It is
//! marked experimental, so [`Talk`] takes nothing for granted: what it does not know it keeps
//! raw, and a question that it does not know is answered with no. What `exec --json` prints is
//! read by `printed`, for whoever drives it with the command backend.
//!
//! Codex brings a sandbox of its own, which cannot start inside of ours. A session that we
//! hold is told to leave it off; any other is held by it, wider or narrower by what the role
//! may do. Its questions are answered by the role's `Policy`.
//!
//! Prompt, role, schema and servers go over stdin: nothing of them is in the arguments.

mod item;
mod opening;
mod talk;

use std::path::{Path, PathBuf};
use std::time::Duration;

use spore_effects::session::Shim;
use spore_effects::{Tool, ToolError};

pub use talk::Talk;

use crate::claude::Exit;
use crate::control::{self, Dialogue, Heard, Life};
use crate::{Agent, AgentError, Capabilities, Report, Request, Watch, Watchdog};

/// What the program is started with.
const MODE: &str = "app-server";

pub struct Codex {
    program: PathBuf,
    shim: Shim,
    watchdog: Watchdog,
}

impl Codex {
    /// Prepares to run `program`, a path or a name on the session's own `PATH`.
    pub fn new(program: PathBuf, shim: Shim, watchdog: Watchdog) -> Self {
        Self { program, shim, watchdog }
    }

    /// Runs one session, without a second try.
    fn attempt(
        &self,
        request: &Request,
        watch: &mut dyn Watch,
    ) -> Result<(Report, Life), AgentError> {
        let mut talk = Talk::new(request);
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
        Ok((report, Life::of(talk.lost_conversation(), talk.is_alive(), &ending)))
    }
}

impl Agent for Codex {
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

    fn run(&self, request: &Request, watch: &mut dyn Watch) -> Result<Report, AgentError> {
        let mut attempt = |request: &Request, watch: &mut dyn Watch| self.attempt(request, watch);
        control::with_second_chances(request, &self.watchdog, watch, &mut attempt)
    }
}

/// Asks the program for its version: `0.166.0`.
pub fn version(program: &Path) -> Result<String, ToolError> {
    let answer = Tool::new(program).arg("--version").timeout(Duration::from_secs(10)).output()?;
    Ok(answer.text().split_whitespace().last().unwrap_or_default().to_owned())
}

fn hear(talk: &mut Talk, watch: &mut dyn Watch, line: &str) -> Heard {
    for event in talk.line(line) {
        watch.event(&event);
    }
    if talk.is_finished() {
        return Heard::LastWord;
    }
    match talk.give_up() {
        Some(reason) => Heard::Abort(reason.to_owned()),
        None => Heard::Turn(talk.take_turn()),
    }
}
