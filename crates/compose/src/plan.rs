//! What exactly is to be done: a flow with every name looked up and every hole filled.
//!
//! A plan is kept with its run, so that a resumed run does what it began, whatever the flow
//! files say by then.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use spore_model::Usd;

use crate::child::WorkLine;
use crate::flow::{Executor, FULL, Flows, ORCHESTRATE, Phase, RESOLVE, SENTINEL, Stage};
use crate::flow_file::nearest;
use crate::manifest::StageEntry;
use crate::template::fill;

/// What holds where a flow says nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Habits {
    pub heals: u32,
    pub retries: u32,
    pub max_attempts: u32,
    pub max_parallel: u32,
}

/// One action of an executor on one target.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ExecPlan {
    pub executor: String,
    pub action: String,
    pub target: String,
    pub role: String,
    /// What the agent is to do.
    pub prompt: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_tools: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// The file that must be there afterwards, below the project's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
}

/// A whole verified run as one stage.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OrchestratePlan {
    pub task: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bounces: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
}

/// What a stage has done below it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum StageWork {
    Exec(ExecPlan),
    Orchestrate(OrchestratePlan),
    /// One cycle of the project's checks.
    Sentinel,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StagePlan {
    pub name: String,
    #[serde(flatten)]
    pub work: StageWork,
    pub heals: u32,
    pub retries: u32,
    pub required: bool,
    pub idempotent: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Usd>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OrchestratorPlan {
    pub orchestrator: String,
    pub modifier: String,
    pub target: String,
    pub max_attempts: u32,
    pub stages: Vec<StagePlan>,
    /// How often each stage was run before, by an earlier attempt of the same phase.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub spent: BTreeMap<String, u32>,
    /// The stages that passed then, where only those that failed are run again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<StageEntry>,
    /// What those left, which the others go on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<WorkLine>,
    /// What the layer above has to say about it: a resolution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PhasePlan {
    pub name: String,
    pub orchestrator: OrchestratorPlan,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    pub retries: u32,
    pub resolves: u32,
    pub required: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Usd>,
    /// Who finds a resolution where it needs refinement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolver: Option<ExecPlan>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CoordinatorPlan {
    pub coordinator: String,
    pub max_parallel: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Usd>,
    pub phases: Vec<PhasePlan>,
}

/// Why the call names nothing that could be done.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlanError {
    #[error("there is no {kind} {name:?}{}", meant(nearest.as_deref()))]
    Unknown { kind: String, name: String, nearest: Option<String>, known: Vec<String> },
    #[error("the artifact {path:?} is not inside the project")]
    Outside { path: String },
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

fn unknown<'k>(kind: &str, name: &str, known: impl Iterator<Item = &'k String>) -> PlanError {
    let known: Vec<&str> = known.map(String::as_str).collect();
    PlanError::Unknown {
        kind: kind.to_owned(),
        name: name.to_owned(),
        nearest: nearest(name, &known).map(str::to_owned),
        known: known.into_iter().map(str::to_owned).collect(),
    }
}

impl Flows {
    /// Plans one action of the executor `name`.
    pub fn exec(&self, name: &str, action: &str, target: &str) -> Result<ExecPlan, PlanError> {
        let executor = self
            .executors
            .get(name)
            .ok_or_else(|| unknown("executor", name, self.executors.keys()))?;
        if !executor.actions.is_empty() && !executor.actions.iter().any(|known| known == action) {
            return Err(unknown(&format!("action of {name}"), action, executor.actions.iter()));
        }
        let artifact = executor.artifact.as_deref();
        exec_plan(name, executor, (action, target), artifact)
    }

    /// Plans the stages that `modifier` means.
    pub fn stages(
        &self,
        name: &str,
        modifier: &str,
        target: &str,
        habits: &Habits,
    ) -> Result<OrchestratorPlan, PlanError> {
        let one = self
            .orchestrators
            .get(name)
            .ok_or_else(|| unknown("orchestrator", name, self.orchestrators.keys()))?;
        let named = one.modifiers.iter().find(|(known, _)| known.value == modifier);
        let wanted: Vec<&Stage> = match named {
            Some((_, stages)) => {
                let find = |name: &str| one.stages.iter().find(|stage| stage.name.value == name);
                stages.iter().filter_map(|name| find(&name.value)).collect()
            }
            None if modifier == FULL => one.stages.iter().collect(),
            None => {
                let full = FULL.to_owned();
                let known = one.modifiers.iter().map(|(name, _)| &name.value).chain([&full]);
                return Err(unknown(&format!("modifier of {name}"), modifier, known));
            }
        };
        let stages = wanted.into_iter().map(|stage| self.stage(stage, target, habits));
        Ok(OrchestratorPlan {
            orchestrator: name.to_owned(),
            modifier: modifier.to_owned(),
            target: target.to_owned(),
            max_attempts: habits.max_attempts,
            stages: stages.collect::<Result<_, _>>()?,
            spent: BTreeMap::new(),
            passed: Vec::new(),
            line: None,
            resolution: None,
        })
    }

    /// Plans all phases of the coordinator `name`.
    pub fn phases(&self, name: &str, habits: &Habits) -> Result<CoordinatorPlan, PlanError> {
        let one = self
            .coordinators
            .get(name)
            .ok_or_else(|| unknown("coordinator", name, self.coordinators.keys()))?;
        let resolver = one.resolver.as_ref().map(|name| name.value.as_str());
        let phases = one.phases.iter().map(|phase| self.phase(phase, resolver, habits));
        Ok(CoordinatorPlan {
            coordinator: name.to_owned(),
            max_parallel: one.max_parallel.unwrap_or(habits.max_parallel).max(1),
            budget: one.budget,
            phases: phases.collect::<Result<_, _>>()?,
        })
    }

    fn phase(
        &self,
        phase: &Phase,
        resolver: Option<&str>,
        habits: &Habits,
    ) -> Result<PhasePlan, PlanError> {
        let resolver = resolver.map(|name| self.exec(name, RESOLVE, &phase.target)).transpose()?;
        let modifier = phase.modifier.as_ref().map_or(FULL, |modifier| &modifier.value);
        let orchestrator = &phase.orchestrator.value;
        Ok(PhasePlan {
            name: phase.name.value.clone(),
            orchestrator: self.stages(orchestrator, modifier, &phase.target, habits)?,
            depends_on: phase.depends_on.iter().map(|name| name.value.clone()).collect(),
            retries: phase.retry.unwrap_or(habits.retries),
            resolves: phase.resolve,
            required: phase.required,
            budget: phase.budget,
            resolver,
        })
    }

    fn stage(&self, stage: &Stage, target: &str, habits: &Habits) -> Result<StagePlan, PlanError> {
        let target = match &stage.target {
            Some(template) => fill(template, &[("target", target)]),
            None => target.to_owned(),
        };
        let work = self.work(stage, &target)?;
        // Checks that are run again on the same files say the same again.
        let (heals, retries) = match work {
            StageWork::Sentinel => (0, 0),
            _ => (habits.heals, habits.retries),
        };
        Ok(StagePlan {
            name: stage.name.value.clone(),
            work,
            heals: stage.heal.unwrap_or(heals),
            retries: stage.retry.unwrap_or(retries),
            required: stage.required,
            idempotent: stage.idempotent,
            budget: stage.budget,
        })
    }

    fn work(&self, stage: &Stage, target: &str) -> Result<StageWork, PlanError> {
        let name = stage.executor.value.as_str();
        if name == SENTINEL {
            return Ok(StageWork::Sentinel);
        }
        if name == ORCHESTRATE {
            let task = stage.task.as_deref().unwrap_or("{target}");
            return Ok(StageWork::Orchestrate(OrchestratePlan {
                task: fill(task, &[("target", target)]),
                backend: stage.backend.clone(),
                scenario: stage.scenario.clone(),
                model: stage.model.clone(),
                max_turns: stage.max_turns,
                max_bounces: stage.max_bounces,
                timeout: stage.timeout,
            }));
        }
        let executor = self
            .executors
            .get(name)
            .ok_or_else(|| unknown("executor", name, self.executors.keys()))?;
        let action = stage.action.as_ref().unwrap_or(&stage.name).value.as_str();
        let artifact = stage.artifact.as_deref().or(executor.artifact.as_deref());
        let plan = exec_plan(name, executor, (action, target), artifact)?;
        Ok(StageWork::Exec(ExecPlan {
            backend: stage.backend.clone().or(plan.backend),
            scenario: stage.scenario.clone().or(plan.scenario),
            model: stage.model.clone().or(plan.model),
            max_turns: stage.max_turns.or(plan.max_turns),
            timeout: stage.timeout.or(plan.timeout),
            ..plan
        }))
    }
}

fn exec_plan(
    name: &str,
    executor: &Executor,
    (action, target): (&str, &str),
    artifact: Option<&str>,
) -> Result<ExecPlan, PlanError> {
    let values = [("action", action), ("target", target)];
    Ok(ExecPlan {
        executor: name.to_owned(),
        action: action.to_owned(),
        target: target.to_owned(),
        role: executor.role.value.clone(),
        prompt: fill(&executor.prompt, &values),
        backend: executor.backend.clone(),
        scenario: executor.scenario.clone(),
        model: executor.model.clone(),
        allowed_tools: executor.allowed_tools.iter().map(|tool| tool.value.clone()).collect(),
        max_turns: executor.max_turns,
        timeout: executor.timeout,
        artifact: artifact.map(|artifact| inside(fill(artifact, &values))).transpose()?,
    })
}

/// An artifact is a file of the project, whatever the target said.
fn inside(path: String) -> Result<String, PlanError> {
    let plain = Path::new(&path).components().all(|part| matches!(part, Component::Normal(_)));
    if plain && !path.is_empty() { Ok(path) } else { Err(PlanError::Outside { path }) }
}
