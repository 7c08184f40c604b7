//! Why a use case could not do its work: whose fault it is, and what to try next.
//!
//! Each library error is turned into one of these by hand, so that each is a decision about
//! blame. The exit code follows from the fault, in the model.

use std::fmt;

use spore_agent::AgentError;
use spore_config::ConfigError;
use spore_effects::ToolError;
use spore_effects::files::LockError;
use spore_gates::GateError;
use spore_git::GitError;
use spore_model::Fault;
use spore_store::{JournalError, OpenError};

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug)]
pub struct Error {
    pub fault: Fault,
    message: String,
    hint: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self { fault, message: message.into(), hint: None, source: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn because(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// An I/O error at a named place. What the machine refuses is the machine's fault.
    pub fn io(what: impl Into<String>, source: std::io::Error) -> Self {
        let error = Self::new(Fault::Io, what);
        let error = match source.kind() {
            std::io::ErrorKind::StorageFull => {
                error.hint("free some disk space; `spore resume` goes on from here")
            }
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                error.hint("make the directory writable for this user")
            }
            _ => error,
        };
        error.because(source)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<GitError> for Error {
    fn from(error: GitError) -> Self {
        let (fault, hint) = match &error {
            GitError::NotInstalled => (Fault::Missing, "install git"),
            GitError::NotARepository { .. } => {
                (Fault::BadInput, "go to a git repository, or `git init`")
            }
            GitError::Bare { .. } => (Fault::BadInput, "clone it, and work in the clone"),
            GitError::NoCommits { .. } => {
                (Fault::BadInput, "commit something first: a run starts from a commit")
            }
            GitError::Unsafe { .. } => {
                (Fault::BadInput, "if it is yours: git config --global --add safe.directory DIR")
            }
            GitError::UnknownRevision { .. } => {
                (Fault::BadInput, "name a commit of this repository")
            }
            GitError::CheckedOut { .. } => (Fault::BadInput, "check out another branch there"),
            GitError::Locked { .. } => (
                Fault::Io,
                "wait for the other git, or remove its lock if it died; then `spore resume`",
            ),
            GitError::DiskFull { .. } => {
                (Fault::Io, "free some disk space; `spore resume` goes on from here")
            }
            GitError::Vanished { .. } | GitError::Occupied { .. } => {
                (Fault::Io, "see what became of the directory; `spore resume` goes on from here")
            }
            GitError::ForeignRef { .. } | GitError::Unreadable { .. } => (Fault::Bug, ""),
            GitError::Failed { .. }
            | GitError::Unusable { .. }
            | GitError::Tool { .. }
            | GitError::Io { .. } => (Fault::Io, ""),
        };
        wrap(fault, hint, error)
    }
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        let (fault, hint) = match &error {
            OpenError::Missing { .. } => (Fault::Missing, "run `spore init`"),
            OpenError::Corrupt { .. } => (
                Fault::BadInput,
                "restore the file, or move it away to start with no history; your branches and \
                 .spore/runs/ are not affected",
            ),
            OpenError::NotOurs { .. } => {
                (Fault::BadInput, "move the file away and run `spore init`")
            }
            OpenError::Newer { .. } => (Fault::BadInput, "use the newer spore that wrote it"),
            OpenError::Older { .. } => (Fault::BadInput, "run any command that writes, once"),
            OpenError::ReadOnly { .. } => (Fault::Io, "make .spore/ writable for this user"),
            OpenError::Full { .. } => (Fault::Io, "free some disk space"),
            OpenError::Busy { .. } => (Fault::Io, "wait for the other process"),
            OpenError::Io { .. } => {
                (Fault::Io, "see that .spore/ can be read and written by this user")
            }
        };
        wrap(fault, hint, error)
    }
}

impl From<JournalError> for Error {
    fn from(error: JournalError) -> Self {
        let (fault, hint) = match &error {
            JournalError::NoSuchRun { .. } => (Fault::BadInput, "`spore runs list` shows the ids"),
            JournalError::Fenced { .. } => {
                (Fault::BadInput, "another process has taken this run over; let it work")
            }
            JournalError::Full { .. } => {
                (Fault::Io, "free some disk space; `spore resume` goes on from here")
            }
            JournalError::ReadOnly { .. } => (Fault::Io, "make .spore/ writable for this user"),
            JournalError::Busy { .. } => {
                (Fault::Io, "wait for the other process, then `spore resume`")
            }
            JournalError::Corrupt { .. } => {
                (Fault::BadInput, "restore .spore/spore.db from a copy")
            }
            JournalError::Io { .. } => (Fault::Io, "`spore resume` goes on from here"),
            _ => (Fault::Bug, ""),
        };
        wrap(fault, hint, error)
    }
}

impl From<spore_store::spine::FlushError> for Error {
    fn from(error: spore_store::spine::FlushError) -> Self {
        match error {
            spore_store::spine::FlushError::Journal(error) => error.into(),
            error @ spore_store::spine::FlushError::Spine(_) => {
                wrap(Fault::Io, "no event is lost: the next command writes them", error)
            }
        }
    }
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        wrap(Fault::Config, "", error)
    }
}

impl From<LockError> for Error {
    fn from(error: LockError) -> Self {
        wrap(Fault::Io, "", error)
    }
}

impl From<ToolError> for Error {
    fn from(error: ToolError) -> Self {
        let fault = match &error {
            ToolError::NotInstalled { .. } => Fault::Missing,
            ToolError::TimedOut { .. } | ToolError::Io { .. } => Fault::Io,
        };
        wrap(fault, "", error)
    }
}

impl From<AgentError> for Error {
    fn from(error: AgentError) -> Self {
        let (fault, hint) = match &error {
            AgentError::NotInstalled { .. } => {
                (Fault::Missing, "install it; `spore doctor` tells what is missing")
            }
            AgentError::Start(_) | AgentError::Refused(_) | AgentError::Transcript { .. } => {
                (Fault::Io, "`spore resume` goes on from here")
            }
        };
        wrap(fault, hint, error)
    }
}

impl From<GateError> for Error {
    fn from(error: GateError) -> Self {
        wrap(Fault::Io, "`spore resume` goes on from here", error)
    }
}

/// Keeps the library's sentence as ours and its causes as causes.
fn wrap(fault: Fault, hint: &str, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    let wrapped = Error::new(fault, error.to_string()).because(error);
    if hint.is_empty() { wrapped } else { wrapped.hint(hint) }
}
