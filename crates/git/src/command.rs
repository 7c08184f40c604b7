//! One call of git: the same few settings every time, and nothing inherited.
//!
//! What a user's shell or a hook exports (`GIT_DIR` inside `git rebase --exec`, say) would
//! silently point git elsewhere, so every `GIT_*` variable is taken away first. The settings
//! below switch off what would run programs, start background work, or write files other than
//! the one asked for; and those that would make a stored tree depend on more than its files.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use spore_effects::{Tool, ToolError, ToolOutput};

use crate::GitError;

/// For every call, also on the user's own files.
const CAREFUL: [&str; 12] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    // An agent can set a file's mtime back, but not its ctime.
    "core.trustctime=true",
    "core.checkStat=default",
    "core.safecrlf=false",
    // Never start a git inside a submodule's directory.
    "submodule.recurse=false",
    "i18n.commitEncoding=UTF-8",
    // A ref must not survive a power cut that its objects do not.
    "core.fsync=committed",
    "core.fsyncMethod=batch",
];

/// For checkouts, which are ours, and for reading: here the shape of the user's index and
/// the part of the files that they look at do not count.
const OF_OURS: [&str; 5] = [
    "core.untrackedCache=false",
    // A split index keeps its other half in the user's git directory.
    "core.splitIndex=false",
    // The user may look at a part of the repository; a checkout has all of it.
    "core.sparseCheckout=false",
    "index.sparse=false",
    "diff.ignoreSubmodules=all",
];

/// The oldest git that understands our calls: `rev-parse --path-format` and settings by
/// `GIT_CONFIG_COUNT` came with it.
pub const OLDEST_GIT: (u32, u32) = (2, 31);

/// The oldest git with which all promises of this crate hold. Before it `GIT_ATTR_SOURCE` is
/// not understood, so that an agent's own attributes decide on line endings and encodings, and
/// before 2.36 neither is `core.fsync`.
pub const SOUND_GIT: (u32, u32) = (2, 41);

/// Returns whether the git on this machine is a [`SOUND_GIT`]. It is asked once.
pub(crate) fn is_sound() -> bool {
    static SOUND: OnceLock<bool> = OnceLock::new();
    *SOUND.get_or_init(|| {
        let answer = Tool::new("git").arg("version").output().map(|answer| answer.text());
        answer.is_ok_and(|text| version_in(&text).is_some_and(|found| found >= SOUND_GIT))
    })
}

/// Reads `git version 2.39.5 (Apple Git-154)`.
fn version_in(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split_whitespace().nth(2)?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// A call being put together. `action` completes "cannot …" in an error.
#[derive(Clone)]
pub(crate) struct Git {
    tool: Tool,
    action: &'static str,
    cwd: PathBuf,
}

impl Git {
    pub(crate) fn new(action: &'static str, cwd: &Path) -> Self {
        Self::careful(action, cwd).set(&OF_OURS)
    }

    /// A call that may write the user's own index: its shape stays theirs.
    pub(crate) fn careful(action: &'static str, cwd: &Path) -> Self {
        let tool = Tool::new("git")
            .without_env_of("GIT_")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .cwd(cwd);
        Self { tool, action, cwd: cwd.to_owned() }.set(&CAREFUL)
    }

    /// Adds settings. To be called before the first argument.
    pub(crate) fn set(mut self, settings: &[&str]) -> Self {
        self.tool = settings.iter().fold(self.tool, |tool, setting| tool.arg("-c").arg(setting));
        self
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.tool = self.tool.args(args);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.tool = self.tool.env(name, value);
        self
    }

    /// Takes the programs of these filter drivers away.
    pub(crate) fn without_filters(self, drivers: &[OsString]) -> Self {
        let settings = [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")];
        let keys = drivers.iter().flat_map(|driver| {
            settings.map(|(variable, value)| (key("filter", driver, variable), value))
        });
        self.configured(keys)
    }

    /// Puts a program that always gives up in the place of these merge drivers: what they
    /// would have merged is a conflict.
    pub(crate) fn without_merge_drivers(self, drivers: &[OsString]) -> Self {
        self.configured(drivers.iter().map(|driver| (key("merge", driver, "driver"), "false")))
    }

    /// Sets configuration in a way that takes any key. Only the last call counts.
    fn configured<'a>(mut self, pairs: impl Iterator<Item = (OsString, &'a str)>) -> Self {
        let mut count = 0;
        for (key, value) in pairs {
            self = self
                .env(&format!("GIT_CONFIG_KEY_{count}"), key)
                .env(&format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
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

/// The key of a driver's setting. Not for `-c`: a driver's name may hold an equals sign.
fn key(family: &str, driver: &OsStr, variable: &str) -> OsString {
    let mut key = OsString::from(format!("{family}."));
    key.push(driver);
    key.push(format!(".{variable}"));
    key
}

/// Splits what git prints with `-z`.
pub(crate) fn records(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == 0).filter(|record| !record.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_whoever_built_it() {
        assert_eq!(version_in("git version 2.39.5"), Some((2, 39)));
        assert_eq!(version_in("git version 2.50.1 (Apple Git-155)"), Some((2, 50)));
        assert_eq!(version_in("git version 2.41.0.windows.1"), Some((2, 41)));
        assert_eq!(version_in("git"), None);
    }
}
