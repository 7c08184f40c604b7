//! What is on record of a campaign: how its coordinators ended, and how the machine is fed with that.

use spore_compose::{
    Campaign, CampaignNext, CampaignPart, CampaignPlan, CampaignRecord, CampaignStep,
    RecordedChange, ReviewAnswer, WorkLine, change_key, lead_key, review_key,
};
use spore_model::{Fault, Run, RunId, StepKey};
use spore_store::Journal;

use crate::base::error::bug;
use crate::base::step::recorded;
use crate::flows::leading::LeadEnd;
use crate::{Error, Result};

/// Returns the changes that people made, oldest first.
pub(super) fn recorded_changes(journal: &dyn Journal, run: RunId) -> Result<Vec<RecordedChange>> {
    let mut changes = Vec::new();
    for number in 1.. {
        match recorded(journal, run, &change_key(number))? {
            Some(change) => changes.push(change),
            None => break,
        }
    }
    Ok(changes)
}

/// Returns what coordinators brought to the branch, in any order.
pub(super) fn recorded_lines(journal: &dyn Journal, run: RunId) -> Result<Vec<WorkLine>> {
    let results = journal.steps(run)?.into_iter().filter_map(|step| step.result);
    let records = results.filter_map(|value| serde_json::from_value::<CampaignRecord>(value).ok());
    Ok(records.filter_map(|record| record.end.line).collect())
}

/// Feeds a campaign with all that is on record of it. Nothing is begun.
pub(super) fn replayed(journal: &dyn Journal, run: RunId, plan: &CampaignPlan) -> Result<Campaign> {
    let mut machine = Campaign::new(plan.clone(), recorded_changes(journal, run)?);
    while let CampaignNext::Do(step) = machine.go_on() {
        match step {
            CampaignStep::Coordinate { part, attempt, .. } => {
                match recorded::<CampaignRecord>(journal, run, &part.key(attempt))? {
                    Some(record) if is_gone(journal, run, &part, attempt)? => {
                        machine.lost(&part, &record.end);
                    }
                    Some(record) => {
                        machine.apply(&part, &record);
                    }
                    None => break,
                }
            }
            CampaignStep::Review { revision } => {
                match recorded::<ReviewAnswer>(journal, run, &review_key(revision))? {
                    Some(answer) => machine.reviewed(&answer),
                    None => break,
                }
            }
            CampaignStep::Lead { round } => {
                let led = recorded::<LeadEnd>(journal, run, &lead_key(round))?;
                let Some(led) = led else { break };
                let trouble = led.trouble();
                for (name, attempt) in led.ran {
                    let part = CampaignPart::Phase { name };
                    match recorded::<CampaignRecord>(journal, run, &part.key(attempt))? {
                        Some(record) if is_gone(journal, run, &part, attempt)? => {
                            machine.lost(&part, &record.end);
                        }
                        Some(record) => {
                            machine.apply(&part, &record);
                        }
                        None => {}
                    }
                }
                machine.led(trouble);
            }
            CampaignStep::Finish { .. } => break,
        }
    }
    Ok(machine)
}

/// Returns whether what a coordinator left was found gone.
fn is_gone(journal: &dyn Journal, run: RunId, part: &CampaignPart, attempt: u32) -> Result<bool> {
    let gone = StepKey::new(format!("gone/{}", part.key(attempt))).map_err(bug)?;
    Ok(recorded::<bool>(journal, run, &gone)?.is_some())
}

/// Returns whether a phase was begun, however that went.
pub(super) fn is_begun(journal: &dyn Journal, run: RunId, phase: &str) -> Result<bool> {
    let part = CampaignPart::Phase { name: phase.to_owned() };
    Ok(journal.step(run, &part.key(1))?.is_some())
}

/// Refuses a run that is something else.
pub(super) fn no_campaign(run: &Run) -> Error {
    let (id, kind) = (run.id.short(), run.kind.as_str());
    let message = format!("run {id} is no campaign but {kind}");
    Error::new(Fault::Usage, message).hint(format!("`spore runs show {id}` tells of it"))
}
