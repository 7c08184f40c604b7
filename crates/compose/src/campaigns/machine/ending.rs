//! What a campaign tells of itself: at its end, and on its way.

use serde::{Deserialize, Serialize};
use spore_model::{CommitId, Outcome, RunId};

use crate::campaigns::answers::Evaluation;
use crate::grade::Grade;

/// How a campaign as a whole ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CampaignEnding {
    pub outcome: Outcome,
    pub reason: String,
    pub manifest: CampaignManifest,
}

/// What a campaign tells of itself, at its end and on its way.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CampaignManifest {
    pub campaign: String,
    pub task: String,
    pub phases: Vec<CampaignPhase>,
    pub research_rounds: u32,
    /// The version of the plan; zero where the phases were known from the start.
    pub revision: u32,
    pub heal_rounds: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CampaignPhaseStatus {
    Pending,
    Complete,
    Failure,
    /// It waits for a person.
    Asks,
    Dropped,
}

impl CampaignPhaseStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Complete => "complete",
            Self::Failure => "failure",
            Self::Asks => "asks",
            Self::Dropped => "dropped",
        }
    }
}

/// One phase of a campaign.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CampaignPhase {
    pub phase: String,
    pub status: CampaignPhaseStatus,
    pub attempts: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentinel_grade: Option<Grade>,
    /// What is on the branch of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// The coordinator's run of the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
