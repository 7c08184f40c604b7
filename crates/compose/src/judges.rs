//! Whom a sentinel asks, and about what: settled before it begins, and a part of its record.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What a role of a sentinel is there for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SentinelRole {
    /// Says what the work has to show.
    Writer,
    /// Holds what the checks found against that.
    Auditor,
    /// Puts what is to be mended into its order.
    Consolidator,
}

/// Who does what: the names under which roles are described.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SentinelRoles {
    pub writer: String,
    pub auditor: String,
    pub consolidator: String,
}

impl Default for SentinelRoles {
    fn default() -> Self {
        let [writer, auditor, consolidator] =
            ["spec-writer", "auditor", "consolidator"].map(str::to_owned);
        Self { writer, auditor, consolidator }
    }
}

impl SentinelRoles {
    pub fn name(&self, role: SentinelRole) -> &str {
        match role {
            SentinelRole::Writer => &self.writer,
            SentinelRole::Auditor => &self.auditor,
            SentinelRole::Consolidator => &self.consolidator,
        }
    }

    fn are_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// The judges of a sentinel.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct JudgesPlan {
    pub backend: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What was asked for, in the words of the person who asked.
    pub task: String,
    /// Whether tests that the coder never sees are written for each fix.
    #[serde(default)]
    pub hold_out: bool,
    #[serde(default, skip_serializing_if = "SentinelRoles::are_usual")]
    pub roles: SentinelRoles,
}

/// A stage that is the whole loop around the project's checks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct JudgedWork {
    #[serde(flatten)]
    pub judges: JudgesPlan,
    pub max_cycles: u32,
}
