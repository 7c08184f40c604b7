//! A flow with all its names looked up: what it is, where it works, and what it is refused for before
//! anything is paid.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use spore_compose::{
    CampaignGoal, CampaignPlan, CoordinatorPlan, ExecPlan, JudgesPlan, LayerMode, OrchestratorPlan,
    StagePlan, StageWork,
};
use spore_config::Config;
use spore_model::{CommitId, Fault, RunId, RunKind, Usd};
use spore_runs::UnknownApply;

use super::asked::{FlowOptions, SentinelAsked};
use super::left_out::LeftOut;
use super::ready::Ready;
use crate::checks::project::{gates, refuse_submodules};
use crate::flows::branch::FlowSite;
use crate::flows::checks::{self, SentinelJudges};
use crate::flows::flow::PersonAnswer;
use crate::run::settings::RunSettings;
use crate::run::start::refuse_branch;
use crate::session::agent_choice::RoleAgents;
use crate::{Error, Progress, Result, Surroundings, Update, Workspace};

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
    #[serde(default)]
    pub(crate) site: FlowSite,
    /// What people answered where it asked, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) answers: Vec<PersonAnswer>,
    /// What the call said, for what is only planned on the way.
    #[serde(default)]
    pub(crate) options: FlowOptions,
}

impl FlowSettings {
    /// Takes what a person says anew to a flow that goes on: so much more money or so much in all, and
    /// so many cycles.
    pub(crate) fn hear(&mut self, more: Option<Usd>, whole: Option<Usd>, cycles: Option<u32>) {
        let added = |whole: Usd| Usd::from_nanos(whole.as_nanos() - self.budget.as_nanos());
        let more = more.or(whole.map(added)).unwrap_or(Usd::ZERO);
        self.budget += more;
        self.raised += more.max(Usd::ZERO);
        if let (Planned::Sentinel { max_cycles, .. }, Some(cycles)) = (&mut self.planned, cycles) {
            *max_cycles = cycles;
        }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "flow", rename_all = "snake_case")]
pub(crate) enum Planned {
    Exec {
        plan: ExecPlan,
    },
    Stage {
        plan: OrchestratorPlan,
    },
    Phase {
        plan: CoordinatorPlan,
    },
    Campaign {
        plan: Box<CampaignPlan>,
    },
    Sentinel {
        max_cycles: u32,
        checks: Box<RunSettings>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        judges: Option<Box<SentinelJudges>>,
        /// Why no role is asked, where one should be.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alone: Option<String>,
    },
}

impl Planned {
    pub(crate) fn kind(&self) -> RunKind {
        match self {
            Self::Exec { .. } => RunKind::Exec,
            Self::Stage { .. } => RunKind::Stage,
            Self::Phase { .. } => RunKind::Phase,
            Self::Campaign { .. } => RunKind::Campaign,
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
            Self::Stage { plan } => (plan.orchestrator.clone(), plan.title()),
            Self::Phase { plan } => (plan.coordinator.clone(), plan.title()),
            Self::Campaign { plan } => (
                plan.campaign.clone(),
                format!("{}: {}", plan.campaign, spore_plain::line_within(&plan.task, 200)),
            ),
            Self::Sentinel { checks, .. } => {
                let names: Vec<&str> = checks.gates.iter().map(|gate| &*gate.name).collect();
                ("checks".to_owned(), format!("check the project: {}", names.join(", ")))
            }
        }
    }

    pub(crate) fn budget(&self) -> Option<Usd> {
        match self {
            Self::Phase { plan } => plan.budget,
            Self::Campaign { plan } => plan.budget,
            _ => None,
        }
    }

    pub(crate) fn depth_limit(&self, config: &Config) -> u32 {
        match self {
            Self::Exec { .. } => config.flows.exec_depth,
            Self::Stage { .. } => config.flows.stage_depth,
            Self::Phase { .. } => config.flows.phase_depth,
            Self::Campaign { .. } => config.flows.campaign_depth,
            Self::Sentinel { judges: Some(_), .. } => config.flows.stage_depth,
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
        self.judges().into_iter().try_for_each(|judges| {
            let choices = checks::judges_of(config, judges);
            let scenario = judges.scenario.as_deref().map(|path| workspace.root().join(path));
            RoleAgents::of(around, config, &choices, scenario.as_deref()).map(|_| ())
        })
    }

    /// Refuses a flow whose work is held to the project's own checks where the project has none: it
    /// would be paid for, and could never pass.
    pub(crate) fn refuse_unchecked(
        &self,
        around: &Surroundings,
        workspace: &Workspace,
        config: &Config,
    ) -> Result<()> {
        if !self.is_checked() {
            return Ok(());
        }
        let repository = workspace.repository(around)?;
        gates(workspace, &repository, &repository.head()?, config, &[]).map(|_| ())
    }

    /// Refuses an artifact that no commit takes, now that its path is whole: it could never be left.
    pub(crate) fn refuse_left_out(&self, config: &Config) -> Result<()> {
        let execs: Vec<&ExecPlan> = match self {
            Self::Exec { plan } => vec![plan],
            Self::Stage { plan } => plan.execs().collect(),
            Self::Phase { plan } => execs_of(plan).collect(),
            Self::Campaign { plan } => {
                let own = plan.execs().into_iter();
                own.chain(plan.coordinator.iter().flat_map(execs_of)).collect()
            }
            Self::Sentinel { .. } => Vec::new(),
        };
        match LeftOut::of(config).problem(execs) {
            Some(problem) => Err(Error::new(Fault::Usage, problem)
                .hint("`[commit] exclude` says which those are; `[commit] allow` lets paths in")),
            None => Ok(()),
        }
    }

    /// Whether the project's checks decide about any of its work. A sentinel by itself has found
    /// them when it is planned.
    fn is_checked(&self) -> bool {
        let is_held = |stage: &StagePlan| {
            matches!(stage.work, StageWork::Sentinel { .. } | StageWork::Orchestrate(_))
        };
        match self {
            Self::Exec { .. } | Self::Sentinel { .. } => false,
            Self::Stage { plan } => plan.stages.iter().any(is_held),
            Self::Phase { plan } => stages_of(plan).any(is_held),
            // Every phase of a campaign ends with them; without phases nothing is checked.
            Self::Campaign { plan } => plan.ends_with == CampaignGoal::Evaluation,
        }
    }

    /// Refuses a sentinel that would mend, where nothing keeps the commits of it.
    fn refuse_judged(&self) -> Result<()> {
        if matches!(self, Self::Sentinel { .. }) || self.judges().is_empty() {
            return Ok(());
        }
        let what = "a flow inside a session has no branch for what a judged sentinel mends";
        Err(Error::new(Fault::Usage, what)
            .hint("start the flow outside of the session, or leave `judged` out of its stage"))
    }

    /// Refuses what cannot be done in the directory of a session: what needs a commit.
    fn refuse_commits(&self) -> Result<()> {
        let is_exec = |plan: &OrchestratorPlan| {
            plan.stages.iter().all(|stage| matches!(stage.work, StageWork::Exec(_)))
        };
        let fits = match self {
            Self::Exec { .. } | Self::Sentinel { .. } => true,
            Self::Stage { plan } => is_exec(plan),
            Self::Phase { plan } => plan.phases.iter().all(|phase| is_exec(&phase.orchestrator)),
            Self::Campaign { .. } => false,
        };
        if fits {
            return Ok(());
        }
        Err(Error::new(Fault::Usage, "a flow inside a session runs executors alone").hint(
            "stages that are `orchestrate` or `sentinel` need a commit: start the flow outside of \
             the session",
        ))
    }

    /// Decides where a new flow works, and tells what of the person's files is not there.
    pub(crate) fn site(
        &self,
        ready: &Ready<'_>,
        run: RunId,
        progress: &mut dyn Progress,
    ) -> Result<FlowSite> {
        let Ready { around, workspace, config, options, bounds } = *ready;
        if self.kind() == RunKind::Sentinel && bounds.is_none() {
            return Ok(FlowSite::Project);
        }
        if let Some(bounds) = bounds {
            let dir = &bounds.dir;
            self.refuse_judged()?;
            if dir != workspace.root() {
                self.refuse_commits()?;
            }
            let (dir, payer) = (dir.to_owned(), Some(bounds.payer));
            return Ok(FlowSite::Session { dir, payer });
        }
        let repository = workspace.repository(around)?;
        refuse_branch(&repository)?;
        let base = repository.head()?;
        repository.complete(&base)?;
        refuse_submodules(&repository, &base, config)?;
        let apply = match options.apply {
            Some(apply) => apply,
            None => config.orchestrate.apply.parse().map_err(|error: UnknownApply| {
                Error::new(Fault::Config, format!("orchestrate.apply: {error}"))
            })?,
        };
        let dirty = repository.dirty_files()?;
        if dirty > 0 {
            progress.update(&Update::NotInBase { files: dirty });
        }
        Ok(FlowSite::branch(run, base, apply))
    }

    /// Returns whether it is the sentinel that is asked for: what a call does not say is left as it was
    /// begun with.
    pub(crate) fn answers(&self, asked: &SentinelAsked, since: Option<&CommitId>) -> bool {
        match self {
            Self::Sentinel { judges: Some(judges), .. } => {
                let (began, said) = (&judges.asked, &asked.options);
                !asked.checks_only
                    && began.task == asked.task
                    && since.is_none_or(|since| *since == judges.since)
                    && said.model.as_ref().is_none_or(|model| began.model.as_ref() == Some(model))
                    && said.backend.as_ref().is_none_or(|one| began.backend.as_ref() == Some(one))
                    && (!asked.hold_out || began.hold_out)
            }
            Self::Sentinel { judges: None, alone, .. } => asked.checks_only || alone.is_some(),
            _ => false,
        }
    }

    /// How many of its layers, one above the other, are led by a session.
    pub(crate) fn leads(&self) -> u32 {
        let is_led = |mode: LayerMode| u32::from(!mode.is_tool());
        match self {
            Self::Stage { plan } => is_led(plan.mode),
            Self::Phase { plan } => plan.led(),
            Self::Campaign { plan } => {
                is_led(plan.mode) + plan.coordinator.as_ref().map_or(0, CoordinatorPlan::led)
            }
            Self::Exec { .. } | Self::Sentinel { .. } => 0,
        }
    }

    /// Returns whether any agent works in it.
    pub(crate) fn starts_sessions(&self) -> bool {
        !self.agents().is_empty()
    }

    /// Those whom its sentinels ask.
    fn judges(&self) -> Vec<&JudgesPlan> {
        let stages: Vec<&StagePlan> = match self {
            Self::Sentinel { judges, .. } => {
                return judges.iter().map(|judges| &judges.asked).collect();
            }
            Self::Exec { .. } => Vec::new(),
            Self::Stage { plan } => plan.stages.iter().collect(),
            Self::Phase { plan } => stages_of(plan).collect(),
            Self::Campaign { plan } => plan.coordinator.iter().flat_map(stages_of).collect(),
        };
        let judged = stages.into_iter().filter_map(|stage| match &stage.work {
            StageWork::Sentinel { judged } => judged.as_deref(),
            StageWork::Exec(_) | StageWork::Orchestrate(_) | StageWork::Planned(_) => None,
        });
        judged.map(|judged| &judged.judges).collect()
    }

    fn agents(&self) -> Vec<(Option<String>, Option<PathBuf>)> {
        let of_work = |work: &StageWork| match work {
            StageWork::Exec(plan) => Some((plan.backend.clone(), plan.scenario.clone())),
            StageWork::Orchestrate(plan) => Some((plan.backend.clone(), plan.scenario.clone())),
            StageWork::Sentinel { judged: Some(judged) } => {
                Some((judged.judges.backend.clone(), judged.judges.scenario.clone()))
            }
            StageWork::Sentinel { judged: None } | StageWork::Planned(_) => None,
        };
        let of_stages = |plan: &OrchestratorPlan| {
            plan.stages.iter().filter_map(|stage| of_work(&stage.work)).collect::<Vec<_>>()
        };
        let of_phases = |plan: &CoordinatorPlan| {
            let resolvers = plan.phases.iter().filter_map(|phase| phase.resolver.as_ref());
            let resolvers = resolvers.map(|one| (one.backend.clone(), one.scenario.clone()));
            let stages = plan.phases.iter().flat_map(|phase| of_stages(&phase.orchestrator));
            stages.chain(resolvers).collect::<Vec<_>>()
        };
        match self {
            Self::Exec { plan } => vec![(plan.backend.clone(), plan.scenario.clone())],
            Self::Stage { plan } => of_stages(plan),
            Self::Phase { plan } => of_phases(plan),
            Self::Campaign { plan } => {
                let own = plan.execs().into_iter();
                let own = own.map(|exec| (exec.backend.clone(), exec.scenario.clone()));
                own.chain(plan.coordinator.iter().flat_map(of_phases)).collect()
            }
            Self::Sentinel { judges, .. } => {
                let asked = judges.iter().map(|one| &one.asked);
                asked.map(|one| (one.backend.clone(), one.scenario.clone())).collect()
            }
        }
    }
}

fn execs_of(plan: &CoordinatorPlan) -> impl Iterator<Item = &ExecPlan> {
    let resolvers = plan.phases.iter().filter_map(|phase| phase.resolver.as_ref());
    plan.phases.iter().flat_map(|phase| phase.orchestrator.execs()).chain(resolvers)
}

fn stages_of(plan: &CoordinatorPlan) -> impl Iterator<Item = &StagePlan> {
    plan.phases.iter().flat_map(|phase| &phase.orchestrator.stages)
}
