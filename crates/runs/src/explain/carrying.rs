//! What the task files of a run carried, as the records beside them tell: which files at which
//! place, for what reasons, and which lessons and lines of the memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A file that a task file names, and why it is at its place.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FileSignals {
    pub path: String,
    /// Its place in the ranking, the first being 1.
    pub rank: u32,
    pub score: f64,
    /// What spoke for it, the strongest first.
    pub why: Vec<Signal>,
}

/// One signal, and how much of the score it gave.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Signal {
    pub name: String,
    pub share: f64,
}

/// What one task file carried.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct TaskFileRecord {
    /// None for a session that belongs to the run itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounce: Option<u32>,
    pub role: String,
    /// In the order in which they are named.
    pub files: Vec<String>,
    /// None of a run of an earlier version.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<FileSignals>,
    pub lessons: Vec<String>,
    pub memory_lines: Vec<String>,
    /// Estimated.
    pub tokens: usize,
}

impl TaskFileRecord {
    /// Returns the place at which a file is named, the first being 1.
    pub fn place(&self, path: &str) -> Option<u32> {
        let at = self.files.iter().position(|named| named == path)?;
        u32::try_from(at + 1).ok()
    }
}
