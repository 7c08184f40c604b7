//! A work tree for an agent or a gate, outside the user's.
//!
//! Beside the checkout, out of the reach of a sandboxed agent, lie four files of the same
//! name: `.state` says whether it was ever finished, `.index` is Spore's view of it, `.lock`
//! keeps two calls apart. `.laid` is the index as it was when git had written the files. Whether
//! a file changed since is only ever told by that one: git looks at whole seconds, and knows by
//! a file's own time when that is not enough; in `.laid` those times are git's, later an agent
//! may have set them. Every step may be cut off by a kill. A checkout that was never
//! finished is made again; a finished one is kept as it is, for it may hold work. The index
//! is a cache: lost or broken, it is built again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use spore_effects::Effect;
use spore_effects::files::{Lock, create_private_dir, remove_all, write_atomic};
use spore_model::CommitId;

use crate::clone::{copy_index, write_clone};
use crate::command::Git;
use crate::listing::{Name, TreeEntry, TreeListing, below};
use crate::rights::UsualRights;
use crate::survey::{Names, SurveyScope, WorkTreeSurvey, ignored, survey};
use crate::{GitError, Repository};

/// A finished checkout. Holds nothing open; the directory outlives it.
#[derive(Clone, Debug)]
pub struct Checkout {
    repository: Repository,
    dir: PathBuf,
}

/// What a reset does with ignored files: build output, mostly.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum IgnoredFiles {
    Keep,
    Remove,
}

/// What a sweep removed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Swept {
    Rubbish,
    /// A link in the place of a directory, too: the way to what should be in that.
    AWay,
}

impl Repository {
    /// Makes a checkout of `commit` at `place`, or returns the one that was finished there
    /// earlier, untouched, whatever commit it is on by now.
    pub fn checkout(&self, place: &Path, commit: &CommitId) -> Result<Checkout, GitError> {
        self.checkout_at(place, commit, None)
    }

    pub(crate) fn checkout_at(
        &self,
        place: &Path,
        commit: &CommitId,
        spares: Option<&Path>,
    ) -> Result<Checkout, GitError> {
        let dir = std::path::absolute(place).map_err(GitError::io(place))?;
        let checkout = Checkout { repository: self.clone(), dir };
        let parent = checkout.dir.parent().unwrap_or(&checkout.dir);
        create_private_dir(parent).map_err(GitError::io(parent))?;
        let _lock = checkout.lock()?;
        if !checkout.is_finished() {
            checkout.effect("make", || checkout.make(commit, spares))?;
        }
        Ok(checkout)
    }
}

impl Checkout {
    /// Returns the checkout at `place` if it was finished earlier.
    pub fn open(repository: &Repository, place: &Path) -> Option<Self> {
        let dir = std::path::absolute(place).ok()?;
        let checkout = Self { repository: repository.clone(), dir };
        checkout.is_finished().then_some(checkout)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Turns the work tree into exactly `commit`, and the agent's `.git` into a fresh one on
    /// it. Untracked files go. Ignored ones stay, by the rules of `commit` and those that a
    /// cache directory brings for itself.
    pub fn reset(&self, commit: &CommitId) -> Result<(), GitError> {
        self.effect("reset", || self.reset_to(commit, IgnoredFiles::Keep))
    }

    /// Like [`Self::reset`], but ignored files go too.
    pub fn reset_all(&self, commit: &CommitId) -> Result<(), GitError> {
        self.effect("reset", || self.reset_to(commit, IgnoredFiles::Remove))
    }

    /// Removes the checkout and what lies beside it. The caller knows that nothing in it is
    /// worth keeping.
    pub fn discard(self) -> Result<(), GitError> {
        let lock = self.lock()?;
        self.effect("discard", || self.clear(lock))
    }

    /// Performs an effect on this checkout, named by what is done to which directory.
    pub(crate) fn effect<T>(&self, deed: &str, act: impl FnOnce() -> T) -> T {
        let name = self.dir.file_name().unwrap_or_default().to_string_lossy();
        self.repository.probe().around(Effect::Checkout, &format!("{deed} {name}"), act)
    }

    /// Removes what there is, the lock with it.
    pub(crate) fn clear(&self, lock: Lock) -> Result<(), GitError> {
        self.wipe()?;
        // The state goes last: until then the place is known to be ours.
        for suffix in ["state", "lock"] {
            let path = self.beside(suffix);
            remove_all(&path).map_err(GitError::io(&path))?;
        }
        drop(lock);
        Ok(())
    }

    fn make(&self, commit: &CommitId, spares: Option<&Path>) -> Result<(), GitError> {
        self.repository.tree_of(commit)?;
        let state = self.beside("state");
        if !state.exists() && !is_free(&self.dir)? {
            return Err(GitError::Occupied { dir: self.dir.clone() });
        }
        write_atomic(&state, b"begun\n").map_err(GitError::io(&state))?;
        self.wipe()?;
        if !spares.is_some_and(|spares| self.adopt_spare(spares, commit)) {
            self.wipe()?;
            create_private_dir(&self.dir).map_err(GitError::io(&self.dir))?;
            self.read_tree(commit)?;
        }
        self.write_clone(commit)?;
        let finished = format!("finished {commit}\n");
        write_atomic(&state, finished.as_bytes()).map_err(GitError::io(&state))
    }

    fn reset_to(&self, commit: &CommitId, ignored: IgnoredFiles) -> Result<(), GitError> {
        let _lock = self.enter()?;
        self.bring_to(commit, ignored)?;
        self.write_clone(commit)
    }

    /// Makes the files those of `commit`.
    pub(crate) fn bring_to(
        &self,
        commit: &CommitId,
        ignored: IgnoredFiles,
    ) -> Result<(), GitError> {
        let target = self.repository.listing(commit)?;
        let indexed = self.indexed()?;
        let usual = UsualRights::learn(&self.beside("spare"))?;
        usual.put_folders_right(&self.dir, indexed.folders().chain(target.folders()))?;
        // Line endings and the like follow the attributes. Where those change, files that
        // look up to date may be not, so all are written again.
        if attributes(&indexed) != attributes(&target) {
            self.forget_index()?;
        }
        self.read_tree(commit)?;
        if self.sweep(&target, ignored)? == Swept::AWay {
            // git took what lay behind a link for the files themselves.
            self.read_tree(commit)?;
        }
        Ok(())
    }

    /// Removes what is not of the commit.
    fn sweep(&self, target: &TreeListing, ignored: IgnoredFiles) -> Result<Swept, GitError> {
        let rules = |names: &[&Name]| match ignored {
            IgnoredFiles::Keep => self.ignored(names),
            IgnoredFiles::Remove => Ok(Names::new()),
        };
        let scope = SurveyScope { is_own: true, skip: &|_, _| false, ignored: &rules };
        let found = loop {
            match survey(&self.dir, target, &scope) {
                Err(GitError::Unusable { path } | GitError::TooDeep { path }) => {
                    remove_all(&path).map_err(GitError::io(&path))?;
                }
                found => break found?,
            }
        };
        let WorkTreeSurvey { untracked, foreign, folders, .. } = found;
        let mut swept = Swept::Rubbish;
        for name in untracked.iter().chain(&foreign) {
            let path = below(&self.dir, name);
            remove_all(&path).map_err(GitError::io(&path))?;
            if target.has_folder(name) {
                swept = Swept::AWay;
            }
        }
        let is_submodule = |name: &Name| target.get(name).is_some_and(TreeEntry::is_submodule);
        for name in folders.iter().rev().filter(|name| !is_submodule(name)) {
            let path = below(&self.dir, name);
            match fs::remove_dir(&path) {
                Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => {
                    return Err(GitError::Io { path, source: error });
                }
                _ => {}
            }
        }
        Ok(swept)
    }

    /// Writes all files of the commit that differ from it on disk.
    pub(crate) fn read_tree(&self, commit: &CommitId) -> Result<(), GitError> {
        self.recall_laid()?;
        let call = self.git("check out a commit").args(["read-tree", "--reset", "-u"]);
        // The attributes of the commit, not those that happen to lie around.
        call.env("GIT_ATTR_SOURCE", commit.as_str()).args([commit.as_str()]).run()?;
        let laid = self.laid();
        copy_index(&self.index(), &laid).map_err(GitError::io(&laid))
    }

    /// Goes back to the index of when the files were written, if there is one.
    pub(crate) fn recall_laid(&self) -> Result<(), GitError> {
        let laid = self.laid();
        match copy_index(&laid, &self.index()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(GitError::Io { path: laid, source: error })
            }
            _ => Ok(()),
        }
    }

    fn write_clone(&self, commit: &CommitId) -> Result<(), GitError> {
        let scratch = self.beside("git");
        write_clone(&self.repository, &self.dir, &scratch, &self.index(), commit)
    }

    /// Takes the lock, makes sure that the work tree is there, and heals what a killed git
    /// left of our index.
    pub(crate) fn enter(&self) -> Result<Lock, GitError> {
        if !self.is_there() {
            return Err(GitError::Vanished { dir: self.dir.clone() });
        }
        let lock = self.lock()?;
        let stale = self.beside("index.lock");
        remove_all(&stale).map_err(GitError::io(&stale))?;
        Ok(lock)
    }

    /// Returns what our index holds; nothing, if there is none that git can read.
    pub(crate) fn indexed(&self) -> Result<TreeListing, GitError> {
        let answer = self.git("read the index").args(["ls-files", "-z", "--stage"]).run();
        match answer {
            Ok(answer) => TreeListing::parse("read the index", answer.stdout),
            Err(GitError::Failed { .. }) => {
                self.forget_index()?;
                Ok(TreeListing::default())
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn forget_index(&self) -> Result<(), GitError> {
        for path in [self.index(), self.laid()] {
            remove_all(&path).map_err(GitError::io(&path))?;
        }
        Ok(())
    }

    /// Returns those of `names` that the ignore rules cover, as they are on disk now.
    pub(crate) fn ignored(&self, names: &[&Name]) -> Result<Names, GitError> {
        ignored(self.git("check the ignore rules"), names)
    }

    pub(crate) fn git(&self, action: &'static str) -> Git {
        self.repository.git_on(action, &self.dir, &self.index())
    }

    pub(crate) fn repository(&self) -> &Repository {
        &self.repository
    }

    fn is_finished(&self) -> bool {
        let state = fs::read(self.beside("state")).unwrap_or_default();
        state.starts_with(b"finished ") && self.is_there()
    }

    /// Returns whether the work tree is a directory. A link in its place could lead a reset
    /// into the user's own files.
    fn is_there(&self) -> bool {
        fs::symlink_metadata(&self.dir).is_ok_and(|metadata| metadata.is_dir())
    }

    pub(crate) fn lock(&self) -> Result<Lock, GitError> {
        Ok(Lock::take(&self.beside("lock"))?)
    }

    fn wipe(&self) -> Result<(), GitError> {
        let rest =
            ["index", "index.lock", "laid", "git", "spare"].map(|suffix| self.beside(suffix));
        for path in [&self.dir].into_iter().chain(&rest) {
            remove_all(path).map_err(GitError::io(path))?;
        }
        Ok(())
    }

    pub(crate) fn laid(&self) -> PathBuf {
        self.beside("laid")
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.beside("index")
    }

    pub(crate) fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.dir.file_name().unwrap_or_default().to_owned();
        name.push(".");
        name.push(suffix);
        self.dir.with_file_name(name)
    }
}

/// Returns whether nothing would be lost by putting a checkout here.
fn is_free(dir: &Path) -> Result<bool, GitError> {
    match fs::read_dir(dir) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(GitError::Io { path: dir.to_owned(), source: error }),
    }
}

pub(crate) fn attributes(listing: &TreeListing) -> Vec<(&[u8], &str)> {
    let is_attributes =
        |name: &[u8]| name.rsplit(|byte| *byte == b'/').next() == Some(b".gitattributes");
    let entries = listing.iter().filter(|(name, _)| is_attributes(name));
    entries.map(|(name, entry)| (name, entry.object)).collect()
}
