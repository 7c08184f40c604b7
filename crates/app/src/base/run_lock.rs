//! The claim of one process on a run. It goes with the process, however that ends.

use spore_effects::files::{Lock, LockError};
use spore_model::{Fault, RunId};

use super::files::create_dir;
use crate::{Error, Result, Workspace};

/// Takes the run for this process.
pub(crate) fn claim(workspace: &Workspace, run: RunId) -> Result<Lock> {
    let files = workspace.run_files(run);
    create_dir(files.dir())?;
    let lock = Lock::try_take(&files.lock()).map_err(|error| match error {
        LockError::Held { .. } => Error::new(
            Fault::BadInput,
            format!("run {} is being worked on by another process", run.short()),
        )
        .hint(format!(
            "`spore runs show {}` tells how far it is; Ctrl-C there parks it",
            run.short()
        )),
        other => other.into(),
    })?;
    // What a process that was killed seemed to be doing.
    let _ = spore_effects::files::remove_all(&files.live_dir());
    Ok(lock)
}

/// Returns whether a live process works on the run.
pub(crate) fn is_claimed(workspace: &Workspace, run: RunId) -> bool {
    Lock::is_held(&workspace.run_files(run).lock())
}
