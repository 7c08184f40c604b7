//! What a session is asked, what it answers, and what it may be relied on for.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use spore_effects::session::{Confinement, Enforced, Grace, ProcessIdentity, SessionError};
use spore_model::{Outcome, SessionFailure, SessionToken, Timestamp, Usage, Usd};
use spore_secrets::KnownSecrets;

use crate::AgentEvent;

pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A way to run agent sessions.
pub trait Agent: Send + Sync {
    fn name(&self) -> &str;

    fn capabilities(&self) -> Capabilities;

    /// Returns the files that a session is started with, besides those of the system: its program,
    /// a path or a name, and what its arguments name. A sandbox has to show them.
    fn starts_with(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Tells whether a session is known to start the servers of its request before its model is
    /// asked, although the program may not say so.
    fn starts_servers(&self) -> bool {
        false
    }

    /// Reads the transcript of a session whose end Spore did not see: which conversation it was, how far
    /// it came, what it used. It is called interrupted, whatever it says of itself. A backend whose
    /// transcripts say nothing of that knows only that there was a session.
    fn recount(&self, _transcript: &mut dyn BufRead) -> SessionReport {
        SessionReport::ended(Outcome::Interrupted, None)
    }

    /// Runs one session to its end. A session that goes wrong is a report that says so; an
    /// error means that there was no session.
    fn run(
        &self,
        request: &Request,
        watch: &mut dyn AgentWatch,
    ) -> Result<SessionReport, AgentError>;
}

/// Returns a program and those of its arguments that are paths.
pub(crate) fn files_of(program: &Path, args: &[String]) -> Vec<PathBuf> {
    let paths = args.iter().map(PathBuf::from).filter(|arg| arg.is_absolute());
    std::iter::once(program.to_owned()).chain(paths).collect()
}

/// What a backend can do. A missing capability is worked around or said, never assumed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Capabilities {
    /// Can go on with an earlier conversation.
    pub resume: bool,
    /// Can be held to a JSON schema.
    pub structured_output: bool,
    /// Refuses tools that are not allowed; where it cannot, only a sandbox does.
    pub tool_limits: bool,
    /// Says what it cost.
    pub cost: bool,
    /// Says how many tokens it used.
    pub usage: bool,
    /// Says whether its MCP servers are connected.
    pub mcp_status: bool,
    /// Says which tool is running, so that silence can be told from work.
    pub tool_in_flight: bool,
    /// Can be asked to stop in its own protocol, before signals.
    pub interrupt: bool,
}

#[derive(Clone, Debug)]
pub struct Request {
    pub role: String,
    /// Which bounce of the run this session belongs to.
    pub bounce: u32,
    /// Who the agent is and how it works.
    pub system_prompt: String,
    /// The agent's own file for this role, where the project has one: used in place of
    /// `system_prompt`.
    pub native_role: Option<String>,
    /// What it is to do. Goes over stdin, never into argv.
    pub prompt: String,
    /// A model's own name; tiers are resolved before.
    pub model: Option<String>,
    /// Where it works, as it is called outside of its sandbox.
    pub dir: PathBuf,
    /// The whole environment; nothing is inherited.
    pub env: Vec<(String, String)>,
    /// What must be in nothing that the session says or leaves, besides the credentials of `env`.
    pub secrets: KnownSecrets,
    pub tools: ToolPolicy,
    /// Who holds its processes to the checkout.
    pub sandbox: SessionSandbox,
    pub mcp_servers: Vec<McpServer>,
    /// The shape that the structured result must have.
    pub schema: Option<Value>,
    /// The conversation to go on with. If that fails the session starts afresh with
    /// `prompt`, which is therefore always whole.
    pub resume: Option<Conversation>,
    /// Where our own loop keeps its turns, for a session that goes on at the turn it was cut off in.
    pub turns: Option<TurnFiles>,
    pub limits: RequestLimits,
    pub token: SessionToken,
    /// Every byte the agent prints, up to the cap.
    pub transcript: PathBuf,
}

/// The turns of one session, over all attempts at it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TurnFiles {
    /// Of this attempt.
    pub file: PathBuf,
    /// Of those before, which were asked the same.
    pub earlier: Vec<PathBuf>,
}

/// An earlier conversation, and what to say in it now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conversation {
    pub session_id: String,
    pub prompt: String,
}

/// Tools by the agent's own names or patterns. An empty `allow` leaves the choice to the
/// agent; `deny` always wins.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ToolPolicy {
    pub allow: Vec<String>,
    pub deny: Vec<String>,
    /// Everything that is not denied runs without a question. Only for a sandboxed session.
    pub skip_permissions: bool,
}

/// Who holds the processes of a session to what they may reach.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum SessionSandbox {
    /// The kernel does, for every process that the backend starts: a session that cannot be
    /// held is not started. An agent may skip its own questions inside, and must not bring a
    /// sandbox of its own that needs namespaces: those cannot be made in here.
    Enforced(Box<Confinement>),
    /// The agent is to use its own sandbox: ours cannot be enforced here.
    Own,
    /// The processes are not confined.
    #[default]
    None,
}

impl Request {
    /// Returns the directory that the session works in as it is called there.
    pub fn dir_inside(&self) -> PathBuf {
        let confinement = self.sandbox.confinement();
        confinement.map_or_else(|| self.dir.clone(), |confinement| confinement.inside(&self.dir))
    }
}

impl SessionSandbox {
    pub fn is_enforced(&self) -> bool {
        matches!(self, Self::Enforced(_))
    }

    /// What goes into the plan of every process of the session.
    pub fn confinement(&self) -> Option<&Confinement> {
        match self {
            Self::Enforced(confinement) => Some(confinement),
            Self::Own | Self::None => None,
        }
    }
}

/// A server of tools that the session gets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct McpServer {
    pub name: String,
    pub command: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    /// The session is worthless without it, and ends if it is not connected.
    pub required: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct RequestLimits {
    pub turns: u32,
    pub wall: Duration,
    /// The longest silence while no tool is running. `None` for a backend that does not say
    /// whether one is: then only the wall clock holds.
    pub idle: Option<Duration>,
    pub usd: Option<Usd>,
}

/// How long silence may last, and how much is listened to.
#[derive(Clone, Copy, Debug)]
pub struct Watchdog {
    /// From the start to the first output.
    pub first_output: Duration,
    /// From the final event to the end of the process.
    pub exit: Duration,
    /// Before a session that ended without a single turn is started once more.
    pub start_retry_pause: Duration,
    pub grace: Grace,
    /// Bytes of one line that the parser sees.
    pub line_cap: usize,
    pub transcript_cap: u64,
}

/// The caller's side of a running session.
pub trait AgentWatch {
    /// Called with the process that is about to start. It starts only after this returns
    /// `Ok`: by then its identity must be on record.
    fn starting(&mut self, process: &ProcessIdentity) -> Result<(), BoxError>;

    /// Called when the process runs, with what the kernel holds it to.
    fn confined(&mut self, _enforced: Option<&Enforced>) {}

    fn event(&mut self, event: &AgentEvent);

    /// Called before a session begins afresh that was to go on with a conversation: its agent
    /// does not know the conversation, so the whole prompt is said to a new one.
    fn afresh(&mut self) -> Result<(), BoxError> {
        Ok(())
    }

    /// Asked several times a second; true ends the session.
    fn cancelled(&self) -> bool;

    /// Asked as often; a reason ends the session as worthless.
    fn worthless(&self) -> Option<String> {
        None
    }
}

/// What a count of tokens is worth for a session that did not end well.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CallsCounted {
    /// The model was never asked: the session cost nothing.
    NoneMade,
    /// Every call is counted, as the model counted it.
    All,
    /// One may be missing, or its tokens are an estimate.
    #[default]
    InDoubt,
}

/// How a session went.
#[derive(Clone, PartialEq, Debug)]
pub struct SessionReport {
    pub outcome: Outcome,
    /// Why, where it did not end well; one sentence.
    pub reason: Option<String>,
    /// What the backend saw it fail by, where it is more than its figures tell.
    pub failure: Option<SessionFailure>,
    pub final_text: String,
    /// What fits the request's schema, where it asked for one.
    pub structured: Option<Value>,
    pub session_id: Option<String>,
    pub turns: u32,
    pub usage: Usage,
    /// Where `usage` is an estimate: the least and the most that it can have been.
    pub usage_bounds: Option<(Usage, Usage)>,
    /// Whether `usage` holds every call that was made.
    pub counted: CallsCounted,
    /// The model that did the work, where the agent said so.
    pub model: Option<String>,
    /// `None` where the agent named no price: the caller knows it or estimates.
    pub cost: Option<Usd>,
    /// Servers and what the agent said of them: `connected`, `failed`, `pending`.
    pub mcp: Vec<(String, String)>,
    /// When a quota or rate limit is over, where the agent said so.
    pub resets_at: Option<Timestamp>,
    /// Processes that outlived the agent and were ended.
    pub swept: u32,
    /// What the program exited with by itself, where that may mean something: programs that
    /// speak our own event format and plain commands may use the exit codes of Spore.
    pub exit: Option<i32>,
    /// What the program exited with by itself, whatever that means.
    pub exit_code: Option<i32>,
    /// From the call to the answer; the caller of [`Agent::run`] fills it in.
    pub duration: Duration,
}

impl Request {
    /// A request of nothing, for reading the transcript of a session that was asked otherwise.
    pub(crate) fn of_nothing() -> Self {
        Self {
            role: String::new(),
            bounce: 0,
            system_prompt: String::new(),
            native_role: None,
            prompt: String::new(),
            model: None,
            dir: PathBuf::new(),
            env: Vec::new(),
            secrets: KnownSecrets::default(),
            tools: ToolPolicy::default(),
            sandbox: SessionSandbox::None,
            mcp_servers: Vec::new(),
            schema: None,
            resume: None,
            turns: None,
            limits: RequestLimits { turns: u32::MAX, wall: Duration::MAX, idle: None, usd: None },
            token: SessionToken::of_no_process(),
            transcript: PathBuf::new(),
        }
    }
}

/// Hands each line of a transcript to `on_line`. What cannot be read ends it.
pub(crate) fn lines_of(transcript: &mut dyn BufRead, on_line: &mut dyn FnMut(&str)) {
    let mut line = Vec::new();
    while transcript.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        on_line(String::from_utf8_lossy(&line).trim_end_matches('\n'));
        line.clear();
    }
}

impl SessionReport {
    /// A report of nothing but an end; the rest is for the caller to fill in.
    pub fn ended(outcome: Outcome, reason: Option<String>) -> Self {
        Self {
            outcome,
            reason,
            failure: None,
            final_text: String::new(),
            structured: None,
            session_id: None,
            turns: 0,
            usage: Usage::default(),
            usage_bounds: None,
            counted: CallsCounted::InDoubt,
            model: None,
            cost: None,
            mcp: Vec::new(),
            resets_at: None,
            swept: 0,
            exit: None,
            exit_code: None,
            duration: Duration::ZERO,
        }
    }

    /// The same with what it failed by.
    #[must_use]
    pub fn failed_by(self, failure: SessionFailure) -> Self {
        Self { failure: Some(failure), ..self }
    }

    /// Returns how the session failed; nothing where it did not.
    pub fn settled_failure(&self) -> Option<SessionFailure> {
        let worked = self.turns > 0 || self.usage.output_tokens > 0;
        SessionFailure::settle(self.failure, self.outcome, worked)
    }
}

/// Why there was no session.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("the agent program {program} was not found", program = spore_plain::path(.program))]
    NotInstalled { program: PathBuf },
    /// The session could not be put under control, so it was not started.
    #[error("the session could not be started")]
    Start(#[source] SessionError),
    /// [`AgentWatch::starting`] said no; its error comes back.
    #[error("the session was not let go")]
    Refused(#[source] BoxError),
    #[error("cannot write the transcript {path}", path = spore_plain::path(.path))]
    Transcript {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}
