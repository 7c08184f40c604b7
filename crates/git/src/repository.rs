//! The user's repository: where it is, what it holds, and the few things Spore adds to it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use spore_effects::{Effect, Probe, ToolOutput};
use spore_model::{CommitId, Timestamp, TreeId};

use crate::GitError;
use crate::answers::AnswerCache;
use crate::clone::SHAPING;
use crate::command::{Git, records};
use crate::listing::TreeListing;
use crate::settings::GitSettings;

/// A work tree of the user's and the repository behind it. Cheap to clone; holds nothing open.
/// The user's configuration is that of the moment it was found, and what can never change is
/// asked of git once.
#[derive(Clone, Debug)]
pub struct Repository {
    root: PathBuf,
    /// What all work trees share: objects, refs, config.
    common: PathBuf,
    /// What belongs to the user's work tree alone: HEAD and index. Differs from `common` in a
    /// linked worktree.
    own: PathBuf,
    settings: Arc<GitSettings>,
    filters: Arc<[OsString]>,
    /// The bare repository of unverified work, whether it is there yet or not.
    pub(crate) work: Option<Arc<Path>>,
    /// Whose attributes count in checkouts.
    attributes: Option<CommitId>,
    recall: Arc<AnswerCache>,
    /// Told of every commit, ref and checkout, so that no caller can forget it.
    probe: Probe,
}

impl Repository {
    /// Finds the repository that `dir` is in.
    pub fn discover(dir: &Path) -> Result<Self, GitError> {
        if !dir.is_dir() {
            return Err(GitError::NotARepository { dir: dir.to_owned() });
        }
        let RepositoryDirs { root, common, own } = RepositoryDirs::around(dir)?;
        let settings =
            GitSettings::read(Git::new("read the configuration", &common).env("GIT_DIR", &common))?;
        let filters = settings.filter_drivers().into();
        let (settings, recall) = (Arc::new(settings), Arc::default());
        let (work, attributes, probe) = (None, None, Probe::idle());
        Ok(Self { root, common, own, settings, filters, work, attributes, recall, probe })
    }

    /// Returns the same repository, whose durable effects pass `probe`.
    pub fn probed(mut self, probe: &Probe) -> Self {
        self.probe = probe.clone();
        self
    }

    /// Returns the same repository, in whose checkouts the attributes of `commit` count, whatever
    /// the commit that is checked out or an agent says: attributes choose how files are converted,
    /// and which filters run.
    #[must_use]
    pub fn with_attributes_of(&self, commit: &CommitId) -> Self {
        Self { attributes: Some(commit.clone()), ..self.clone() }
    }

    pub(crate) fn attributes(&self) -> Option<&CommitId> {
        self.attributes.as_ref()
    }

    pub(crate) fn probe(&self) -> &Probe {
        &self.probe
    }

    /// Returns the root of the user's work tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the git directory that all work trees share.
    pub fn git_dir(&self) -> &Path {
        &self.common
    }

    /// Returns the commit the user is on.
    pub fn head(&self) -> Result<CommitId, GitError> {
        let action = "read HEAD";
        // Its tree as well: that is asked for next.
        let call = self.at_home(action).args(["rev-parse", "HEAD^{commit}", "HEAD^{tree}"]);
        let answer = call.answer()?;
        if !answer.is_success() {
            return Err(GitError::NoCommits { dir: self.root.clone() });
        }
        let text = answer.text();
        let read = |(commit, tree): (&str, &str)| {
            Some((CommitId::new(commit).ok()?, TreeId::new(tree).ok()?))
        };
        let (commit, tree) = text
            .split_once('\n')
            .and_then(read)
            .ok_or_else(|| GitError::unreadable(action, &answer.stdout))?;
        self.recall.learn(&commit, &tree, None);
        Ok(commit)
    }

    /// Returns the branch the user is on, `None` when HEAD is detached.
    pub fn head_name(&self) -> Result<Option<String>, GitError> {
        let call = self.at_home("read HEAD").args(["symbolic-ref", "--quiet", "--short", "HEAD"]);
        let answer = call.answer()?;
        match answer.code {
            0 => Ok(Some(answer.text())),
            1 => Ok(None),
            _ => Err(call.failure(&answer)),
        }
    }

    /// Returns the commit that a revision, as a person types it, stands for.
    pub fn resolve(&self, revision: &str) -> Result<CommitId, GitError> {
        let object = self.peel(revision, "commit")?;
        CommitId::new(&object).map_err(|_| unreadable_revision(&object))
    }

    /// Returns the tree that a commit or a tree stands for, as a person types it.
    pub fn resolve_tree(&self, revision: &str) -> Result<TreeId, GitError> {
        let object = self.peel(revision, "tree")?;
        TreeId::new(&object).map_err(|_| unreadable_revision(&object))
    }

    pub fn tree_of(&self, commit: &CommitId) -> Result<TreeId, GitError> {
        self.resolve_tree(commit.as_str())
    }

    fn peel(&self, revision: &str, kind: &str) -> Result<String, GitError> {
        let wanted = format!("{revision}^{{{kind}}}");
        self.recall.object(&wanted, || {
            let call = self.at_home("resolve a revision").args(["rev-parse", "--verify"]);
            let answer = call.args(["--quiet", "--end-of-options", &wanted]).answer()?;
            if answer.is_success() {
                Ok(answer.text())
            } else {
                Err(GitError::UnknownRevision { revision: revision.to_owned() })
            }
        })
    }

    /// Returns the paths of the submodules of a commit.
    pub fn submodules(&self, commit: &CommitId) -> Result<Vec<String>, GitError> {
        let listing = self.listing(commit)?;
        let submodules = listing.iter().filter(|(_, entry)| entry.is_submodule());
        Ok(submodules.map(|(name, _)| text(name)).collect())
    }

    /// Returns the paths of a commit's files and links, in git's order. Bytes of a name that
    /// are no text are replaced.
    pub fn list_files(&self, commit: &CommitId) -> Result<Vec<String>, GitError> {
        let listing = self.listing(commit)?;
        let files = listing.iter().filter(|(_, entry)| !entry.is_submodule());
        Ok(files.map(|(name, _)| text(name)).collect())
    }

    /// Returns a file's content as the commit has it, `None` if it has no such file. A
    /// symbolic link is not followed: it is no file.
    pub fn read_file(&self, commit: &CommitId, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        // git takes the empty path for a mistake.
        if path.is_empty() {
            return Ok(None);
        }
        let blob = |listing: &TreeListing| {
            let entry = listing.get(path.as_bytes()).filter(|entry| entry.is_file())?;
            Some(entry.object.to_owned())
        };
        let blob = match self.recall.known_listing(commit) {
            Some(listing) => blob(&listing),
            None => {
                let call = self.git("read a file").env("GIT_LITERAL_PATHSPECS", "1");
                let call = call.args(["ls-tree", "-z", "--full-tree", commit.as_str(), "--", path]);
                blob(&TreeListing::parse("read a file", call.run()?.stdout)?)
            }
        };
        let Some(blob) = blob else { return Ok(None) };
        if let Some(known) = self.recall.blobs.get(&blob) {
            return Ok(Some(known.to_vec()));
        }
        let content = self.git("read a file").args(["cat-file", "blob", &blob]).run()?.stdout;
        self.recall.blobs.keep(&blob, &content);
        Ok(Some(content))
    }

    /// Returns whether the user's ignore rules cover a path of the work tree.
    pub fn is_ignored(&self, path: &str) -> Result<bool, GitError> {
        let path = format!("./{path}");
        let call = self.at_home("check the ignore rules").args(["check-ignore", "--quiet", "--"]);
        let call = call.args([path]);
        let answer = call.answer()?;
        match answer.code {
            0 => Ok(true),
            1 => Ok(false),
            _ => Err(call.failure(&answer)),
        }
    }

    /// Counts the user's uncommitted files, tracked or new; `.spore/` is ours.
    pub fn dirty_files(&self) -> Result<u32, GitError> {
        Ok(u32::try_from(self.uncommitted()?.len()).unwrap_or(u32::MAX))
    }

    /// Returns the user's uncommitted files, tracked or new; `.spore/` is ours.
    pub fn uncommitted(&self) -> Result<Vec<String>, GitError> {
        let call = self.at_home("look for uncommitted changes").args([
            "status",
            "--porcelain=v1",
            "-z",
            "--no-renames",
            "--untracked-files=all",
            "--ignore-submodules=dirty",
        ]);
        let answer = call.run()?;
        let ours = |record: &&[u8]| {
            record
                .get(3..)
                .unwrap_or_default()
                .split(|byte| *byte == b'/')
                .any(|part| part == b".spore")
        };
        let dirty = records(&answer.stdout).filter(|record| !ours(record));
        Ok(dirty.filter_map(|record| record.get(3..)).map(text).collect())
    }

    /// Makes a commit, without a ref that keeps it. The same inputs give the same id: the
    /// author is the one of the user's config, the date is `when`, in UTC.
    pub fn commit_tree(
        &self,
        tree: &TreeId,
        parent: &CommitId,
        message: &str,
        when: Timestamp,
    ) -> Result<CommitId, GitError> {
        self.commit_with_parents(tree, &[parent], message, when)
    }

    /// Like [`Self::commit_tree`], with any number of parents.
    pub fn commit_with_parents(
        &self,
        tree: &TreeId,
        parents: &[&CommitId],
        message: &str,
        when: Timestamp,
    ) -> Result<CommitId, GitError> {
        self.make_work()?;
        let (name, email) = self.settings.identity();
        let date = format!("@{} +0000", when.as_seconds().max(0));
        let call = self
            .git("commit")
            .args(["commit-tree", tree.as_str()])
            .args(parents.iter().flat_map(|parent| ["-p", parent.as_str()]))
            .env("GIT_AUTHOR_NAME", &name)
            .env("GIT_AUTHOR_EMAIL", &email)
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_NAME", &name)
            .env("GIT_COMMITTER_EMAIL", &email)
            .env("GIT_COMMITTER_DATE", &date)
            .stdin(message);
        let subject = message.lines().next().unwrap_or_default();
        let commit =
            self.probe.around(Effect::Commit, subject, || commit_id("commit", &call.run()?))?;
        self.recall.learn(&commit, tree, parents.first().copied());
        Ok(commit)
    }

    pub(crate) fn listing(&self, commit: &CommitId) -> Result<Arc<TreeListing>, GitError> {
        self.tree_listing(&self.tree_of(commit)?)
    }

    pub(crate) fn tree_listing(&self, tree: &TreeId) -> Result<Arc<TreeListing>, GitError> {
        self.recall.listings.answer(tree.clone(), || {
            let action = "list the files of a tree";
            let call = self.git(action).args(["ls-tree", "-r", "-z", "--full-tree", tree.as_str()]);
            TreeListing::parse(action, call.run()?.stdout)
        })
    }

    /// Returns what decides, besides a commit, how its files are written: settings, filters, and
    /// the attributes that are no part of it.
    pub(crate) fn shape(&self) -> Vec<u8> {
        let mut shape = self.settings.all_of(b"filter.");
        for key in SHAPING {
            shape.extend(format!("{key}={:?}\n", self.settings.get(key)).into_bytes());
        }
        let mut lists = vec![self.common.join("info/attributes")];
        lists.extend(self.users_attributes());
        for list in lists {
            shape.extend(std::fs::read(list).unwrap_or_default());
            shape.push(0);
        }
        shape
    }

    /// Returns where the attributes are that the user has for all repositories. An old git does
    /// not know: then they are not looked at.
    fn users_attributes(&self) -> Option<PathBuf> {
        let ask = || {
            let call = self.git("find the attributes").args(["var", "GIT_ATTR_GLOBAL"]);
            let answer = call.answer().ok().filter(ToolOutput::is_success)?;
            Some(PathBuf::from(answer.text()))
        };
        self.recall.users_attributes.get_or_init(ask).clone()
    }

    /// Returns the user's configuration as it was when the repository was found.
    pub(crate) fn settings(&self) -> &GitSettings {
        &self.settings
    }

    pub(crate) fn recall(&self) -> &AnswerCache {
        &self.recall
    }

    /// A call on objects, refs and config: no work tree, no index.
    pub(crate) fn git(&self, action: &'static str) -> Git {
        self.with_work(self.users_git(action))
    }

    /// The same, on what is the user's alone: unverified work is not seen.
    pub(crate) fn users_git(&self, action: &'static str) -> Git {
        Git::new(action, &self.common).env("GIT_DIR", &self.common)
    }

    /// A call on the user's own work tree and index, in the shape that they gave them. No
    /// filter of theirs runs.
    pub(crate) fn on_users_files(&self, action: &'static str) -> Git {
        let call = Git::careful(action, &self.root)
            .env("GIT_DIR", &self.own)
            .env("GIT_WORK_TREE", &self.root)
            .without_filters(&self.filters);
        self.with_work(call)
    }

    /// Returns the git directory of the user's work tree alone: HEAD and index are there.
    pub(crate) fn own_git_dir(&self) -> &Path {
        &self.own
    }

    pub(crate) fn filters(&self) -> &[OsString] {
        &self.filters
    }

    /// Returns the names of all configured filters, that of Git LFS with them.
    pub(crate) fn all_filters(&self) -> Vec<OsString> {
        self.filters.iter().cloned().chain(["lfs".into()]).collect()
    }

    /// A call on the user's own work tree. Only reads.
    pub(crate) fn at_home(&self, action: &'static str) -> Git {
        let call = Git::new(action, &self.root).env("GIT_DIR", &self.own);
        self.with_work(call.env("GIT_WORK_TREE", &self.root))
    }

    /// A call on the work tree `dir` through the index file `index`. It runs in `dir`: what
    /// edits the index without looking at files does not go there by itself, and then takes a
    /// file that changed within the second it was checked out in for unchanged.
    pub(crate) fn git_on(&self, action: &'static str, dir: &Path, index: &Path) -> Git {
        let call = Git::new(action, dir)
            .env("GIT_DIR", &self.common)
            .env("GIT_WORK_TREE", dir)
            .env("GIT_INDEX_FILE", index)
            .without_filters(&self.filters);
        self.with_work(call)
    }
}

/// Returns a name for people.
pub(crate) fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

fn unreadable_revision(object: &str) -> GitError {
    GitError::unreadable("resolve a revision", object.as_bytes())
}

/// The three directories of a repository.
struct RepositoryDirs {
    root: PathBuf,
    common: PathBuf,
    own: PathBuf,
}

impl RepositoryDirs {
    fn around(dir: &Path) -> Result<Self, GitError> {
        let ask = |question: &[&str]| {
            Git::new("find the repository", dir).args(["rev-parse"]).args(question).answer()
        };
        let common = ["--path-format=absolute", "--git-common-dir"];
        let (root, own) = ("--show-toplevel", "--absolute-git-dir");
        let kind = ["--is-bare-repository", "--is-inside-work-tree"];
        let answer = ask(&[&kind[..], &[root, own], &common].concat())?;
        let text = answer.stdout.strip_suffix(b"\n").unwrap_or(&answer.stdout);
        let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        if let ([_, b"true", root, own, common], true) = (&lines[..], answer.is_success()) {
            return Ok(Self { root: path(root), common: path(common), own: path(own) });
        }
        // There is something to complain about, or a path holds a newline: each by itself.
        let ask = |question: &[&str]| {
            let call = Git::new("find the repository", dir).args(["rev-parse"]).args(question);
            call.run().map(|answer| answer.stdout)
        };
        match ask(&kind)?.split(|byte| *byte == b'\n').collect::<Vec<_>>()[..] {
            [b"true", b"false", ..] => return Err(GitError::Bare { dir: dir.to_owned() }),
            [_, b"false", ..] => return Err(GitError::NotARepository { dir: dir.to_owned() }),
            _ => {}
        }
        let asked = |question: &[&str]| {
            ask(question).map(|answer| path(answer.strip_suffix(b"\n").unwrap_or(&answer)))
        };
        Ok(Self { root: asked(&[root])?, common: asked(&common)?, own: asked(&[own])? })
    }
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

pub(crate) fn commit_id(action: &'static str, answer: &ToolOutput) -> Result<CommitId, GitError> {
    CommitId::new(answer.text()).map_err(|_| GitError::unreadable(action, &answer.stdout))
}

pub(crate) fn tree_id(action: &'static str, answer: &ToolOutput) -> Result<TreeId, GitError> {
    TreeId::new(answer.text()).map_err(|_| GitError::unreadable(action, &answer.stdout))
}
