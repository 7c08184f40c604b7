//! What a person asks of a flow, and what it means: flow files read, names looked up.

pub(super) mod depth;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use spore_compose::{
    CampaignPlan, CoordinatorPlan, ExecPlan, FlowFile, FlowLayer, Flows, Habits, LayerMode,
    OrchestratorPlan, PlanError, StageWork,
};
use spore_config::Config;
use spore_effects::files::paths_in;
use spore_model::{Fault, RunId, RunKind, Usd};
use spore_runs::{Apply, UnknownApply};

use super::branch::FlowSite;
use super::checks::{self, SentinelJudges};
use super::flow::PersonAnswer;
use crate::agents::{leaders, roles};
use crate::base::starts::StartBounds;
use crate::checks::project::refuse_submodules;
use crate::run::settings::RunSettings;
use crate::run::start::refuse_branch;
use crate::{Error, Progress, Result, Surroundings, Update, Workspace};

/// How long the session of a stage may take where neither flow nor call says otherwise.
const STAGE_TIME: Duration = Duration::from_mins(10);

/// What every layer takes. What is left out comes from the flow, then from the configuration.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FlowOptions {
    /// The agent of every executor that names none.
    pub backend: Option<String>,
    /// What the replay agent plays where an executor names no scenario.
    pub scenario: Option<PathBuf>,
    pub budget: Option<Usd>,
    pub max_depth: Option<u32>,
    /// What becomes of the flow's branch at the end.
    #[serde(default)]
    pub apply: Option<Apply>,
    /// The model of every executor that names none: a tier, or the vendor's own name.
    #[serde(default)]
    pub model: Option<String>,
    /// The time of every session that says nothing of it.
    #[serde(default)]
    pub timeout: Option<Duration>,
    /// What every session is told beside its task.
    #[serde(default)]
    pub extra_context: Option<String>,
    /// Tells what would be done, and does nothing of it.
    #[serde(default)]
    pub dry_run: bool,
    /// Where manifests, signals and reports go, in place of the run's own directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_dir: Option<PathBuf>,
    /// Who leads the layer that is called, where the call says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<LayerMode>,
    /// A file of flows that is read beside those of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_file: Option<PathBuf>,
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
    /// What its phases work on, where they leave that to the call.
    #[serde(default)]
    pub target: Option<String>,
    pub options: FlowOptions,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CampaignAsked {
    /// A campaign of the project, or a file that defines one.
    pub name: String,
    #[serde(default)]
    pub task: Option<String>,
    pub options: FlowOptions,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SentinelAsked {
    /// Ask no role: only run the checks.
    pub checks_only: bool,
    /// What the work was to do, in the words of the person who asked for it.
    pub task: String,
    /// What the work began from, as git names it.
    pub since: Option<String>,
    /// Have tests written for each fix that its coder never sees.
    pub hold_out: bool,
    pub options: FlowOptions,
    pub max_cycles: Option<u32>,
    /// Begin with cycle 1, although an earlier sentinel waits for its next cycle.
    pub fresh: bool,
}

impl FlowOptions {
    /// Returns what is asked for as far as a session may ask for it. Such a flow works where that
    /// session does, as a part of its work.
    pub(crate) fn within(&self, around: &Surroundings, bounds: &StartBounds) -> Result<Self> {
        let seen = |path: &Path| bounds.seen(&around.cwd, path);
        Ok(Self {
            scenario: self.scenario.as_deref().map(seen).transpose()?,
            budget: bounds.budget(self.budget),
            max_depth: Some(bounds.depth(self.max_depth)),
            apply: None,
            // Files that a session names are its own to write.
            session_dir: None,
            flow_file: None,
            ..self.clone()
        })
    }

    /// Refuses a directory that another flow has its files in.
    pub(crate) fn refuse_other_session(&self) -> Result<()> {
        let Some(dir) = &self.session_dir else { return Ok(()) };
        let name = spore_plain::path(dir);
        let problem = match std::fs::read_dir(dir) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Error::io(format!("cannot read {name}"), error)),
            Ok(mut entries) => match entries.next() {
                None => return Ok(()),
                Some(_) => format!("{name} is not empty"),
            },
        };
        Err(Error::new(Fault::Usage, problem)
            .hint("name a directory that is not there yet; `spore resume` goes on with a flow"))
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
    #[serde(default)]
    pub(crate) site: FlowSite,
    /// What people answered where it asked, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) answers: Vec<PersonAnswer>,
    /// What the call said, for what is only planned on the way.
    #[serde(default)]
    pub(crate) options: FlowOptions,
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
        Ok(())
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

    /// Returns whether it is the sentinel that is asked for.
    pub(crate) fn answers(&self, asked: &SentinelAsked) -> bool {
        match self {
            Self::Sentinel { judges: Some(judges), .. } => {
                !asked.checks_only && judges.task == asked.task
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

    fn agents(&self) -> Vec<(Option<String>, Option<PathBuf>)> {
        let of_work = |work: &StageWork| match work {
            StageWork::Exec(plan) => Some((plan.backend.clone(), plan.scenario.clone())),
            StageWork::Orchestrate(plan) => Some((plan.backend.clone(), plan.scenario.clone())),
            StageWork::Sentinel | StageWork::Planned(_) => None,
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
                judges.iter().map(|one| (one.backend.clone(), one.scenario.clone())).collect()
            }
        }
    }
}

/// What planning needs.
pub(crate) struct Ready<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) workspace: &'a Workspace,
    pub(crate) config: &'a Config,
    pub(crate) options: &'a FlowOptions,
    /// What the session gives that asks for it, where one does.
    pub(crate) bounds: Option<&'a StartBounds>,
}

impl Ready<'_> {
    fn habits(&self) -> Habits {
        let flows = &self.config.flows;
        Habits {
            heals: flows.heals,
            retries: flows.retries,
            max_attempts: flows.max_attempts,
            max_parallel: flows.max_parallel,
            max_items: flows.max_items,
            max_planned: flows.max_planned,
            max_rounds: flows.max_rounds,
            max_phases: flows.max_phases,
            campaign_heals: flows.campaign_heals,
        }
    }

    /// The scenario of the call, where it can be found from anywhere.
    pub(crate) fn scenario(&self) -> Result<Option<PathBuf>> {
        let absolute = |path: &Path| {
            self.around.cwd.join(path).canonicalize().map_err(|source| {
                Error::new(Fault::Usage, format!("there is no {}", spore_plain::path(path)))
                    .because(source)
            })
        };
        self.options.scenario.as_deref().map(absolute).transpose()
    }

    /// Fills in what the call says; its extra context is for the caller to add.
    fn fill_exec(&self, plan: &mut ExecPlan) -> Result<()> {
        plan.backend = plan.backend.take().or_else(|| self.options.backend.clone());
        plan.scenario = plan.scenario.take().or(self.scenario()?);
        plan.model = plan.model.take().or_else(|| self.options.model.clone());
        let timeout = plan.timeout.or(self.options.timeout);
        plan.timeout = Some(timeout.unwrap_or(STAGE_TIME));
        Ok(())
    }

    /// Says why no session can lead what was planned on the way, where one is to.
    fn unled<'m>(&self, modes: impl IntoIterator<Item = &'m LayerMode>) -> Option<String> {
        let backend = self.options.backend.as_deref().unwrap_or(&self.config.orchestrate.backend);
        unled(backend, modes)
    }

    /// What the call adds to every task, as data.
    fn extra_context(&self) -> String {
        let Some(text) = &self.options.extra_context else { return String::new() };
        let text = spore_secrets::strike_out(&self.around.secrets().strike(text));
        format!("\n\n## Extra context\n\n{}", spore_plain::fenced("text", text.trim_end()))
    }

    fn fill_phases(&self, plan: &mut CoordinatorPlan) -> Result<()> {
        for phase in &mut plan.phases {
            self.fill(&mut phase.orchestrator)?;
            if let Some(resolver) = &mut phase.resolver {
                self.fill_exec(resolver)?;
            }
        }
        Ok(())
    }

    fn fill(&self, plan: &mut OrchestratorPlan) -> Result<()> {
        for stage in &mut plan.stages {
            match &mut stage.work {
                StageWork::Exec(exec) => self.fill_exec(exec)?,
                StageWork::Orchestrate(task) => {
                    task.backend = task.backend.take().or_else(|| self.options.backend.clone());
                    task.scenario = task.scenario.take().or(self.scenario()?);
                    task.model = task.model.take().or_else(|| self.options.model.clone());
                    let timeout = task.timeout.or(self.options.timeout);
                    task.timeout = Some(timeout.unwrap_or(STAGE_TIME));
                }
                StageWork::Sentinel | StageWork::Planned(_) => {}
            }
            stage.add_to_task(&self.extra_context());
        }
        Ok(())
    }
}

fn unled<'m>(backend: &str, modes: impl IntoIterator<Item = &'m LayerMode>) -> Option<String> {
    let is_led = modes.into_iter().any(|mode| !mode.is_tool());
    let error = leaders::refuse_unless_leads(backend).err().filter(|_| is_led)?;
    Some(error.to_string())
}

pub(crate) mod plan {
    use spore_compose::{CoordinatorPlan, OrchestratorPlan, PhasesWork, PlannedWork};
    use spore_model::Fault;

    use super::{
        CampaignAsked, ExecAsked, PhaseAsked, Planned, Ready, Result, SentinelAsked, StageAsked,
        flows, only_campaign, unplannable,
    };
    use crate::Error;

    pub(crate) fn exec(ready: &Ready<'_>, asked: &ExecAsked) -> Result<Planned> {
        if ready.options.mode.is_some_and(|mode| !mode.is_tool()) {
            return Err(Error::new(Fault::Usage, "an executor is one session by itself")
                .hint("`--mode agent` is for the layers above: stage, phase and campaign"));
        }
        let flows = flows(ready)?;
        let mut plan =
            flows.exec(&asked.name, &asked.action, &asked.target).map_err(unplannable)?;
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
                Ok(ready.unled(modes).map_or(Ok(plan), Err))
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
                Ok(ready.unled([&plan.mode]).map_or(Ok(plan), Err))
            }
            Err(error) => Ok(Err(error.to_string())),
        }
    }

    pub(crate) fn sentinel(ready: &Ready<'_>, asked: &SentinelAsked) -> Result<Planned> {
        let checks = super::checks::settings(ready.around, ready.workspace, ready.config, None)?;
        let max_cycles = asked.max_cycles.unwrap_or(ready.config.sentinel.max_cycles);
        let (judges, alone) = match asked.checks_only {
            true => (None, None),
            false => match super::judges(ready, asked)? {
                Ok(judges) => (Some(Box::new(judges)), None),
                Err(why) => (None, Some(why)),
            },
        };
        Ok(Planned::Sentinel { max_cycles, checks: Box::new(checks), judges, alone })
    }
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
    Ok(Ok(SentinelJudges {
        backend: Some(name),
        scenario,
        model: asked.options.model.clone(),
        task: asked.task.clone(),
        since,
        hold_out: asked.hold_out,
    }))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_planned_on_the_way_is_led_by_agents_that_keep_no_tools_alone() {
        let (tool, agent) = (LayerMode::Tool, LayerMode::Agent);
        assert_eq!(unled("codex", [&tool, &tool]), None);
        assert_eq!(unled("claude", [&tool, &agent]), None);
        let refused = unled("codex", [&tool, &agent]).unwrap();
        assert!(refused.starts_with("codex cannot lead a layer"), "{refused}");
    }
}
