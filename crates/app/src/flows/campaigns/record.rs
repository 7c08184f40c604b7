//! What is on record of a campaign: what its coordinators came to, and how it is fed with that.

use spore_compose::{
    Campaign, CampaignNext, CampaignPart, CampaignPlan, CampaignRecord, CampaignStep, ChildEnd,
    DECISION, EVALUATION, JUDGEMENT, PhaseReport, PhaseStatus, PhaseStep, PhasesEnding,
    RecordedChange, ReviewAnswer, WorkLine, change_key, lead_key, review_key,
};
use spore_model::{Outcome, RunId, StepKey};
use spore_store::Journal;

use super::CampaignWork;
use crate::Result;
use crate::base::error::bug;
use crate::base::step::recorded;
use crate::flows::execs::{ExecEnd, tail};
use crate::flows::leading::LeadEnd;
use crate::flows::phases::Coordinator;

/// How much of what a session said that decides is kept.
const SAID_BYTES: usize = 110_000;

impl CampaignWork<'_> {
    /// What is kept of a coordinator that is over.
    pub(super) fn record(
        &self,
        coordinator: &Coordinator<'_>,
        part: &CampaignPart,
        ending: &PhasesEnding,
    ) -> Result<CampaignRecord> {
        let (ground, run) = (self.ground, coordinator.place.run);
        let phases = &ending.manifest.phases;
        let failed = phases.iter().position(|one| one.status == PhaseStatus::Failure);
        let at = failed.unwrap_or(phases.len().saturating_sub(1));
        let told = self.end_of(coordinator, at, phases.get(at))?;
        let mut end = ChildEnd::new(run, ending.outcome, Some(ending.reason.clone()));
        if let Some(told) = told {
            end.stages = told.stages;
            end.diagnosis = told.diagnosis;
        }
        end.grade = phases.iter().filter_map(|phase| phase.sentinel_grade).max();
        let said = match part {
            CampaignPart::Research { .. } => self.said(coordinator, JUDGEMENT, phases)?,
            CampaignPart::Decision { .. } => self.said(coordinator, DECISION, phases)?,
            CampaignPart::Evaluation => self.said(coordinator, EVALUATION, phases)?,
            CampaignPart::Plan { .. } | CampaignPart::Phase { .. } => None,
        };
        let mut record = CampaignRecord { end, said, made: None };
        let work = self.plan.phases_work().filter(|_| matches!(part, CampaignPart::Plan { .. }));
        if let (Some(work), Outcome::Success) = (work, record.end.outcome) {
            let tip = ground.branch.as_ref().map(|branch| branch.tip());
            let text = ground.text_at(tip.as_ref(), &work.plan)?.unwrap_or_default();
            match (ground.phase_planner)(&work, text)? {
                Ok(made) => record.made = Some(Box::new(made)),
                Err(problem) => {
                    record.end.outcome = Outcome::Failure;
                    record.end.reason = Some(format!("the phases cannot be used: {problem}"));
                }
            }
        }
        Ok(record)
    }

    /// What is on record of the last attempt at a phase.
    fn end_of(
        &self,
        coordinator: &Coordinator<'_>,
        at: usize,
        report: Option<&PhaseReport>,
    ) -> Result<Option<ChildEnd>> {
        let Some(report) = report else { return Ok(None) };
        let attempts = u32::try_from(report.orchestrators.len()).unwrap_or(u32::MAX);
        let key = PhaseStep::key_of(&coordinator.plan, at, attempts);
        recorded(self.ground.journal, coordinator.place.run, &key)
    }

    /// The last message of the session that a phase is about.
    fn said(
        &self,
        coordinator: &Coordinator<'_>,
        name: &str,
        phases: &[PhaseReport],
    ) -> Result<Option<String>> {
        let Some(at) = phases.iter().position(|phase| phase.phase == name) else {
            return Ok(None);
        };
        let end = self.end_of(coordinator, at, phases.get(at))?;
        let run = end.and_then(|end| end.stages.last().and_then(|stage| stage.run));
        let Some(run) = run else { return Ok(None) };
        let session = recorded::<ExecEnd>(self.ground.journal, run, &StepKey::session())?;
        Ok(session.map(|session| tail(&session.result, SAID_BYTES)))
    }
}

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
                for (name, attempt) in led.ran {
                    let part = CampaignPart::Phase { name };
                    let record = recorded::<CampaignRecord>(journal, run, &part.key(attempt))?;
                    record.map(|record| machine.apply(&part, &record));
                }
                machine.led();
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
