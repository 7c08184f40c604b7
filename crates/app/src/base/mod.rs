//! What every room stands on: the surroundings, the project, errors, progress.

pub(crate) mod checkouts;
pub(crate) mod cutoff;
pub(crate) mod error;
pub(crate) mod files;
pub(crate) mod init;
pub(crate) mod outbox;
pub(crate) mod progress;
pub(crate) mod role_prompts;
pub(crate) mod run_files;
pub(crate) mod run_lock;
pub(crate) mod run_refs;
pub(crate) mod step;
pub(crate) mod stores;
pub(crate) mod surroundings;
pub(crate) mod title;
pub(crate) mod workspace;
