//! The file that a durable write begins with, before it has the name of the file it becomes.
//!
//! Where the file system can, it has no name at all while it is written (`O_TMPFILE`,
//! <https://man7.org/linux/man-pages/man2/open.2.html>), so that a process that is killed
//! meanwhile leaves nothing. A rename needs a name to begin with: what a kill between the two
//! leaves, and what one leaves where files must have names, the next write of the same file
//! takes away.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{Pid, linkat};

use super::parent_of;

/// Ends the names of scratch files.
const ENDING: &str = ".tmp";

/// Writes a scratch file beside `path` and returns where it is, whole and on disk.
pub(super) fn write(
    path: &Path,
    content: &[u8],
    rights: Option<Permissions>,
) -> io::Result<PathBuf> {
    let scratch = name_beside(path);
    if let Ok(file) = nameless(parent_of(path)) {
        fill(&file, content, rights.clone())?;
        if give_name(&file, &scratch).is_ok() {
            return Ok(scratch);
        }
    }
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&scratch)
        .and_then(|file| fill(&file, content, rights));
    if written.is_err() {
        let _ = fs::remove_file(&scratch);
    }
    written.map(|()| scratch)
}

/// A name that no other process and no other thread has; a leftover of a dead one with our
/// number is written over.
fn name_beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}-{count}{ENDING}", std::process::id()));
    parent_of(path).join(name)
}

fn nameless(dir: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).custom_flags(nix::libc::O_TMPFILE).open(dir)
}

fn fill(mut file: &File, content: &[u8], rights: Option<Permissions>) -> io::Result<()> {
    if let Some(rights) = rights {
        file.set_permissions(rights)?;
    }
    file.write_all(content)?;
    file.sync_all()
}

fn give_name(file: &File, name: &Path) -> io::Result<()> {
    let _ = fs::remove_file(name);
    // The way that the manual of open(2) names for a process without CAP_DAC_READ_SEARCH.
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    let follow = AtFlags::AT_SYMLINK_FOLLOW;
    Ok(linkat(AT_FDCWD, open.as_str(), AT_FDCWD, name, follow)?)
}

/// Removes what killed processes left of writes of this file.
pub(super) fn remove_leftovers(path: &Path) {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return };
    let Ok(entries) = fs::read_dir(parent_of(path)) else { return };
    for entry in entries.flatten() {
        let left = entry.file_name();
        let writer = left.to_str().and_then(|left| writer_of(left, name));
        if writer.is_some_and(is_dead) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns the process that a scratch file of `name` belongs to: `name.PID-COUNT.tmp`, or
/// without a count as it was written before.
fn writer_of(left: &str, name: &str) -> Option<i32> {
    let middle = left.strip_prefix(name)?.strip_prefix('.')?.strip_suffix(ENDING)?;
    let (process, count) = middle.split_once('-').unwrap_or((middle, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    is_number(count).then_some(process).filter(|text| is_number(text))?.parse().ok()
}

fn is_dead(process: i32) -> bool {
    process > 0 && nix::sys::signal::kill(Pid::from_raw(process), None) == Err(nix::Error::ESRCH)
}
