//! What a task file carried beside its task, as it is kept with the session's files.

use serde::{Deserialize, Serialize};
use spore_model::{NodeId, TreeId};
use spore_runs::FileSignals;

/// What a brief told its reader about: kept beside the task file, so that it can be compared
/// later with what helped.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Carried {
    pub(crate) files: Vec<String>,
    /// Pieces of code, as `path:name`.
    pub(crate) symbols: Vec<String>,
    pub(crate) lessons: Vec<NodeId>,
    /// Lines of the broadcast file, by their hash.
    pub(crate) memory_lines: Vec<String>,
    /// Estimated.
    pub(crate) tokens: usize,
    /// The tree that the code was seen in; none where the code was not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tree: Option<TreeId>,
}

/// What the record beside a task file says: what it carried, and why each of its files.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CarriedRecord {
    #[serde(flatten)]
    pub(crate) carried: Carried,
    /// In the order of the ranking; those of files that the task file does not name are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) signals: Vec<FileSignals>,
}
