//! The spine: every event of a repository, one JSON line each, in a file per UTC day.
//!
//! Files, because people, scripts and memory read them with tools of their own. Any process may
//! append through [`Spine::append`]; Spore's own events come through the outbox, see [`flush`].
//!
//! One decision makes cursors safe: a line is only ever appended to the newest partition
//! there is, whatever the writer's clock says. So once a later partition exists an earlier
//! one is closed for good, and a reader that has moved on misses nothing at midnight or when
//! a clock goes back.
//!
//! Nothing here is ever rewritten. A line torn by a crash stays, and readers report it.

mod append;
mod backwards;
mod outbox;
mod reader;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use spore_model::Event;

pub use backwards::Backwards;
pub use outbox::{FlushError, flush};
pub use reader::{DEDUP_WINDOW, EventReader, Flaw, ReadLine, SpineProblem};

/// The longest line, without its newline, that is written or understood.
pub const MAX_LINE_BYTES: usize = 1 << 20;

/// Beside the partitions; their names begin with a digit.
const APPEND_LOCK: &str = ".append.lock";
const OUTBOX_LOCK: &str = ".outbox.lock";

/// How sure an append is when it returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Durability {
    /// Survives a power cut.
    #[default]
    Synced,
    /// Survives the death of the process; the kernel writes it when it likes.
    Buffered,
}

/// A place between two lines. The default is before the very first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Cursor {
    /// The UTC day, `2026-01-31`; empty for the beginning of everything.
    pub partition: String,
    /// In bytes from the beginning of the partition.
    pub offset: u64,
}

/// Why the spine could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum SpineError {
    /// The name of a partition comes from a clock; this did not.
    #[error("{day:?} is not a day such as 2026-01-31")]
    BadDay { day: String },
    /// Nothing was written.
    #[error("an event of {bytes} bytes, or of several lines, cannot be a line of the spine")]
    BadLine { bytes: usize },
    #[error("cannot use {path}", path = spore_plain::path(.path))]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Opens a partition to read it. What is no file is refused: a device has no end.
fn open_partition(path: &Path) -> io::Result<File> {
    if path.metadata()?.is_file() {
        return File::open(path);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"))
}

/// Refuses a link: what is written through it may be any file of the user's.
fn refuse_link(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a link to another place"))
        }
        _ => Ok(()),
    }
}

/// The event files of one repository. Clones share what they have open.
#[derive(Clone, Debug)]
pub struct Spine {
    dir: PathBuf,
    durability: Durability,
    files: Arc<Mutex<Option<append::AppendFiles>>>,
}

impl Spine {
    /// Names the directory; it is made by the first append.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), durability: Durability::default(), files: Arc::default() }
    }

    #[must_use]
    pub fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Appends lines, without their newlines, to the partition of `day`, or to the newest one
    /// if that is later. They stand together, in this order, even if other processes append at
    /// the same time. An error may leave some of them, or half of one, behind: the next append
    /// closes that line.
    pub fn append(&self, day: &str, lines: &[String]) -> Result<(), SpineError> {
        if !is_day(day) {
            return Err(SpineError::BadDay { day: day.chars().take(80).collect() });
        }
        let bad = |line: &&String| line.len() > MAX_LINE_BYTES || line.contains('\n');
        if let Some(line) = lines.iter().find(bad) {
            return Err(SpineError::BadLine { bytes: line.len() });
        }
        if lines.is_empty() {
            return Ok(());
        }
        // A thread that panicked has taken its files with it.
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        append::append(self, &mut files, day, lines)
    }

    /// Returns a reader of everything from `cursor` on.
    pub fn read_from(&self, cursor: &Cursor) -> EventReader {
        EventReader::new(self.clone(), cursor.clone())
    }

    /// Returns the places of all lines, newest first.
    pub fn backwards(&self) -> Result<Backwards, SpineError> {
        Backwards::new(self.clone())
    }

    /// Returns where an append on `day` would begin now; another process may append first.
    pub fn end(&self, day: &str) -> Result<Cursor, SpineError> {
        let partition = self.newest(day)?;
        let path = self.path_of(&partition);
        match fs::metadata(&path) {
            Ok(metadata) => Ok(Cursor { partition, offset: metadata.len() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Cursor { partition, offset: 0 })
            }
            Err(source) => Err(SpineError::Io { path, source }),
        }
    }

    fn newest(&self, day: &str) -> Result<String, SpineError> {
        let newest = self.partitions()?.pop();
        Ok(newest.filter(|newest| newest.as_str() > day).unwrap_or_else(|| day.to_owned()))
    }

    /// Returns the days that have a file, in order.
    fn partitions(&self) -> Result<Vec<String>, SpineError> {
        let failed = |source| SpineError::Io { path: self.dir.clone(), source };
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(failed(source)),
        };
        let mut days = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            let day = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
            days.extend(day.filter(|day| is_day(day)).map(str::to_owned));
        }
        days.sort_unstable();
        Ok(days)
    }

    fn path_of(&self, partition: &str) -> PathBuf {
        self.dir.join(format!("{partition}.jsonl"))
    }

    /// Waits for a lock that ends when the file is dropped, or with the process.
    fn lock(&self, name: &str) -> Result<File, SpineError> {
        let path = self.dir.join(name);
        let locked = fs::create_dir_all(&self.dir).and_then(|()| {
            refuse_link(&path)?;
            let file =
                File::options().read(true).write(true).create(true).truncate(false).open(&path)?;
            file.lock()?;
            Ok(file)
        });
        locked.map_err(|source| SpineError::Io { path, source })
    }
}

/// Returns the line of an event. A payload that makes it too long is replaced by its size;
/// `None` if it is too long even so.
pub fn line_of(event: &Event) -> Option<String> {
    let line = serde_json::to_string(event).ok()?;
    if line.len() <= MAX_LINE_BYTES {
        return Some(line);
    }
    let omitted = serde_json::json!({ "omitted_bytes": event.payload.to_string().len() });
    let line = serde_json::to_string(&Event { payload: omitted, ..event.clone() }).ok()?;
    (line.len() <= MAX_LINE_BYTES).then_some(line)
}

/// `2026-01-31`: digits in their places, so that the name is no path and sorts as time does.
fn is_day(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(index, byte)| match index {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}
