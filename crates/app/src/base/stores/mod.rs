//! The stores of a project. This is the only place that chooses a kind of store.
//!
//! Everything above sees the traits of `spore_store`. A store that is handed out here probes by
//! itself: each of its writes is an effect with a name that follows from what is written, so
//! no caller can make one that the kill matrix does not see. None of the user's secrets is in
//! what is written.

mod journal;
mod knowledge;
mod struck;

use std::path::Path;

use spore_config::Config;
use spore_effects::Probe;
use spore_model::{Run, RunId};
use spore_store::{Journal, JournalError, OpenError, OpenOptions, SqliteJournal, SqliteKnowledge};

use super::credentials::Credentials;
use crate::Result;

pub(crate) use journal::ProjectJournal;
pub(crate) use knowledge::ProjectKnowledge;

/// Opens the journal in `database`.
pub(crate) fn journal(
    database: &Path,
    config: &Config,
    probe: &Probe,
    credentials: &Credentials,
) -> Result<ProjectJournal> {
    let store = SqliteJournal::open_with(database, &options(config))?;
    Ok(ProjectJournal::new(Box::new(store), probe.clone(), credentials.clone()))
}

/// Opens the knowledge in `database`; it shares the journal's file.
pub(crate) fn knowledge(
    database: &Path,
    config: &Config,
    probe: &Probe,
    credentials: &Credentials,
) -> Result<ProjectKnowledge> {
    let store = SqliteKnowledge::open_with(database, &options(config))?;
    Ok(ProjectKnowledge::new(Box::new(store), probe.clone(), credentials.clone()))
}

fn options(config: &Config) -> OpenOptions {
    OpenOptions { busy_timeout: config.store.busy_timeout }
}

/// A journal that is looked at and never written, whatever state it is in.
pub(crate) struct InspectedJournal(SqliteJournal);

/// Opens the journal in `database` without changing anything, not even its version.
pub(crate) fn inspect(database: &Path) -> std::result::Result<InspectedJournal, OpenError> {
    SqliteJournal::open_read_only(database).map(InspectedJournal)
}

impl InspectedJournal {
    /// Returns what the database itself finds wrong with the file.
    pub(crate) fn damage(&self) -> std::result::Result<Vec<String>, JournalError> {
        self.0.damage()
    }

    pub(crate) fn run(&self, id: RunId) -> std::result::Result<Option<Run>, JournalError> {
        self.0.run(id)
    }
}
