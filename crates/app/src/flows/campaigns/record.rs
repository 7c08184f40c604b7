//! What is on record of a campaign: how its coordinators ended, and how the machine is fed with that.

use std::collections::BTreeSet;

use spore_compose::{
    Campaign, CampaignNext, CampaignPart, CampaignPlan, CampaignRecord, CampaignStep, ChildEnd,
    RecordedChange, ReviewAnswer, WorkLine, change_key, lead_key,
};
use spore_model::{Fault, Outcome, Park, Run, RunId, StepKey};
use spore_store::Journal;

use crate::base::error::bug;
use crate::base::step::{planned_run, recorded, run_of_step};
use crate::flows::flow::PersonAnswer;
use crate::flows::leading::LeadEnd;
use crate::flows::questions::open_questions;
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
pub(super) fn replayed(
    journal: &dyn Journal,
    run: RunId,
    plan: &CampaignPlan,
    answers: &[PersonAnswer],
) -> Result<Campaign> {
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
                    None => {
                        feed_phases(journal, run, answers, &mut machine)?;
                        break;
                    }
                }
            }
            CampaignStep::Review { revision } => {
                match recorded::<ReviewAnswer>(journal, run, &StepKey::review(revision))? {
                    Some(answer) => machine.reviewed(&answer),
                    None => break,
                }
            }
            CampaignStep::Lead { round } => {
                let led = recorded::<LeadEnd>(journal, run, &lead_key(round))?;
                let Some(led) = led else {
                    feed_phases(journal, run, answers, &mut machine)?;
                    break;
                };
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

/// Takes what is on record of every phase, in whatever order the phases ended: one that asks a person,
/// was cut off, or is led by a session that is not over, holds up none but those that wait for it.
fn feed_phases(
    journal: &dyn Journal,
    run: RunId,
    answers: &[PersonAnswer],
    machine: &mut Campaign,
) -> Result<()> {
    loop {
        let mut is_fed = false;
        for name in machine.phase_names() {
            let Ok(CampaignStep::Coordinate { part, attempt, .. }) = machine.choose(&name, None)
            else {
                continue;
            };
            let record = match recorded::<CampaignRecord>(journal, run, &part.key(attempt))? {
                Some(record) if is_gone(journal, run, &part, attempt)? => {
                    machine.lost(&part, &record.end);
                    is_fed = true;
                    continue;
                }
                Some(record) => record,
                None => match asking(journal, run, &part.key(attempt), answers)? {
                    Some(end) => CampaignRecord { end, said: None, made: None },
                    None => continue,
                },
            };
            machine.apply(&part, &record);
            is_fed = true;
        }
        if !is_fed {
            return Ok(());
        }
    }
}

/// Returns how a coordinator waits that asks a person. It has no result, so what tells of it are the
/// questions below it that have no answer.
fn asking(
    journal: &dyn Journal,
    run: RunId,
    key: &StepKey,
    answers: &[PersonAnswer],
) -> Result<Option<ChildEnd>> {
    let Some(step) = journal.step(run, key)? else { return Ok(None) };
    let Some(child) = run_of_step(journal, &step)? else { return Ok(None) };
    let asked = open_questions(journal, &child, answers)?;
    let Some(first) = asked.first() else { return Ok(None) };
    let Some(outcome) = Outcome::from_exit_code(first.exit_code) else { return Ok(None) };
    let told: Vec<&str> = asked.iter().map(|one| one.question.as_str()).collect();
    let end = ChildEnd::new(child.id, outcome, Some(told.join("; ")));
    Ok(Some(ChildEnd { park: Some(Park::Human), ..end }))
}

/// Returns the steps of a campaign that something came of. A coordinator that had nothing to begin
/// with has a step and no run: it was not begun.
pub(super) fn begun_steps(journal: &dyn Journal, run: RunId) -> Result<BTreeSet<StepKey>> {
    let mut begun = BTreeSet::new();
    for step in journal.steps(run)? {
        let is_planned = planned_run(&step).is_some();
        if step.result.is_some() || !is_planned || run_of_step(journal, &step)?.is_some() {
            begun.insert(step.key);
        }
    }
    Ok(begun)
}

/// Returns whether what a coordinator left was found gone.
fn is_gone(journal: &dyn Journal, run: RunId, part: &CampaignPart, attempt: u32) -> Result<bool> {
    let gone = StepKey::new(format!("gone/{}", part.key(attempt))).map_err(bug)?;
    Ok(recorded::<bool>(journal, run, &gone)?.is_some())
}

/// Refuses a run that is something else.
pub(super) fn no_campaign(run: &Run) -> Error {
    let (id, kind) = (run.id.short(), run.kind.as_str());
    let message = format!("run {id} is no campaign but {kind}");
    Error::new(Fault::Usage, message).hint(format!("`spore runs show {id}` tells of it"))
}
