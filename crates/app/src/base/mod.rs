//! What every room stands on: the surroundings, the project, errors, progress.

pub(crate) mod checkouts;
pub(crate) mod cutoff;
pub(crate) mod error;
pub(crate) mod init;
pub(crate) mod outbox;
pub(crate) mod progress;
pub(crate) mod surroundings;
pub(crate) mod workspace;
