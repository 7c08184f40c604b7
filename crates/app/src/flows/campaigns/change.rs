//! What people change in a campaign that waits: phases that were not begun are dropped, added or
//! put into another order. Each change is a step of the campaign, so every process that goes on
//! with it hears of the same changes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use spore_compose::{
    CampaignNext, CampaignStep, PhaseChange, PhasesWork, RecordedChange, change_key,
};
use spore_model::{Fault, Run, RunId, SourceKind};
use spore_runs::NextStep;
use spore_store::Journal;

use super::record::{begun_steps, no_campaign, recorded_changes, replayed};
use super::{recall_lines, review_file, review_text};
use crate::base::outbox::Events;
use crate::base::run_lock::{HeldRun, read_settings};
use crate::base::step::Steps;
use crate::flows::branch::FlowBranch;
use crate::flows::requests::{FlowSettings, Planned, Ready, plan};
use crate::report;
use crate::session::parent::refuse_inside;
use crate::{Error, Result, Surroundings, Workspace};

/// What is to be changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PhaseEdit {
    Drop(String),
    /// The text of a file with phases, and what it is called.
    Add {
        file: String,
        text: String,
    },
    Order(Vec<String>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangeAsked {
    /// Part of the campaign's id; the only one that is open where missing.
    pub run: Option<String>,
    pub edit: PhaseEdit,
}

/// What the phases of a campaign are after a change.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ChangedPhases {
    pub run: RunId,
    pub changed: String,
    /// The phases in their order, without those that were dropped.
    pub phases: Vec<String>,
    /// What a person does now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<NextStep>,
}

/// Changes the phases of a campaign that no process works on.
pub fn change_campaign(around: &Surroundings, asked: &ChangeAsked) -> Result<ChangedPhases> {
    let workspace = Workspace::find(around)?;
    refuse_inside(around, &workspace, None)?;
    let config = workspace.config(around, &[])?;
    let run = super::status::find_campaign(&workspace, &config, asked.run.as_deref())?;
    if !run.is_open() {
        return Err(report::is_over(&run));
    }
    let held = HeldRun::take(around, &workspace, run.id)?;
    let journal = &held.journal;
    let settings: FlowSettings = read_settings(&run)?;
    let Planned::Campaign { plan: campaign } = &settings.planned else {
        return Err(no_campaign(&run));
    };
    let machine = replayed(journal, run.id, campaign, &settings.answers)?;
    let change = match &asked.edit {
        PhaseEdit::Drop(phase) => PhaseChange::Drop { phase: phase.clone() },
        PhaseEdit::Order(phases) => PhaseChange::Order { phases: phases.clone() },
        PhaseEdit::Add { file, text } => {
            let ready = Ready {
                around,
                workspace: &workspace,
                config: &held.config,
                options: &settings.options,
                bounds: None,
            };
            let work = PhasesWork {
                plan: file.clone(),
                target: campaign.task.clone(),
                max_phases: held.config.flows.max_phases,
            };
            let there = machine.phase_names();
            let made = plan::made_phases(&ready, &work, text.clone(), &there)?;
            let made = made.map_err(|problem| Error::new(Fault::BadInput, problem))?;
            PhaseChange::Add { phases: made.phases }
        }
    };
    let begun = begun_steps(journal, run.id)?;
    let recorded = machine
        .allow(change, &|key| begun.contains(key))
        .map_err(|problem| refused(&run, problem))?;
    let number = recorded_changes(journal, run.id)?.len() + 1;
    let key = change_key(u32::try_from(number).unwrap_or(u32::MAX));
    let steps = Steps { around, workspace: &workspace, journal, run: run.id };
    let events = Events { around, trace: run.trace.clone() };
    let told = recorded.change.told();
    let recorded: RecordedChange = steps.once(&key, |_, entry| {
        let payload = json!({ "change": told, "revision": recorded.revision });
        let kind = SourceKind::Human;
        entry.events.push(events.make(kind, "campaign", "campaign.changed", run.id, payload));
        Ok(recorded)
    })?;
    let mut machine = replayed(journal, run.id, campaign, &settings.answers)?;
    let phases = machine.manifest().phases.into_iter();
    let phases = phases.filter(|one| one.status != spore_compose::CampaignPhaseStatus::Dropped);
    let phases = phases.map(|one| one.phase).collect();
    // A person says yes to the phases as they are now.
    if let CampaignNext::Do(CampaignStep::Review { revision }) = machine.go_on() {
        let branch = FlowBranch::of(&workspace, &settings.site)?;
        if let Some(branch) = &branch {
            recall_lines(journal, run.id, branch)?;
        }
        let text = review_text(&machine, revision, branch.as_ref(), &run.id.short())?;
        let dir = settings.options.session_dir.clone();
        let dir = dir.unwrap_or_else(|| workspace.run_files(run.id).dir().to_owned());
        let text = around.secrets().strike(&text);
        around.write_if_changed(&dir.join(review_file(revision)), text.as_bytes())?;
    }
    let next = report::report(&workspace, journal, run.id)?.next;
    Ok(ChangedPhases { run: run.id, changed: recorded.change.told(), phases, next })
}

/// What people changed of the phases of a campaign that goes with its plan where that is turned down
/// now.
pub(crate) fn changes_lost_by(
    journal: &dyn Journal,
    run: &Run,
    settings: &FlowSettings,
) -> Result<Vec<String>> {
    let Planned::Campaign { plan } = &settings.planned else { return Ok(Vec::new()) };
    let mut machine = replayed(journal, run.id, plan, &settings.answers)?;
    Ok(match machine.go_on() {
        CampaignNext::Do(CampaignStep::Review { .. }) => machine.lost_at_rejection(),
        _ => Vec::new(),
    })
}

fn refused(run: &Run, problem: String) -> Error {
    let id = run.id.short();
    Error::new(Fault::BadInput, format!("the phases of {id} stay as they are: {problem}"))
        .hint(format!("`spore campaign status {id}` shows which of them were not begun"))
}
