//! One phase of a campaign on its way.

use spore_model::Outcome;

use super::ending::{CampaignPhase, CampaignPhaseStatus};
use crate::child::{ChildEnd, Parked};
use crate::plan::PhasePlan;

/// How far one phase is.
#[derive(Clone, Debug)]
pub(super) struct CampaignPhaseProgress {
    pub(super) plan: PhasePlan,
    pub(super) state: CampaignPhaseState,
    pub(super) retries: u32,
    /// Every attempt that is over.
    pub(super) ends: Vec<ChildEnd>,
    /// What the next attempt is told.
    pub(super) resolution: Option<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum CampaignPhaseState {
    Waiting,
    Passed,
    Failed(Outcome),
    Asks(Parked),
    /// A person took it out.
    Dropped,
}

impl CampaignPhaseProgress {
    pub(super) fn of(plan: PhasePlan) -> Self {
        Self {
            plan,
            state: CampaignPhaseState::Waiting,
            retries: 0,
            ends: Vec::new(),
            resolution: None,
        }
    }

    /// Whether it may simply be done again.
    pub(super) fn is_idempotent(&self) -> bool {
        self.plan.orchestrator.stages.iter().all(|stage| stage.idempotent)
    }

    /// What is told of it.
    pub(super) fn told(&self) -> CampaignPhase {
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
