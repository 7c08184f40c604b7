//! Spore's side of a session.
//!
//! Every value here owns a process and gives it up only when it is gone: dropping a [`Waiting`]
//! or a [`Session`] ends what it stands for and waits for that, so an early return leaves
//! neither a process behind nor a zombie. The price is that dropping a running session takes up
//! to its grace.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Weak;
use std::time::{Duration, Instant};

use nix::libc;
use spore_model::SessionToken;

use super::forwarder::{Forwarder, InnerListener};
use super::processes::kill_by_token;
use super::recording::Recorder;
use super::sandbox::{HandedFile, Reached};
use super::wire::{Channel, Order, Received, ShimPlan, ShimReport, send};
use super::{
    Enforced, ProcessIdentity, Recording, RecordingPlan, RootSupport, SHIM_ARG, SandboxRefusal,
    TOKEN_VAR,
};
use crate::child::{Bond, Program, StartedChild};
use crate::clock::{Clock, SystemClock, monotonic};

/// In place of a socket: tells what this machine lets a session have.
pub(super) const SUPPORT_ARG: &str = "support";

/// Our own binary does not need that long; a machine that swaps may.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Why a session did not start, or was lost.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The user must install it or name another.
    #[error("{program} is not installed or not on PATH", program = .program.display())]
    NotInstalled { program: PathBuf },
    /// The place to work in is not there; make it again.
    #[error("cannot work in {cwd}", cwd = .cwd.display())]
    NoDirectory {
        cwd: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The program is there and cannot be run.
    #[error("{program} could not be started", program = .program.display())]
    Start {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The kernel cannot hold the session to what it may do, so it was not started.
    #[error("the session cannot be confined: {refusal}")]
    NotConfined { refusal: SandboxRefusal },
    /// Our own half failed. What carried the session's token has been killed.
    #[error("the session was lost: {detail}")]
    Shim {
        detail: String,
        #[source]
        source: Option<io::Error>,
    },
}

impl SessionError {
    fn shim(detail: &str, source: impl Into<Option<io::Error>>) -> Self {
        Self::Shim { detail: detail.to_owned(), source: source.into() }
    }
}

/// How a session ended, told when nothing of it is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionEnd {
    /// The program's exit code; 128 + n for death by signal n, as shells say it.
    pub code: i32,
    /// We asked for the end before the program had ended by itself.
    pub stopped: bool,
    /// How many descendants outlived the program and were ended.
    pub swept: u32,
}

/// Starts sessions, through an executable that calls [`shim_main`](super::shim_main).
#[derive(Clone, Debug)]
pub struct Shim {
    exe: PathBuf,
}

impl Shim {
    pub fn new(exe: PathBuf) -> Self {
        Self { exe }
    }

    /// Returns the clock that sessions are timed by: the machine's, because other programs live by
    /// it too.
    pub fn clock(&self) -> &'static dyn Clock {
        &SystemClock
    }

    /// Finds out what this machine lets a session have. It takes some milliseconds: a shim makes
    /// a sandbox in `scratch`, an empty directory, and says how far it got.
    #[expect(clippy::disallowed_methods, reason = "the other door to other programs, outer half")]
    pub fn support(&self, scratch: &Path) -> RootSupport {
        let mut command = Command::new(&self.exe);
        command.arg(SHIM_ARG).arg(SUPPORT_ARG).arg(scratch).env_clear();
        let told = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
        let told = told.ok().and_then(|output| serde_json::from_slice(&output.stdout).ok());
        let refused = SandboxRefusal { step: "ask the shim".to_owned(), errno: libc::EPIPE };
        told.unwrap_or(RootSupport { refused: Some(refused), ..RootSupport::default() })
    }

    /// Starts the shim, which waits.
    pub fn prepare(&self, plan: &ShimPlan) -> Result<Waiting, SessionError> {
        self.prepare_with(plan, None)
    }

    /// The same for a program whose look-ups are recorded: see [`Session::take_recording`].
    pub fn prepare_recorded(
        &self,
        plan: &ShimPlan,
        recording: RecordingPlan,
    ) -> Result<Waiting, SessionError> {
        self.prepare_with(plan, Some(recording))
    }

    fn prepare_with(
        &self,
        plan: &ShimPlan,
        recording: Option<RecordingPlan>,
    ) -> Result<Waiting, SessionError> {
        let failed = |source| SessionError::shim("the shim could not be started", Some(source));
        let recorded = recording.map(|plan| Ok((plan, UnixStream::pair()?))).transpose();
        let recorded = recorded.map_err(failed)?;
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        // An executable that is no shim would not read, and we would not return.
        ours.set_write_timeout(Some(ANSWER_WITHIN)).map_err(failed)?;
        let told = recorded.as_ref().map(|(_, (_, theirs))| theirs);
        let child = self.program(plan, &theirs, told).start().map_err(failed)?;
        drop(theirs);
        let recorded = recorded.map(|(plan, (ours, _))| (plan, ours));
        let channel = Channel::new(ours);
        let mut shim =
            ShimProcess { child, channel, token: plan.token.clone(), phase: ShimPhase::Waiting };
        shim.channel.send(plan).map_err(failed)?;
        match shim.answer()? {
            ShimReport::Ready(identity) => {
                let root = plan.confinement.as_ref().and_then(|held| held.root.as_ref());
                Ok(Waiting {
                    identity,
                    program: plan.program.clone(),
                    cwd: plan.cwd.clone(),
                    reach: root.map_or_else(Vec::new, |root| root.reach.clone()),
                    shim,
                    recorded,
                })
            }
            other => Err(unexpected(&other)),
        }
    }

    /// The shim, which gets these two files: programs that other threads start do not.
    fn program<'a>(
        &'a self,
        plan: &ShimPlan,
        control: &UnixStream,
        recorded: Option<&UnixStream>,
    ) -> Program<'a> {
        let files: Vec<RawFd> =
            [Some(control), recorded].into_iter().flatten().map(AsRawFd::as_raw_fd).collect();
        let numbers = files.iter().map(|file| file.to_string().into());
        Program {
            file: &self.exe,
            args: [SHIM_ARG.into()].into_iter().chain(numbers).collect(),
            env: vec![(TOKEN_VAR.into(), plan.token.as_str().into())],
            cwd: None,
            listens: plan.stdin,
            bond: Bond::Apart(files),
        }
    }
}

/// A shim that has started nothing yet. Dropped, it never will.
#[derive(Debug)]
pub struct Waiting {
    shim: ShimProcess,
    identity: ProcessIdentity,
    program: PathBuf,
    cwd: PathBuf,
    /// Where the record's listener will come from.
    recorded: Option<(RecordingPlan, UnixStream)>,
    /// What the session reaches outside of its own network.
    reach: Vec<Reached>,
}

impl Waiting {
    /// The shim's identity, to be written down before [`go`](Self::go).
    pub fn identity(&self) -> &ProcessIdentity {
        &self.identity
    }

    /// Lets it start the program. Returns when that runs.
    pub fn go(mut self) -> Result<Session, SessionError> {
        // The program's start itself is a look-up that waits for it.
        let recorder = self.recorded.take().map(|(plan, socket)| {
            let is_bare_name = self.program.file_name() == Some(self.program.as_os_str());
            let place = if is_bare_name { Path::new("/") } else { self.cwd.as_path() };
            Recorder::start(plan, place.join(&self.program), socket)
        });
        let session = self.start()?;
        Ok(Session { recorder, ..session })
    }

    fn start(mut self) -> Result<Session, SessionError> {
        // Once the order may have been heard, only the shim can end what it started.
        self.shim.phase = ShimPhase::Running;
        self.shim
            .channel
            .send(&Order::Go)
            .map_err(|source| SessionError::shim("the shim does not listen", Some(source)))?;
        match self.shim.answer()? {
            ShimReport::Started { enforced, handed } => {
                let files = self.shim.channel.take_files(handed.len()).map_err(|source| {
                    SessionError::shim("the shim's report is not whole", Some(source))
                })?;
                let forwarder =
                    forward(&self.reach, handed.into_iter().zip(files)).map_err(|source| {
                        SessionError::shim("the network cannot be forwarded", Some(source))
                    })?;
                Ok(Session::new(self.shim, enforced, forwarder))
            }
            ShimReport::NotConfined { refusal } => Err(SessionError::NotConfined { refusal }),
            ShimReport::NoDirectory { errno } => Err(SessionError::NoDirectory {
                cwd: self.cwd,
                source: io::Error::from_raw_os_error(errno),
            }),
            ShimReport::NotStarted { errno }
                if errno == libc::ENOENT && !self.program_is_there() =>
            {
                Err(SessionError::NotInstalled { program: self.program })
            }
            ShimReport::NotStarted { errno } => Err(SessionError::Start {
                program: self.program,
                source: io::Error::from_raw_os_error(errno),
            }),
            other => Err(unexpected(&other)),
        }
    }

    /// A script whose interpreter is missing is "not found" to the kernel, too.
    fn program_is_there(&self) -> bool {
        let is_bare_name = self.program.file_name() == Some(self.program.as_os_str());
        !is_bare_name && Path::exists(&self.cwd.join(&self.program))
    }
}

/// A running program with all its descendants.
///
/// Its output must be read, or it will wait for that with a full pipe. Dropping a session
/// stops it and returns when nothing is left.
#[derive(Debug)]
pub struct Session {
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    recorder: Option<Recorder>,
    shim: ShimProcess,
    /// The program's exit code, while descendants are still swept.
    code: Option<i32>,
    end: Option<SessionEnd>,
    enforced: Option<Enforced>,
    /// Connects it with what it reaches, until its end.
    forwarder: Option<Forwarder>,
}

impl Session {
    fn new(mut shim: ShimProcess, enforced: Option<Enforced>, forwarder: Forwarder) -> Self {
        Self {
            stdin: shim.child.stdin.take().map(|pipe| OwnedFd::from(pipe).into()),
            stdout: shim.child.stdout.take().map(|pipe| OwnedFd::from(pipe).into()),
            stderr: shim.child.stderr.take().map(|pipe| OwnedFd::from(pipe).into()),
            recorder: None,
            shim,
            code: None,
            end: None,
            enforced,
            forwarder: Some(forwarder),
        }
    }

    /// What the kernel holds the session to; nothing where the plan asked for nothing.
    pub fn enforced(&self) -> Option<&Enforced> {
        self.enforced.as_ref()
    }

    /// Returns the pipe to the program once, if its plan has one.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.stdout.take()
    }

    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.stderr.take()
    }

    /// Returns what the session looked up, once, when [`wait_until`](Self::wait_until) has told of
    /// its end; nothing where no record was asked for.
    pub fn take_recording(&mut self) -> Option<Recording> {
        let recorder = self.recorder.take()?;
        Some(match self.end {
            Some(_) => recorder.finish(),
            None => Recording::nothing("the session has not ended"),
        })
    }

    /// Asks for the end: INT, TERM, KILL to every descendant. Does not wait for it.
    pub fn stop(&self) {
        self.stopper().stop();
    }

    /// Returns a handle that can stop the session from elsewhere.
    pub fn stopper(&self) -> Stopper {
        Stopper { sender: self.shim.channel.sender() }
    }

    /// Blocks until every process of the session is gone. The pipe to the program is closed
    /// first, unless the caller took it.
    pub fn wait(mut self) -> Result<SessionEnd, SessionError> {
        self.stdin = None;
        loop {
            if let Some(end) = self.advance(None)? {
                return Ok(end);
            }
        }
    }

    /// Like [`wait`](Self::wait), for no longer than `deadline`; `None` means that the session
    /// goes on.
    pub fn wait_until(&mut self, deadline: Instant) -> Result<Option<SessionEnd>, SessionError> {
        self.advance(Some(deadline))
    }

    fn advance(&mut self, deadline: Option<Instant>) -> Result<Option<SessionEnd>, SessionError> {
        while self.end.is_none() {
            match self.shim.report(deadline)? {
                None => return Ok(None),
                Some(ShimReport::Exited { code }) => self.code = Some(code),
                Some(ShimReport::Gone { stopped, swept }) => {
                    let code = self.code.ok_or_else(|| {
                        SessionError::shim("the program ended without an exit code", None)
                    })?;
                    self.shim.finish();
                    self.forwarder = None;
                    self.end = Some(SessionEnd { code, stopped, swept });
                }
                Some(other) => return Err(unexpected(&other)),
            }
        }
        Ok(self.end)
    }
}

/// Stops a session from any thread. Outlives it without keeping anything of it.
#[derive(Clone, Debug)]
pub struct Stopper {
    sender: Weak<UnixStream>,
}

impl Stopper {
    /// Asks for the end; a session that has ended stays ended.
    pub fn stop(&self) {
        if let Some(stream) = self.sender.upgrade() {
            // A shim that does not hear us is gone, which `wait` will tell.
            let _ = send(&stream, &Order::Stop);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ShimPhase {
    /// Nothing was started: the shim can be killed like any process.
    Waiting,
    Running,
    Reaped,
}

/// The shim as our child.
#[derive(Debug)]
struct ShimProcess {
    child: StartedChild,
    channel: Channel,
    token: SessionToken,
    phase: ShimPhase,
}

impl ShimProcess {
    /// Returns the answer to what was just sent.
    fn answer(&mut self) -> Result<ShimReport, SessionError> {
        let report = self.report(Some(monotonic() + ANSWER_WITHIN))?;
        report.ok_or_else(|| SessionError::shim("the shim does not answer", None))
    }

    fn report(&mut self, deadline: Option<Instant>) -> Result<Option<ShimReport>, SessionError> {
        match self.channel.receive(deadline) {
            Ok(Received::Message(report)) => Ok(Some(report)),
            Ok(Received::Late) => Ok(None),
            Ok(Received::Closed) => {
                self.finish();
                Err(SessionError::shim("the shim ended before its work", None))
            }
            Err(source) => {
                Err(SessionError::shim("the shim's report cannot be read", Some(source)))
            }
        }
    }

    /// Ends the session, if it has not ended, and takes in the shim.
    fn finish(&mut self) {
        match self.phase {
            ShimPhase::Waiting => {
                self.child.kill();
            }
            ShimPhase::Running => self.channel.hang_up(),
            ShimPhase::Reaped => return,
        }
        let ended = self.child.wait();
        let was_running = self.phase == ShimPhase::Running;
        self.phase = ShimPhase::Reaped;
        // A shim that was itself killed has left its work to us.
        if was_running && !ended.is_ok_and(|code| code == 0) {
            kill_by_token(&self.token);
        }
    }
}

impl Drop for ShimProcess {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Takes what was opened inside into use.
fn forward(
    reach: &[Reached],
    handed: impl Iterator<Item = (HandedFile, OwnedFd)>,
) -> io::Result<Forwarder> {
    let listeners = handed.filter_map(|(HandedFile::Listener { reached }, socket)| {
        Some(InnerListener { socket, reached: reach.get(reached)?.clone() })
    });
    Forwarder::start(listeners.collect())
}

fn unexpected(report: &ShimReport) -> SessionError {
    SessionError::shim(&format!("the shim said {report:?} out of turn"), None)
}
