//! Appends lines to the newest partition, with as few calls to the kernel as are safe.
//!
//! The files stay open from one append to the next. What they were opened for may change
//! meanwhile, so under the lock each append asks two things: whether the directory has
//! changed since it was searched, for then another process may have begun, removed or replaced
//! a file; and how long the partition is, for a process that died while it appended may have
//! left half a line. If the first answer is not a clear no, everything is opened anew.
//!
//! A directory that changed twice within a tick of the kernel's clock looks as if it had
//! changed once. So it is trusted only if it was at rest when it was searched.
//!
//! Threads that share a [`super::Spine`] take turns before they ask for the lock, which only
//! processes have to settle between them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::{APPEND_LOCK, Durability, Spine, SpineError};

/// The files of the last append.
#[derive(Debug)]
pub(super) struct AppendFiles {
    lock: File,
    /// What the directory was like before the partition was chosen; `None` if it was not at
    /// rest.
    dir: Option<DirectoryStamp>,
    partition: String,
    file: File,
    /// How long the partition was when it surely ended in a newline.
    whole: u64,
}

/// Longer than a tick of the slowest kernel, which takes ten milliseconds.
const AT_REST: Duration = Duration::from_millis(12);

/// Changes when a file is added to a directory, removed or renamed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct DirectoryStamp {
    device: u64,
    inode: u64,
    changed: SystemTime,
}

impl DirectoryStamp {
    fn of(dir: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(dir)?;
        let changed = metadata.modified()?;
        Ok(Self { device: metadata.dev(), inode: metadata.ino(), changed })
    }

    /// Whether another change would show.
    fn is_at_rest(&self, now: SystemTime) -> bool {
        now.duration_since(self.changed).is_ok_and(|rest| rest > AT_REST)
    }
}

/// Appends `lines`, which have been checked, and leaves the files open in `files`. After an
/// error there are none, so that the next append trusts nothing.
pub(super) fn append(
    spine: &Spine,
    files: &mut Option<AppendFiles>,
    day: &str,
    lines: &[String],
) -> Result<(), SpineError> {
    let failed = |source| SpineError::Io { path: spine.dir.clone(), source };
    let known = match files.take() {
        Some(files) => files.take_lock(&spine.dir, day).map_err(failed)?,
        None => None,
    };
    let (mut open, length) = match known {
        Some(known) => known,
        None => AppendFiles::open(spine, day)?,
    };
    let written = open.write(spine, length, lines).and_then(|()| open.lock.unlock());
    written.map_err(|source| SpineError::Io { path: spine.path_of(&open.partition), source })?;
    *files = Some(open);
    Ok(())
}

impl AppendFiles {
    /// Waits for the lock and returns the files, if they are still the right ones, and how
    /// long the partition is.
    fn take_lock(self, dir: &Path, day: &str) -> io::Result<Option<(Self, u64)>> {
        self.lock.lock()?;
        let metadata = self.file.metadata()?;
        let right = metadata.nlink() > 0
            && day <= self.partition.as_str()
            && self.dir.is_some()
            && self.dir == DirectoryStamp::of(dir).ok();
        Ok(right.then_some((self, metadata.len())))
    }

    /// Takes the lock and finds the newest partition.
    fn open(spine: &Spine, day: &str) -> Result<(Self, u64), SpineError> {
        let lock = spine.lock(APPEND_LOCK)?;
        let failed = |source| SpineError::Io { path: spine.dir.clone(), source };
        let dir = DirectoryStamp::of(&spine.dir).map_err(failed)?;
        // By the same clock, and whatever the process thinks the time is.
        let now = touch(&lock).map_err(failed)?;
        let partition = spine.newest(day)?;
        let path = spine.path_of(&partition);
        let file = super::refuse_link(&path)
            .and_then(|()| File::options().read(true).append(true).create(true).open(&path));
        let opened = file.and_then(|file| Ok((file.metadata()?.len(), file)));
        let (length, file) = opened.map_err(|source| SpineError::Io { path, source })?;
        let dir = Some(dir).filter(|dir| dir.is_at_rest(now));
        Ok((Self { lock, dir, partition, file, whole: 0 }, length))
    }

    fn write(&mut self, spine: &Spine, length: u64, lines: &[String]) -> io::Result<()> {
        let text = text_of(lines, length != self.whole && is_torn(&self.file, length)?);
        self.file.write_all(text.as_bytes())?;
        if spine.durability == Durability::Synced {
            self.file.sync_data()?;
            // A new file is durable only once its directory is.
            if length == 0 {
                File::open(&spine.dir)?.sync_all()?;
            }
        }
        self.whole = length + text.len() as u64;
        Ok(())
    }
}

/// Returns what the file system takes for now.
fn touch(file: &File) -> io::Result<SystemTime> {
    file.write_all_at(b"\n", 0)?;
    file.metadata()?.modified()
}

/// Returns whether a writer died in the middle of the last line.
fn is_torn(file: &File, length: u64) -> io::Result<bool> {
    let mut last = [0];
    if length == 0 {
        return Ok(false);
    }
    file.read_exact_at(&mut last, length - 1)?;
    Ok(last != *b"\n")
}

fn text_of(lines: &[String], mend: bool) -> String {
    let bytes = lines.iter().map(|line| line.len() + 1).sum::<usize>();
    let mut text = String::with_capacity(bytes + 1);
    if mend {
        text.push('\n');
    }
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn place() -> (TempDir, Spine) {
        let dir = tempfile::tempdir().unwrap();
        let spine = Spine::new(dir.path().join("events"));
        (dir, spine)
    }

    fn append(spine: &Spine, day: &str, line: &str) {
        spine.append(day, &[line.to_owned()]).unwrap();
    }

    #[track_caller]
    fn check(spine: &Spine, day: &str, expected: &str) {
        assert_eq!(fs::read_to_string(spine.path_of(day)).unwrap(), expected);
    }

    /// As if nothing had happened for a while.
    fn rest(spine: &Spine) {
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        File::open(&spine.dir).unwrap().set_modified(long_ago).unwrap();
    }

    #[test]
    fn a_partition_that_another_writer_began_is_followed_at_once() {
        for rested in [true, false].repeat(25) {
            let (_dir, spine) = place();
            let other = Spine::new(&spine.dir);
            append(&spine, "2026-01-01", "a");
            if rested {
                rest(&spine);
                append(&spine, "2026-01-01", "a");
                assert!(spine.files.lock().unwrap().as_ref().unwrap().dir.is_some());
            }
            append(&other, "2026-01-02", "b");
            append(&spine, "2026-01-01", "c");
            append(&other, "2026-01-01", "d");
            check(&spine, "2026-01-01", if rested { "a\na\n" } else { "a\n" });
            check(&spine, "2026-01-02", "b\nc\nd\n");
        }
    }

    #[test]
    fn what_somebody_else_left_unfinished_gets_its_newline() {
        let (_dir, spine) = place();
        append(&spine, "2026-01-01", "a");
        rest(&spine);
        append(&spine, "2026-01-01", "a");
        let path = spine.path_of("2026-01-01");
        File::options().append(true).open(path).unwrap().write_all(b"to").unwrap();
        append(&spine, "2026-01-01", "b");
        append(&spine, "2026-01-01", "c");
        check(&spine, "2026-01-01", "a\na\nto\nb\nc\n");
    }

    #[test]
    fn nothing_is_written_to_a_file_that_is_gone() {
        let (_dir, spine) = place();
        append(&spine, "2026-01-01", "a");
        rest(&spine);
        append(&spine, "2026-01-01", "a");
        fs::remove_file(spine.path_of("2026-01-01")).unwrap();
        append(&spine, "2026-01-01", "b");
        check(&spine, "2026-01-01", "b\n");
        fs::remove_dir_all(&spine.dir).unwrap();
        append(&spine, "2026-01-01", "c");
        check(&spine, "2026-01-01", "c\n");
    }

    #[test]
    fn a_lock_that_is_gone_locks_nobody_out_and_nobody_in() {
        let (_dir, spine) = place();
        append(&spine, "2026-01-01", "a");
        rest(&spine);
        append(&spine, "2026-01-01", "a");
        fs::remove_file(spine.dir.join(APPEND_LOCK)).unwrap();
        let other = Spine::new(&spine.dir);
        append(&other, "2026-01-02", "b");
        append(&spine, "2026-01-01", "c");
        check(&spine, "2026-01-02", "b\nc\n");
    }
}
