//! What the database library's errors mean to a caller of the index.

use rusqlite::ErrorCode;

use crate::journal::Cause;

/// Why the index gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum CodeIndexError {
    /// To be made anew; nothing is lost but time.
    #[error("the code index is damaged")]
    Damaged { source: Cause },
    #[error("the disk is full")]
    Full { source: Cause },
    #[error("the code index cannot be written to")]
    ReadOnly { source: Cause },
    #[error("the code index is held by another process")]
    Busy { source: Cause },
    #[error("the code index cannot be read or written")]
    Io { source: Cause },
    /// The database refused a statement of ours.
    #[error("the code index was used wrongly")]
    Bug { source: Cause },
}

impl From<rusqlite::Error> for CodeIndexError {
    fn from(error: rusqlite::Error) -> Self {
        let code = error.sqlite_error_code();
        let of_value = matches!(
            error,
            rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
        );
        let source = Cause::from(error);
        match code {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged { source },
            // A value that does not read as what its column holds was not written by us.
            None if of_value => Self::Damaged { source },
            Some(ErrorCode::DiskFull) => Self::Full { source },
            Some(ErrorCode::ReadOnly) => Self::ReadOnly { source },
            Some(
                ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed,
            ) => Self::Busy { source },
            Some(
                ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::OutOfMemory
                | ErrorCode::NoLargeFileSupport,
            ) => Self::Io { source },
            _ => Self::Bug { source },
        }
    }
}
