//! `spore campaign status` and `resume`: how far a campaign is, what its verified changes cost, and
//! what waits for a person.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spore_compose::{CampaignPart, CampaignPhase, ChildEnd, PhaseChange};
use spore_config::Config;
use spore_model::{Cost, Fault, Outcome, Run, RunId, RunKind, RunStatus, StepKey, Usd};
use spore_runs::NextStep;
use spore_store::{Journal, RunQuery};

use super::record::{no_campaign, replayed};
use crate::base::run_lock::{is_claimed, read_settings};
use crate::base::step::run_of_step;
use crate::flows::flow::spent;
use crate::flows::questions::open_questions;
use crate::flows::requests::{FlowSettings, Planned};
use crate::report;
use crate::{Error, Result, Surroundings, Workspace};

/// How far a campaign is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CampaignStatus {
    pub run: RunId,
    pub campaign: String,
    pub task: String,
    pub status: RunStatus,
    /// Why it is where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub budget_usd: Usd,
    pub cost: Cost,
    pub research_rounds: u32,
    /// The version of the plan; zero where the phases were known from the start.
    pub revision: u32,
    pub heal_rounds: u32,
    pub phases: Vec<CampaignPhaseRow>,
    /// What people changed of these phases, oldest first, and what they added to the budget.
    pub changes: Vec<String>,
    /// Verified runs among its stages.
    pub verified_changes: u64,
    /// What one of them has cost, with all that the campaign spent around them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_per_verified_change_usd: Option<Usd>,
    /// What a verified change costs that is a run by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single_run_average_usd: Option<Usd>,
    /// What waits for a person, part by part.
    pub questions: Vec<CampaignQuestion>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<NextStep>,
}

/// One phase of a campaign, for people.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CampaignPhaseRow {
    pub phase: String,
    /// `pending`, `under way`, `complete`, `failure`, `asks` or `dropped`.
    pub status: String,
    pub attempts: u64,
    pub cost_usd: Usd,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentinel_grade: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    pub depends_on: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CampaignQuestion {
    /// Who asks.
    pub run: RunId,
    pub name: String,
    pub question: String,
}

/// Tells how far a campaign is; the newest one where none is named.
pub fn campaign_status(around: &Surroundings, typed: Option<&str>) -> Result<CampaignStatus> {
    let workspace = Workspace::find(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    let run = match typed {
        Some(typed) => campaign_of(&journal, typed)?,
        None => {
            let query = RunQuery { roots_only: true, ..RunQuery::default() };
            let mut all = journal.runs(&query)?;
            all.retain(|run| run.kind == RunKind::Campaign);
            all.into_iter().max_by_key(|run| run.id).ok_or_else(none_yet)?
        }
    };
    let settings: FlowSettings = read_settings(&run)?;
    let Planned::Campaign { plan } = &settings.planned else { return Err(no_campaign(&run)) };
    let machine = replayed(&journal, run.id, plan, &settings.answers)?;
    let manifest = machine.manifest();
    let mut phases = Vec::new();
    for phase in &manifest.phases {
        phases.push(row(&journal, &run, phase)?);
    }
    let report = report::report(&workspace, &journal, run.id)?;
    let cost = Cost { usd: spent(&journal, &run)?, ..report.cost };
    let verified_changes = verified_below(&journal, &run)?;
    let is_live = is_claimed(&workspace, run.id);
    let asked = match is_live || !run.is_open() {
        true => Vec::new(),
        false => open_questions(&journal, &run, &settings.answers)?,
    };
    let asked = asked.into_iter().map(|one| CampaignQuestion {
        run: one.run,
        name: one.name,
        question: one.question,
    });
    let raised = (settings.raised > Usd::ZERO).then(|| {
        let (raised, budget) = (settings.raised, settings.budget);
        format!("the budget is raised by {raised}, to {budget}")
    });
    Ok(CampaignStatus {
        run: run.id,
        campaign: manifest.campaign,
        task: manifest.task,
        status: report.status,
        reason: run.reason,
        budget_usd: settings.budget,
        cost_per_verified_change_usd: per_change(cost.usd, verified_changes),
        cost,
        research_rounds: manifest.research_rounds,
        revision: manifest.revision,
        heal_rounds: manifest.heal_rounds,
        phases,
        changes: machine.changes().map(PhaseChange::told).chain(raised).collect(),
        verified_changes,
        single_run_average_usd: single_runs(&journal)?,
        questions: asked.collect(),
        next: report.next,
    })
}

/// Finds the campaign that a person means: the only one that is open where none is named.
pub(crate) fn find_campaign(
    workspace: &Workspace,
    config: &Config,
    typed: Option<&str>,
) -> Result<Run> {
    let journal = workspace.journal(config)?;
    if let Some(typed) = typed {
        return campaign_of(&journal, typed);
    }
    let query = RunQuery { roots_only: true, open_only: true, ..RunQuery::default() };
    let mut open = journal.runs(&query)?;
    open.retain(|run| run.kind == RunKind::Campaign);
    match (open.pop(), open.is_empty()) {
        (Some(run), true) => Ok(run),
        (None, _) => Err(Error::new(Fault::BadInput, "no campaign is open")
            .hint("`spore campaign run NAME TASK` begins one")),
        (Some(_), false) => {
            let count = open.len() + 1;
            Err(Error::new(Fault::BadInput, format!("{count} campaigns are open"))
                .hint("name one of them; `spore runs list --kind campaign` shows their ids"))
        }
    }
}

fn campaign_of(journal: &dyn Journal, typed: &str) -> Result<Run> {
    let run = report::root_of(journal, report::find_run(journal, typed)?)?;
    if run.kind == RunKind::Campaign { Ok(run) } else { Err(no_campaign(&run)) }
}

fn none_yet() -> Error {
    Error::new(Fault::BadInput, "there is no campaign yet")
        .hint("`spore campaign run NAME TASK` begins one; `spore init --flows` writes some")
}

fn row(journal: &dyn Journal, run: &Run, phase: &CampaignPhase) -> Result<CampaignPhaseRow> {
    let mut cost_usd = Usd::ZERO;
    let mut is_open = false;
    for attempt in 1.. {
        let part = CampaignPart::Phase { name: phase.phase.clone() };
        let Some(step) = journal.step(run.id, &part.key(attempt))? else { break };
        let child = run_of_step(journal, &step)?;
        is_open = step.result.is_none() && child.is_some();
        if let Some(child) = child {
            cost_usd += spent(journal, &child)?;
        }
    }
    let is_under_way = is_open && run.is_open();
    let status = match phase.status.as_str() {
        "pending" if is_under_way => "under way",
        word => word,
    };
    Ok(CampaignPhaseRow {
        phase: phase.phase.clone(),
        status: status.to_owned(),
        attempts: phase.attempts as u64,
        cost_usd,
        sentinel_grade: phase.sentinel_grade.map(|grade| grade.to_string()),
        commit: phase.commit.as_ref().map(ToString::to_string),
        depends_on: phase.depends_on.clone(),
        error: phase.error.clone(),
    })
}

/// Counts the verified runs below a run whose work is on the branch. What was verified in an attempt
/// that was rolled back has cost something and changed nothing.
fn verified_below(journal: &dyn Journal, run: &Run) -> Result<u64> {
    let mut count = 0;
    let held = match run.kind {
        RunKind::Phase => Some(held_attempts(journal, run.id)?),
        _ => None,
    };
    for child in journal.children(run.id)? {
        match child.kind {
            RunKind::Orchestrate if child.outcome == Some(Outcome::Success) => count += 1,
            RunKind::Orchestrate | RunKind::Session => {}
            // What a sentinel had mended and did not let pass is no change.
            RunKind::Sentinel if child.outcome != Some(Outcome::Success) => {}
            RunKind::Stage if held.as_ref().is_some_and(|held| !held.contains(&child.id)) => {}
            _ => count += verified_below(journal, &child)?,
        }
    }
    Ok(count)
}

/// Returns the attempts at a coordinator's phases that ended well, and so landed.
fn held_attempts(journal: &dyn Journal, coordinator: RunId) -> Result<Vec<RunId>> {
    let steps = journal.steps(coordinator)?;
    let is_gone = |key: &StepKey| {
        let gone = format!("gone/{key}");
        steps.iter().any(|step| step.key.as_str() == gone && step.result.is_some())
    };
    let mut held = Vec::new();
    for step in steps.iter().filter(|step| !is_gone(&step.key)) {
        let end = step.result.clone().map(serde_json::from_value::<ChildEnd>);
        if let Some(Ok(end)) = end
            && end.outcome == Outcome::Success
        {
            held.push(end.run);
        }
    }
    Ok(held)
}

fn per_change(usd: Usd, count: u64) -> Option<Usd> {
    let count = i64::try_from(count).ok().filter(|count| *count > 0)?;
    Some(Usd::from_nanos(usd.as_nanos() / count))
}

/// What a verified change costs that is a run by itself: all of them, with those that failed.
fn single_runs(journal: &dyn Journal) -> Result<Option<Usd>> {
    let query = RunQuery { roots_only: true, ..RunQuery::default() };
    let mut all = journal.runs(&query)?;
    all.retain(|run| run.kind == RunKind::Orchestrate && !run.is_open());
    let verified = all.iter().filter(|run| run.outcome == Some(Outcome::Success)).count();
    let usd: Usd = all.iter().map(|run| run.cost.cost_usd).sum();
    Ok(per_change(usd, verified as u64))
}
