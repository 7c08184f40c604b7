//! One call of git: the same few settings every time, and nothing inherited.
//!
//! What a user's shell or a hook exports (`GIT_DIR` inside `git rebase --exec`, say) would
//! silently point git elsewhere, so every `GIT_*` variable is taken away first. The settings
//! below switch off what would run programs, start background work, or write files other than
//! the one asked for; and those that would make a stored tree depend on more than its files.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use spore_effects::{Tool, ToolError, ToolOutput};

use crate::GitError;

const SETTINGS: [&str; 17] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    // A split index keeps its other half in the user's git directory.
    "core.splitIndex=false",
    // The user may look at a part of the repository; a checkout has all of it.
    "core.sparseCheckout=false",
    "index.sparse=false",
    // An agent can set a file's mtime back, but not its ctime.
    "core.trustctime=true",
    "core.checkStat=default",
    "core.safecrlf=false",
    // Never start a git inside a submodule's directory.
    "submodule.recurse=false",
    "diff.ignoreSubmodules=all",
    "i18n.commitEncoding=UTF-8",
    // A ref must not survive a power cut that its objects do not.
    "core.fsync=committed",
    "core.fsyncMethod=batch",
];

/// The oldest git that understands our calls: `rev-parse --path-format` and settings by
/// `GIT_CONFIG_COUNT` came with it.
pub const OLDEST_GIT: (u32, u32) = (2, 31);

/// The oldest git with which all promises of this crate hold. Before it `GIT_ATTR_SOURCE` is
/// not understood, so that a reset checkout may take its line endings from leftovers, and
/// before 2.36 neither is `core.fsync`.
pub const SOUND_GIT: (u32, u32) = (2, 41);

/// A call being put together. `action` completes "cannot …" in an error.
pub(crate) struct Git {
    tool: Tool,
    action: &'static str,
    cwd: PathBuf,
}

impl Git {
    pub(crate) fn new(action: &'static str, cwd: &Path) -> Self {
        let inherited = std::env::vars_os().map(|(name, _)| name);
        let tool = inherited
            .filter(|name| name.as_bytes().starts_with(b"GIT_"))
            .fold(Tool::new("git"), Tool::without_env)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .cwd(cwd);
        let tool = SETTINGS.iter().fold(tool, |tool, setting| tool.arg("-c").arg(setting));
        Self { tool, action, cwd: cwd.to_owned() }
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.tool = self.tool.args(args);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.tool = self.tool.env(name, value);
        self
    }

    /// Takes the programs of these filter drivers away. Not by `-c`: a driver's name may
    /// hold an equals sign.
    pub(crate) fn without_filters(mut self, drivers: &[OsString]) -> Self {
        let mut count = 0;
        for driver in drivers {
            for (variable, value) in
                [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")]
            {
                let mut key = OsString::from("filter.");
                key.push(driver);
                key.push(".");
                key.push(variable);
                self = self
                    .env(&format!("GIT_CONFIG_KEY_{count}"), key)
                    .env(&format!("GIT_CONFIG_VALUE_{count}"), value);
                count += 1;
            }
        }
        self.env("GIT_CONFIG_COUNT", count.to_string())
    }

    pub(crate) fn stdin(mut self, content: impl Into<Vec<u8>>) -> Self {
        self.tool = self.tool.stdin(content);
        self
    }

    /// Runs git and returns its answer, whatever its code.
    pub(crate) fn answer(&self) -> Result<ToolOutput, GitError> {
        self.tool.output().map_err(|error| match error {
            // A working directory that is not there looks the same to the kernel.
            ToolError::NotInstalled { .. } if !self.cwd.is_dir() => {
                GitError::Vanished { dir: self.cwd.clone() }
            }
            ToolError::NotInstalled { .. } => GitError::NotInstalled,
            source => GitError::Tool { action: self.action, source },
        })
    }

    /// Runs git, which has to succeed.
    pub(crate) fn run(&self) -> Result<ToolOutput, GitError> {
        let answer = self.answer()?;
        if answer.is_success() { Ok(answer) } else { Err(self.failure(&answer)) }
    }

    pub(crate) fn failure(&self, answer: &ToolOutput) -> GitError {
        GitError::of_answer(self.action, &self.cwd, answer)
    }
}

/// Splits what git prints with `-z`.
pub(crate) fn records(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == 0).filter(|record| !record.is_empty())
}
