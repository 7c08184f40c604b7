//! A work tree for an agent or a gate, outside the user's.
//!
//! Beside the checkout, out of the reach of a sandboxed agent, lie five files of the same
//! name: `.state` says whether it was ever finished, `.index` is Spore's view of it, `.lock`
//! keeps two calls apart, `.rules` says by which attributes its files were written. `.laid` is the index as it was when git had written the files. Whether
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
use crate::command::{Git, is_sound};
use crate::listing::{Name, TreeEntry, TreeListing, below};
use crate::rights::UsualRights;
use crate::survey::{Names, SurveyScope, WorkTreeSurvey, ignored, survey};
use crate::{GitError, Repository};

/// Where Git LFS looks for settings that a repository brings along.
const LFS_SETTINGS: &str = ".lfsconfig";

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

/// Whose attributes lie in a work tree.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttributesAre {
    TheSources,
    Others,
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
        self.make_work()?;
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
        if fs::read(self.rules()).ok() != Some(self.rules_for(commit)?) {
            self.forget_index()?;
        }
        if !is_sound() {
            // An old git opens the attributes that lie around, and waits at a pipe in their place.
            self.sweep(&target, ignored)?;
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
        let rules = self.rules_for(commit)?;
        let source = self.repository.attributes().unwrap_or(commit);
        let lying = self.are_those_of(source, commit)?;
        let call = self.git_by("check out a commit", source, lying);
        let call = if self.asks_elsewhere(source, commit)? {
            call.without_filters(&self.repository.all_filters())
        } else {
            call
        };
        call.args(["read-tree", "--reset", "-u", commit.as_str()]).run()?;
        let (laid, written) = (self.laid(), self.rules());
        if fs::read(&written).ok().as_ref() != Some(&rules) {
            write_atomic(&written, &rules).map_err(GitError::io(&written))?;
        }
        copy_index(&self.index(), &laid).map_err(GitError::io(&laid))
    }

    /// Returns whether Git LFS would take its settings from a file of the change's: they say where
    /// content is fetched from, and it is fetched outside of any sandbox
    /// (<https://github.com/git-lfs/git-lfs/blob/main/docs/man/git-lfs-config.adoc>). One that was
    /// left behind is removed.
    fn asks_elsewhere(&self, source: &CommitId, commit: &CommitId) -> Result<bool, GitError> {
        if self.repository.settings().all_of(b"filter.lfs.").is_empty() {
            return Ok(false);
        }
        let left = self.dir.join(LFS_SETTINGS);
        remove_all(&left).map_err(GitError::io(&left))?;
        let (source, commit) = (self.repository.listing(source)?, self.repository.listing(commit)?);
        let name = LFS_SETTINGS.as_bytes();
        Ok(source.get(name) != commit.get(name))
    }

    /// Returns what decides, besides the repository's settings, how the files of `commit` are
    /// written: the attributes that count.
    pub(crate) fn rules_for(&self, commit: &CommitId) -> Result<Vec<u8>, GitError> {
        let source = self.repository.attributes().filter(|_| is_sound()).unwrap_or(commit);
        let listing = self.repository.listing(source)?;
        let line = |(name, object): (&[u8], &str)| [object.as_bytes(), b" ", name, b"\0"].concat();
        Ok(attributes(&listing).into_iter().flat_map(line).collect())
    }

    /// Returns whether two commits have the same attributes.
    fn are_those_of(
        &self,
        source: &CommitId,
        commit: &CommitId,
    ) -> Result<AttributesAre, GitError> {
        let (source, commit) = (self.repository.listing(source)?, self.repository.listing(commit)?);
        let same = attributes(&source) == attributes(&commit);
        Ok(if same { AttributesAre::TheSources } else { AttributesAre::Others })
    }

    /// A call that converts files by the attributes of `source`. `lying` says whose attributes
    /// git finds without being told: an old git cannot be told, and where it would go by others,
    /// no filter runs at all.
    pub(crate) fn git_by(
        &self,
        action: &'static str,
        source: &CommitId,
        lying: AttributesAre,
    ) -> Git {
        let call = self.repository.git_on(action, &self.dir, &self.index());
        let call = call.env("GIT_ATTR_SOURCE", source.as_str());
        match lying {
            AttributesAre::Others if !is_sound() => {
                call.without_filters(&self.repository.all_filters())
            }
            _ => call,
        }
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

    /// A call on the checkout. Whatever writes an index may read files for it, and then converts
    /// them: by the attributes that count, or without any filter.
    pub(crate) fn git(&self, action: &'static str) -> Git {
        let call = self.repository.git_on(action, &self.dir, &self.index());
        match self.repository.attributes().filter(|_| is_sound()) {
            Some(source) => call.env("GIT_ATTR_SOURCE", source.as_str()),
            None => call.without_filters(&self.repository.all_filters()),
        }
    }

    /// Returns the same checkout, in which the attributes of `commit` count.
    pub(crate) fn with_attributes_of(&self, commit: &CommitId) -> Self {
        Self { repository: self.repository.with_attributes_of(commit), dir: self.dir.clone() }
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
        let rest = ["index", "index.lock", "laid", "rules", "git", "spare"]
            .map(|suffix| self.beside(suffix));
        for path in [&self.dir].into_iter().chain(&rest) {
            remove_all(path).map_err(GitError::io(path))?;
        }
        Ok(())
    }

    pub(crate) fn laid(&self) -> PathBuf {
        self.beside("laid")
    }

    pub(crate) fn rules(&self) -> PathBuf {
        self.beside("rules")
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
