//! What is asked for by name, as a plan: flow files read, names looked up.

use std::path::Path;

use spore_compose::{
    CoordinatorPlan, FlowFile, FlowLayer, Flows, JudgesPlan, OrchestratorPlan, PhasesWork,
    PlanError, PlannedWork, SentinelRoles,
};
use spore_effects::files::paths_in;
use spore_model::Fault;

use super::asked::{CampaignAsked, ExecAsked, PhaseAsked, SentinelAsked, StageAsked};
use super::left_out::LeftOut;
use super::planned::Planned;
use super::ready::Ready;
use crate::agents::roles;
use crate::flows::checks::{self, SentinelJudges};
use crate::{Error, Result};

pub(crate) fn exec(ready: &Ready<'_>, asked: &ExecAsked) -> Result<Planned> {
    if ready.options.mode.is_some_and(|mode| !mode.is_tool()) {
        return Err(Error::new(Fault::Usage, "an executor is one session by itself")
            .hint("`--mode agent` is for the layers above: stage, phase and campaign"));
    }
    let flows = flows(ready)?;
    let mut plan = flows.exec(&asked.name, &asked.action, &asked.target).map_err(unplannable)?;
    ready.fill_exec(&mut plan)?;
    plan.prompt.push_str(&ready.extra_context());
    Ok(Planned::Exec { plan })
}

pub(crate) fn stage(ready: &Ready<'_>, asked: &StageAsked) -> Result<Planned> {
    let flows = flows(ready)?;
    let planned = flows.stages(&asked.name, &asked.modifier, &asked.target, &ready.habits());
    let mut plan = planned.map_err(unplannable)?;
    ready.fill(&mut plan)?;
    plan.mode = ready.options.mode.unwrap_or(plan.mode);
    Ok(Planned::Stage { plan })
}

pub(crate) fn phase(ready: &Ready<'_>, asked: &PhaseAsked) -> Result<Planned> {
    let flows = flows(ready)?;
    let target = asked.target.as_deref();
    let mut plan = flows.phases(&asked.name, target, &ready.habits()).map_err(unplannable)?;
    ready.fill_phases(&mut plan)?;
    plan.mode = ready.options.mode.unwrap_or(plan.mode);
    Ok(Planned::Phase { plan })
}

pub(crate) fn campaign(ready: &Ready<'_>, asked: &CampaignAsked) -> Result<Planned> {
    let (flows, root) = (flows(ready)?, ready.workspace.root());
    let name = match &ready.options.flow_file {
        Some(file) => only_campaign(file)?,
        None => asked.name.clone(),
    };
    let read = |path: &str| {
        let shown = spore_plain::line_within(path, 200);
        let unread = |error| format!("{shown}: {error}");
        // A link of the project may lead anywhere.
        let file = root.join(path).canonicalize().map_err(unread)?;
        if !file.starts_with(root) {
            return Err(format!("{shown} is outside of the project"));
        }
        spore_effects::files::read_text(file).map_err(unread)
    };
    let planned = flows.campaign(&name, asked.task.as_deref(), &ready.habits(), &read);
    let mut plan = planned.map_err(unplannable)?;
    for exec in plan.execs_mut() {
        ready.fill_exec(exec)?;
        exec.prompt.push_str(&ready.extra_context());
    }
    if let Some(known) = &mut plan.coordinator {
        ready.fill_phases(known)?;
    }
    plan.mode = ready.options.mode.unwrap_or(plan.mode);
    Ok(Planned::Campaign { plan: Box::new(plan) })
}

/// Plans phases that were made on the way, or says what is wrong with them. They may wait for
/// those of `there` as well.
pub(crate) fn made_phases(
    ready: &Ready<'_>,
    work: &PhasesWork,
    text: String,
    there: &[String],
) -> Result<std::result::Result<CoordinatorPlan, String>> {
    match flows(ready)?.made_phases(work, text, there, &ready.habits()) {
        Ok(mut plan) => {
            ready.fill_phases(&mut plan)?;
            let modes = plan.phases.iter().map(|phase| &phase.orchestrator.mode);
            let problem = ready.unled(modes);
            let execs = plan.phases.iter().flat_map(|phase| phase.orchestrator.execs());
            let problem = problem.or_else(|| LeftOut::of(ready.config).problem(execs));
            Ok(problem.map_or(Ok(plan), Err))
        }
        Err(error) => Ok(Err(error.to_string())),
    }
}

/// Plans what a stage made a plan of, or says what is wrong with it.
pub(crate) fn made(
    ready: &Ready<'_>,
    (name, work): (&str, &PlannedWork),
    text: String,
) -> Result<std::result::Result<OrchestratorPlan, String>> {
    let planned = flows(ready)?.planned((name, work), text, &ready.habits());
    match planned {
        Ok(mut plan) => {
            ready.fill(&mut plan)?;
            let problem = ready.unled([&plan.mode]);
            let problem = problem.or_else(|| LeftOut::of(ready.config).problem(plan.execs()));
            Ok(problem.map_or(Ok(plan), Err))
        }
        Err(error) => Ok(Err(error.to_string())),
    }
}

pub(crate) fn sentinel(ready: &Ready<'_>, asked: &SentinelAsked) -> Result<Planned> {
    let checks = checks::settings(ready.around, ready.workspace, ready.config, None)?;
    let max_cycles = asked.max_cycles.unwrap_or(ready.config.sentinel.max_cycles);
    let (judges, alone) = match asked.checks_only {
        true => (None, None),
        false => match judges(ready, asked)? {
            Ok(judges) => (Some(Box::new(judges)), None),
            Err(why) => (None, Some(why)),
        },
    };
    Ok(Planned::Sentinel { max_cycles, checks: Box::new(checks), judges, alone })
}

/// Settles who is asked by a sentinel, or says why no role can be.
fn judges(
    ready: &Ready<'_>,
    asked: &SentinelAsked,
) -> Result<std::result::Result<SentinelJudges, String>> {
    let (around, config) = (ready.around, ready.config);
    let chosen = ready.options.backend.clone();
    let name = chosen.unwrap_or_else(|| config.orchestrate.backend.clone());
    let scenario = ready.scenario()?;
    let found = crate::agents::backends::backend(around, config, &name, scenario.as_deref());
    match found {
        Ok(_) => {}
        // An agent that was named has to be there; one that was not named need not.
        Err(error) if asked.options.backend.is_none() && error.fault == Fault::Missing => {
            return Ok(Err(error.to_string()));
        }
        Err(error) => return Err(error),
    }
    let repository = ready.workspace.repository(around)?;
    let since = match &asked.since {
        Some(since) => repository.resolve(since)?,
        // Work that is not committed yet, else the last commit.
        None if repository.dirty_files()? > 0 => repository.head()?,
        None => repository.resolve("HEAD~1").or_else(|_| repository.head())?,
    };
    let asked = JudgesPlan {
        backend: Some(name),
        scenario,
        model: asked.options.model.clone(),
        task: asked.task.clone(),
        hold_out: asked.hold_out,
        roles: SentinelRoles::default(),
    };
    Ok(Ok(SentinelJudges { asked, since }))
}

/// Reads all flow files, in the order of their names.
fn flows(ready: &Ready<'_>) -> Result<Flows> {
    let Ready { workspace, config, options, .. } = *ready;
    let dir = workspace.spore_dir().join("flows");
    let mut paths = paths_in(&dir)
        .map_err(|error| Error::io(format!("cannot read {}", spore_plain::path(&dir)), error))?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "toml" || end == "json"));
    if let Some(own) = &options.flow_file {
        let is_there = paths.iter().any(|path| path.canonicalize().ok().as_ref() == Some(own));
        if !is_there {
            paths.push(own.clone());
        }
    }
    let mut files = Vec::new();
    for path in paths {
        let text = spore_effects::files::read_text(&path).map_err(|error| {
            Error::io(format!("cannot read {}", spore_plain::path(&path)), error)
        })?;
        files.push(FlowFile { path, text });
    }
    let flows = Flows::read(&files)?;
    let role = |role: &str| {
        let error = roles::require(workspace.root(), config, role).err()?;
        let hint = error.hint_text().map(|hint| format!("; {hint}"));
        Some(format!("{error}{}", hint.unwrap_or_default()))
    };
    let usual = options.backend.as_deref().unwrap_or(&config.orchestrate.backend);
    let tool = |own: Option<&str>, name: &str| roles::unknown_tool(own.unwrap_or(usual), name);
    flows.check_words(&role, &tool)?;
    // Where a session started it nothing becomes a commit here.
    if ready.bounds.is_none() {
        let left_out = LeftOut::of(config);
        flows.check_artifacts(&|path| left_out.has(path))?;
    }
    Ok(flows)
}

/// Returns the name of the campaign that a file defines.
fn only_campaign(path: &Path) -> Result<String> {
    let shown = spore_plain::path(path);
    let text = spore_effects::files::read_text(path)
        .map_err(|error| Error::io(format!("cannot read {shown}"), error))?;
    let mut names = spore_compose::campaign_names(&FlowFile { path: path.to_owned(), text })?;
    match (names.pop(), names.is_empty()) {
        (Some(name), true) => Ok(name),
        (Some(_), false) => {
            Err(Error::new(Fault::Usage, format!("{shown} defines several campaigns"))
                .hint("put it into .spore/flows, and name the one that is meant"))
        }
        (None, _) => Err(Error::new(Fault::Usage, format!("{shown} defines no campaign"))
            .hint("a campaign is a table [campaigns.NAME]")),
    }
}

fn unplannable(error: PlanError) -> Error {
    let hint = match &error {
        PlanError::Unknown { known, .. } if known.is_empty() => {
            "define it in a file of your own, .spore/flows/NAME.toml, or begin with those that \
             `spore init --flows` writes"
                .to_owned()
        }
        PlanError::Unknown { known, .. } => format!("there are: {}", known.join(", ")),
        PlanError::OtherLayer { name, found, .. } => match found {
            FlowLayer::Executor => format!("spore exec {name} ACTION TARGET"),
            FlowLayer::Orchestrator => format!("spore stage {name} full TARGET"),
            FlowLayer::Coordinator => format!("spore phase {name}"),
        },
        PlanError::Outside { .. } => {
            "name a path below the project's root, without `..`".to_owned()
        }
        PlanError::BadAction { .. } => {
            "an action is a word such as PLAN: the session ends with STAGE_PLAN_COMPLETE".to_owned()
        }
        PlanError::NoTask { campaign } => {
            format!("say what it is about: spore campaign run {campaign} \"TASK\"")
        }
        PlanError::NoPrompt { .. } => "`prompt_file` is a path below the project's root".to_owned(),
        PlanError::NoTarget { coordinator } => {
            format!("name what they work on: spore phase {coordinator} TARGET")
        }
    };
    Error::new(Fault::Usage, error.to_string()).hint(hint)
}
