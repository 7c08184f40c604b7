//! Which versions of the file there have been, and the way from each to the next.
//!
//! A migration that has been released is never edited: files made by it are out there. The
//! version is the number of migrations a file has had, kept in its header beside our
//! application id, and each migration is one transaction together with its number.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::OpenError;

/// "Spor" in ASCII: by this number `file` and this program tell a database of Spore's from
/// another program's, see <https://www.sqlite.org/pragma.html#pragma_application_id>.
const APPLICATION_ID: i32 = 0x5370_6f72;

pub(super) const MIGRATIONS: [&str; 9] = [
    include_str!("../../migrations/0001_journal.sql"),
    include_str!("../../migrations/0002_cache.sql"),
    include_str!("../../migrations/0003_knowledge.sql"),
    include_str!("../../migrations/0004_reading.sql"),
    include_str!("../../migrations/0005_sessions.sql"),
    include_str!("../../migrations/0006_figures.sql"),
    include_str!("../../migrations/0007_tasks.sql"),
    include_str!("../../migrations/0008_counted_entries.sql"),
    include_str!("../../migrations/0009_spent.sql"),
];

pub(super) const KNOWN: u32 = MIGRATIONS.len() as u32;

/// Returns the version of the file. One without anything is none of ours, see `making`.
pub(super) fn identify(path: &Path, connection: &Connection) -> Result<u32, OpenError> {
    match version(path, connection)? {
        0 => Err(OpenError::Empty { path: path.to_owned() }),
        found => Ok(found),
    }
}

/// Returns the version of a file that may be in the making: zero as long as it is empty.
fn version(path: &Path, connection: &Connection) -> Result<u32, OpenError> {
    let (application, version, tables) = connection
        .query_row(
            "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
             FROM pragma_application_id, pragma_user_version",
            [],
            |row| Ok((row.get::<_, i32>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)),
        )
        .map_err(|source| OpenError::new(path, source))?;
    let not_ours = || OpenError::NotOurs { path: path.to_owned() };
    if (application, version, tables) == (0, 0, 0) {
        return Ok(0);
    }
    if application != APPLICATION_ID {
        return Err(not_ours());
    }
    let found = u32::try_from(version).map_err(|_| not_ours())?;
    if found > KNOWN {
        return Err(OpenError::Newer { path: path.to_owned(), found, known: KNOWN });
    }
    Ok(found)
}

/// Brings the file to the version this program knows.
pub(super) fn upgrade(path: &Path, connection: &mut Connection) -> Result<(), OpenError> {
    let failed = |source| OpenError::new(path, source);
    for (number, sql) in (1..).zip(MIGRATIONS) {
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        // Only under the write lock is it certain that no other process has just done it.
        if self::version(path, &transaction)? < number {
            apply(&transaction, number, sql).map_err(failed)?;
            transaction.commit().map_err(failed)?;
        }
    }
    Ok(())
}

pub(super) fn apply(connection: &Connection, version: u32, sql: &str) -> rusqlite::Result<()> {
    connection.execute_batch(sql)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", version)
}
