//! How a child run ended, as the layer above sees it.

use serde::{Deserialize, Serialize};
use spore_model::{CommitId, Outcome, Park, RunId};

use crate::grade::Grade;
use crate::manifest::{ArtifactMark, PartStatus, StageEntry};

/// Commits on top of each other: what they began from, and the last of them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WorkLine {
    pub base: CommitId,
    pub tip: CommitId,
}

/// What the journal keeps of a child: all that the layer above decides by, so that a resumed
/// run decides the same again.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ChildEnd {
    pub run: RunId,
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Set where the child has not ended but waits, and what for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub park: Option<Park>,
    /// The file it left, below the project's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    /// What another attempt should know, capped.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub diagnosis: String,
    /// Whether anything was left to try again with.
    pub budget_left: bool,
    /// The stages of an orchestrator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// What it changed, as commits; nothing where it changed nothing that holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<WorkLine>,
    /// By what the file it left is known again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_mark: Option<ArtifactMark>,
    /// What a stage was done for one by one, or the stages that its plan had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<StageEntry>,
    /// Whether it says what it is repeated for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says_until: Option<bool>,
    /// What a person answered to one that is over and left a question behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

impl ChildEnd {
    /// An end with nothing but an outcome; the rest is for the caller to fill in.
    pub fn new(run: RunId, outcome: Outcome, reason: Option<String>) -> Self {
        Self {
            run,
            outcome,
            reason,
            park: None,
            artifact: None,
            diagnosis: String::new(),
            budget_left: true,
            stages: Vec::new(),
            grade: None,
            line: None,
            artifact_mark: None,
            parts: Vec::new(),
            says_until: None,
            answer: None,
        }
    }

    /// Returns what a manifest tells of it.
    pub(crate) fn entry(&self, name: &str, status: PartStatus, attempts: u32) -> StageEntry {
        StageEntry {
            status,
            exit_code: Some(self.outcome.exit_code()),
            artifact: self.artifact.clone(),
            error: (status == PartStatus::Failure).then(|| self.told()),
            attempts,
            run: Some(self.run),
            grade: self.grade,
            commit: self.line.as_ref().map(|line| line.tip.clone()),
            artifact_mark: self.artifact_mark.clone(),
            parts: self.parts.clone(),
            ..StageEntry::skipped(name)
        }
    }

    pub(crate) fn told(&self) -> String {
        self.reason.clone().unwrap_or_else(|| "no reason was given".to_owned())
    }
}

/// A run that stops and can go on later.
#[derive(Clone, PartialEq, Debug)]
pub struct Parked {
    pub outcome: Outcome,
    pub park: Park,
    pub reason: String,
}

impl Parked {
    /// Returns what the layer above waits for where a child with this end stops it.
    pub fn because(name: &str, outcome: Outcome, end: &ChildEnd) -> Self {
        let park = end.park.unwrap_or(match outcome {
            Outcome::QuotaParked => Park::Quota,
            Outcome::Interrupted => Park::Interrupt,
            _ => Park::Human,
        });
        Self { outcome, park, reason: format!("{name}: {}", end.told()) }
    }
}

/// What went wrong in an earlier attempt, for the one that is to do better.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The attempt that it speaks of.
    pub attempt: u32,
    pub reason: String,
    pub output: String,
    /// What a person said to it, where it was put to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

impl Diagnosis {
    pub(crate) fn of(attempt: u32, end: &ChildEnd) -> Self {
        Self {
            attempt,
            reason: end.told(),
            output: end.diagnosis.clone(),
            answer: end.answer.clone(),
        }
    }
}
