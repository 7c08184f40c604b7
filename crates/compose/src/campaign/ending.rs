//! How a campaign ends, and what it tells of its phases.

use serde::{Deserialize, Serialize};
use spore_model::{CommitId, Outcome, RunId};

use super::{Campaign, CampaignNext, CampaignPhaseProgress, CampaignPhaseState, CampaignStep};
use crate::campaign_answers::{Evaluation, Gaps};
use crate::child::ChildEnd;
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

impl Campaign {
    /// What it tells of itself now.
    pub fn manifest(&self) -> CampaignManifest {
        CampaignManifest {
            campaign: self.plan.campaign.clone(),
            task: self.plan.task.clone(),
            phases: self.phases.iter().map(CampaignPhaseProgress::told).collect(),
            research_rounds: if self.plan.research.is_some() { self.rounds } else { 0 },
            revision: self.revision,
            heal_rounds: self.heal_round,
            gaps: if self.is_found_out { Vec::new() } else { self.gaps_told() },
            evaluation: self.evaluations.last().cloned(),
        }
    }

    fn gaps_told(&self) -> Vec<String> {
        let Gaps(gaps) = &self.gaps;
        gaps.clone()
    }

    pub(super) fn finish(&self, outcome: Outcome, reason: String) -> CampaignNext {
        let ending = CampaignEnding { outcome, reason, manifest: self.manifest() };
        CampaignNext::Do(CampaignStep::Finish { ending: Box::new(ending) })
    }

    /// Returns how the campaign ends where not every phase passed.
    pub(super) fn missed(&self) -> Option<(Outcome, String)> {
        let counted = || self.phases.iter().filter(|one| one.state != CampaignPhaseState::Dropped);
        let missed: Vec<&CampaignPhaseProgress> =
            counted().filter(|one| one.state != CampaignPhaseState::Passed).collect();
        let first = missed.first()?;
        let told = |one: &&CampaignPhaseProgress| match one.ends.last() {
            Some(end) => format!("{}: {}", one.plan.name, end.told()),
            None => format!("{} could not begin", one.plan.name),
        };
        let reason = missed.iter().map(told).collect::<Vec<_>>().join("; ");
        if missed.len() < counted().count() {
            return Some((Outcome::Partial, format!("not every phase passed: {reason}")));
        }
        let outcome = match first.state {
            CampaignPhaseState::Failed(outcome) => outcome,
            _ => Outcome::Failure,
        };
        Some((outcome, format!("no phase passed: {reason}")))
    }
}

impl CampaignPhaseProgress {
    fn told(&self) -> CampaignPhase {
        let last = self.ends.last();
        let landed = self.ends.iter().rev().find(|end| end.outcome == Outcome::Success);
        CampaignPhase {
            phase: self.plan.name.clone(),
            status: match &self.state {
                CampaignPhaseState::Waiting => CampaignPhaseStatus::Pending,
                CampaignPhaseState::Passed => CampaignPhaseStatus::Complete,
                CampaignPhaseState::Failed(_) => CampaignPhaseStatus::Failure,
                CampaignPhaseState::Asks(_) => CampaignPhaseStatus::Asks,
                CampaignPhaseState::Dropped => CampaignPhaseStatus::Dropped,
            },
            attempts: self.ends.len(),
            exit_code: last.map(|end| end.outcome.exit_code()),
            sentinel_grade: last.and_then(|end| end.grade),
            commit: landed.and_then(|end| end.line.as_ref()).map(|line| line.tip.clone()),
            run: last.map(|end| end.run),
            depends_on: self.plan.depends_on.clone(),
            error: match &self.state {
                CampaignPhaseState::Failed(_) => last.map(ChildEnd::told),
                CampaignPhaseState::Asks(parked) => Some(parked.reason.clone()),
                _ => None,
            },
        }
    }
}
