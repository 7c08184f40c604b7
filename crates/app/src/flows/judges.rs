//! Who is asked by a sentinel, as its plan keeps it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use spore_model::CommitId;

/// Who is asked, and about what. It is part of a sentinel's record.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct SentinelJudges {
    pub(crate) backend: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scenario: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// What was asked for, in the words of the person who asked.
    pub(crate) task: String,
    /// What the work began from.
    pub(crate) since: CommitId,
    /// Whether tests that the coder never sees are written for each fix.
    #[serde(default)]
    pub(crate) hold_out: bool,
}
