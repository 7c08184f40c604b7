//! A hermetic place to run `spore` in.

use std::any::Any;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// Where no server listens.
const NOBODY: &str = "http://127.0.0.1:1";

/// A temporary home with one repository in it. Time stands still; every command has a seed
/// of its own, so that ids differ between commands and repeat between test runs.
pub struct TestEnv {
    dir: TempDir,
    exe: PathBuf,
    commands: Cell<u64>,
    variables: Vec<(String, String)>,
    guests: Vec<Box<dyn Any + Send>>,
}

/// What a command printed, and its exit code. A test must check it: an unchecked output hides
/// a failure.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramOutput {
    /// 128 + n for death by signal n.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl ProgramOutput {
    /// Asserts the exit code and gives the rest on.
    #[track_caller]
    pub fn code(self, expected: i32) -> Self {
        assert_eq!(self.code, expected, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Returns stdout as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| {
            panic!("{error} in stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr)
        })
    }

    /// Renders all of it for a snapshot.
    pub fn render(&self) -> String {
        format!("exit code: {}\n--- stdout\n{}--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

impl TestEnv {
    /// Makes an empty place for the program at `exe`.
    pub fn new(exe: impl Into<PathBuf>) -> Self {
        // In memory where that is to be had: the program syncs a lot, and what is on trial is
        // the order of its writes, not the disk.
        let place = Some(Path::new("/dev/shm")).filter(|shm| shm.is_dir());
        let place = place.map_or_else(std::env::temp_dir, Path::to_owned);
        let dir = tempfile::Builder::new()
            .prefix("spore-test-")
            .tempdir_in(&place)
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        let (variables, guests) = (Vec::new(), Vec::new());
        let env = Self { dir, exe: exe.into(), commands: Cell::new(0), variables, guests };
        for name in ["home", "state", "config", "repo"] {
            std::fs::create_dir(env.dir.path().join(name)).unwrap();
        }
        env
    }

    /// Sets a variable for every command of this place.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Keeps something alive for as long as this place is there: a server, for instance, that
    /// its variables name.
    #[must_use]
    pub fn keeping(mut self, guest: impl Any + Send) -> Self {
        self.guests.push(Box::new(guest));
        self
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn repo(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    pub fn exe(&self) -> &Path {
        &self.exe
    }

    /// Writes a file of the repository.
    pub fn write(&self, path: &str, content: &str) {
        self.write_at(&self.repo().join(path), content);
    }

    pub fn write_at(&self, path: &Path, content: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Runs git in the repository and returns what it printed.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let mut command = self.command("git", &self.repo());
        command.env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z");
        command.env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z");
        let output = command.args(args).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {complaint}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Runs git on the bare repository of unverified work, if there is one yet.
    #[track_caller]
    pub fn work_git(&self, args: &[&str]) -> String {
        if !self.repo().join(".spore/work.git").exists() {
            return String::new();
        }
        self.git(&[&["--git-dir=.spore/work.git"], args].concat())
    }

    /// Makes the repository one, with everything in it committed.
    pub fn commit_all(&self, message: &str) {
        if !self.repo().join(".git").exists() {
            self.git(&["init", "--quiet", "--initial-branch=main"]);
            self.git(&["config", "user.name", "Test"]);
            self.git(&["config", "user.email", "test@localhost"]);
        }
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
    }

    /// Runs spore in the repository.
    pub fn spore(&self, args: &[&str]) -> ProgramOutput {
        self.spore_in(&self.repo(), args, &[])
    }

    pub fn spore_in(&self, dir: &Path, args: &[&str], variables: &[(&str, &str)]) -> ProgramOutput {
        let child = self.start_in(dir, args, variables);
        self.finish(child)
    }

    /// Starts spore and does not wait.
    pub fn start_in(&self, dir: &Path, args: &[&str], variables: &[(&str, &str)]) -> Child {
        let mut command = self.command(&self.exe, dir);
        command.envs(variables.iter().copied());
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Waits for what [`Self::start_in`] started.
    pub fn finish(&self, child: Child) -> ProgramOutput {
        use std::os::unix::process::ExitStatusExt;
        let output = child.wait_with_output().unwrap();
        let code = output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap());
        ProgramOutput {
            code,
            stdout: self.normalise(&output.stdout),
            stderr: self.normalise(&output.stderr),
        }
    }

    /// Prepares a command in this environment and no other.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>, dir: &Path) -> Command {
        let count = self.commands.get() + 1;
        self.commands.set(count);
        let mut command = Command::new(program);
        command.current_dir(dir).env_clear();
        for name in ["PATH", "CARGO_HOME", "RUSTUP_HOME", "PYENV_ROOT"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        // Toolchains found through the real home must still be found.
        if let (None, Some(home)) = (std::env::var_os("RUSTUP_HOME"), std::env::var_os("HOME")) {
            command.env("RUSTUP_HOME", Path::new(&home).join(".rustup"));
            command.env("CARGO_HOME", Path::new(&home).join(".cargo"));
        }
        command
            .env("HOME", self.dir().join("home"))
            .env("XDG_STATE_HOME", self.dir().join("state"))
            .env("XDG_CONFIG_HOME", self.dir().join("config"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("SPORE_TEST_CLOCK", clock(count))
            .env("SPORE_TEST_SEED", count.to_string())
            // What the machine serves is not for a test to see.
            .env("SPORE_LOCAL_OLLAMA_ADDRESS", NOBODY)
            .env("SPORE_LOCAL_LLAMA_SERVER_ADDRESS", NOBODY)
            .env("SPORE_LOCAL_LMSTUDIO_ADDRESS", NOBODY)
            // What is played in the scenes leaves its marks at home.
            .env("SPORE_SANDBOX_WRITE", "~")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Replaces what differs between machines and test runs.
    fn normalise(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let real = self.dir().canonicalize().unwrap();
        text.replace(&real.display().to_string(), "$TEST_ENV")
            .replace(&self.dir().display().to_string(), "$TEST_ENV")
    }
}

/// One minute later with every command.
fn clock(command: u64) -> String {
    format!("2026-01-02T{:02}:{:02}:00Z", 3 + command / 60 % 20, command % 60)
}
