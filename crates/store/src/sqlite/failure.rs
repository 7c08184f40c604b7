//! What the database library's errors mean to a caller.

use rusqlite::ErrorCode;

use crate::journal::JournalError;
use crate::knowledge::KnowledgeError;

/// The kinds of failure that lead to different exit codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Failure {
    Full,
    ReadOnly,
    Busy,
    Corrupt,
    Io,
    Bug,
}

impl Failure {
    pub(super) fn of(error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::ReadOnly) => Self::ReadOnly,
            Some(
                ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed,
            ) => Self::Busy,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt,
            Some(
                ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::OutOfMemory
                | ErrorCode::NoLargeFileSupport,
            ) => Self::Io,
            Some(_) => Self::Bug,
            None => Self::of_value(error),
        }
    }

    /// A value that does not read as what its column holds was not written by us.
    fn of_value(error: &rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..) => Self::Corrupt,
            _ => Self::Bug,
        }
    }
}

pub(super) fn journal_error(error: rusqlite::Error) -> JournalError {
    let failure = Failure::of(&error);
    let source = error.into();
    match failure {
        Failure::Full => JournalError::Full { source },
        Failure::ReadOnly => JournalError::ReadOnly { source },
        Failure::Busy => JournalError::Busy { source },
        Failure::Corrupt => JournalError::Corrupt { source },
        Failure::Io => JournalError::Io { source },
        Failure::Bug => JournalError::Bug { source },
    }
}

pub(super) fn knowledge_error(error: rusqlite::Error) -> KnowledgeError {
    let failure = Failure::of(&error);
    let source = error.into();
    match failure {
        Failure::Full => KnowledgeError::Full { source },
        Failure::ReadOnly => KnowledgeError::ReadOnly { source },
        Failure::Busy => KnowledgeError::Busy { source },
        Failure::Corrupt => KnowledgeError::Corrupt { source },
        Failure::Io => KnowledgeError::Io { source },
        Failure::Bug => KnowledgeError::Bug { source },
    }
}
