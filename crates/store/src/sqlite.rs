//! The journal and the knowledge graph in one SQLite file.
//!
//! Two types on one file, each with its own connection, and not one type for both: a walk
//! through the graph that takes a second does not keep a step of a run waiting, and neither
//! contract leans on the other. How the file is opened, locked and brought up to date is the
//! same for both, and is here.
//!
//! Write-ahead log (<https://www.sqlite.org/wal.html>) and `synchronous=FULL`: what was
//! answered with `Ok` survives a power cut, and readers never wait for the writer. Every write
//! takes the write lock at its beginning (`BEGIN IMMEDIATE`,
//! <https://www.sqlite.org/lang_transaction.html>), so none is refused half way because another
//! connection wrote meanwhile; a connection waits for the lock at most the busy timeout.
//!
//! Opening asks the file one question and writes nothing unless the file is older than this
//! program. A file that is not ours is never written to. A new file gets its name when it is
//! whole, so one with nothing in it is not new: it was cut off, and what it held is not to be
//! replaced by an empty history.

mod damage;
mod failure;
mod journal;
mod knowledge;
mod making;
mod migrations;
mod reading;
mod rows;
#[cfg(test)]
mod tests;
mod writes;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::journal::{Cause, JournalError};
use failure::{Failure, journal_error};

pub use knowledge::SqliteKnowledge;

/// How to open the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenOptions {
    /// How long a call waits for another process before it gives up.
    pub busy_timeout: Duration,
}

impl OpenOptions {
    /// Longer than any transaction of ours by orders of magnitude; a writer that does not get
    /// its turn within this time has a sick neighbour.
    pub const DEFAULT_BUSY_TIMEOUT: Duration = Duration::from_secs(30);
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { busy_timeout: Self::DEFAULT_BUSY_TIMEOUT }
    }
}

/// How long SQLite may wait for the write lock by itself, in steps of one to two milliseconds.
const ASK_AGAIN: Duration = Duration::from_millis(4);

/// Why the file could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is nothing to read yet.
    #[error("{path} does not exist", path = spore_plain::path(.path))]
    Missing { path: PathBuf },
    /// It is there and holds nothing, which no file of ours ever does.
    #[error("{path} is empty: what it held was cut off", path = spore_plain::path(.path))]
    Empty { path: PathBuf },
    #[error("{path} is damaged or not a database", path = spore_plain::path(.path))]
    Corrupt { path: PathBuf, source: Cause },
    /// A sound database, but of another program.
    #[error("{path} is not a journal of Spore", path = spore_plain::path(.path))]
    NotOurs { path: PathBuf },
    /// Written by a later Spore; this one would not understand it.
    #[error("{path} has version {found}, this program knows up to {known}", path = spore_plain::path(.path))]
    Newer { path: PathBuf, found: u32, known: u32 },
    /// Must be opened for writing once, which brings it up to date.
    #[error("{path} has version {found} and must be brought to {known} first", path = spore_plain::path(.path))]
    Older { path: PathBuf, found: u32, known: u32 },
    #[error("{path} cannot be written to", path = spore_plain::path(.path))]
    ReadOnly { path: PathBuf },
    #[error("the disk that holds {path} is full", path = spore_plain::path(.path))]
    Full { path: PathBuf, source: Cause },
    #[error("{path} is held by another process", path = spore_plain::path(.path))]
    Busy { path: PathBuf, source: Cause },
    #[error("cannot open {path}", path = spore_plain::path(.path))]
    Io { path: PathBuf, source: Cause },
}

impl OpenError {
    fn new(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match Failure::of(&source) {
            Failure::Corrupt => Self::Corrupt { path, source: source.into() },
            Failure::Full => Self::Full { path, source: source.into() },
            Failure::Busy => Self::Busy { path, source: source.into() },
            Failure::ReadOnly => Self::ReadOnly { path },
            Failure::Io | Failure::Bug => Self::Io { path, source: source.into() },
        }
    }

    /// Says it of another file: of the one that was to be made, not of its scratch.
    fn at(mut self, other: &Path) -> Self {
        match &mut self {
            Self::Missing { path }
            | Self::Empty { path }
            | Self::Corrupt { path, .. }
            | Self::NotOurs { path }
            | Self::Newer { path, .. }
            | Self::Older { path, .. }
            | Self::ReadOnly { path }
            | Self::Full { path, .. }
            | Self::Busy { path, .. }
            | Self::Io { path, .. } => other.clone_into(path),
        }
        self
    }
}

/// The journal of one repository; threads take turns on its connection.
pub struct SqliteJournal {
    file: Handle,
}

impl SqliteJournal {
    /// Opens the journal for reading and writing; makes it if it is not there and brings it
    /// up to date if it is older than this program.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::open_with(path, &OpenOptions::default())
    }

    pub fn open_with(path: &Path, options: &OpenOptions) -> Result<Self, OpenError> {
        Ok(Self { file: Handle::open(path, options)? })
    }

    /// Opens a journal that is there, for reading alone.
    pub fn open_read_only(path: &Path) -> Result<Self, OpenError> {
        Ok(Self { file: Handle::open_read_only(path)? })
    }

    fn read<T>(
        &self,
        act: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, JournalError> {
        act(&self.file.lock()).map_err(journal_error)
    }

    fn write<T>(
        &self,
        act: impl FnOnce(&Transaction<'_>) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        self.file.write(journal_error, act)
    }
}

/// A connection to the file, on which threads take turns.
struct Handle {
    connection: Mutex<Connection>,
    busy_timeout: Duration,
}

impl Handle {
    fn open(path: &Path, options: &OpenOptions) -> Result<Self, OpenError> {
        if !path.exists() {
            making::make(path, options)?;
        }
        refuse_empty(path)?;
        let mut connection = connect(path, options, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let found = migrations::identify(path, &connection)?;
        let failed = |source| OpenError::new(path, source);
        // SQLite opens a write-protected file without a word and fails at the first write.
        if connection.is_readonly(rusqlite::MAIN_DB).map_err(failed)? {
            return Err(OpenError::ReadOnly { path: path.to_owned() });
        }
        connection
            .execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")
            .map_err(failed)?;
        if found < migrations::KNOWN {
            migrations::upgrade(path, &mut connection)?;
        }
        Ok(Self { connection: Mutex::new(connection), busy_timeout: options.busy_timeout })
    }

    fn open_read_only(path: &Path) -> Result<Self, OpenError> {
        if !path.exists() {
            return Err(OpenError::Missing { path: path.to_owned() });
        }
        refuse_empty(path)?;
        let options = OpenOptions::default();
        let connection = connect(path, &options, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let (found, known) = (migrations::identify(path, &connection)?, migrations::KNOWN);
        if found < known {
            return Err(OpenError::Older { path: path.to_owned(), found, known });
        }
        Ok(Self { connection: Mutex::new(connection), busy_timeout: options.busy_timeout })
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A thread that panicked has rolled its transaction back on the way out.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write<T, E>(
        &self,
        failed: fn(rusqlite::Error) -> E,
        act: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let connection = self.lock();
        let transaction = begin(&connection, self.busy_timeout).map_err(failed)?;
        let done = act(&transaction)?;
        transaction.commit().map_err(failed)?;
        Ok(done)
    }
}

/// Refuses a file without a byte before SQLite sees it, which would take it for a new one and
/// remove the log beside it, with all that was written last
/// (<https://www.sqlite.org/src/file/src/pager.c>, `pagerOpenWalIfPresent`).
fn refuse_empty(path: &Path) -> Result<(), OpenError> {
    match path.metadata() {
        Ok(found) if found.is_file() && found.len() == 0 => {
            Err(OpenError::Empty { path: path.to_owned() })
        }
        _ => Ok(()),
    }
}

fn connect(path: &Path, options: &OpenOptions, flags: OpenFlags) -> Result<Connection, OpenError> {
    let failed = |source| OpenError::new(path, source);
    // With a directory in front no name can look like a `file:` address to SQLite.
    let place = if path.is_relative() { Path::new(".").join(path) } else { path.to_owned() };
    // Threads are kept apart by our own mutex, so SQLite need not do it a second time.
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(place, flags).map_err(failed)?;
    connection.busy_timeout(options.busy_timeout).map_err(failed)?;
    // Where SQLite has statistics, it would plan a statement anew for each value that is bound to it:
    // a fifth of what a dashboard took (<https://www.sqlite.org/c3ref/c_dbconfig_defensive.html>).
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failed)?;
    Ok(connection)
}

/// The machine's monotonic clock, which SQLite waits by as well.
#[expect(
    clippy::disallowed_methods,
    reason = "a store is handed no clock: its rows bring their times"
)]
fn now() -> Instant {
    Instant::now()
}

/// Takes the write lock. SQLite would ask ten times a second at most, so that of many busy
/// writers one or another waited for seconds; asking often lets all of them have their turn.
fn begin(connection: &Connection, patience: Duration) -> rusqlite::Result<Transaction<'_>> {
    let patient_until = now() + patience;
    connection.busy_timeout(ASK_AGAIN.min(patience))?;
    let begun = loop {
        match Transaction::new_unchecked(connection, TransactionBehavior::Immediate) {
            Err(error) if Failure::of(&error) == Failure::Busy && now() < patient_until => {}
            begun => break begun,
        }
    };
    connection.busy_timeout(patience)?;
    begun
}
