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

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

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
        let mut child = self.command(&found).spawn().map_err(failed)?;
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // Both pipes are drained while stdin is fed, so no full pipe can block the program;
        // the end of stdout is what the deadline waits for.
        let (sender, ended) = std::sync::mpsc::channel();
        let output = std::thread::scope(|scope| {
            scope.spawn(move || stdin.map(|mut pipe| pipe.write_all(&self.stdin)));
            let errors = scope.spawn(move || read_all(stderr));
            let answer = scope.spawn(move || {
                let answer = read_all(stdout);
                let _ = sender.send(());
                answer
            });
            let in_time = ended.recv_timeout(self.timeout).is_ok();
            if !in_time {
                let _ = kill(pid, Signal::SIGKILL);
            }
            let answer = answer.join().unwrap_or_else(|_| Ok(Vec::new()));
            let errors = errors.join().unwrap_or_else(|_| Ok(Vec::new()));
            (in_time, answer, errors)
        });
        let (in_time, stdout, stderr) = output;
        let status = wait_until(&mut child, monotonic() + self.timeout).map_err(failed)?;
        if !in_time {
            return Err(ToolError::TimedOut { program, seconds: self.timeout.as_secs() });
        }
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        Ok(ToolOutput { code, stdout: stdout.map_err(failed)?, stderr: stderr.map_err(failed)? })
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

    #[expect(unsafe_code, reason = "pre_exec: two async-signal-safe system calls")]
    fn command(&self, program: &Path) -> Command {
        let mut command = self.bare_command(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let parent = nix::unistd::getpid();
        // SAFETY: between fork and exec only prctl and getppid are called.
        unsafe {
            command.pre_exec(move || {
                nix::sys::prctl::set_pdeathsig(Signal::SIGTERM)?;
                // We may have died before the line above took effect.
                if nix::unistd::getppid() != parent {
                    return Err(io::Error::other("the parent is gone"));
                }
                Ok(())
            });
        }
        command
    }
}

fn read_all(pipe: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Waits for a program that has closed its output and so is about to end.
fn wait_until(
    child: &mut std::process::Child,
    deadline: Instant,
) -> io::Result<std::process::ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if monotonic() > deadline {
            child.kill()?;
            return child.wait();
        }
        std::thread::sleep(Duration::from_micros(200));
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
