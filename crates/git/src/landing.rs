//! The user's own files and index, turned from one commit into another.
//!
//! The only place of this crate that writes them, and only when the user asked for it. Before
//! anything is written it is known that everything concerned is as the first commit has it;
//! what is not concerned, edited or not, stays untouched. Git's two-way `read-tree` does the
//! work: it looks at all files before it writes one, and it keeps what already is as the
//! second commit wants it, so doing it twice is doing it once.
//!
//! No filter program runs: files that need one are in the way, and the user merges by hand.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use spore_effects::Effect;
use spore_effects::files::remove_all;
use spore_model::CommitId;

use crate::clone::copy_index;
use crate::command::{Git, records};
use crate::listing::{Name, TreeEntry, TreeListing, below, inside, parents};
use crate::repository::text;
use crate::{GitError, Repository};

/// Why the user's files cannot be turned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// Edited, staged or deleted, and not committed.
    Edited(String),
    /// Not tracked, and where a file of the commit would go.
    Untracked(String),
    /// A filter of the user's makes its content.
    Filtered(String),
    /// What git says against it.
    Other(String),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edited(path) => write!(f, "{path} has uncommitted changes"),
            Self::Untracked(path) => write!(f, "{path} is not tracked and would be overwritten"),
            Self::Filtered(path) => write!(f, "{path} goes through a filter of yours"),
            Self::Other(complaint) => f.write_str(complaint),
        }
    }
}

/// A path that differs between two commits.
struct LandingStep {
    name: Name,
    old: Option<Version>,
    new: Option<Version>,
}

struct Version {
    mode: String,
    object: String,
}

impl Version {
    fn entry(&self) -> TreeEntry<'_> {
        TreeEntry { mode: &self.mode, object: &self.object }
    }
}

impl Repository {
    /// Returns what of the user's stands against turning their files from `from` into `to`.
    /// Nothing is written but `scratch`, a file that is gone afterwards.
    pub fn obstacles(
        &self,
        from: &CommitId,
        to: &CommitId,
        scratch: &Path,
    ) -> Result<Vec<Obstacle>, GitError> {
        let steps = self.steps(from, to)?;
        if steps.is_empty() {
            return Ok(Vec::new());
        }
        let copied = self.copy_users_index(scratch);
        let found = copied.and_then(|()| self.look_for_obstacles(from, to, &steps, scratch));
        for path in [scratch.to_owned(), scratch.with_extension("lock")] {
            remove_all(&path).map_err(GitError::io(&path))?;
        }
        found
    }

    /// Turns the user's files and index. The caller has found no obstacle; what came up since
    /// makes git refuse before it writes anything.
    pub fn turn(&self, from: &CommitId, to: &CommitId) -> Result<(), GitError> {
        self.probe().around(Effect::Checkout, "files of the user", || {
            self.refresh(&self.on_users_files("look at your files"), "--refresh")?;
            let call = self.on_users_files("update your files").args(["read-tree", "-m", "-u"]);
            call.args([from.as_str(), to.as_str()]).run()?;
            Ok(())
        })
    }

    /// Makes the index agree with files that an interrupted [`Self::turn`] wrote before it
    /// wrote the index, and removes the one it was writing. Nothing else is touched: a file
    /// is one of these only if it holds what `to` has, or the beginning of it. Returns what of
    /// the user's is in the way by now; then nothing was done.
    pub fn mend_turn(&self, from: &CommitId, to: &CommitId) -> Result<Vec<Obstacle>, GitError> {
        let answer = self.on_users_files("read your index").args(["ls-files", "-z", "--stage"]);
        let indexed = TreeListing::parse("read your index", answer.run()?.stdout)?;
        let steps = self.steps(from, to)?;
        let open =
            |step: &&LandingStep| indexed.get(&step.name) == step.old.as_ref().map(Version::entry);
        let (mut written, mut torn, mut to_come) = (Vec::new(), Vec::new(), Vec::new());
        for step in steps.iter().filter(open) {
            match self.progress(step)? {
                PathProgress::Untouched => to_come.push(step),
                PathProgress::Written => {
                    written.extend_from_slice(&step.name);
                    written.push(0);
                }
                PathProgress::Torn => torn.push(below(self.root(), &step.name)),
            }
        }
        let obstacles = self.untracked_in_the_way(from, to_come)?;
        if !obstacles.is_empty() {
            return Ok(obstacles);
        }
        self.probe().around(Effect::Checkout, "index of the user", || {
            for path in torn {
                remove_all(&path).map_err(GitError::io(&path))?;
            }
            if !written.is_empty() {
                let call = self.on_users_files("update your index").stdin(written);
                call.args(["update-index", "--add", "--remove", "-z", "--stdin"]).run()?;
            }
            Ok(Vec::new())
        })
    }

    fn look_for_obstacles(
        &self,
        from: &CommitId,
        to: &CommitId,
        steps: &[LandingStep],
        index: &Path,
    ) -> Result<Vec<Obstacle>, GitError> {
        let git = |action| {
            let call = self.on_users_files(action).set(&["core.splitIndex=false"]);
            call.env("GIT_INDEX_FILE", index)
        };
        // Whatever the user let git assume: a file that is not looked at here is taken for
        // unchanged from now on, also if it was edited in the second that it was written in.
        self.refresh(&git("look at your files"), "--really-refresh")?;
        let mut obstacles = Vec::new();
        let edited = git("look for uncommitted changes");
        let edited = edited.args(["diff-files", "-z", "--name-only", "--ignore-submodules=all"]);
        let staged = git("look for staged changes").args(["diff-index", "--cached", "-z"]);
        let staged = staged.args(["--name-only", "--no-renames", from.as_str(), "--"]);
        let (edited, staged) = (edited.run()?.stdout, staged.run()?.stdout);
        let dirty: HashSet<&[u8]> = records(&edited).chain(records(&staged)).collect();
        let touched = steps.iter().filter(|step| dirty.contains(&step.name[..]));
        obstacles.extend(touched.map(|step| Obstacle::Edited(text(&step.name))));
        obstacles.extend(self.untracked_in_the_way(from, steps)?);
        obstacles.extend(self.filtered(to, steps)?);
        if obstacles.is_empty() {
            let call = git("update your files").args(["read-tree", "-m", "-u", "--dry-run"]);
            let answer = call.args([from.as_str(), to.as_str()]).answer()?;
            if !answer.is_success() {
                obstacles.push(Obstacle::Other(answer.complaint()));
            }
        }
        Ok(obstacles)
    }

    /// Git would overwrite ignored files without a word; to the user they may be dear.
    fn untracked_in_the_way<'s>(
        &self,
        from: &CommitId,
        steps: impl IntoIterator<Item = &'s LandingStep>,
    ) -> Result<Vec<Obstacle>, GitError> {
        let added: Vec<&LandingStep> =
            steps.into_iter().filter(|step| step.old.is_none()).collect();
        if added.is_empty() {
            return Ok(Vec::new());
        }
        let listing = self.listing(from)?;
        let mut found: Vec<Name> = Vec::new();
        for step in added {
            let blocks = |folder: &&[u8]| {
                let path = below(self.root(), folder);
                fs::symlink_metadata(&path).is_ok_and(|metadata| !metadata.is_dir())
                    && !listing.contains(folder)
            };
            found.extend(parents(&step.name).find(blocks).map(<[u8]>::to_vec));
            untracked_at(self.root(), &step.name, &listing, &mut found)?;
        }
        found.sort_unstable();
        found.dedup();
        Ok(found.iter().map(|name| Obstacle::Untracked(text(name))).collect())
    }

    /// Returns the files that one of the user's filters would have to write.
    fn filtered(&self, to: &CommitId, steps: &[LandingStep]) -> Result<Vec<Obstacle>, GitError> {
        if self.filters().is_empty() {
            return Ok(Vec::new());
        }
        let mut question = Vec::new();
        for step in steps.iter().filter(|step| step.new.is_some()) {
            question.extend_from_slice(&step.name);
            question.push(0);
        }
        let call = self.on_users_files("read the attributes").env("GIT_ATTR_SOURCE", to.as_str());
        let call = call.args(["check-attr", "-z", "--stdin", "filter"]).stdin(question);
        let answer = call.run()?.stdout;
        let words: Vec<&[u8]> = records(&answer).collect();
        let (triples, _) = words.as_chunks::<3>();
        let is_filter =
            |value: &[u8]| self.filters().iter().any(|name| name == OsStr::from_bytes(value));
        let hits = triples.iter().filter(|[_, _, value]| is_filter(value));
        Ok(hits.map(|[name, _, _]| Obstacle::Filtered(text(name))).collect())
    }

    /// Returns how far an interrupted turn came with one path.
    fn progress(&self, step: &LandingStep) -> Result<PathProgress, GitError> {
        let path = below(self.root(), &step.name);
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if is_absence(&error) => {
                let gone = step.new.is_none();
                return Ok(if gone { PathProgress::Written } else { PathProgress::Untouched });
            }
            Err(source) => return Err(GitError::Io { path, source }),
        };
        let Some(new) = step.new.as_ref().map(Version::entry).filter(|new| !new.is_submodule())
        else {
            return Ok(PathProgress::Untouched);
        };
        let blob = self.read_blobs(&[new.object])?.pop().flatten().unwrap_or_default();
        if metadata.is_symlink() {
            let target = fs::read_link(&path).map_err(GitError::io(&path))?;
            let same = !new.is_file() && target.as_os_str().as_bytes() == blob;
            return Ok(if same { PathProgress::Written } else { PathProgress::Untouched });
        }
        if !metadata.is_file() || !new.is_file() {
            return Ok(PathProgress::Untouched);
        }
        let content = fs::read(&path).map_err(GitError::io(&path))?;
        if self.stored_as(&step.name, &content)? == new.object {
            return Ok(PathProgress::Written);
        }
        let torn = content.len() < blob.len() && blob.starts_with(&content);
        Ok(if torn { PathProgress::Torn } else { PathProgress::Untouched })
    }

    /// Returns the object that a file with this content would be stored as.
    fn stored_as(&self, name: &[u8], content: &[u8]) -> Result<String, GitError> {
        let call = self.on_users_files("read a file").args(["hash-object", "--stdin", "--path"]);
        Ok(call.args([OsStr::from_bytes(name)]).stdin(content).run()?.text())
    }

    fn steps(&self, from: &CommitId, to: &CommitId) -> Result<Vec<LandingStep>, GitError> {
        let action = "compare two commits";
        let call = self.git(action).args(["diff-tree", "-r", "-z", "--raw", "--no-renames"]);
        let call = call.args(["--no-abbrev", "--ignore-submodules=none"]);
        let answer = call.args([from.as_str(), to.as_str(), "--"]).run()?.stdout;
        parse_steps(&answer).ok_or_else(|| GitError::unreadable(action, &answer))
    }

    /// Lets the index know of files that were touched and not changed.
    fn refresh(&self, call: &Git, how: &str) -> Result<(), GitError> {
        let call = call.clone().args(["update-index", how]);
        let answer = call.answer()?;
        // 1 says that some files are changed.
        if answer.code > 1 { Err(call.failure(&answer)) } else { Ok(()) }
    }

    fn copy_users_index(&self, to: &Path) -> Result<(), GitError> {
        let index = self.own_git_dir().join("index");
        match copy_index(&index, to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !index.exists() => Ok(()),
            copied => copied.map_err(GitError::io(to)),
        }
    }
}

/// How far an interrupted turn came with one path.
enum PathProgress {
    Untouched,
    Written,
    Torn,
}

/// Adds to `found` what lies at `name`, or below it, and is not of the commit.
fn untracked_at(
    root: &Path,
    name: &[u8],
    listing: &TreeListing,
    found: &mut Vec<Name>,
) -> Result<(), GitError> {
    let path = below(root, name);
    let metadata = match fs::symlink_metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if is_absence(&error) => return Ok(()),
        Err(source) => return Err(GitError::Io { path, source }),
    };
    if !metadata.is_dir() {
        if !listing.contains(name) {
            found.push(name.to_vec());
        }
        return Ok(());
    }
    for entry in fs::read_dir(&path).map_err(GitError::io(&path))? {
        let entry = entry.map_err(GitError::io(&path))?;
        let inner = inside(name, &entry.file_name());
        untracked_at(root, &inner, listing, found)?;
    }
    Ok(())
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Reads `:mode mode object object status`, then the path, any number of times.
fn parse_steps(answer: &[u8]) -> Option<Vec<LandingStep>> {
    let mut records = records(answer);
    let mut steps = Vec::new();
    while let Some(head) = records.next() {
        let head = std::str::from_utf8(head.strip_prefix(b":")?).ok()?;
        let mut words = head.split(' ');
        let modes = (words.next()?, words.next()?);
        let objects = (words.next()?, words.next()?);
        let version = |mode: &str, object: &str| {
            let version = Version { mode: mode.to_owned(), object: object.to_owned() };
            (mode != "000000").then_some(version)
        };
        steps.push(LandingStep {
            name: records.next()?.to_vec(),
            old: version(modes.0, objects.0),
            new: version(modes.1, objects.1),
        });
    }
    Some(steps)
}
