//! What a person changes in a campaign that has begun: phases that have not.

use serde::{Deserialize, Serialize};

use super::progress::{CampaignPhaseProgress, CampaignPhaseState};
use crate::plan::PhasePlan;

/// One change of the phases.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum PhaseChange {
    Drop {
        phase: String,
    },
    Add {
        phases: Vec<PhasePlan>,
    },
    /// The phases that were not begun, in the order in which they are to be.
    Order {
        phases: Vec<String>,
    },
}

/// A change as the journal keeps it: with the version of the plan that it is about.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RecordedChange {
    pub revision: u32,
    #[serde(flatten)]
    pub change: PhaseChange,
}

impl PhaseChange {
    /// What was changed, in a line.
    pub fn told(&self) -> String {
        match self {
            Self::Drop { phase } => format!("{phase} is dropped"),
            Self::Add { phases } => {
                let names: Vec<&str> = phases.iter().map(|phase| &*phase.name).collect();
                format!("{} is added", names.join(", "))
            }
            Self::Order { phases } => format!("the order is now {}", phases.join(", ")),
        }
    }
}

/// Changes phases as it was recorded.
pub(super) fn change(all: &mut Vec<CampaignPhaseProgress>, change: &PhaseChange) {
    match change {
        PhaseChange::Drop { phase } => {
            if let Some(one) = all.iter_mut().find(|one| one.plan.name == *phase) {
                one.state = CampaignPhaseState::Dropped;
            }
        }
        PhaseChange::Add { phases } => {
            all.extend(phases.iter().cloned().map(CampaignPhaseProgress::of));
        }
        PhaseChange::Order { phases } => {
            let place = |one: &CampaignPhaseProgress| {
                phases.iter().position(|name| *name == one.plan.name).map_or(0, |at| at + 1)
            };
            // What is not named was begun before, and stays in front in its own order.
            all.sort_by_key(place);
        }
    }
}

/// Checks a change of a campaign that was fed with all its records. `is_begun` says of which
/// phases a step is on record.
pub(super) fn allow(
    all: &[CampaignPhaseProgress],
    change: &PhaseChange,
    is_begun: &dyn Fn(&str) -> bool,
) -> Result<(), String> {
    let named = |name: &str| all.iter().find(|one| one.plan.name == name);
    if all.is_empty() {
        return Err("there are no phases yet that could be changed".to_owned());
    }
    let pending = |name: &str| -> Result<(), String> {
        let Some(one) = named(name) else {
            let names: Vec<&str> = all.iter().map(|one| &*one.plan.name).collect();
            return Err(format!("there is no phase {name:?}; there are: {}", names.join(", ")));
        };
        match &one.state {
            CampaignPhaseState::Passed => {
                Err(format!("{name} is over: what it did is on the branch"))
            }
            CampaignPhaseState::Failed(_) => Err(format!("{name} is over: it failed")),
            CampaignPhaseState::Dropped => Err(format!("{name} is dropped already")),
            CampaignPhaseState::Asks(_) => Err(format!("{name} is under way")),
            CampaignPhaseState::Waiting if is_begun(name) => Err(format!("{name} is under way")),
            CampaignPhaseState::Waiting => Ok(()),
        }
    };
    match change {
        PhaseChange::Drop { phase } => {
            pending(phase)?;
            let is_left = |one: &&CampaignPhaseProgress| {
                one.state != CampaignPhaseState::Dropped && one.plan.name != *phase
            };
            let mut left = all.iter().filter(is_left).peekable();
            if left.peek().is_none() {
                return Err(format!(
                    "{phase} is the only phase: `spore runs cancel` ends the campaign"
                ));
            }
            if let Some(other) = left.find(|one| one.plan.depends_on.contains(phase)) {
                let other = &other.plan.name;
                return Err(format!("{other} waits for {phase}: drop {other} first"));
            }
        }
        PhaseChange::Add { phases } => {
            for phase in phases {
                if named(&phase.name).is_some() {
                    return Err(format!("there is a phase {} already", phase.name));
                }
                let is_there = |name: &&String| {
                    named(name).is_some() || phases.iter().any(|one| one.name == **name)
                };
                if let Some(missing) = phase.depends_on.iter().find(|name| !is_there(name)) {
                    return Err(format!("{} waits for {missing}, which is not there", phase.name));
                }
                let is_dropped = |name: &&String| {
                    named(name).is_some_and(|one| one.state == CampaignPhaseState::Dropped)
                };
                if let Some(dropped) = phase.depends_on.iter().find(is_dropped) {
                    return Err(format!("{} waits for {dropped}, which is dropped", phase.name));
                }
            }
        }
        PhaseChange::Order { phases } => {
            for (at, name) in phases.iter().enumerate() {
                pending(name)?;
                if phases[..at].contains(name) {
                    return Err(format!("{name} is there twice"));
                }
            }
            let left = all
                .iter()
                .find(|one| pending(&one.plan.name).is_ok() && !phases.contains(&one.plan.name));
            if let Some(left) = left {
                return Err(format!(
                    "{} is left out: name every phase that was not begun",
                    left.plan.name
                ));
            }
        }
    }
    Ok(())
}
