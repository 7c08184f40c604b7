//! L4 as a state machine: research, plan, review, phases, healing, evaluation.
//!
//! It is told how a coordinator ended and says which is next, one at a time. What the end of one
//! means is asked of the one table for all layers; what its sessions say is read whole or not at all.
//! A phase that asks a person waits alone: the others go on, and what is asked is put to the person
//! as one question when nothing else can be done.
//!
//! What people change on the way (a phase dropped, added, put elsewhere) is a record like the ends
//! are. Only phases that were not begun can be changed, so it does not matter when a campaign
//! that is fed with its records hears of it: it arrives at the same place.

mod changes;
mod ending;
mod healing;
mod leading;
mod part;
mod progress;
mod state;
mod steps;

pub use changes::{PhaseChange, RecordedChange};
pub use ending::{CampaignEnding, CampaignManifest, CampaignPhase, CampaignPhaseStatus};
pub use part::{CampaignPart, change_key, lead_key};
pub use state::{Campaign, CampaignNext, CampaignRecord, CampaignStep, ReviewAnswer};

#[cfg(test)]
mod tests;
