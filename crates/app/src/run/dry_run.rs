//! What a run would do, found out without doing any of it.

use std::collections::BTreeMap;

use serde::Serialize;
use spore_model::{CommitId, Fault, Usd};
use spore_runs::Apply;

use crate::agents::ready;
use crate::agents::roles::RoleTerms;
use crate::run::request::Orchestrate;
use crate::run::settings::RunSettings;
use crate::run::start::refuse_empty;
use crate::session::agent_choice::{AgentChoice, RoleAgents};
use crate::{Result, Surroundings, Workspace};

/// A run as it would be, without being started.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RunPlan {
    pub task: String,
    pub base: CommitId,
    /// Uncommitted files that are not part of the base.
    pub left_out: u32,
    /// Why it could not be started yet, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Who plays each role, and on which terms.
    pub roles: BTreeMap<String, RolePlan>,
    /// The commands that decide.
    pub gates: Vec<String>,
    pub max_bounces: u32,
    pub budget_usd: Usd,
    pub summarize: bool,
    pub apply: Apply,
    pub in_place: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
    /// Whether the kernel would hold agents and gates, and what it would not.
    pub sandboxed: bool,
    pub not_held: Vec<String>,
}

/// One role of a run that is not started.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RolePlan {
    #[serde(flatten)]
    pub choice: AgentChoice,
    #[serde(flatten)]
    pub terms: RoleTerms,
}

/// Settles everything that a run of the task would be started with, and writes nothing.
pub fn plan_run(around: &Surroundings, asked: &Orchestrate) -> Result<RunPlan> {
    refuse_empty(&asked.task)?;
    let workspace = Workspace::find(around)?;
    let repository = workspace.repository(around)?;
    let mut config = workspace.config(around, &[])?;
    if let Some(only) = ready::only(around, &config, asked.backend.as_deref()) {
        config.orchestrate.backend = only;
    }
    let settings = RunSettings::settle(&workspace, &repository, &config, asked)?;
    let enforcement = RoleAgents::enforcement(around, &config, &settings.agents)?;
    // A plan is worth having before there is an agent to follow it.
    let agents = RoleAgents::of(around, &config, &settings.agents, settings.scenario.as_deref());
    let missing = match agents {
        Ok(_) => None,
        Err(error) if error.fault == Fault::Missing => {
            let hint = error.hint_text().map(|hint| format!("\n{hint}")).unwrap_or_default();
            Some(format!("{error}{hint}"))
        }
        Err(error) => return Err(error),
    };
    if settings.in_place {
        crate::run::landing::apply::refuse_dirty(&repository)?;
    }
    let role = |(role, choice): (&String, &AgentChoice)| {
        let terms = settings.terms(&config, role);
        (role.clone(), RolePlan { choice: choice.clone(), terms })
    };
    let roles = settings.agents.iter().map(role).collect();
    Ok(RunPlan {
        missing,
        left_out: repository.dirty_files()?,
        gates: settings.gates.iter().map(|gate| gate.command.clone()).collect(),
        sandboxed: enforcement.held,
        not_held: enforcement.notes,
        task: settings.task,
        base: settings.base,
        roles,
        max_bounces: settings.max_bounces,
        budget_usd: settings.budget,
        summarize: settings.summarize,
        apply: settings.apply,
        in_place: settings.in_place,
        experiment: settings.experiment,
    })
}
