//! The claim of one process on a run. It goes with the process, however that ends.

use std::thread;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use spore_config::Config;
use spore_effects::files::{Lock, LockError};
use spore_effects::session::ProcessIdentity;
use spore_model::{Fault, Run, RunId, RunState, SourceKind};
use spore_store::{Journal, RunChange};

use super::error::bug;
use super::files::create_dir;
use super::outbox::Events;
use super::stores::ProjectJournal;
use crate::{Error, Result, Surroundings, Workspace};

/// How long a claim is looked at again before it is believed: a child of a killed process may
/// hold it for a moment, until it becomes the program it was forked for.
const PATIENCE: Duration = Duration::from_secs(1);

/// Takes the run for this process.
pub(crate) fn claim(workspace: &Workspace, run: RunId) -> Result<Lock> {
    let files = workspace.run_files(run);
    create_dir(files.dir())?;
    let lock = Lock::take_within(&files.lock(), PATIENCE).map_err(|error| match error {
        LockError::Held { .. } => Error::new(
            Fault::BadInput,
            format!("run {} is being worked on by another process", run.short()),
        )
        .hint(format!(
            "`spore runs show {}` tells how far it is; Ctrl-C there parks it, and so does `spore \
             runs cancel {}`",
            run.short(),
            run.short()
        )),
        other => other.into(),
    })?;
    sign(&lock);
    // What a process that was killed seemed to be doing.
    let _ = spore_effects::files::remove_all(&files.live_dir());
    Ok(lock)
}

/// A run that this process goes on with, and no other meanwhile: the one door of all kinds of runs.
pub(crate) struct HeldRun {
    pub(crate) config: Config,
    pub(crate) journal: ProjectJournal,
    _lock: Lock,
}

impl HeldRun {
    /// Reads the project's settings as they are now and takes the run.
    pub(crate) fn take(around: &Surroundings, workspace: &Workspace, run: RunId) -> Result<Self> {
        let config = workspace.config(around, &[])?;
        let journal = workspace.journal(&config)?;
        Ok(Self { journal, _lock: claim(workspace, run)?, config })
    }
}

/// Reads what a run was started with.
pub(crate) fn read_settings<T: DeserializeOwned>(run: &Run) -> Result<T> {
    serde_json::from_value(run.settings.clone()).map_err(|source| {
        Error::new(Fault::BadInput, "the run's settings cannot be read").because(source)
    })
}

/// Puts on record that a claimed run, which waited or whose process died, is worked on again.
pub(crate) fn reopen(
    around: &Surroundings,
    journal: &dyn Journal,
    run: &Run,
    word: &str,
    settings: &impl Serialize,
) -> Result<()> {
    reopen_telling(around, journal, run, (word, None), settings)
}

/// Like [`reopen`], with what a person changed by that: an event's type and its payload.
pub(crate) fn reopen_telling(
    around: &Surroundings,
    journal: &dyn Journal,
    run: &Run,
    (word, changed): (&str, Option<(&str, Value)>),
    settings: &impl Serialize,
) -> Result<()> {
    let change = RunChange {
        state: Some(RunState::Running),
        park: Some(None),
        // What it waited for is over.
        reason: Some(String::new()),
        settings: Some(serde_json::to_value(settings).map_err(bug)?),
        ..RunChange::default()
    };
    let events = Events { around, trace: run.trace.clone() };
    let resumed = events.make(SourceKind::Runner, word, "run.resumed", run.id, json!({}));
    let told =
        changed.map(|(kind, payload)| events.make(SourceKind::Human, word, kind, run.id, payload));
    let told: Vec<_> = told.into_iter().chain([resumed]).collect();
    Ok(journal.update_run(run.id, &change, &told)?)
}

/// Writes down which process this is. Without it a run cannot be cancelled from elsewhere.
fn sign(lock: &Lock) {
    let identity = ProcessIdentity::of_this_process().ok();
    let text = identity.and_then(|identity| serde_json::to_vec(&identity).ok());
    let _ = lock.sign(&text.unwrap_or_default());
}

/// Returns the process that works on the run, if one does and it is known.
pub(crate) fn holder(workspace: &Workspace, run: RunId) -> Option<ProcessIdentity> {
    let text = Lock::holder(&workspace.run_files(run).lock())?;
    serde_json::from_slice(&text).ok()
}

/// Returns whether a live process works on the run.
pub(crate) fn is_claimed(workspace: &Workspace, run: RunId) -> bool {
    Lock::is_held(&workspace.run_files(run).lock())
}

/// Returns those of the runs that no live process works on. A claim is believed when it stays.
pub(crate) fn unclaimed(workspace: &Workspace, runs: Vec<Run>) -> Vec<Run> {
    const LOOKS: u32 = 50;
    let mut looks = LOOKS;
    let mut stays_claimed = |run: &Run| {
        while is_claimed(workspace, run.id) {
            if looks == 0 {
                return true;
            }
            looks -= 1;
            thread::sleep(PATIENCE / LOOKS);
        }
        false
    };
    runs.into_iter().filter(|run| !stays_claimed(run)).collect()
}
