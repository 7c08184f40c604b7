//! What exactly is to be done: a flow with every name looked up and every hole filled.
//!
//! A plan is kept with its run, so that a resumed run does what it began, whatever the flow
//! files say by then.

mod error;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use spore_config::ConfigError;
use spore_model::Usd;

pub(crate) use error::unknown;
pub use error::{FlowLayer, PlanError};

use crate::child::WorkLine;
use crate::files::flow::{Executor, FULL, Flows, Phase, RESOLVE};
use crate::files::flow_file::{FlowFile, PlacedValue, is_name};
use crate::files::flow_stage::{
    ORCHESTRATE, PLANNED, SENTINEL, Stage, StageEach, StageJudges, read_made,
};
use crate::files::mode::LayerMode;
use crate::judges::{JudgedWork, JudgesPlan, SentinelRoles};
use crate::late::{EachPlan, LateWords, MadeFor, PlannedWork, RoundsPlan, is_artifact_of};
use crate::manifest::StageEntry;
use crate::wording::Wording;
use crate::wording::template;

/// What holds where a flow says nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Habits {
    pub heals: u32,
    pub retries: u32,
    pub max_attempts: u32,
    pub max_parallel: u32,
    /// How many things a stage may be done for.
    pub max_items: u32,
    /// How many stages a plan that a stage made may have.
    pub max_planned: u32,
    pub max_rounds: u32,
    /// How many phases a campaign's plan may have.
    pub max_phases: u32,
    /// How many rounds of healing a campaign has.
    pub campaign_heals: u32,
    /// How many cycles a sentinel with judges has.
    pub max_cycles: u32,
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
    /// Whether it fails where it changed any file: a session that judges leaves its words alone.
    #[serde(default, skip_serializing_if = "is_not")]
    pub reads_only: bool,
    /// The directory that all of its changes are to be in, where it is held to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes_below: Option<String>,
}

fn is_not(it: &bool) -> bool {
    !it
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
    /// One cycle of the project's checks, or with judges as many as it takes.
    Sentinel {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        judged: Option<Box<JudgedWork>>,
    },
    /// The stages of a plan that an earlier stage made.
    Planned(PlannedWork),
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
    /// What of it is only known when its turn comes.
    #[serde(default, skip_serializing_if = "LateWords::is_empty")]
    pub late: LateWords,
    /// What it is done for one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<EachPlan>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<RoundsPlan>,
    /// What a later stage takes its artifact for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub makes: Option<MadeFor>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OrchestratorPlan {
    pub orchestrator: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub modifier: String,
    pub target: String,
    /// Its target, where an earlier phase is a part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_target: Option<Wording>,
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
    /// Who says which stage is next.
    #[serde(default, skip_serializing_if = "LayerMode::is_tool")]
    pub mode: LayerMode,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub max_parallel: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Usd>,
    pub phases: Vec<PhasePlan>,
    /// Who says which phase is next.
    #[serde(default, skip_serializing_if = "LayerMode::is_tool")]
    pub mode: LayerMode,
}

impl OrchestratorPlan {
    /// What is done, in a line.
    pub fn title(&self) -> String {
        let Self { orchestrator, modifier, target, description, .. } = self;
        format!("{orchestrator} {modifier} {target}{}", in_brackets(description.as_deref()))
    }

    /// The sessions of its stages.
    pub fn execs(&self) -> impl Iterator<Item = &ExecPlan> {
        self.stages.iter().filter_map(|stage| match &stage.work {
            StageWork::Exec(exec) => Some(exec),
            StageWork::Orchestrate(_) | StageWork::Sentinel { .. } | StageWork::Planned(_) => None,
        })
    }

    /// How often a stage may be tried in all, less what earlier attempts at the whole have used.
    pub fn attempts_left(&self, stage: &str) -> u32 {
        self.max_attempts.saturating_sub(self.spent.get(stage).copied().unwrap_or(0))
    }
}

impl CoordinatorPlan {
    /// How many of its layers, one above the other, are led by a session.
    pub fn led(&self) -> u32 {
        let is_led = |mode: LayerMode| u32::from(!mode.is_tool());
        let most = self.phases.iter().map(|phase| is_led(phase.orchestrator.mode)).max();
        is_led(self.mode) + most.unwrap_or(0)
    }

    /// What is done, in a line.
    pub fn title(&self) -> String {
        let names: Vec<&str> = self.phases.iter().map(|phase| &*phase.name).collect();
        let what = in_brackets(self.description.as_deref());
        format!("{}: {}{what}", self.coordinator, names.join(", "))
    }
}

fn in_brackets(description: Option<&str>) -> String {
    description.map_or_else(String::new, |text| format!(" ({text})"))
}

impl StagePlan {
    /// Returns whether its work is that of parts, each of which is tried by itself.
    pub(crate) fn has_parts(&self) -> bool {
        self.each.is_some() || matches!(self.work, StageWork::Planned(_))
    }
}

impl Flows {
    /// Says that a name is not there, or where it is.
    fn missing<'k>(
        &self,
        asked: FlowLayer,
        name: &str,
        known: impl Iterator<Item = &'k String>,
    ) -> PlanError {
        let layers = [
            (FlowLayer::Executor, self.executors.contains_key(name)),
            (FlowLayer::Orchestrator, self.orchestrators.contains_key(name)),
            (FlowLayer::Coordinator, self.coordinators.contains_key(name)),
        ];
        match layers.into_iter().find(|(_, is_there)| *is_there) {
            Some((found, _)) => PlanError::OtherLayer { asked, name: name.to_owned(), found },
            None => unknown(&asked.to_string(), name, known),
        }
    }

    /// Plans one action of the executor `name`.
    pub fn exec(&self, name: &str, action: &str, target: &str) -> Result<ExecPlan, PlanError> {
        let executor = self
            .executors
            .get(name)
            .ok_or_else(|| self.missing(FlowLayer::Executor, name, self.executors.keys()))?;
        if !executor.actions.is_empty() && !executor.actions.iter().any(|known| known == action) {
            return Err(unknown(&format!("action of {name}"), action, executor.actions.iter()));
        }
        let texts =
            ExecTexts { prompt: executor.prompt.clone(), artifact: executor.artifact_text() };
        let target = Wording::from(target);
        exec_plan(name, executor, (action, &target), &texts, &mut LateWords::default())
    }

    /// Plans the stages that `modifier` means.
    pub fn stages(
        &self,
        name: &str,
        modifier: &str,
        target: &str,
        habits: &Habits,
    ) -> Result<OrchestratorPlan, PlanError> {
        self.stages_for(name, modifier, &Wording::from(target), habits)
    }

    fn stages_for(
        &self,
        name: &str,
        modifier: &str,
        target: &Wording,
        habits: &Habits,
    ) -> Result<OrchestratorPlan, PlanError> {
        let known = || self.orchestrators.keys();
        let missing = || self.missing(FlowLayer::Orchestrator, name, known());
        let one = self.orchestrators.get(name).ok_or_else(missing)?;
        let Some(wanted) = one.chosen(modifier) else {
            let full = FULL.to_owned();
            let known = one.modifiers.iter().map(|one| &one.name.value).chain([&full]);
            return Err(unknown(&format!("modifier of {name}"), modifier, known));
        };
        let plan = OrchestratorPlan {
            orchestrator: name.to_owned(),
            description: one.description.clone(),
            modifier: modifier.to_owned(),
            target: target.to_string(),
            late_target: Some(target.clone()).filter(|target| target.plain().is_none()),
            max_attempts: habits.max_attempts,
            stages: self.in_order(&wanted, target, habits)?,
            spent: BTreeMap::new(),
            passed: Vec::new(),
            line: None,
            resolution: None,
            mode: one.mode,
        };
        Ok(plan)
    }

    /// Plans stages that are run one after the other.
    fn in_order(
        &self,
        wanted: &[&Stage],
        target: &Wording,
        habits: &Habits,
    ) -> Result<Vec<StagePlan>, PlanError> {
        let stages = wanted.iter().map(|stage| self.stage(stage, target, habits));
        let mut stages: Vec<StagePlan> = stages.collect::<Result<_, _>>()?;
        for at in 0..stages.len() {
            let name = stages[at].name.clone();
            let made = stages[at + 1..].iter().find_map(|later| takes(later, &name));
            stages[at].makes = made;
        }
        Ok(stages)
    }

    /// Plans the stages that a stage of `name` made a plan of. What is wrong with it is told with
    /// its line.
    pub fn planned(
        &self,
        (name, work): (&str, &PlannedWork),
        text: String,
        habits: &Habits,
    ) -> Result<OrchestratorPlan, ConfigError> {
        let file = FlowFile { path: work.plan.clone().into(), text };
        let made = read_made(&file, work.max_stages)?;
        let wanted: Vec<&Stage> = made.iter().collect();
        self.check_stages(name, &wanted)?;
        let target = Wording::from(work.target.as_str());
        let mut stages = Vec::new();
        for stage in &wanted {
            let one = self.stage(stage, &target, habits);
            stages.push(one.map_err(|error| ConfigError::BadValue {
                place: stage.name.place.clone(),
                key: format!("stages.{}", stage.name.value),
                problem: format!("is wrong: {error}"),
            })?);
        }
        Ok(OrchestratorPlan {
            orchestrator: name.to_owned(),
            description: None,
            modifier: FULL.to_owned(),
            target: work.target.clone(),
            late_target: None,
            max_attempts: habits.max_attempts,
            stages,
            spent: BTreeMap::new(),
            passed: Vec::new(),
            line: None,
            resolution: None,
            mode: LayerMode::Tool,
        })
    }

    /// Plans all phases of the coordinator `name`.
    pub fn phases(
        &self,
        name: &str,
        target: Option<&str>,
        habits: &Habits,
    ) -> Result<CoordinatorPlan, PlanError> {
        let known = || self.coordinators.keys();
        let missing = || self.missing(FlowLayer::Coordinator, name, known());
        let one = self.coordinators.get(name).ok_or_else(missing)?;
        let asks =
            |phase: &Phase| template::holes(&phase.target.value).any(|hole| hole == "target");
        if target.is_none() && one.phases.iter().any(asks) {
            return Err(PlanError::NoTarget { coordinator: name.to_owned() });
        }
        let target = Wording::from(target.unwrap_or_default());
        let resolver = one.resolver.as_ref().map(|name| name.value.as_str());
        let phases = one.phases.iter().map(|phase| self.phase(phase, (&target, resolver), habits));
        Ok(CoordinatorPlan {
            coordinator: name.to_owned(),
            description: one.description.clone(),
            max_parallel: one.max_parallel.unwrap_or(habits.max_parallel).max(1),
            budget: one.budget,
            phases: phases.collect::<Result<_, _>>()?,
            mode: one.mode,
        })
    }

    pub(crate) fn phase(
        &self,
        phase: &Phase,
        (target, resolver): (&Wording, Option<&str>),
        habits: &Habits,
    ) -> Result<PhasePlan, PlanError> {
        let asked = &phase.target.value;
        let resolver = resolver.map(|name| self.exec(name, RESOLVE, asked)).transpose()?;
        let modifier = phase.modifier.as_ref().map_or(FULL, |modifier| &modifier.value);
        let orchestrator = &phase.orchestrator.value;
        let target = Wording::read(&phase.target.value, &[("target", target)]);
        Ok(PhasePlan {
            name: phase.name.value.clone(),
            orchestrator: self.stages_for(orchestrator, modifier, &target, habits)?,
            depends_on: phase.depends_on.iter().map(|name| name.value.clone()).collect(),
            retries: phase.retry.unwrap_or(habits.retries),
            resolves: phase.resolve,
            required: phase.required,
            budget: phase.budget,
            resolver,
        })
    }

    fn stage(
        &self,
        stage: &Stage,
        target: &Wording,
        habits: &Habits,
    ) -> Result<StagePlan, PlanError> {
        let given = [("target", target)];
        let target = match &stage.target {
            Some(own) => Wording::read(&own.value, &given),
            None => target.clone(),
        };
        let mut late = LateWords::default();
        let work = self.work(stage, &target, habits, &mut late)?;
        // Checks that are run again on the same files say the same again, and the stages of a
        // plan have their own.
        let (heals, retries) = match work {
            StageWork::Sentinel { .. } | StageWork::Planned(_) => (0, 0),
            StageWork::Exec(_) | StageWork::Orchestrate(_) => (habits.heals, habits.retries),
        };
        let each = stage.each.as_ref().map(|each| EachPlan {
            items: match each {
                StageEach::Items(items) => items.iter().map(|item| item.value.clone()).collect(),
                StageEach::File(_) => Vec::new(),
            },
            file: match each {
                StageEach::Items(_) => None,
                StageEach::File(file) => Some(Wording::read(&file.value, &given)),
            },
            max_parallel: stage.max_parallel.unwrap_or(habits.max_parallel).max(1),
            max_items: habits.max_items,
        });
        Ok(StagePlan {
            name: stage.name.value.clone(),
            work,
            heals: stage.heal.unwrap_or(heals),
            retries: stage.retry.unwrap_or(retries),
            required: stage.required,
            idempotent: stage.idempotent,
            budget: stage.budget,
            late,
            each,
            rounds: stage.until.as_ref().map(|until| RoundsPlan {
                until: until.value.trim().to_owned(),
                from: stage.from.as_ref().unwrap_or(&stage.name).value.clone(),
                max_rounds: stage.max_rounds.unwrap_or(habits.max_rounds),
            }),
            makes: None,
        })
    }

    fn work(
        &self,
        stage: &Stage,
        target: &Wording,
        habits: &Habits,
        late: &mut LateWords,
    ) -> Result<StageWork, PlanError> {
        let name = stage.executor.value.as_str();
        if name == SENTINEL {
            let judged = stage.judges.as_ref();
            let judged = judged.map(|judges| judged_work(stage, judges, target, habits, late));
            return Ok(StageWork::Sentinel { judged: judged.map(Box::new) });
        }
        if name == PLANNED {
            let plan = stage.plan.as_ref().map_or("", |plan| &plan.value);
            let plan = Wording::read(plan, &[("target", target)]);
            return Ok(StageWork::Planned(PlannedWork {
                plan: LateWords::keep(&mut late.plan, &plan),
                target: LateWords::keep(&mut late.target, target),
                max_stages: stage.max_stages.unwrap_or(habits.max_planned),
            }));
        }
        if name == ORCHESTRATE {
            let task = stage.task.as_ref().map_or("{target}", |task| &task.value);
            let task = Wording::read(task, &[("target", target)]);
            return Ok(StageWork::Orchestrate(OrchestratePlan {
                task: LateWords::keep(&mut late.task, &task),
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
        let own = |spot: &Option<PlacedValue<String>>| spot.as_ref().map(|spot| spot.value.clone());
        let texts = ExecTexts {
            prompt: own(&stage.prompt).unwrap_or_else(|| executor.prompt.clone()),
            artifact: own(&stage.artifact).or_else(|| executor.artifact_text()),
        };
        let plan = exec_plan(name, executor, (action, target), &texts, late)?;
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

/// The whole loop around the project's checks, as a stage asks for it.
fn judged_work(
    stage: &Stage,
    judges: &StageJudges,
    target: &Wording,
    habits: &Habits,
    late: &mut LateWords,
) -> JudgedWork {
    let task = stage.task.as_ref().map_or("{target}", |task| &task.value);
    let task = Wording::read(task, &[("target", target)]);
    let usual = SentinelRoles::default();
    let named = |own: &Option<PlacedValue<String>>, usual: String| {
        own.as_ref().map_or(usual, |own| own.value.clone())
    };
    JudgedWork {
        max_cycles: judges.max_cycles.unwrap_or(habits.max_cycles),
        judges: JudgesPlan {
            backend: stage.backend.clone(),
            scenario: stage.scenario.clone(),
            model: stage.model.clone(),
            task: LateWords::keep(&mut late.task, &task),
            hold_out: judges.hold_out,
            roles: SentinelRoles {
                writer: named(&judges.writer, usual.writer),
                auditor: named(&judges.auditor, usual.auditor),
                consolidator: named(&judges.consolidator, usual.consolidator),
            },
        },
    }
}

/// The texts of an exec that a stage may say otherwise than its executor.
pub(crate) struct ExecTexts {
    pub(crate) prompt: String,
    pub(crate) artifact: Option<String>,
}

pub(crate) fn exec_plan(
    name: &str,
    executor: &Executor,
    (action, target): (&str, &Wording),
    texts: &ExecTexts,
    late: &mut LateWords,
) -> Result<ExecPlan, PlanError> {
    if !is_name(action) {
        return Err(PlanError::BadAction { action: action.to_owned() });
    }
    let word = Wording::from(action);
    let values = [("action", &word), ("target", target)];
    let prompt = Wording::read(&texts.prompt, &values);
    let artifact = texts.artifact.as_ref().map(|artifact| Wording::read(artifact, &values));
    let artifact = match artifact {
        Some(artifact) => {
            let path = LateWords::keep(&mut late.artifact, &artifact);
            // One that is not whole yet is looked at when it is.
            Some(if late.artifact.is_some() { path } else { inside(path)? })
        }
        None => None,
    };
    Ok(ExecPlan {
        executor: name.to_owned(),
        action: action.to_owned(),
        target: LateWords::keep(&mut late.target, target),
        role: executor.role.value.clone(),
        prompt: LateWords::keep(&mut late.prompt, &prompt),
        backend: executor.backend.clone(),
        scenario: executor.scenario.clone(),
        model: executor.model.clone(),
        allowed_tools: executor.allowed_tools.iter().map(|tool| tool.value.clone()).collect(),
        max_turns: executor.max_turns,
        timeout: executor.timeout,
        artifact,
        reads_only: false,
        writes_below: None,
    })
}

/// What a stage takes the artifact of an earlier one for.
fn takes(stage: &StagePlan, name: &str) -> Option<MadeFor> {
    if let (StageWork::Planned(work), Some(plan)) = (&stage.work, &stage.late.plan)
        && is_artifact_of(plan, name)
    {
        let (stage, max_stages) = (stage.name.clone(), work.max_stages);
        return Some(MadeFor::Plan { stage, max_stages });
    }
    let each = stage.each.as_ref()?;
    let is_list = each.file.as_ref().is_some_and(|file| is_artifact_of(file, name));
    is_list.then_some(MadeFor::List { max_items: each.max_items })
}

fn inside(path: String) -> Result<String, PlanError> {
    if is_inside(&path) { Ok(path) } else { Err(PlanError::Outside { path }) }
}

/// An artifact is a file of the project, whatever the target said.
pub(crate) fn is_inside(path: &str) -> bool {
    let plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    plain && !path.is_empty()
}
