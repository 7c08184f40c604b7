//! A session that leads the phases: which of them it may choose, and what its end means.

use spore_model::Outcome;

use super::progress::CampaignPhaseState;
use super::state::{Campaign, CampaignStep, CampaignStop};
use crate::documents;

impl Campaign {
    /// Lets a session that leads the phases choose the next one, or says why it may not.
    pub fn choose(&self, name: &str, note: Option<&str>) -> Result<CampaignStep, String> {
        if let Some(stop) = &self.stop {
            let reason = match stop {
                CampaignStop::Parked(parked) => &parked.reason,
                CampaignStop::Ended(_, reason) => reason,
            };
            return Err(format!("the campaign is stopped: {reason}"));
        }
        let Some(at) = self.phases.iter().position(|one| one.plan.name == name) else {
            let names: Vec<&str> = self.phases.iter().map(|one| &*one.plan.name).collect();
            return Err(format!("there is no such phase; there are: {}", names.join(", ")));
        };
        let one = &self.phases[at];
        let most = usize::try_from(self.plan.terms.max_attempts).unwrap_or(usize::MAX);
        match &one.state {
            CampaignPhaseState::Passed => Err(format!("{name} is done already")),
            CampaignPhaseState::Dropped => Err(format!("{name} was taken out by a person")),
            CampaignPhaseState::Asks(_) => Err(format!("{name} waits for a person")),
            _ if one.ends.len() >= most => Err(format!("{name} was tried {most} times")),
            CampaignPhaseState::Failed(_) if self.is_beyond_healing(at) => {
                Err(format!("{name} took too long, and may not simply be done again"))
            }
            CampaignPhaseState::Failed(_) => {
                let end = one.ends.last();
                let mut again = self.clone();
                again.phases[at].resolution = end.map(|end| documents::resolution(name, end));
                Ok(again.step_of(at, note))
            }
            CampaignPhaseState::Waiting if !self.is_free(at) => {
                Err(format!("{name} waits for: {}", one.plan.depends_on.join(", ")))
            }
            CampaignPhaseState::Waiting => Ok(self.step_of(at, note)),
        }
    }

    /// A session that led the phases is over, with what went wrong with it where something did.
    pub fn led(&mut self, trouble: Option<String>) {
        self.led += 1;
        self.lead_trouble = trouble;
        // What it left out is no more done than what failed.
        for one in &mut self.phases {
            if one.state == CampaignPhaseState::Waiting {
                one.state = CampaignPhaseState::Failed(Outcome::Failure);
            }
        }
    }
}
