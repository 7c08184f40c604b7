//! Our own short calls of other programs: git, version probes.
//!
//! A call is synchronous and made from the thread that waits for it. That is what makes
//! `PR_SET_PDEATHSIG` right here, and wrong for anything long: the kernel sends the signal
//! when the starting *thread* ends. So if Spore is killed in the middle, git is told at once,
//! removes its lock files and goes.
//!
//! A program that is called by its name is looked for by Spore ([`programs`]) and not by the
//! system, which would take relative parts of PATH from the directory that the program is to run
//! in: an agent's checkout, mostly. The program itself gets a PATH without such parts, for it
//! starts others.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::child::{Bond, Program, StartedChild};
use crate::clock::monotonic;
use crate::files::Lock;
use crate::programs;

/// How often a program that is attended is looked at, and how long it has to end when told to.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
const END_WITHIN: Duration = Duration::from_secs(2);

/// A program, its arguments and what it may see.
#[derive(Clone, Debug)]
pub struct Tool {
    program: OsString,
    args: Vec<OsString>,
    cwd: Option<PathBuf>,
    env: Vec<(OsString, Option<OsString>)>,
    stdin: Vec<u8>,
    timeout: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    /// The exit code; 128 + n for death by signal n, as shells say it.
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl ToolOutput {
    pub fn is_success(&self) -> bool {
        self.code == 0
    }

    /// Returns what was printed, without the final newline; bytes that are no text are
    /// replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end_matches('\n').to_owned()
    }

    /// Returns the complaint, for an error message.
    pub fn complaint(&self) -> String {
        String::from_utf8_lossy(&self.stderr).trim().chars().take(2000).collect()
    }
}

/// Why a program gave no answer. An answer with a non-zero code is an answer.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error("{program} is not installed or not on PATH")]
    NotInstalled { program: String },
    #[error("{program} gave no answer within {seconds} seconds and was ended")]
    TimedOut { program: String, seconds: u64 },
    #[error("{program} could not be run")]
    Io {
        program: String,
        #[source]
        source: io::Error,
    },
}

impl Tool {
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            cwd: None,
            env: Vec::new(),
            stdin: Vec::new(),
            timeout: Duration::from_secs(600),
        }
    }

    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    #[must_use]
    pub fn cwd(mut self, cwd: &Path) -> Self {
        self.cwd = Some(cwd.to_owned());
        self
    }

    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), Some(value.as_ref().to_owned())));
        self
    }

    #[must_use]
    pub fn without_env(mut self, name: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), None));
        self
    }

    /// Keeps from the program every variable of ours whose name starts like this.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the program would inherit these variables")]
    pub fn without_env_of(self, prefix: &str) -> Self {
        let names = std::env::vars_os().map(|(name, _)| name);
        names
            .filter(|name| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
            .fold(self, Self::without_env)
    }

    #[must_use]
    pub fn stdin(mut self, content: impl Into<Vec<u8>>) -> Self {
        self.stdin = content.into();
        self
    }

    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs the program to its end.
    pub fn output(&self) -> Result<ToolOutput, ToolError> {
        let program = self.program.to_string_lossy().into_owned();
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => ToolError::NotInstalled { program: program.clone() },
            _ => ToolError::Io { program: program.clone(), source },
        };
        let found = self.found().ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        let mut child = self.program(&found).start().map_err(failed)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let deadline = monotonic() + self.timeout;
        let mut talk = ToolTalk::new(&self.stdin, pipes).map_err(failed)?;
        let in_time = talk.finish_by(deadline);
        if !matches!(in_time, Ok(true)) {
            child.kill();
        }
        let [stdout, stderr] = talk.answers;
        let code = wait_until(&mut child, monotonic() + self.timeout).map_err(failed)?;
        if !in_time.map_err(failed)? {
            return Err(ToolError::TimedOut { program, seconds: self.timeout.as_secs() });
        }
        Ok(ToolOutput { code, stdout, stderr })
    }

    /// Runs a program that must not be cut short because we are: it holds `lock` itself, hears
    /// nothing of our end, and nothing that it says is read. Returns when it has ended, and ends it
    /// when `is_done` says so or its time is up; whether `is_done` ever said so.
    pub fn attend(
        &self,
        lock: &Lock,
        mut is_done: impl FnMut() -> bool,
    ) -> Result<bool, ToolError> {
        let program = self.program.to_string_lossy().into_owned();
        let failed = |source: io::Error| ToolError::Io { program: program.clone(), source };
        let found =
            self.found().ok_or_else(|| ToolError::NotInstalled { program: program.clone() })?;
        let mut command = self.bare_command(&found);
        command
            .stdin(lock.share().map_err(failed)?)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        let mut child = command.spawn().map_err(failed)?;
        let group = Pid::from_raw(-i32::try_from(child.id()).unwrap_or(i32::MAX));
        let deadline = monotonic() + self.timeout;
        loop {
            if child.try_wait().map_err(failed)?.is_some() {
                return Ok(is_done());
            }
            let done = is_done();
            if done || monotonic() > deadline {
                for signal in [Signal::SIGTERM, Signal::SIGKILL] {
                    let _ = kill(group, signal);
                    let last = monotonic() + END_WITHIN;
                    while signal == Signal::SIGTERM
                        && monotonic() < last
                        && child.try_wait().map_err(failed)?.is_none()
                    {
                        std::thread::sleep(LOOK_AGAIN);
                    }
                }
                child.wait().map_err(failed)?;
                return Ok(done || is_done());
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// Returns the file to start.
    fn found(&self) -> Option<PathBuf> {
        if self.program.as_encoded_bytes().contains(&b'/') {
            return Some(PathBuf::from(&self.program));
        }
        let path = self.env.iter().rev().find(|(name, _)| name == "PATH");
        match path.and_then(|(_, path)| path.as_ref()) {
            Some(path) => programs::find(self.program.to_str()?, path.to_str()?, Path::new("/")),
            None => programs::own(&self.program),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "one of the two doors to other programs")]
    fn bare_command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.args(&self.args).env("PATH", programs::own_path());
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// The program, which hears at once when we are killed.
    #[expect(clippy::disallowed_methods, reason = "the program inherits what we see")]
    fn program<'a>(&'a self, file: &'a Path) -> Program<'a> {
        let mut env: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        env.insert("PATH".into(), programs::own_path());
        for (name, value) in &self.env {
            match value {
                Some(value) => env.insert(name.clone(), value.clone()),
                None => env.remove(name),
            };
        }
        Program {
            file,
            args: self.args.clone(),
            env: env.into_iter().collect(),
            cwd: self.cwd.as_deref(),
            listens: !self.stdin.is_empty(),
            bond: Bond::Tied(Signal::SIGTERM),
        }
    }
}

/// The pipes to a program: what it hears, what it answers, what it complains about.
type ToolPipes = (Option<PipeWriter>, Option<PipeReader>, Option<PipeReader>);

/// What is said to a program and what it answers, on one thread: a call of git takes about as long
/// as the start of the three threads that would wait for its pipes.
struct ToolTalk<'a> {
    stdin: Option<PipeWriter>,
    /// What it has not been told yet.
    untold: &'a [u8],
    pipes: [Option<PipeReader>; 2],
    answers: [Vec<u8>; 2],
}

impl<'a> ToolTalk<'a> {
    fn new(untold: &'a [u8], (stdin, stdout, stderr): ToolPipes) -> io::Result<Self> {
        let pipes = [stdout, stderr];
        for pipe in stdin.iter().map(AsFd::as_fd).chain(pipes.iter().flatten().map(AsFd::as_fd)) {
            let flags = OFlag::from_bits_retain(fcntl(pipe, FcntlArg::F_GETFL)?);
            fcntl(pipe, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        }
        Ok(Self { stdin, untold, pipes, answers: [Vec::new(), Vec::new()] })
    }

    /// Drains both pipes while stdin is fed, so no full pipe can block the program. Returns
    /// whether it closed them before the deadline.
    fn finish_by(&mut self, deadline: Instant) -> io::Result<bool> {
        while self.pipes.iter().any(Option::is_some) {
            let stdin = self.stdin.iter().map(|pipe| (pipe.as_fd(), PollFlags::POLLOUT));
            let pipes = self.pipes.iter().flatten();
            let pipes = pipes.map(|pipe| (pipe.as_fd(), PollFlags::POLLIN));
            let mut fds: Vec<PollFd<'_>> =
                stdin.chain(pipes).map(|(fd, flags)| PollFd::new(fd, flags)).collect();
            let left = deadline.saturating_duration_since(monotonic());
            if left.is_zero() {
                return Ok(false);
            }
            let left = PollTimeout::try_from(left + Duration::from_millis(1));
            match poll(&mut fds, left.unwrap_or(PollTimeout::MAX)) {
                Ok(0) | Err(Errno::EINTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            self.tell();
            self.listen()?;
        }
        Ok(true)
    }

    /// Says what fits. A program that does not want to hear more has its reason.
    fn tell(&mut self) {
        while let Some(pipe) = &mut self.stdin {
            match pipe.write(self.untold) {
                Ok(count) => self.untold = &self.untold[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.untold = &[],
            }
            if self.untold.is_empty() {
                self.stdin = None;
            }
        }
    }

    fn listen(&mut self) -> io::Result<()> {
        for (pipe, answer) in self.pipes.iter_mut().zip(&mut self.answers) {
            // What was read is kept, also where there is nothing more for now.
            match pipe.as_mut().map(|pipe| pipe.read_to_end(answer)) {
                Some(Ok(_)) => *pipe = None,
                Some(Err(error)) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Waits for a program that has closed its output and so is about to end.
fn wait_until(child: &mut StartedChild, deadline: Instant) -> io::Result<i32> {
    // Mostly it takes the kernel a few hundredths of a millisecond.
    let mut pause = Duration::from_micros(20);
    loop {
        if let Some(code) = child.try_wait()? {
            return Ok(code);
        }
        if monotonic() > deadline {
            child.kill();
            return child.wait();
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Tool {
        Tool::new("sh").args(["-c", script])
    }

    #[test]
    fn an_attended_program_holds_the_lock_until_it_ends() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let lock = Lock::try_take(&path).unwrap();
        // A reader of its input is not kept waiting.
        let tool = sh("cat > read; echo x > begun; while test ! -e go; do sleep 0.01; done");
        let tool = tool.cwd(dir.path());
        std::thread::scope(|scope| {
            let run = scope.spawn(|| tool.attend(&lock, || false));
            while !dir.path().join("begun").exists() {
                std::thread::yield_now();
            }
            // It is held by both.
            assert!(Lock::is_held(&path));
            std::fs::write(dir.path().join("go"), "").unwrap();
            assert!(!run.join().unwrap().unwrap());
        });
        drop(lock);
        assert!(!Lock::is_held(&path));
    }

    #[test]
    fn an_attended_program_ends_with_its_children_when_it_is_done_or_late() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        for is_done in [true, false] {
            let lock = Lock::try_take(&path).unwrap();
            let tool = sh("(sleep 100; :) | cat").timeout(Duration::from_millis(50));
            assert_eq!(tool.attend(&lock, || is_done).unwrap(), is_done);
            drop(lock);
            // Its children have the lock, too.
            Lock::take(&path).unwrap();
        }
    }

    #[test]
    fn output_error_and_code_come_back() {
        let output = sh("cat; echo oh >&2; exit 3").stdin("hello\n").output().unwrap();
        assert_eq!(
            (output.code, output.text(), output.complaint()),
            (3, "hello".into(), "oh".into())
        );
    }

    #[test]
    fn a_full_stderr_pipe_blocks_nobody() {
        let output = sh("head -c 1000000 /dev/zero >&2; echo done").output().unwrap();
        assert_eq!((output.text(), output.stderr.len()), ("done".into(), 1_000_000));
    }

    #[test]
    fn a_program_is_heard_while_it_is_told_more_than_a_pipe_holds() {
        let told = vec![b'x'; 3_000_000];
        assert_eq!(sh("cat").stdin(told.clone()).output().unwrap().stdout, told);
        // One that does not listen to the end answers all the same.
        let output = sh("head -c 1; exec <&-; echo done").stdin(told).output().unwrap();
        assert_eq!((output.code, output.text()), (0, "xdone".into()));
    }

    #[test]
    fn a_program_that_is_told_nothing_finds_nothing() {
        assert_eq!(sh("cat; echo end").output().unwrap().text(), "end");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = Tool::new("no-such-program-here").output().unwrap_err();
        assert!(
            matches!(error, ToolError::NotInstalled { program } if program == "no-such-program-here")
        );
    }

    #[test]
    fn a_program_that_hangs_is_ended() {
        let error = sh("exec sleep 60").timeout(Duration::from_millis(50)).output().unwrap_err();
        assert!(matches!(error, ToolError::TimedOut { .. }));
    }

    #[test]
    fn death_by_signal_has_the_shells_code() {
        assert_eq!(sh("kill -9 $$").output().unwrap().code, 137);
    }
}
