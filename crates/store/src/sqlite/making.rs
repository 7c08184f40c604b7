//! A new file: made whole under another name, then given its own.
//!
//! So a process that dies on the way leaves no file that could be taken for the journal of a
//! project without history. The other name begins with that of the file, by which git ignores
//! both.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::OpenFlags;

use super::{OpenError, OpenOptions, connect, migrations};

/// Makes the file unless another process does so first, in which case theirs is the one.
pub(super) fn make(path: &Path, options: &OpenOptions) -> Result<(), OpenError> {
    remove_leftovers(path);
    let scratch = scratch(path);
    let made = fill(path, &scratch, options).and_then(|()| {
        name(&scratch, path)
            .map_err(|source| OpenError::Io { path: path.to_owned(), source: source.into() })
    });
    let _ = fs::remove_file(&scratch);
    made
}

/// Removes what killed processes left of a file in the making. Their numbers are in the names.
fn remove_leftovers(path: &Path) {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return };
    let Ok(entries) = fs::read_dir(path.parent().unwrap_or(Path::new("."))) else { return };
    for entry in entries.flatten() {
        let left = entry.file_name();
        let rest = left.to_str().and_then(|left| left.strip_prefix(name)?.strip_prefix('.'));
        let Some((process, rest)) = rest.and_then(|rest| rest.split_once('-')) else { continue };
        let is_ours = rest.contains(".new") && process.parse::<u32>().is_ok();
        if is_ours && !Path::new("/proc").join(process).exists() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A name that no other process and no other thread has.
fn scratch(path: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}-{count}.new", std::process::id()));
    PathBuf::from(name)
}

fn fill(path: &Path, scratch: &Path, options: &OpenOptions) -> Result<(), OpenError> {
    let failed = |source| OpenError::new(path, source);
    // One of a process that had our number and died.
    let _ = fs::remove_file(scratch);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection = connect(scratch, options, flags).map_err(|error| error.at(path))?;
    connection.execute_batch("PRAGMA synchronous = FULL").map_err(failed)?;
    // The file remembers.
    connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
    migrations::upgrade(scratch, &mut connection).map_err(|error| error.at(path))?;
    // The last connection puts everything into the file itself and removes the log.
    connection.close().map_err(|(_, source)| failed(source))
}

/// Gives the file its name, unless it is taken.
fn name(scratch: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(scratch, path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        // Some file systems have no links.
        Err(_) if !path.exists() => fs::rename(scratch, path)?,
        Err(_) => return Ok(()),
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}
