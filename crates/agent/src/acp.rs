//! Agents that speak the Agent Client Protocol (ACP), version 1, over stdio.
//!
//! One backend for many programs: which they are is data, see [`Preset`]. [`AcpSession`] holds the
//! conversation as a pure machine, lines in and lines out, and everything around it is
//! `control`'s, as for every other program: the shim, the clock, the transcript, the secrets.
//!
//! The official crates are not used, on purpose. `agent-client-protocol-schema` (looked at:
//! 1.15.1, without default features) switches `serde_json` to `preserve_order` and `raw_value`,
//! neither of which can be left out, and cargo unifies features
//! (<https://doc.rust-lang.org/cargo/reference/features.html#feature-unification>): the maps of
//! every crate that is built together with it would be ordered by insertion, so what we store,
//! hash and show would have other bytes depending on what else is compiled. It also brings 25
//! packages along. The connection of `agent-client-protocol` (5.0.0) wants to own the pipes,
//! which belong to `control`. So the few messages are read here, leniently. Look again when the
//! schema crate makes `preserve_order` optional.
//!
//! The agent asks before it writes or runs and is answered by the role's
//! `Policy`, by the kind of the deed and of the options, never by
//! their ids, which are every agent's own. We offer no files and no terminal: an agent works
//! on its checkout itself. One that sends a write all the same gets it done inside of the
//! checkout, through `tools`, if its role may write. A role is not part of the protocol: it
//! comes before the prompt.

mod files;
mod opening;
mod preset;
mod session;
mod usage;
mod wire;

use std::io::BufRead;
use std::path::PathBuf;

use spore_effects::session::Shim;

pub use preset::Preset;
pub use session::AcpSession;

use crate::claude::Exit;
use crate::control::{self, AttemptOutcome, Dialogue, LineMeaning};
use crate::request::{files_of, lines_of};
use crate::{
    Agent, AgentError, AgentWatch, CallsCounted, Capabilities, Conversation, Request,
    SessionReport, Watchdog,
};
use files::CheckoutFiles;

pub struct AcpAgent {
    preset: Preset,
    shim: Shim,
    watchdog: Watchdog,
}

impl AcpAgent {
    pub fn new(preset: Preset, shim: Shim, watchdog: Watchdog) -> Self {
        Self { preset, shim, watchdog }
    }

    /// The same agent, as another program: a path, or a name on the session's own `PATH`.
    #[must_use]
    pub fn at(mut self, program: PathBuf) -> Self {
        self.preset.program = program;
        self
    }

    /// Runs one session, without a second try.
    fn attempt(
        &self,
        request: &Request,
        watch: &mut dyn AgentWatch,
    ) -> Result<(SessionReport, AttemptOutcome), AgentError> {
        let request = &Request { env: self.preset.environment(request), ..request.clone() };
        let mut talk = AcpSession::new(request, &self.preset);
        let mut files = CheckoutFiles::new(request);
        let program = self.preset.program.clone();
        let dialogue = Dialogue {
            input: talk.opening(),
            stay_open: true,
            idle: request.limits.idle,
            ..Dialogue::new(program, self.preset.arguments(request), request, &self.watchdog)
        };
        let ending = control::run(&self.shim, &dialogue, watch, &mut |watch, line| {
            hear(&mut talk, &mut files, watch, line)
        })?;
        let report = talk.conclude(&Exit::from(&ending));
        Ok((report, AttemptOutcome::of(talk.lost_conversation(), talk.is_alive(), &ending)))
    }
}

impl Agent for AcpAgent {
    fn name(&self) -> &str {
        &self.preset.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resume: self.preset.resumes,
            structured_output: false,
            tool_limits: true,
            cost: self.preset.names_cost,
            usage: self.preset.counts,
            mcp_status: false,
            tool_in_flight: true,
            interrupt: true,
        }
    }

    fn starts_with(&self) -> Vec<PathBuf> {
        files_of(&self.preset.program, &self.preset.args)
    }

    fn starts_servers(&self) -> bool {
        self.preset.starts_servers
    }

    fn recount(&self, transcript: &mut dyn BufRead) -> SessionReport {
        let mut lines = Vec::new();
        lines_of(transcript, &mut |line| lines.push(line.to_owned()));
        let told = |resume: Option<Conversation>| {
            let request = Request { resume, ..Request::of_nothing() };
            let mut talk = AcpSession::new(&request, &self.preset);
            lines.iter().for_each(|line| drop(talk.line(line)));
            talk.conclude(&Exit::unseen())
        };
        let begun = told(None);
        if begun.counted != CallsCounted::NoneMade {
            return begun;
        }
        // An agent that goes on with a session does not repeat its name.
        let (session_id, prompt) = (String::new(), String::new());
        let resumed = told(Some(Conversation { session_id, prompt }));
        match resumed.counted {
            CallsCounted::NoneMade => begun,
            _ => SessionReport { session_id: None, ..resumed },
        }
    }

    fn run(
        &self,
        request: &Request,
        watch: &mut dyn AgentWatch,
    ) -> Result<SessionReport, AgentError> {
        let resume = request.resume.clone().filter(|_| self.preset.resumes);
        let request = &Request { resume, ..request.clone() };
        let mut attempt =
            |request: &Request, watch: &mut dyn AgentWatch| self.attempt(request, watch);
        let clock = self.shim.clock();
        control::with_second_chances(clock, request, &self.watchdog, watch, &mut attempt)
    }
}

fn hear(
    talk: &mut AcpSession,
    files: &mut CheckoutFiles,
    watch: &mut dyn AgentWatch,
    line: &str,
) -> LineMeaning {
    for event in talk.line(line) {
        watch.event(&event);
    }
    for write in talk.take_writes() {
        talk.answer(files.write(&write));
    }
    if talk.is_finished() {
        return LineMeaning::LastWord;
    }
    match talk.give_up() {
        Some(reason) => LineMeaning::Abort(reason.to_owned()),
        None => LineMeaning::Turn(talk.take_turn()),
    }
}
