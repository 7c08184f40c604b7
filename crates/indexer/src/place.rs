//! Where indexes are kept: below one directory, `index.db` and `index/<tree>.db`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use spore_effects::files::Lock;
use spore_model::TreeId;
use spore_store::CodeIndex;

use crate::error::{IndexerError, Result};

/// How much of a tree's name is in that of its index.
const SHORT_TREE: usize = 16;

/// The file of one index, with what is made beside it.
pub(crate) struct IndexFile {
    pub(crate) file: PathBuf,
}

impl IndexFile {
    pub(crate) fn work_tree(dir: &Path) -> Self {
        Self { file: dir.join("index.db") }
    }

    pub(crate) fn tree(dir: &Path, tree: &TreeId) -> Self {
        let name = format!("{}.db", &tree.as_str()[..SHORT_TREE]);
        Self { file: trees(dir).join(name) }
    }

    /// Makes the directory it is in.
    pub(crate) fn prepare(&self) -> Result<()> {
        let parent = self.file.parent().unwrap_or(Path::new("."));
        let failed = |source| IndexerError::Write { path: parent.to_owned(), source };
        std::fs::create_dir_all(parent).map_err(failed)
    }

    pub(crate) fn lock(&self) -> PathBuf {
        beside(&self.file, ".lock")
    }

    /// The name under which it is made. Only the holder of the lock touches it.
    pub(crate) fn scratch(&self) -> PathBuf {
        beside(&self.file, ".new")
    }

    pub(crate) fn is_scratch(&self, index: &CodeIndex) -> bool {
        index.path() == self.scratch()
    }

    /// Removes what a process that was killed left half made.
    pub(crate) fn clear_scratch(&self) -> Result<()> {
        remove(&self.scratch())
    }

    /// Starts a new index beside whatever is there.
    pub(crate) fn create(&self) -> Result<CodeIndex> {
        self.clear_scratch()?;
        Ok(CodeIndex::create(&self.scratch())?)
    }

    /// Puts the finished index in its place. Others may have the old one open: then its pages
    /// are replaced in one transaction, and they see the new ones from their next on.
    pub(crate) fn install(&self, patience: Duration) -> Result<()> {
        let scratch = self.scratch();
        if CodeIndex::open(&self.file, patience).is_ok()
            && let Ok(made) = CodeIndex::open(&scratch, patience)
        {
            made.copy_to(&self.file, patience)?;
            drop(made);
            return remove(&scratch);
        }
        remove(&self.file)?;
        let failed = |source| IndexerError::Write { path: self.file.clone(), source };
        for log in ["-wal", "-shm"] {
            // Empty by now; a name that outlives its file would be taken for another's.
            let _ = std::fs::remove_file(beside(&scratch, log));
        }
        std::fs::rename(&scratch, &self.file).map_err(failed)
    }

    /// Returns the other indexes of the project that could be a beginning.
    pub(crate) fn others(&self, dir: &Path) -> Vec<PathBuf> {
        let mut others = vec![Self::work_tree(dir).file];
        others.extend(finished(&trees(dir)).into_iter().map(|(_, path)| path));
        others.retain(|path| *path != self.file);
        others
    }

    /// Removes all but the newest indexes of trees. One that another process works on is kept.
    pub(crate) fn keep_newest(&self, count: u32) -> Result<()> {
        let Some(directory) = self.file.parent() else { return Ok(()) };
        let mut all = finished(directory);
        all.sort_unstable_by(|a, b| b.cmp(a));
        all.retain(|(_, path)| *path != self.file);
        let room = usize::try_from(count).unwrap_or(usize::MAX).saturating_sub(1);
        for (_, path) in all.into_iter().skip(room) {
            let lock = beside(&path, ".lock");
            if Lock::try_take(&lock).is_ok() {
                remove(&path)?;
                let _ = std::fs::remove_file(lock);
            }
        }
        Ok(())
    }
}

fn trees(dir: &Path) -> PathBuf {
    dir.join("index")
}

/// The indexes of a directory, with when each was finished.
fn finished(directory: &Path) -> Vec<(std::time::SystemTime, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|ending| ending == "db"))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}

/// Removes an index with what SQLite keeps beside it.
fn remove(path: &Path) -> Result<()> {
    for path in
        [path.to_owned(), beside(path, "-wal"), beside(path, "-shm"), beside(path, "-journal")]
    {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(IndexerError::Remove { path, source: error });
            }
            _ => {}
        }
    }
    Ok(())
}
