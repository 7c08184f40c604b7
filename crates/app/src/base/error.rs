//! Why a use case could not do its work: whose fault it is, and what to try next.
//!
//! Each library error is turned into one of these by hand, so that each is a decision about
//! blame. The exit code follows from the fault, in the model.

use std::fmt;

use spore_agent::AgentError;
use spore_config::ConfigError;
use spore_effects::ToolError;
use spore_effects::files::LockError;
use spore_embed::{EmbedError, VectorsError};
use spore_gates::GateError;
use spore_git::GitError;
use spore_model::{Fault, Outcome, Usd};
use spore_store::{CodeIndexError, JournalError, KnowledgeError, OpenError};
use spore_tools::remote::StartError;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug)]
pub struct Error {
    pub fault: Fault,
    /// Set where the refusal is itself an outcome that callers tell apart.
    outcome: Option<Outcome>,
    message: String,
    hint: Option<String>,
    /// What was paid before it went wrong, where that is known.
    spent: Option<Usd>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self {
            fault,
            outcome: None,
            message: message.into(),
            hint: None,
            spent: None,
            source: None,
        }
    }

    /// The same, with what was paid before it went wrong.
    pub(crate) fn having_spent(self, usd: Usd) -> Self {
        Self { spent: Some(usd), ..self }
    }

    pub(crate) fn spent(&self) -> Option<Usd> {
        self.spent
    }

    /// Nesting is at its limit: nothing was started, and callers must not try again.
    pub(crate) fn too_deep(depth: u32, limit: u32) -> Self {
        let message = format!("sessions are nested {depth} deep, and {limit} is the limit");
        let error = Self::new(Fault::Usage, message)
            .hint("do the work in this session, or raise `--max-depth`");
        Self { outcome: Some(Outcome::DepthExceeded), ..error }
    }

    /// The same, as a question to the caller, who could allow more.
    pub(crate) fn asking_for_depth(self) -> Self {
        let hint = "whoever started this can allow more with `--max-depth`";
        Self { outcome: Some(Outcome::NeedsEscalation), ..self.hint(hint) }
    }

    /// What was asked for was tried and cannot be had; nothing was changed.
    pub(crate) fn in_vain(message: impl Into<String>) -> Self {
        Self { outcome: Some(Outcome::Failure), ..Self::new(Fault::BadInput, message) }
    }

    /// The user interrupted the command; nothing was changed.
    pub(crate) fn interrupted(message: impl Into<String>) -> Self {
        Self { outcome: Some(Outcome::Interrupted), ..Self::new(Fault::Usage, message) }
    }

    /// The error of another process of ours, as it was told.
    pub(crate) fn told(told: StartError) -> Self {
        let StartError { fault, outcome, message, hint } = told;
        Self { fault, outcome, message, hint, spent: None, source: None }
    }

    /// What another process of ours is told of it, causes included.
    pub(crate) fn tell(&self) -> StartError {
        let mut message = self.message.clone();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            message = format!("{message}: {error}");
            cause = error.source();
        }
        StartError { fault: self.fault, outcome: self.outcome, message, hint: self.hint.clone() }
    }

    pub fn exit_code(&self) -> u8 {
        self.outcome.map_or_else(|| self.fault.exit_code(), Outcome::exit_code)
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

    /// Returns the outcome that the refusal is, where it is one.
    pub(crate) fn told_outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// An I/O error at a named place. What the machine refuses is the machine's fault.
    pub fn io(what: impl Into<String>, source: std::io::Error) -> Self {
        let error = Self::new(Fault::Io, what);
        let error = match source.kind() {
            std::io::ErrorKind::StorageFull => error.hint(FULL),
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                error.hint("make the directory writable for this user")
            }
            _ => error,
        };
        error.because(source)
    }
}

/// Also said where no run was under way: the one who reads it knows.
const FULL: &str =
    "free some disk space, then try again; a run that was under way goes on with `spore resume`";

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
        let error = match error {
            // git's own words run over several lines and end in the same advice.
            GitError::Unsafe { dir, .. } => {
                let dir = spore_plain::path(&dir);
                let message = format!("git does not trust {dir}: it belongs to another user");
                let hint = format!(
                    "if that is as it should be: git config --global --add safe.directory {dir}"
                );
                return Self::new(Fault::BadInput, message).hint(hint);
            }
            GitError::Io { path, source } => {
                return Self::io(format!("cannot use {}", spore_plain::path(&path)), source);
            }
            GitError::NotFetched { commit, files, remote, complaint } => {
                let files = u32::try_from(files).unwrap_or(u32::MAX);
                let message = format!(
                    "{} of {} are not in this partial clone, and could not be fetched",
                    crate::counted(files, "file"),
                    &commit.as_str()[..12],
                );
                let complaint = spore_plain::headline(&complaint, 200);
                return Self::new(Fault::Missing, message)
                    .hint(format!("git fetch --refetch --no-filter {remote}"))
                    .because(std::io::Error::other(complaint));
            }
            other => other,
        };
        let (fault, hint) = match &error {
            GitError::NotInstalled => (Fault::Missing, "install git"),
            GitError::TooOld { .. } => (Fault::Missing, "install a newer git"),
            GitError::NotARepository { .. } => {
                (Fault::BadInput, "go to a git repository, or `git init`")
            }
            GitError::Bare { .. } => (Fault::BadInput, "clone it, and work in the clone"),
            GitError::NoCommits { .. } => {
                (Fault::BadInput, "commit something first: a run starts from a commit")
            }
            GitError::UnknownRevision { .. } => {
                (Fault::BadInput, "name a commit of this repository")
            }
            GitError::CheckedOut { .. } => (Fault::BadInput, "check out another branch there"),
            GitError::Locked { .. } => (
                Fault::Io,
                "wait for the other git, or remove its lock if it died; then `spore resume`",
            ),
            GitError::DiskFull { .. } => (Fault::Io, FULL),
            GitError::ObjectsGone { .. } => (
                Fault::BadInput,
                "`git fsck` lists what is missing: bring it back, with `git fetch` perhaps, and \
                 `spore resume`; or start the task anew, the agent's files are still in its \
                 checkout",
            ),
            GitError::Unstorable { .. } => (Fault::BadInput, "remove or change the files"),
            GitError::Vanished { .. } | GitError::Occupied { .. } => {
                (Fault::Io, "see what became of the directory; `spore resume` goes on from here")
            }
            GitError::ForeignRef { .. } | GitError::Unreadable { .. } => (Fault::Bug, ""),
            GitError::Failed { complaint, .. } if is_refused(complaint) => {
                (Fault::Io, "make .git/ writable for this user")
            }
            GitError::Failed { .. }
            | GitError::Unusable { .. }
            | GitError::TooDeep { .. }
            | GitError::Tool { .. }
            | GitError::Unsafe { .. }
            | GitError::NotFetched { .. }
            | GitError::Io { .. } => (Fault::Io, ""),
        };
        wrap(fault, hint, error)
    }
}

/// Returns whether git complains that it may not write. It does not always say why.
fn is_refused(complaint: &str) -> bool {
    ["Permission denied", "Read-only file system", "unable to create directory"]
        .iter()
        .any(|words| complaint.contains(words))
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        let (fault, hint) = match &error {
            OpenError::Missing { .. } => (Fault::Missing, "run `spore init`"),
            OpenError::Empty { .. } | OpenError::Corrupt { .. } => (
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
            JournalError::Full { .. } => (Fault::Io, FULL),
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

impl From<KnowledgeError> for Error {
    fn from(error: KnowledgeError) -> Self {
        let (fault, hint) = match &error {
            KnowledgeError::NoSuchNode { .. } | KnowledgeError::NoSuchEdge { .. } => {
                (Fault::BadInput, "`spore graph query-edges` shows the ids")
            }
            KnowledgeError::Superseded { .. } => {
                (Fault::BadInput, "look at the newer one: `spore graph show`")
            }
            KnowledgeError::NotExported { .. } => {
                (Fault::Io, "nothing was removed: make .spore/exports/ writable, with room on it")
            }
            KnowledgeError::Full { .. } => (Fault::Io, "free some disk space"),
            KnowledgeError::ReadOnly { .. } => (Fault::Io, "make .spore/ writable for this user"),
            KnowledgeError::Busy { .. } => (Fault::Io, "wait for the other process"),
            KnowledgeError::Corrupt { .. } => {
                (Fault::BadInput, "restore .spore/spore.db from a copy")
            }
            KnowledgeError::Io { .. } => {
                (Fault::Io, "see that .spore/ can be read and written by this user")
            }
            KnowledgeError::Bug { .. } => (Fault::Bug, ""),
        };
        wrap(fault, hint, error)
    }
}

impl From<CodeIndexError> for Error {
    fn from(error: CodeIndexError) -> Self {
        let (fault, hint) = match &error {
            CodeIndexError::Damaged { .. } => {
                (Fault::BadInput, "`spore index --full` makes it anew; nothing else is lost")
            }
            CodeIndexError::Full { .. } => (Fault::Io, "free some disk space"),
            CodeIndexError::ReadOnly { .. } => (Fault::Io, "make .spore/ writable for this user"),
            CodeIndexError::Busy { .. } => (Fault::Io, "wait for the other process"),
            CodeIndexError::Io { .. } => {
                (Fault::Io, "see that .spore/ can be read and written by this user")
            }
            CodeIndexError::Bug { .. } => (Fault::Bug, ""),
        };
        wrap(fault, hint, error)
    }
}

impl From<EmbedError> for Error {
    fn from(error: EmbedError) -> Self {
        match error {
            EmbedError::Missing { .. } => {
                Self::new(Fault::Missing, error.to_string()).hint("run `spore setup`")
            }
            EmbedError::Damaged { .. } => Self::new(Fault::BadInput, error.to_string())
                .hint("run `spore setup`: it mends what is damaged"),
            EmbedError::Io { path, source } => {
                Self::io(format!("cannot read {}", spore_plain::path(&path)), source)
            }
        }
    }
}

impl From<VectorsError> for Error {
    fn from(error: VectorsError) -> Self {
        match error {
            VectorsError::Foreign { .. } => Self::new(Fault::BadInput, error.to_string())
                .hint("run `spore index`: it makes them anew"),
            VectorsError::Io { path, source } => {
                Self::io(format!("cannot use {}", spore_plain::path(&path)), source)
            }
        }
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
        let hint = match error.key() {
            Some("sandbox.network") => {
                "it lists what agents reach, as [\"packages.example.org\"]; whether checks may use \
                 the network is `[sandbox] checks_network = \"deny\"`"
            }
            _ => "",
        };
        wrap(Fault::Config, hint, error)
    }
}

impl From<LockError> for Error {
    fn from(error: LockError) -> Self {
        wrap(Fault::Io, "", error)
    }
}

impl From<ToolError> for Error {
    fn from(error: ToolError) -> Self {
        let (fault, hint) = match &error {
            ToolError::NotInstalled { .. } => {
                (Fault::Missing, "install it; `spore doctor` tells what else is missing")
            }
            ToolError::TimedOut { .. } | ToolError::Io { .. } => (Fault::Io, ""),
        };
        wrap(fault, hint, error)
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
/// Says that Spore cannot read or write its own records, which no caller can mend.
pub(crate) fn bug(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(Fault::Bug, "Spore cannot read what it wrote").because(error)
}
