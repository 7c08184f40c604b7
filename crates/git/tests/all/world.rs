//! A user's repository and the place for checkouts, gone at the end of a test.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use spore_effects::Tool;
use spore_git::{Checkout, Exclusions, FileChange, Repository};
use spore_model::{CommitId, TreeId};

pub(crate) struct World {
    dir: tempfile::TempDir,
}

impl World {
    /// An empty directory, and nothing else.
    pub(crate) fn empty() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// A repository with one commit of what `script` makes in it.
    pub(crate) fn with(script: &str) -> Self {
        Self::with_format("sha1", script)
    }

    pub(crate) fn with_format(format: &str, script: &str) -> Self {
        let world = Self::empty();
        fs::create_dir(world.repo_dir()).unwrap();
        let init = format!(
            "git init -q -b main --object-format={format}
             git config user.name Ada; git config user.email ada@example.org"
        );
        let commit = "cd \"$HOME/repo\"; git add -A -f; git commit -q --allow-empty -m base";
        world.sh(&world.repo_dir(), &format!("{init}\n{script}\n{commit}"));
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn repo_dir(&self) -> PathBuf {
        self.path("repo")
    }

    /// Where checkouts go.
    pub(crate) fn place(&self) -> PathBuf {
        self.path("state/coder")
    }

    pub(crate) fn repo(&self) -> Repository {
        Repository::discover(&self.repo_dir()).unwrap()
    }

    /// A checkout of the user's HEAD.
    pub(crate) fn checkout(&self) -> (Checkout, CommitId) {
        let repo = self.repo();
        let head = repo.head().unwrap();
        (repo.checkout(&self.place(), &head).unwrap(), head)
    }

    /// Runs a script that has to succeed, with a home of its own.
    #[track_caller]
    pub(crate) fn sh(&self, dir: &Path, script: &str) -> String {
        let inherited = std::env::vars_os().map(|(name, _)| name);
        let output = inherited
            .filter(|name| name.to_string_lossy().starts_with("GIT_"))
            .fold(Tool::new("sh"), Tool::without_env)
            .args(["-e", "-c", script])
            .cwd(dir)
            .env("HOME", self.dir.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.is_success(), "{script}\n{}", output.complaint());
        output.text()
    }
}

/// The exclusions a user has by default.
pub(crate) fn exclusions() -> Exclusions {
    let patterns = [".env*", "*.db*", "target/", "node_modules/", ".claude/", "*.loop-state.json"];
    Exclusions::new(&patterns.map(String::from), &[])
}

/// Says what differs between a commit and a tree, a line a file.
pub(crate) fn changes(repo: &Repository, from: &CommitId, to: &TreeId) -> String {
    let diff = repo.diff(from, to, usize::MAX).unwrap();
    let line = |file: &spore_git::ChangedFile| match &file.status {
        FileChange::Added => format!("A {}", file.path),
        FileChange::Modified => format!("M {}", file.path),
        FileChange::Deleted => format!("D {}", file.path),
        FileChange::TypeChanged => format!("T {}", file.path),
        FileChange::Renamed { from } => format!("R {from} -> {}", file.path),
    };
    diff.files.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Every file below `dir` that `wanted` likes: its mode and content, or where it points.
pub(crate) fn photograph(
    dir: &Path,
    wanted: &dyn Fn(&str) -> bool,
) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut seen = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(dir).unwrap().to_string_lossy().into_owned();
            let metadata = fs::symlink_metadata(&path).unwrap();
            if !wanted(&name) {
                continue;
            }
            let content = if metadata.is_dir() {
                open.push(path);
                Vec::new()
            } else if metadata.is_symlink() {
                fs::read_link(&path).unwrap().to_string_lossy().into_owned().into_bytes()
            } else {
                fs::read(&path).unwrap()
            };
            seen.insert(name, (metadata.permissions().mode(), content));
        }
    }
    seen
}
