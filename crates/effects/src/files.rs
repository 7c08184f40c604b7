//! Durable files: a reader sees the old content or the new, never half of either.

mod beneath;
mod removal;
mod scratch;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

pub use beneath::{Beneath, WayFor};
pub use removal::{open_up, remove_all};

/// Replaces `path` with `content`, whole and on disk when this returns. The rights of a file
/// that was there stay.
pub fn write_atomic(path: &Path, content: &[u8]) -> io::Result<()> {
    let rights = path.symlink_metadata().ok().filter(fs::Metadata::is_file);
    let rights = rights.map(|found| found.permissions());
    scratch::remove_leftovers(path);
    let scratch = scratch::write(path, content, rights)?;
    let renamed = fs::rename(&scratch, path);
    if renamed.is_err() {
        let _ = fs::remove_file(&scratch);
    }
    renamed?;
    // The rename itself is durable only once the directory is.
    File::open(parent_of(path))?.sync_all()
}

/// Creates `path` with `content`, whole and on disk when this returns. A file that is there
/// stays as it is, which is an error of the kind `AlreadyExists`.
pub fn create_atomic(path: &Path, content: &[u8]) -> io::Result<()> {
    scratch::remove_leftovers(path);
    let scratch = scratch::write(path, content, None)?;
    let linked = fs::hard_link(&scratch, path);
    let _ = fs::remove_file(&scratch);
    linked?;
    File::open(parent_of(path))?.sync_all()
}

/// Reads a file. What is no file is refused: a device may have no end, and a pipe no writer.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open_file(path.as_ref())?.read_to_end(&mut content)?;
    Ok(content)
}

fn open_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        let kind = if found.is_dir() { "a directory" } else { "a device or a pipe" };
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {kind}")));
    }
    Ok(file)
}

/// Reads a file of text of at most `most` bytes as [`read`] does. A longer one is refused, also where
/// it does not say how long it is.
pub fn read_text_within(path: impl AsRef<Path>, most: u64) -> io::Result<String> {
    let mut content = Vec::new();
    open_file(path.as_ref())?.take(most.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        let told = format!("it is longer than {} KB", most / 1000);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, told));
    }
    text_of(content)
}

/// Reads a file of text as [`read`] does.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    text_of(read(path)?)
}

fn text_of(content: Vec<u8>) -> io::Result<String> {
    String::from_utf8(content)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// The directory that a file is in.
fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates `path` and what is missing above it, readable by the owner alone.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Gives a file the time of now.
pub fn touch(path: &Path) -> io::Result<()> {
    use nix::sys::stat::{UtimensatFlags, utimensat};
    use nix::sys::time::TimeSpec;

    let now = TimeSpec::UTIME_NOW;
    utimensat(nix::fcntl::AT_FDCWD, path, &now, &now, UtimensatFlags::NoFollowSymlink)?;
    Ok(())
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

/// How long to wait before looking at a held lock again.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// An exclusive claim on a file, given up when dropped or when the process dies.
#[derive(Debug)]
pub struct Lock {
    file: File,
    signed: AtomicBool,
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.signed.load(Ordering::Relaxed) {
            let _ = self.file.set_len(0);
        }
    }
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
            Ok(()) => Ok(Self { file, signed: AtomicBool::new(false) }),
            Err(fs::TryLockError::WouldBlock) => Err(LockError::Held { path: path.to_owned() }),
            Err(fs::TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// Takes the lock or says that another process or thread has held it all the while.
    ///
    /// A process that was killed may leave a child that it had forked and that has not become its
    /// program yet: until then the child holds what its parent held, and on a busy machine that is
    /// long enough to be met.
    pub fn take_within(path: &Path, patience: Duration) -> Result<Self, LockError> {
        let begun = crate::clock::monotonic();
        loop {
            match Self::try_take(path) {
                Err(LockError::Held { .. }) if begun.elapsed() < patience => {
                    thread::sleep(BETWEEN_LOOKS);
                }
                taken => return taken,
            }
        }
    }

    /// Waits until the lock is free.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let failed = |source| LockError::Io { path: path.to_owned(), source };
        let file = open_lock(path).map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(Self { file, signed: AtomicBool::new(false) })
    }

    /// Writes down which process holds the lock, for those who want it ended. The words go with the
    /// lock.
    pub fn sign(&self, holder: &[u8]) -> io::Result<()> {
        self.signed.store(true, Ordering::Relaxed);
        self.file.set_len(0)?;
        self.file.write_all_at(holder, 0)
    }

    /// Returns what the holder wrote down, if another process or thread has the lock.
    pub fn holder(path: &Path) -> Option<Vec<u8>> {
        Self::is_held(path).then(|| read(path).ok()).flatten()
    }

    /// Returns the locked file for a program that is to keep the lock for as long as it runs,
    /// whatever becomes of us.
    pub(crate) fn share(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Returns whether a live process holds the lock; a file that is not there is free.
    pub fn is_held(path: &Path) -> bool {
        File::open(path)
            .is_ok_and(|file| matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    // It can be the standard input of a program, which then reads its end.
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
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
    fn a_write_keeps_the_rights_of_the_file_and_takes_leftovers_away() {
        use std::os::unix::fs::PermissionsExt;

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let own = std::process::id();
        // Of processes that were killed, in the old form and in the new; of one that lives; and
        // what only looks alike.
        let gone = ["config.toml.4194999.tmp", "config.toml.4194999-7.tmp"];
        let others = [
            format!("config.toml.{own}-9.tmp"),
            "config.toml.mine.tmp".to_owned(),
            "config.toml.1x.tmp".to_owned(),
            "other.4194999.tmp".to_owned(),
        ];
        for name in gone.iter().copied().chain(others.iter().map(String::as_str)) {
            fs::write(dir.path().join(name), "half").unwrap();
        }
        write_atomic(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let left = paths_in(dir.path()).unwrap();
        assert_eq!(left.len(), 1 + others.len(), "{left:?}");
        assert!(gone.iter().all(|name| !dir.path().join(name).exists()));
    }

    #[test]
    fn a_file_is_created_once_and_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("task.md");
        create_atomic(&path, b"first").unwrap();
        let again = create_atomic(&path, b"second").unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(paths_in(dir.path()).unwrap(), [path]);
    }

    #[test]
    fn what_is_no_file_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for path in [Path::new("/dev/full"), Path::new("/dev/zero"), &pipe, dir.path()] {
            assert_eq!(read(path).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{path:?}");
        }
    }

    #[test]
    fn a_lock_is_exclusive_and_ends_with_its_holder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        assert!(!Lock::is_held(&path));
        let held = Lock::try_take(&path).unwrap();
        assert!(Lock::is_held(&path));
        assert!(matches!(Lock::try_take(&path), Err(LockError::Held { .. })));
        held.sign(b"somebody with a long name").unwrap();
        held.sign(b"another").unwrap();
        assert_eq!(Lock::holder(&path).as_deref(), Some(&b"another"[..]));
        drop(held);
        assert_eq!(Lock::holder(&path), None, "it is free");
        assert_eq!(fs::read(&path).unwrap(), b"");
        assert!(Lock::try_take(&path).is_ok());
    }

    #[test]
    fn a_lock_that_a_dying_process_left_to_its_child_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = Lock::try_take(&path).unwrap();
        let of_child = held.share().unwrap();
        drop(held);
        let short = Lock::take_within(&path, Duration::from_millis(30));
        assert!(matches!(short, Err(LockError::Held { .. })));
        let child = thread::spawn(move || {
            thread::sleep(Duration::from_millis(60));
            drop(of_child);
        });
        assert!(Lock::take_within(&path, Duration::from_secs(60)).is_ok());
        child.join().unwrap();
    }
}
