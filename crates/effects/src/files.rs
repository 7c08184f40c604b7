//! Durable files: a reader sees the old content or the new, never half of either.

mod removal;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

pub use removal::{open_up, remove_all};

/// Replaces `path` with `content`, whole and on disk when this returns.
pub fn write_atomic(path: &Path, content: &[u8]) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let mut name = path.file_name().unwrap_or_default().to_owned();
    // The process id keeps two writers apart; a leftover of a dead one is overwritten.
    name.push(format!(".{}.tmp", std::process::id()));
    let scratch = parent.join(name);
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&scratch)
        .and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&scratch, path));
    if written.is_err() {
        let _ = fs::remove_file(&scratch);
    }
    written?;
    // The rename itself is durable only once the directory is.
    File::open(parent)?.sync_all()
}

/// Creates `path` and what is missing above it, readable by the owner alone.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Returns the paths of what is in a directory, in their order; none if there is no directory.
pub fn paths_in(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort_unstable();
    Ok(paths)
}

/// An exclusive claim on a file, given up when dropped or when the process dies.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Why a lock was not had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another live process has it.
    #[error("{path} is held by another process", path = spore_plain::path(.path))]
    Held { path: PathBuf },
    #[error("cannot lock {path}", path = spore_plain::path(.path))]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl Lock {
    /// Takes the lock or says at once that another process or thread holds it.
    pub fn try_take(path: &Path) -> Result<Self, LockError> {
        let failed = |source| LockError::Io { path: path.to_owned(), source };
        let file = open_lock(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(fs::TryLockError::WouldBlock) => Err(LockError::Held { path: path.to_owned() }),
            Err(fs::TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// Waits until the lock is free.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let failed = |source| LockError::Io { path: path.to_owned(), source };
        let file = open_lock(path).map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(Self { _file: file })
    }

    /// Returns whether a live process holds the lock; a file that is not there is free.
    pub fn is_held(path: &Path) -> bool {
        File::open(path)
            .is_ok_and(|file| matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_replaces_the_whole_file_and_leaves_nothing_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        write_atomic(&path, b"a long first content").unwrap();
        write_atomic(&path, b"short").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"short");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_lock_is_exclusive_and_ends_with_its_holder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        assert!(!Lock::is_held(&path));
        let held = Lock::try_take(&path).unwrap();
        assert!(Lock::is_held(&path));
        assert!(matches!(Lock::try_take(&path), Err(LockError::Held { .. })));
        drop(held);
        assert!(Lock::try_take(&path).is_ok());
    }
}
