//! What a session is asked, what it answers, and what it may be relied on for.

use std::path::PathBuf;
use std::time::Duration;

use spore_effects::session::{Grace, ProcessIdentity, SessionError};
use spore_model::{Outcome, SessionToken, Usage, Usd};

use crate::AgentEvent;

pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A way to run agent sessions.
pub trait Agent: Send + Sync {
    fn name(&self) -> &str;

    fn capabilities(&self) -> Capabilities;

    /// Runs one session to its end. A session that goes wrong is a report that says so; an
    /// error means that there was no session.
    fn run(&self, request: &Request, watch: &mut dyn Watch) -> Result<Report, AgentError>;
}

/// What a backend can do. A missing capability is worked around or said, never assumed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Capabilities {
    /// Can go on with an earlier conversation.
    pub resume: bool,
    /// Says what it cost.
    pub cost: bool,
    /// Says how many tokens it used.
    pub usage: bool,
    /// Says which tool is running, so that silence can be told from work.
    pub tool_in_flight: bool,
}

#[derive(Clone, Debug)]
pub struct Request {
    pub role: String,
    /// Which bounce of the run this session belongs to.
    pub bounce: u32,
    /// Who the agent is and how it works.
    pub system_prompt: String,
    /// What it is to do. Goes over stdin, never into argv.
    pub prompt: String,
    pub model: Option<String>,
    pub dir: PathBuf,
    /// The whole environment; nothing is inherited.
    pub env: Vec<(String, String)>,
    pub limits: Limits,
    pub token: SessionToken,
    /// Every byte the agent prints, up to the cap.
    pub transcript: PathBuf,
}

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub turns: u32,
    pub wall: Duration,
    pub usd: Option<Usd>,
}

/// How long silence may last, and how much is listened to.
#[derive(Clone, Copy, Debug)]
pub struct Watchdog {
    /// From the start to the first output.
    pub first_output: Duration,
    /// From the final event to the end of the process.
    pub exit: Duration,
    pub grace: Grace,
    /// Bytes of one line that the parser sees.
    pub line_cap: usize,
    pub transcript_cap: u64,
}

/// The caller's side of a running session.
pub trait Watch {
    /// Called with the process that is about to start. It starts only after this returns
    /// `Ok`: by then its identity must be on record.
    fn starting(&mut self, process: &ProcessIdentity) -> Result<(), BoxError>;

    fn event(&mut self, event: &AgentEvent);

    /// Asked several times a second; true ends the session.
    fn cancelled(&self) -> bool;
}

/// How a session went.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    pub outcome: Outcome,
    /// Why, where it did not end well; one sentence.
    pub reason: Option<String>,
    pub final_text: String,
    pub session_id: Option<String>,
    pub turns: u32,
    pub usage: Usage,
    /// `None` where the agent named no price: the caller estimates.
    pub cost: Option<Usd>,
    /// Processes that outlived the agent and were ended.
    pub swept: u32,
}

/// Why there was no session.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("the agent program {program} was not found", program = .program.display())]
    NotInstalled { program: PathBuf },
    /// The session could not be put under control, so it was not started.
    #[error("the session could not be started")]
    Start(#[source] SessionError),
    /// [`Watch::starting`] said no; its error comes back.
    #[error("the session was not let go")]
    Refused(#[source] BoxError),
    #[error("cannot write the transcript {path}", path = .path.display())]
    Transcript {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}
