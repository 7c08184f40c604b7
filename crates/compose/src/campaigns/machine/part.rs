//! What a campaign has done by coordinators, and the keys of its steps.

use spore_model::StepKey;

/// What a campaign has a coordinator do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CampaignPart {
    Research { round: u32 },
    Plan { revision: u32 },
    Phase { name: String },
    Decision { round: u32 },
    Evaluation,
}

impl CampaignPart {
    /// What people and signals call it.
    pub fn name(&self) -> String {
        match self {
            Self::Research { .. } => "research".to_owned(),
            Self::Plan { .. } => "plan".to_owned(),
            Self::Phase { name } => name.clone(),
            Self::Decision { .. } => "decision".to_owned(),
            Self::Evaluation => "evaluation".to_owned(),
        }
    }

    /// The key of one attempt, which is also where its files are.
    pub fn path(&self, attempt: u32) -> String {
        match self {
            Self::Research { round } => format!("research/{round}/{attempt}"),
            Self::Plan { revision } => format!("plan/{revision}/{attempt}"),
            Self::Phase { name } => format!("phase/{name}/{attempt}"),
            Self::Decision { round } => format!("decision/{round}/{attempt}"),
            Self::Evaluation => format!("evaluation/{attempt}"),
        }
    }

    pub fn key(&self, attempt: u32) -> StepKey {
        crate::step_key(self.path(attempt))
    }
}

/// The step in which a session leads.
pub fn lead_key(round: u32) -> StepKey {
    crate::step_key(format!("lead/{round}"))
}

/// The step that records the change with this number.
pub fn change_key(number: u32) -> StepKey {
    crate::step_key(format!("change/{number}"))
}
