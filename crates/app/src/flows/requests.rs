//! What a person asks of a flow, and what it means: flow files read, names looked up.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use spore_compose::{
    CoordinatorPlan, ExecPlan, FlowFile, Flows, Habits, OrchestratorPlan, PlanError, StageWork,
};
use spore_config::Config;
use spore_effects::files::paths_in;
use spore_model::{Fault, RunKind, Usd};

use super::checks;
use crate::base::starts::StartBounds;
use crate::run::settings::RunSettings;
use crate::{Error, Result, Surroundings, Workspace};

/// What every layer takes. What is left out comes from the flow, then from the configuration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FlowOptions {
    /// The agent of every executor that names none.
    pub backend: Option<String>,
    /// What the replay agent plays where an executor names no scenario.
    pub scenario: Option<PathBuf>,
    pub budget: Option<Usd>,
    pub max_depth: Option<u32>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ExecAsked {
    pub name: String,
    pub action: String,
    pub target: String,
    pub options: FlowOptions,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StageAsked {
    pub name: String,
    pub modifier: String,
    pub target: String,
    pub options: FlowOptions,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PhaseAsked {
    pub name: String,
    pub options: FlowOptions,
}

#[derive(Clone, Debug, Default)]
pub struct SentinelAsked {
    pub max_cycles: Option<u32>,
    /// Begin with cycle 1, although an earlier sentinel waits for its next cycle.
    pub fresh: bool,
}

impl FlowOptions {
    /// Returns what is asked for as far as a session may ask for it. A flow works in the project
    /// itself, so only a session may start one that is shown the project.
    pub(crate) fn within(&self, around: &Surroundings, bounds: &StartBounds) -> Result<Self> {
        let root = Workspace::find_for_run(around)?.root().to_owned();
        bounds.seen(&root, &root)?;
        let seen = |path: &Path| bounds.seen(&around.cwd, path);
        Ok(Self {
            backend: self.backend.clone(),
            scenario: self.scenario.as_deref().map(seen).transpose()?,
            budget: bounds.budget(self.budget),
            max_depth: Some(bounds.depth(self.max_depth)),
        })
    }
}

/// What a flow was started with. It is part of the run's record: a resumed flow does what it
/// began, whatever the flow files have become since.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct FlowSettings {
    #[serde(flatten)]
    pub(crate) planned: Planned,
    pub(crate) budget: Usd,
    /// How much of the budget was added later.
    pub(crate) raised: Usd,
    pub(crate) max_depth: u32,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "flow", rename_all = "snake_case")]
pub(crate) enum Planned {
    Exec { plan: ExecPlan },
    Stage { plan: OrchestratorPlan },
    Phase { plan: CoordinatorPlan },
    Sentinel { max_cycles: u32, checks: Box<RunSettings> },
}

impl Planned {
    pub(crate) fn kind(&self) -> RunKind {
        match self {
            Self::Exec { .. } => RunKind::Exec,
            Self::Stage { .. } => RunKind::Stage,
            Self::Phase { .. } => RunKind::Phase,
            Self::Sentinel { .. } => RunKind::Sentinel,
        }
    }

    /// The run's name, and its task in a line.
    pub(crate) fn words(&self) -> (String, String) {
        match self {
            Self::Exec { plan } => (
                format!("{}.{}", plan.executor, plan.action),
                format!("{} {} {}", plan.executor, plan.action, plan.target),
            ),
            Self::Stage { plan } => (
                plan.orchestrator.clone(),
                format!("{} {} {}", plan.orchestrator, plan.modifier, plan.target),
            ),
            Self::Phase { plan } => {
                let names: Vec<&str> = plan.phases.iter().map(|phase| &*phase.name).collect();
                (plan.coordinator.clone(), format!("{}: {}", plan.coordinator, names.join(", ")))
            }
            Self::Sentinel { checks, .. } => {
                let names: Vec<&str> = checks.gates.iter().map(|gate| &*gate.name).collect();
                ("checks".to_owned(), format!("check the project: {}", names.join(", ")))
            }
        }
    }

    pub(crate) fn budget(&self) -> Option<Usd> {
        match self {
            Self::Phase { plan } => plan.budget,
            _ => None,
        }
    }

    pub(crate) fn depth_limit(&self, config: &Config) -> u32 {
        match self {
            Self::Exec { .. } => config.flows.exec_depth,
            Self::Stage { .. } => config.flows.stage_depth,
            Self::Phase { .. } => config.flows.phase_depth,
            // It starts no session.
            Self::Sentinel { .. } => u32::MAX,
        }
    }

    /// Refuses a flow that names an agent or a scenario that cannot be had, before anything
    /// is paid for.
    pub(crate) fn refuse_missing(
        &self,
        around: &Surroundings,
        workspace: &Workspace,
        config: &Config,
    ) -> Result<()> {
        let mut seen = Vec::new();
        for (name, scenario) in self.agents() {
            let name = name.unwrap_or_else(|| config.orchestrate.backend.clone());
            let scenario = scenario.map(|path| workspace.root().join(path));
            if !seen.contains(&(name.clone(), scenario.clone())) {
                crate::agents::backends::backend(around, config, &name, scenario.as_deref())?;
                seen.push((name, scenario));
            }
        }
        Ok(())
    }

    /// Returns whether any agent works in it.
    pub(crate) fn starts_sessions(&self) -> bool {
        !self.agents().is_empty()
    }

    fn agents(&self) -> Vec<(Option<String>, Option<PathBuf>)> {
        let of_work = |work: &StageWork| match work {
            StageWork::Exec(plan) => Some((plan.backend.clone(), plan.scenario.clone())),
            StageWork::Orchestrate(plan) => Some((plan.backend.clone(), plan.scenario.clone())),
            StageWork::Sentinel => None,
        };
        let of_stages = |plan: &OrchestratorPlan| {
            plan.stages.iter().filter_map(|stage| of_work(&stage.work)).collect::<Vec<_>>()
        };
        match self {
            Self::Exec { plan } => vec![(plan.backend.clone(), plan.scenario.clone())],
            Self::Stage { plan } => of_stages(plan),
            Self::Phase { plan } => {
                plan.phases.iter().flat_map(|phase| of_stages(&phase.orchestrator)).collect()
            }
            Self::Sentinel { .. } => Vec::new(),
        }
    }
}

/// What planning needs.
pub(crate) struct Ready<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) workspace: &'a Workspace,
    pub(crate) config: &'a Config,
    pub(crate) options: &'a FlowOptions,
}

impl Ready<'_> {
    fn habits(&self) -> Habits {
        let flows = &self.config.flows;
        Habits {
            heals: flows.heals,
            retries: flows.retries,
            max_attempts: flows.max_attempts,
            max_parallel: flows.max_parallel,
        }
    }

    /// The scenario of the call, where it can be found from anywhere.
    fn scenario(&self) -> Result<Option<PathBuf>> {
        let absolute = |path: &Path| {
            self.around.cwd.join(path).canonicalize().map_err(|source| {
                Error::new(Fault::Usage, format!("there is no {}", spore_plain::path(path)))
                    .because(source)
            })
        };
        self.options.scenario.as_deref().map(absolute).transpose()
    }

    fn fill_exec(&self, plan: &mut ExecPlan) -> Result<()> {
        plan.backend = plan.backend.take().or_else(|| self.options.backend.clone());
        plan.scenario = plan.scenario.take().or(self.scenario()?);
        Ok(())
    }

    fn fill(&self, plan: &mut OrchestratorPlan) -> Result<()> {
        for stage in &mut plan.stages {
            match &mut stage.work {
                StageWork::Exec(exec) => self.fill_exec(exec)?,
                StageWork::Orchestrate(task) => {
                    task.backend = task.backend.take().or_else(|| self.options.backend.clone());
                    task.scenario = task.scenario.take().or(self.scenario()?);
                }
                StageWork::Sentinel => {}
            }
        }
        Ok(())
    }
}

pub(crate) mod plan {
    use super::{
        ExecAsked, PhaseAsked, Planned, Ready, Result, SentinelAsked, StageAsked, flows,
        unplannable,
    };

    pub(crate) fn exec(ready: &Ready<'_>, asked: &ExecAsked) -> Result<Planned> {
        let flows = flows(ready.workspace)?;
        let mut plan =
            flows.exec(&asked.name, &asked.action, &asked.target).map_err(unplannable)?;
        ready.fill_exec(&mut plan)?;
        Ok(Planned::Exec { plan })
    }

    pub(crate) fn stage(ready: &Ready<'_>, asked: &StageAsked) -> Result<Planned> {
        let flows = flows(ready.workspace)?;
        let planned = flows.stages(&asked.name, &asked.modifier, &asked.target, &ready.habits());
        let mut plan = planned.map_err(unplannable)?;
        ready.fill(&mut plan)?;
        Ok(Planned::Stage { plan })
    }

    pub(crate) fn phase(ready: &Ready<'_>, asked: &PhaseAsked) -> Result<Planned> {
        let flows = flows(ready.workspace)?;
        let mut plan = flows.phases(&asked.name, &ready.habits()).map_err(unplannable)?;
        for phase in &mut plan.phases {
            ready.fill(&mut phase.orchestrator)?;
        }
        Ok(Planned::Phase { plan })
    }

    pub(crate) fn sentinel(ready: &Ready<'_>, asked: &SentinelAsked) -> Result<Planned> {
        let checks = super::checks::settings(ready.around, ready.workspace, ready.config)?;
        let max_cycles = asked.max_cycles.unwrap_or(ready.config.sentinel.max_cycles);
        Ok(Planned::Sentinel { max_cycles, checks: Box::new(checks) })
    }
}

/// Reads all flow files, in the order of their names.
fn flows(workspace: &Workspace) -> Result<Flows> {
    let dir = workspace.spore_dir().join("flows");
    let mut paths = paths_in(&dir)
        .map_err(|error| Error::io(format!("cannot read {}", spore_plain::path(&dir)), error))?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    let mut files = Vec::new();
    for path in paths {
        let text = spore_effects::files::read_text(&path).map_err(|error| {
            Error::io(format!("cannot read {}", spore_plain::path(&path)), error)
        })?;
        files.push(FlowFile { path, text });
    }
    Ok(Flows::read(&files)?)
}

fn unplannable(error: PlanError) -> Error {
    let hint = match &error {
        PlanError::Unknown { known, .. } if known.is_empty() => {
            "define it in a file of your own, .spore/flows/NAME.toml".to_owned()
        }
        PlanError::Unknown { known, .. } => format!("there are: {}", known.join(", ")),
        PlanError::Outside { .. } => {
            "name a path below the project's root, without `..`".to_owned()
        }
    };
    Error::new(Fault::Usage, error.to_string()).hint(hint)
}
