//! What every room stands on: the surroundings, the project, its files, stores and checkouts, and
//! the recorded step.
//!
//! Every room may use any of it. It always holds that nothing here knows a kind of run, and that
//! files and stores are written through here, so that each write is an effect by construction.

pub(crate) mod checkouts;
pub(crate) mod credentials;
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
pub(crate) mod secrets;
pub(crate) mod starts;
pub(crate) mod step;
pub(crate) mod stores;
pub(crate) mod surroundings;
pub(crate) mod title;
pub(crate) mod totals;
pub(crate) mod workspace;
