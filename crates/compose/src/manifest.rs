//! What a layer hands upwards: the stage manifest and the phase report, in the seed's shapes.

use serde::{Deserialize, Serialize};
use spore_model::{CommitId, Outcome, RunId};

use crate::grade::Grade;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartStatus {
    Success,
    Failure,
    /// It was not begun: what it needs had failed, or everything stopped before it.
    Skipped,
}

impl PartStatus {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Skipped => "skipped",
        }
    }
}

/// By what an artifact is known again, wherever its file is by then.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ArtifactMark {
    pub hash: String,
    pub bytes: u64,
    /// The commit that holds it.
    pub commit: CommitId,
}

/// One stage of a manifest.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StageEntry {
    pub name: String,
    pub status: PartStatus,
    /// Nothing where it was not begun.
    pub exit_code: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub attempts: u32,
    /// The run of the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// What it added to the flow's branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_mark: Option<ArtifactMark>,
    /// What it was done for one by one, or the stages that its plan had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<StageEntry>,
    /// The round that it ended in, where it was repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
}

impl StageEntry {
    /// How often it was tried; of one that has parts, the part that was tried most often.
    pub(crate) fn tries(&self) -> u32 {
        self.parts.iter().map(Self::tries).fold(self.attempts, u32::max)
    }

    /// A stage that was not begun.
    pub(crate) fn skipped(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            status: PartStatus::Skipped,
            exit_code: None,
            artifact: None,
            error: None,
            attempts: 0,
            run: None,
            grade: None,
            commit: None,
            artifact_mark: None,
            parts: Vec::new(),
            rounds: None,
        }
    }

    #[cfg(test)]
    pub(crate) fn passed(name: &str) -> Self {
        Self { status: PartStatus::Success, exit_code: Some(0), attempts: 1, ..Self::skipped(name) }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ManifestSummary {
    pub total: usize,
    pub passed: usize,
    pub failed: usize,
    pub exit_code: u8,
}

impl ManifestSummary {
    fn of(statuses: impl Iterator<Item = PartStatus> + Clone, outcome: Outcome) -> Self {
        let count = |wanted| statuses.clone().filter(|status| *status == wanted).count();
        Self {
            total: statuses.clone().count(),
            passed: count(PartStatus::Success),
            failed: count(PartStatus::Failure),
            exit_code: outcome.exit_code(),
        }
    }
}

/// What an orchestrator tells its coordinator.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StageManifest {
    pub orchestrator: String,
    pub modifier: String,
    pub target: String,
    pub stages: Vec<StageEntry>,
    pub summary: ManifestSummary,
}

impl StageManifest {
    pub(crate) fn summed(
        (orchestrator, modifier, target): (&str, &str, &str),
        stages: Vec<StageEntry>,
        outcome: Outcome,
    ) -> Self {
        let summary = ManifestSummary::of(stages.iter().map(|stage| stage.status), outcome);
        Self {
            orchestrator: orchestrator.to_owned(),
            modifier: modifier.to_owned(),
            target: target.to_owned(),
            stages,
            summary,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseStatus {
    Complete,
    Failure,
    Skipped,
}

/// One attempt of an orchestrator in a phase report.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OrchestratorEntry {
    pub name: String,
    /// Where its manifest is, below the run's directory.
    pub manifest: String,
    pub exit_code: u8,
    pub run: RunId,
    /// Where its work is: on the flow's branch, or kept by a ref where the phase failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
}

/// What a coordinator tells of one phase.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PhaseReport {
    pub phase: String,
    pub status: PhaseStatus,
    pub exit_code: Option<u8>,
    pub orchestrators: Vec<OrchestratorEntry>,
    pub artifacts: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sentinel_grade: Option<Grade>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What a coordinator tells of all of them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CoordinatorManifest {
    pub coordinator: String,
    pub phases: Vec<PhaseReport>,
    pub summary: ManifestSummary,
}

impl CoordinatorManifest {
    pub(crate) fn summed(coordinator: &str, phases: Vec<PhaseReport>, outcome: Outcome) -> Self {
        let statuses = phases.iter().map(|phase| match phase.status {
            PhaseStatus::Complete => PartStatus::Success,
            PhaseStatus::Failure => PartStatus::Failure,
            PhaseStatus::Skipped => PartStatus::Skipped,
        });
        let summary = ManifestSummary::of(statuses, outcome);
        Self { coordinator: coordinator.to_owned(), phases, summary }
    }
}
