//! The code half of the graph: files, what is in them, and how it hangs together.
//!
//! One file of its own, derived from a tree and never precious: whatever is wrong with it
//! (damage, another version, another program's file), the answer is [`CodeIndexOpenError::Unusable`],
//! and the caller makes it anew. It is concrete and local, with no trait in front: the index of a
//! work tree on this machine has no use on a server.
//!
//! Inside, nodes are numbers; outside, hashes. A node keeps its number as long as its hash
//! lives, so the edges that others have to it survive a change of its file. Where something
//! stands follows from the parent that each node has: edges of the kinds contains,
//! belongs_to, defined_in and sibling are derived when a query asks for them, and only what
//! names mean, what imports lead to and what changed together is kept as rows.
//!
//! What a name means is decided elsewhere. Here is the keeping of it: [`Writer`] is one
//! transaction, from the changes of a tree to the last edge that follows from them.

mod description;
mod dump;
mod failure;
mod history;
mod kinds;
mod known;
mod links;
mod lookup;
mod past_commits;
mod reads;
mod rows;
#[cfg(test)]
mod tests;
mod texts;
mod units;
mod words;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

pub use description::CodeEdge;
pub use failure::CodeIndexError;
pub use history::{CommitRow, LoggedCommit};
pub use known::{KnownState, KnownTree, KnownTreeFile};
pub use past_commits::PastCommit;
pub use reads::{CodeCounts, Namesake};
pub use rows::{
    FileMarks, FileNo, FileRow, FileStamp, ItemRow, KnownFile, NodeKey, NodeNo, SkippedFile,
    StoredEdge, StoredFile, StoredItem, StoredVisibility,
};
pub use texts::{TextOf, TextParts};
pub use units::{UnitDetails, UnitRow, UnitSpot};
pub use words::{SegmentKind, SegmentNo, Segments, TermLists};
pub use writer::Writer;

/// Raised with every change of the schema or of what the rows mean: an index of another
/// version is made anew.
pub const CODE_INDEX_VERSION: i64 = 4;

type Result<T, E = CodeIndexError> = std::result::Result<T, E>;

/// "SpIx" in ASCII, by which `file` and Spore know an index of Spore's.
const APPLICATION_ID: i64 = 0x5370_4978;

/// How much of the file a connection may keep in memory, in KiB.
const CACHE_KIB: i64 = 64 << 10;

/// Why there is no index to use.
#[derive(Debug, thiserror::Error)]
pub enum CodeIndexOpenError {
    #[error("there is no index at {path}", path = spore_plain::path(.path))]
    Missing { path: PathBuf },
    /// To be made anew.
    #[error("the index at {path} {why}", path = spore_plain::path(.path))]
    Unusable { path: PathBuf, why: String },
    #[error(transparent)]
    Failed(#[from] CodeIndexError),
}

/// The index of one tree; threads take turns on its connection.
pub struct CodeIndex {
    connection: Mutex<Connection>,
    path: PathBuf,
}

impl CodeIndex {
    /// Opens an index that is there.
    pub fn open(path: &Path, busy_timeout: Duration) -> Result<Self, CodeIndexOpenError> {
        let missing = || CodeIndexOpenError::Missing { path: path.to_owned() };
        if !path.exists() {
            return Err(missing());
        }
        let unusable = |why: String| CodeIndexOpenError::Unusable { path: path.to_owned(), why };
        let opened = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, busy_timeout)
            .and_then(|connection| Ok((identify(&connection)?, connection)));
        let (found, connection) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                return Err(match CodeIndexError::from(error) {
                    CodeIndexError::Damaged { .. } => unusable("is damaged".to_owned()),
                    other => other.into(),
                });
            }
        };
        match found {
            (APPLICATION_ID, CODE_INDEX_VERSION) => Ok(Self::of(connection, path)),
            (APPLICATION_ID, version) => Err(unusable(format!("has version {version}"))),
            _ => Err(unusable("is not one of ours".to_owned())),
        }
    }

    /// Makes a new index for a great many rows at once: nothing is synced, nothing can be
    /// rolled back, and look-ups are slow until [`Self::finish`]. A process that dies on the way
    /// leaves a file that must not be used, so it is made under another name.
    pub fn create(path: &Path) -> Result<Self, CodeIndexError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let connection = connect(path, flags, Duration::from_secs(10))?;
        connection.execute_batch(
            "PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
             PRAGMA locking_mode = EXCLUSIVE;",
        )?;
        connection.execute_batch(include_str!("../migrations/index.sql"))?;
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
        connection.pragma_update(None, "user_version", CODE_INDEX_VERSION)?;
        Ok(Self::of(connection, path))
    }

    /// Adds what look-ups need after [`Self::create`]. The first call counts.
    pub fn add_lookups(&self) -> Result<(), CodeIndexError> {
        let connection = self.lock();
        let there: bool = connection.query_row(
            "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'nodes_by_id')",
            [],
            |row| row.get(0),
        )?;
        if !there {
            connection.execute_batch(include_str!("../migrations/index_lookups.sql"))?;
            connection.execute_batch("ANALYZE nodes_by_name; ANALYZE nodes_by_parent")?;
        }
        Ok(())
    }

    /// Turns what [`Self::create`] made into a file that is safe to share, and closes it.
    pub fn finish(self) -> Result<(), CodeIndexError> {
        let connection = self.connection.into_inner().unwrap_or_else(PoisonError::into_inner);
        connection.execute_batch("PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL")?;
        connection.close().map_err(|(_, error)| error.into())
    }

    /// Copies the index, as it is now, to another file; what that held is gone.
    pub fn copy_to(&self, path: &Path, busy_timeout: Duration) -> Result<(), CodeIndexError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        self.copy_into(connect(path, flags, busy_timeout)?)
    }

    fn copy_into(&self, mut target: Connection) -> Result<(), CodeIndexError> {
        let source = self.lock();
        let backup = rusqlite::backup::Backup::new(&source, &mut target)?;
        backup.run_to_completion(i32::MAX, Duration::from_millis(5), None)?;
        drop(backup);
        target.close().map_err(|(_, error)| error.into())
    }

    /// Copies the index, as it is now, to a file that no other connection has open; nothing is
    /// synced. SQLite makes the copy, because a plain copy would open and close the file, and a
    /// `close` drops all locks that this process has on it
    /// (<https://www.sqlite.org/howtocorrupt.html>, "Posix advisory locks canceled").
    pub fn duplicate(&self, path: &Path, busy_timeout: Duration) -> Result<(), CodeIndexError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let target = connect(path, flags, busy_timeout)?;
        target.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF")?;
        self.copy_into(target)
    }

    /// Opens an index that this process alone has, to change it before other processes see it. As
    /// after [`Self::create`], nothing is synced and [`Self::finish`] makes it safe to share.
    pub fn open_alone(path: &Path) -> Result<Self, CodeIndexError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let connection = connect(path, flags, Duration::from_secs(10))?;
        connection.execute_batch(
            "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF",
        )?;
        Ok(Self::of(connection, path))
    }

    fn of(connection: Connection, path: &Path) -> Self {
        Self { connection: Mutex::new(connection), path: path.to_owned() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs one transaction: all of it is kept when `act` returns `Ok`, else nothing.
    pub fn write<T, E: From<CodeIndexError>>(
        &self,
        act: impl FnOnce(&mut Writer<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let connection = self.lock();
        let begun = Transaction::new_unchecked(&connection, TransactionBehavior::Immediate);
        let transaction = begun.map_err(CodeIndexError::from)?;
        let mut writer = Writer::new(&transaction)?;
        let done = act(&mut writer)?;
        writer.finish()?;
        transaction.commit().map_err(CodeIndexError::from)?;
        Ok(done)
    }

    /// Runs a transaction that is never kept: what `act` does is seen through this value alone,
    /// and is gone with it. Until then no other connection can write.
    pub fn draft<E: From<CodeIndexError>>(
        self,
        act: impl FnOnce(&mut Writer<'_>) -> Result<(), E>,
    ) -> Result<Self, E> {
        {
            let connection = self.lock();
            let begun = connection.execute_batch("PRAGMA cache_spill = OFF; BEGIN IMMEDIATE");
            begun.map_err(CodeIndexError::from)?;
            let mut writer = Writer::new(&connection)?;
            act(&mut writer)?;
            writer.finish()?;
        }
        Ok(self)
    }

    /// Runs several statements that see the same rows, whatever others write meanwhile.
    fn read<T>(
        &self,
        act: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, CodeIndexError> {
        let connection = self.lock();
        if !connection.is_autocommit() {
            return Ok(act(&connection)?);
        }
        let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Deferred)?;
        Ok(act(&transaction)?)
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A thread that panicked has rolled its transaction back on the way out.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn connect(path: &Path, flags: OpenFlags, patience: Duration) -> rusqlite::Result<Connection> {
    let place = if path.is_relative() { Path::new(".").join(path) } else { path.to_owned() };
    let connection = Connection::open_with_flags(place, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(patience)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(connection)
}

fn identify(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    connection.query_row(
        "SELECT application_id, user_version FROM pragma_application_id, pragma_user_version",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
}
