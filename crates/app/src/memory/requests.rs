//! What a pass of memory is asked for, and how that is kept with its run.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use spore_model::RunId;
use spore_store::spine::Cursor;

/// What to scan. What is left out is as the last scan left it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MemoryScan {
    /// Another directory of event files than the project's own.
    pub events: Option<PathBuf>,
    /// Tell of every line that nothing touched.
    pub coverage: bool,
    /// Where to begin, instead of where the last scan ended.
    pub from: Option<Cursor>,
    /// A task of the inbox.
    pub task: Option<String>,
}

/// What to crystallize.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Crystallize {
    /// A task of the inbox.
    pub task: Option<String>,
}

/// What to do about the broadcast file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MemoryUpdate {
    /// Lines that a person wants gone, as they are typed; by hash once they are found.
    pub remove: Vec<String>,
    /// Say what would be done and do nothing.
    #[serde(skip)]
    pub dry_run: bool,
    /// A task of the inbox.
    pub task: Option<String>,
}

/// What to take back.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct UndoSettings {
    pub(super) update: RunId,
}

/// What a pass was started with: all that resume needs.
#[derive(Serialize, Deserialize)]
#[serde(tag = "pass", rename_all = "snake_case")]
pub(super) enum PassSettings {
    Scan(MemoryScan),
    Crystallize(Crystallize),
    Update(MemoryUpdate),
    Undo(UndoSettings),
}
