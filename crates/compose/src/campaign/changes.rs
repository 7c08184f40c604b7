//! What a person changes in a campaign that has begun: phases that have not.

use serde::{Deserialize, Serialize};

use super::{Campaign, CampaignPhaseProgress, CampaignPhaseState};
use crate::plan::{CoordinatorPlan, PhasePlan};

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

impl Campaign {
    /// Takes the phases that there are, with what people have changed of them since.
    pub(super) fn take_phases(&mut self, known: CoordinatorPlan) {
        self.phases = known.phases.into_iter().map(CampaignPhaseProgress::of).collect();
        let (revision, changes) = (self.revision, self.changes.clone());
        for recorded in changes.iter().filter(|one| one.revision == revision) {
            self.change(&recorded.change);
        }
    }

    fn change(&mut self, change: &PhaseChange) {
        match change {
            PhaseChange::Drop { phase } => {
                if let Some(one) = self.phase_mut(phase) {
                    one.state = CampaignPhaseState::Dropped;
                }
            }
            PhaseChange::Add { phases } => {
                self.phases.extend(phases.iter().cloned().map(CampaignPhaseProgress::of));
            }
            PhaseChange::Order { phases } => {
                let place = |one: &CampaignPhaseProgress| {
                    phases.iter().position(|name| *name == one.plan.name).map_or(0, |at| at + 1)
                };
                // What is not named was begun before, and stays in front in its own order.
                self.phases.sort_by_key(place);
            }
        }
    }

    /// Checks a change of a campaign that was fed with all its records. `is_begun` says of which
    /// phases a step is on record.
    pub fn allow(
        &self,
        change: PhaseChange,
        is_begun: &dyn Fn(&str) -> bool,
    ) -> Result<RecordedChange, String> {
        if self.phases.is_empty() {
            return Err("there are no phases yet that could be changed".to_owned());
        }
        let pending = |name: &str| -> Result<(), String> {
            let Some(one) = self.phase(name) else {
                let names: Vec<&str> = self.phases.iter().map(|one| &*one.plan.name).collect();
                return Err(format!("there is no phase {name:?}; there are: {}", names.join(", ")));
            };
            match &one.state {
                CampaignPhaseState::Passed => {
                    Err(format!("{name} is over: what it did is on the branch"))
                }
                CampaignPhaseState::Failed(_) => Err(format!("{name} is over: it failed")),
                CampaignPhaseState::Dropped => Err(format!("{name} is dropped already")),
                CampaignPhaseState::Asks(_) => Err(format!("{name} is under way")),
                CampaignPhaseState::Waiting if is_begun(name) => {
                    Err(format!("{name} is under way"))
                }
                CampaignPhaseState::Waiting => Ok(()),
            }
        };
        match &change {
            PhaseChange::Drop { phase } => {
                pending(phase)?;
                let is_left = |one: &&CampaignPhaseProgress| {
                    one.state != CampaignPhaseState::Dropped && one.plan.name != *phase
                };
                let mut left = self.phases.iter().filter(is_left).peekable();
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
                    if self.phase(&phase.name).is_some() {
                        return Err(format!("there is a phase {} already", phase.name));
                    }
                    let is_there = |name: &&String| {
                        self.phase(name).is_some() || phases.iter().any(|one| one.name == **name)
                    };
                    if let Some(missing) = phase.depends_on.iter().find(|name| !is_there(name)) {
                        return Err(format!(
                            "{} waits for {missing}, which is not there",
                            phase.name
                        ));
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
                let left = self.phases.iter().find(|one| {
                    pending(&one.plan.name).is_ok() && !phases.contains(&one.plan.name)
                });
                if let Some(left) = left {
                    return Err(format!(
                        "{} is left out: name every phase that was not begun",
                        left.plan.name
                    ));
                }
            }
        }
        Ok(RecordedChange { revision: self.revision, change })
    }

    /// The phases that have no attempt yet, by name; those that are under way among them.
    pub fn phase_names(&self) -> Vec<String> {
        self.phases.iter().map(|one| one.plan.name.clone()).collect()
    }
}

impl CampaignPhaseProgress {
    fn of(plan: PhasePlan) -> Self {
        Self {
            plan,
            state: CampaignPhaseState::Waiting,
            retries: 0,
            ends: Vec::new(),
            resolution: None,
        }
    }
}
