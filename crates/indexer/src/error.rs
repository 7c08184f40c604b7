//! Why an index could not be made or opened.

use std::path::PathBuf;

use spore_effects::files::LockError;
use spore_embed::{EmbedError, VectorsError};
use spore_git::GitError;
use spore_store::{CodeIndexError, CodeIndexOpenError};

pub(crate) type Result<T> = std::result::Result<T, IndexerError>;

/// Why an index could not be made or opened, by what the caller tells its user to do.
#[derive(Debug, thiserror::Error)]
pub enum IndexerError {
    /// A path that was named lies outside of the tree.
    #[error("{typed} is outside of {root}", typed = spore_plain::path(.typed), root = spore_plain::path(.root))]
    Outside { typed: PathBuf, root: PathBuf },
    /// A path that was named cannot be written down.
    #[error("{typed} is not text", typed = spore_plain::path(.typed))]
    NotText { typed: PathBuf },
    /// A language that was named has no grammar here; `known` has those that do.
    #[error("{typed:?} is not a language that can be read")]
    UnknownLanguage { typed: String, known: Vec<&'static str> },
    /// A path that was named is neither on the disk nor in the index.
    #[error("there is no file or directory {path}")]
    NoSuchPath { path: String },
    /// A list of what to leave out is broken; its author has to mend it.
    #[error("{path} cannot be understood")]
    IgnoreFile {
        path: String,
        #[source]
        source: ignore::Error,
    },
    /// Another program replaced the index between two steps; another try may help.
    #[error("{0}")]
    Replaced(#[source] CodeIndexOpenError),
    /// The operating system does not report changes of the tree.
    #[error("the work tree cannot be watched")]
    Unwatchable(#[source] notify::Error),
    #[error("cannot write {path}", path = spore_plain::path(.path))]
    Write {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("cannot remove {path}", path = spore_plain::path(.path))]
    Remove {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Store(#[from] CodeIndexError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Model(#[from] EmbedError),
    #[error(transparent)]
    Vectors(#[from] VectorsError),
}
