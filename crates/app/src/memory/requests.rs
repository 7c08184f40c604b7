//! What a pass of memory is asked for, and how that is kept with its run.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use spore_model::RunId;
use spore_store::spine::Cursor;

use super::asking::AskSettings;

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
    /// Lines that a person wants to say something else, each with what.
    #[serde(default)]
    pub rewrite: Vec<(String, String)>,
    /// Say what would be done and do nothing.
    #[serde(skip)]
    pub dry_run: bool,
    /// A task of the inbox.
    pub task: Option<String>,
}

/// What an update was asked for, and who is asked for proposals.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct UpdateSettings {
    #[serde(flatten)]
    pub(super) asked: MemoryUpdate,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ask: Option<AskSettings>,
}

/// Who judges what no rule could decide.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct JudgeSettings {
    pub(super) ask: AskSettings,
}

/// What a weaving works on, and who is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WeaveSettings {
    /// The tasks of the inbox; none where it looks at what is new.
    pub(super) tasks: Vec<String>,
    /// Tasks of which none asks for anything that memory does: they stay, and keep it from nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) unclear: Vec<String>,
    pub(super) ask: Option<AskSettings>,
}

/// What to take in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ImportSettings {
    /// A file of the project, from its root.
    pub(super) file: String,
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
    Update(UpdateSettings),
    Undo(UndoSettings),
    Judge(JudgeSettings),
    Weave(WeaveSettings),
    Import(ImportSettings),
}
