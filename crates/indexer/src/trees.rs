//! The index of the work tree and those of trees of git: opened, up to date.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use spore_effects::files::{Lock, LockError};
use spore_git::{GitError, Repository};
use spore_model::CommitId;
use spore_store::{
    CodeIndex, CodeIndexError, CodeIndexOpenError, KnownState, KnownTree, KnownTreeFile,
};

use crate::comparison::TreeComparison;
use crate::error::{IndexerError, Result};
use crate::file_list::{self, FileList, ListedFile};
use crate::indexer::{IndexMode, Indexer};
use crate::place::IndexFile;
use crate::plan::IndexPlan;
use crate::progress::{IndexPhase, PhaseTimes};
use crate::report::IndexReport;
use crate::scope::IndexScope;
use crate::settings::thread_count;
use crate::update::{READER, TreeUpdate};
use crate::write::FileContents;

/// Opens the index of the work tree as it is, if there is one that can be used.
pub fn open_as_is(
    dir: &Path,
    busy_timeout: Duration,
) -> std::result::Result<Option<CodeIndex>, CodeIndexError> {
    match CodeIndex::open(&IndexFile::work_tree(dir).file, busy_timeout) {
        Ok(index) => Ok(Some(index)),
        Err(CodeIndexOpenError::Missing { .. } | CodeIndexOpenError::Unusable { .. }) => Ok(None),
        Err(CodeIndexOpenError::Failed(error)) => Err(error),
    }
}

impl Indexer<'_> {
    /// Brings the index of the work tree up to date, as far as the scope goes.
    pub fn work_tree(
        &self,
        scope: &IndexScope,
        mode: IndexMode,
    ) -> Result<(CodeIndex, IndexReport)> {
        self.update_work_tree(scope, mode, None)
    }

    /// Opens the index of the work tree for a caller that waits: up to date if that takes at
    /// most so many files, else as it is, and the report says how many files it is behind.
    /// Without an index there is one made.
    pub fn work_tree_within(&self, most: u64) -> Result<(CodeIndex, IndexReport)> {
        let place = IndexFile::work_tree(self.dir);
        let is_held = matches!(Lock::try_take(&place.lock()), Err(LockError::Held { .. }));
        if is_held && let Some(index) = self.open(&place)? {
            self.reporter.note("Another process changes the index: answering from what is there.");
            let report = IndexReport::unchanged(&index, 0);
            return Ok((index, report));
        }
        self.update_work_tree(&IndexScope::default(), IndexMode::Update, Some(most))
    }

    fn update_work_tree(
        &self,
        scope: &IndexScope,
        mode: IndexMode,
        most: Option<u64>,
    ) -> Result<(CodeIndex, IndexReport)> {
        let begun = self.clock.monotonic();
        let place = IndexFile::work_tree(self.dir);
        place.prepare()?;
        let _lock = self.lock(&place)?;
        let mut existing = self.existing(&place, mode)?;
        let mut times = PhaseTimes::default();
        self.reporter.progress(IndexPhase::Walk, 0, 0);
        // HEAD is read before the files: a branch switch meanwhile is seen the next time.
        let head = self.head()?;
        let known = self.known(&mut existing)?;
        let comparison = TreeComparison::with(&known, self.settings.max_file_bytes);
        let threads = thread_count(self.settings.threads);
        let list = file_list::of_directory(self.root, scope, &comparison, threads);
        self.check_paths(scope, &list, &known)?;
        times.add(IndexPhase::Walk, begun.elapsed());
        let others = list.others;
        let plan =
            times.time(self.clock, IndexPhase::Compare, || IndexPlan::of(list, &comparison, scope));
        let contents = FileContents::Directory(self.root);
        let update = TreeUpdate { place: &place, contents, plan, others, head, existing, most };
        let (index, mut report) = self.perform(update, times)?;
        report.root = self.root.display().to_string();
        report.source = "work tree".to_owned();
        report.took(begun.elapsed());
        Ok((index, report))
    }

    /// Opens the index of a commit or tree, named as a person types it in `repository`.
    pub fn tree(
        &self,
        repository: &Repository,
        revision: &str,
        mode: IndexMode,
    ) -> Result<(CodeIndex, IndexReport)> {
        let begun = self.clock.monotonic();
        let tree = repository.resolve_tree(revision)?;
        let head = repository.resolve(revision).ok();
        let place = IndexFile::tree(self.dir, &tree);
        place.prepare()?;
        let _lock = self.lock(&place)?;
        let (index, mut report) = match self.existing(&place, mode)? {
            Some(index) => {
                let report = IndexReport::unchanged(&index, 0);
                (index, report)
            }
            None => {
                let (scope, mut times) = (IndexScope::default(), PhaseTimes::default());
                self.reporter.progress(IndexPhase::Walk, 0, 0);
                let list = file_list::of_tree(repository, &tree, &scope)?;
                times.add(IndexPhase::Walk, begun.elapsed());
                let mut existing = match mode {
                    IndexMode::Update => self.nearest(&place, &list)?,
                    IndexMode::Full => None,
                };
                let known = self.known(&mut existing)?;
                let comparison = TreeComparison::with(&known, self.settings.max_file_bytes);
                let others = list.others;
                let plan = times.time(self.clock, IndexPhase::Compare, || {
                    IndexPlan::of(list, &comparison, &scope)
                });
                let contents = FileContents::Tree(repository);
                let place = &place;
                let most = None;
                let update = TreeUpdate { place, contents, plan, others, head, existing, most };
                self.perform(update, times)?
            }
        };
        place.keep_newest(self.settings.keep_trees)?;
        report.root = self.root.display().to_string();
        report.source = tree.to_string();
        report.took(begun.elapsed());
        Ok((index, report))
    }

    /// Changes the index of `base` into that of a commit on top of it, for this process and for
    /// as long as it is open. None where the base has no index. The past is the base's: work
    /// that is not finished is no history yet.
    pub fn draft(
        &self,
        repository: &Repository,
        base: &CommitId,
        commit: &CommitId,
    ) -> Result<Option<CodeIndex>> {
        let place = IndexFile::tree(self.dir, &repository.tree_of(base)?);
        let Some(index) = self.open(&place)? else { return Ok(None) };
        let paths = changed_paths(repository, base, commit)?;
        if paths.is_empty() {
            return Ok(Some(index));
        }
        let scope = file_list::scope_of_change(paths);
        let list = file_list::of_tree(repository, &repository.tree_of(commit)?, &scope)?;
        let known = index.known_tree()?;
        let comparison = TreeComparison::with(&known, self.settings.max_file_bytes);
        let plan = IndexPlan::of(list, &comparison, &scope);
        self.write_draft(index, FileContents::Tree(repository), plan).map(Some)
    }

    /// Waits for another process that works on the same index.
    fn lock(&self, place: &IndexFile) -> Result<Lock> {
        let path = place.lock();
        if let Ok(lock) = Lock::try_take(&path) {
            return Ok(lock);
        }
        self.reporter.note("Waiting for another process that makes this index.");
        Ok(Lock::take(&path)?)
    }

    fn existing(&self, place: &IndexFile, mode: IndexMode) -> Result<Option<CodeIndex>> {
        match mode {
            IndexMode::Update => self.open(place),
            IndexMode::Full => Ok(None),
        }
    }

    /// Opens the index if it can be used; says so if it cannot.
    fn open(&self, place: &IndexFile) -> Result<Option<CodeIndex>> {
        let index = match CodeIndex::open(&place.file, self.settings.busy_timeout) {
            Ok(index) => index,
            Err(CodeIndexOpenError::Missing { .. }) => return Ok(None),
            Err(error @ CodeIndexOpenError::Unusable { .. }) => {
                self.reporter.note(&format!("{error}: making it anew."));
                return Ok(None);
            }
            Err(CodeIndexOpenError::Failed(error)) => return Err(error.into()),
        };
        match index.meta("reader") {
            Ok(Some(reader)) if reader == READER => Ok(Some(index)),
            Ok(_) => {
                self.reporter.note("The index was made by another version: making it anew.");
                Ok(None)
            }
            Err(CodeIndexError::Damaged { .. }) => {
                self.reporter.note("The index is damaged: making it anew.");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns what an index knows of files. One that cannot say so is of no use.
    fn known(&self, existing: &mut Option<CodeIndex>) -> Result<KnownTree> {
        let Some(index) = existing else { return Ok(KnownTree::default()) };
        match index.known_tree() {
            Ok(known) => Ok(known),
            Err(CodeIndexError::Damaged { .. }) => {
                self.reporter.note("The index is damaged: making it anew.");
                *existing = None;
                Ok(KnownTree::default())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Copies the index that has most files in common with a tree to the place of its own.
    fn nearest(&self, place: &IndexFile, list: &FileList) -> Result<Option<CodeIndex>> {
        let patience = self.settings.busy_timeout;
        let mut best: Option<(usize, CodeIndex)> = None;
        for path in place.others(self.dir) {
            let Ok(index) = CodeIndex::open(&path, patience) else { continue };
            let usable = index.meta("reader").ok().flatten().as_deref() == Some(READER);
            let common = if usable { in_common(&index, list)? } else { 0 };
            if common > best.as_ref().map_or(0, |(most, _)| *most) {
                best = Some((common, index));
            }
        }
        let Some((_, nearest)) = best else { return Ok(None) };
        place.clear_scratch()?;
        let scratch = place.scratch();
        nearest.duplicate(&scratch, patience)?;
        Ok(Some(CodeIndex::open_alone(&scratch)?))
    }

    /// Returns the commit behind the work tree; a project need not have one. Asking git takes
    /// longer than seeing that nothing changed, so it is asked where nothing else helps.
    fn head(&self) -> Result<Option<CommitId>> {
        if let Some(head) = spore_git::head_at_a_glance(self.root) {
            return Ok(Some(head));
        }
        match Repository::discover(self.root).and_then(|repository| repository.head()) {
            Ok(head) => Ok(Some(head)),
            // A project without git has an index all the same.
            Err(
                GitError::NoCommits { .. }
                | GitError::NotARepository { .. }
                | GitError::NotInstalled
                | GitError::Bare { .. },
            ) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Refuses a path that is neither on the disk nor in the index.
    fn check_paths(&self, scope: &IndexScope, list: &FileList, known: &KnownTree) -> Result<()> {
        for path in scope.paths() {
            let part = IndexScope::of_paths(vec![path.clone()]);
            let is_known = self.root.join(path).symlink_metadata().is_ok()
                || list.files.iter().any(|found| part.holds_path(&found.path))
                || known.iter().any(|file| part.holds_path(file.path));
            if !is_known {
                return Err(IndexerError::NoSuchPath { path: path.clone() });
            }
        }
        Ok(())
    }
}

fn is_read(file: &KnownTreeFile<'_>) -> bool {
    matches!(file.state, KnownState::Read { .. })
}

/// Returns the paths, old and new, that differ between two commits.
fn changed_paths(
    repository: &Repository,
    base: &CommitId,
    commit: &CommitId,
) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for file in repository.diff(base, commit, 0)?.files {
        if let spore_git::FileChange::Renamed { from } = file.status {
            paths.push(from);
        }
        paths.push(file.path);
    }
    Ok(paths)
}

/// Counts the files of a tree that an index has with the same content.
fn in_common(index: &CodeIndex, list: &FileList) -> Result<usize> {
    let known = index.known_tree()?;
    let known: HashMap<&str, &[u8]> =
        known.iter().filter(is_read).map(|file| (file.path, file.blob)).collect();
    let same = |found: &&ListedFile| {
        let object = found.object.as_ref().map(|(_, bytes)| bytes.as_slice());
        object.is_some() && known.get(found.path.as_str()).copied() == object
    };
    Ok(list.files.iter().filter(same).count())
}
