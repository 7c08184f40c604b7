//! From where the tools look at a project.

use std::path::PathBuf;

use spore_model::{CommitId, RunId};

/// Who looks, and from where.
#[derive(Clone, Debug)]
pub enum ProjectView {
    /// The user's own files, as they are now.
    WorkTree,
    /// One session of a run.
    Session {
        run: RunId,
        /// Its checkout.
        dir: PathBuf,
        /// The commit whose code it sees; the work tree where there is none.
        at: Option<CommitId>,
    },
}
