//! `spore exec`, `spore stage` and `spore phase`: layers of runs in tool mode.
//!
//! A flow is an ordinary run whose children are ordinary runs, so listing, budgets, events and
//! resume need not know that there are layers. Each layer is a pure machine of
//! [`spore_compose`]; what is here performs its steps: intent, effect, result, layer by layer,
//! all in the journal.
//!
//! A session of a flow works in the project itself and is held there, like one of `spore spawn`; a
//! stage that is `orchestrate` works in a checkout of its own.

mod checks;
mod execs;
mod flow;
mod layers;
mod phases;
mod projection;
mod requests;
mod stages;
pub(crate) mod starts;
mod verified;

use std::path::PathBuf;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use serde_json::json;
use spore_compose::{ExecPlan, Parked};
use spore_config::Config;
use spore_model::{
    Allowance, BudgetTree, Cost, Fault, Outcome, Park, Run, RunId, RunKind, RunState, RunStatus,
    SourceKind, TraceId, Usd,
};
use spore_runs::{NextStep, RunReport};
use spore_store::{Journal, RunChange, RunQuery};

use checks::{Checks, ChecksOver, results_path};
use execs::{Exec, ExecEnd};
use flow::{ActiveFlow, LayerPlace, spent};
use phases::{Coordinator, PhasesOver};
pub use requests::{ExecAsked, FlowOptions, PhaseAsked, SentinelAsked, StageAsked};
use requests::{FlowSettings, Planned, plan};
use stages::{Orchestrator, StagesOver};

use crate::agents::ready;
use crate::base::error::bug;
use crate::base::outbox::{self, Events};
use crate::base::run_lock::{claim, read_settings, reopen, unclaimed};
use crate::base::starts::StartBounds;
use crate::report;
use crate::session::broker::Broker;
use crate::session::confinement::OwnHold;
use crate::session::nesting::{Ancestry, Nesting};
use crate::session::parent::{ParentSession, refuse_inside};
use crate::session::processes::reap;
use crate::session::sandbox::Sandboxes;
use crate::{Error, Progress, Result, Surroundings, Update, Workspace};

/// What came of a flow, whatever its layer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FlowReport {
    pub run: RunId,
    pub kind: RunKind,
    pub name: String,
    pub status: RunStatus,
    pub outcome: Outcome,
    pub exit_code: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub trace_id: TraceId,
    pub cost: Cost,
    /// Manifests, signals and transcripts.
    pub directory: String,
    /// What a person does now, where it waits for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<NextStep>,
    /// What the layer hands upwards: an exec's result, a stage manifest, a coordinator's.
    #[serde(flatten)]
    pub told: serde_json::Value,
}

/// Runs one action of an executor.
pub fn exec(
    around: &Surroundings,
    asked: &ExecAsked,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    match ParentSession::of(around) {
        Some(parent) => parent.start("exec", asked, around, progress),
        None => start(around, &asked.options, |ready| plan::exec(ready, asked), progress),
    }
}

/// The same for a session, within its bounds.
pub(crate) fn exec_within(
    around: &Surroundings,
    asked: &ExecAsked,
    bounds: &StartBounds,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    let options = asked.options.within(around, bounds)?;
    let asked = ExecAsked { options, ..asked.clone() };
    start(around, &asked.options, |ready| plan::exec(ready, &asked), progress)
}

/// Runs the stages of an orchestrator.
pub fn stage(
    around: &Surroundings,
    asked: &StageAsked,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    match ParentSession::of(around) {
        Some(parent) => parent.start("stage", asked, around, progress),
        None => start(around, &asked.options, |ready| plan::stage(ready, asked), progress),
    }
}

/// The same for a session, within its bounds.
pub(crate) fn stage_within(
    around: &Surroundings,
    asked: &StageAsked,
    bounds: &StartBounds,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    let options = asked.options.within(around, bounds)?;
    let asked = StageAsked { options, ..asked.clone() };
    start(around, &asked.options, |ready| plan::stage(ready, &asked), progress)
}

/// Runs the phases of a coordinator.
pub fn phase(
    around: &Surroundings,
    asked: &PhaseAsked,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    match ParentSession::of(around) {
        Some(parent) => parent.start("phase", asked, around, progress),
        None => start(around, &asked.options, |ready| plan::phase(ready, asked), progress),
    }
}

/// The same for a session, within its bounds.
pub(crate) fn phase_within(
    around: &Surroundings,
    asked: &PhaseAsked,
    bounds: &StartBounds,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    let options = asked.options.within(around, bounds)?;
    let asked = PhaseAsked { options, ..asked.clone() };
    start(around, &asked.options, |ready| plan::phase(ready, &asked), progress)
}

/// Runs one cycle of the project's checks: the next one of a sentinel that waits for it, else
/// the first.
pub fn sentinel(
    around: &Surroundings,
    asked: &SentinelAsked,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    let workspace = Workspace::find_for_run(around)?;
    if !asked.fresh && workspace.database().exists() {
        let config = workspace.config(around, &[])?;
        let journal = workspace.journal(&config)?;
        let query = RunQuery { roots_only: true, open_only: true, ..RunQuery::default() };
        let begun = journal.runs(&query)?.into_iter().filter(|run| run.kind == RunKind::Sentinel);
        if let Some(run) = unclaimed(&workspace, begun.collect()).first() {
            return go_on(around, &workspace, run, None, progress);
        }
    }
    let options = FlowOptions::default();
    start(around, &options, |ready| plan::sentinel(ready, asked), progress)
}

fn start(
    around: &Surroundings,
    options: &FlowOptions,
    plan: impl FnOnce(&requests::Ready<'_>) -> Result<Planned>,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    let workspace = Workspace::find_for_run(around)?;
    refuse_inside(around, &workspace)?;
    let config = workspace.config(around, &[])?;
    let only = ready::only(around, &config, options.backend.as_deref());
    let backend = options.backend.clone().or_else(|| only.clone());
    let options = &FlowOptions { backend, ..options.clone() };
    let planned =
        plan(&requests::Ready { around, workspace: &workspace, config: &config, options })?;
    if let Some(backend) = only.filter(|_| planned.starts_sessions()) {
        progress.update(&Update::AgentChosen { backend });
    }
    let backend = options.backend.as_deref().unwrap_or(&config.orchestrate.backend);
    let notes = match planned.kind() {
        // Its checks work in a checkout, and say what holds them.
        RunKind::Sentinel => Vec::new(),
        _ => OwnHold::find(around, &config, backend, workspace.root())?.notes().to_vec(),
    };
    let limit = options.max_depth.unwrap_or_else(|| planned.depth_limit(&config));
    let ancestry = Ancestry::read(around, limit)?;
    planned.refuse_missing(around, &workspace, &config)?;
    if !workspace.database().exists() {
        crate::base::init::init(around)?;
        progress.update(&Update::Initialised);
    }
    if ancestry.nesting.left() == 1 {
        progress.update(&Update::Shallow { limit });
    }
    let journal = workspace.journal(&config)?;
    let id = around.ids.run();
    let _lock = claim(&workspace, id)?;
    let budget = options.budget.or(planned.budget()).unwrap_or(config.orchestrate.budget_usd);
    let settings = FlowSettings { planned, budget, raised: Usd::ZERO, max_depth: limit };
    create(around, &journal, &settings, &ancestry, id)?;
    for note in notes {
        progress.update(&Update::NotHeld { note });
    }
    work(around, &workspace, &config, &journal, id, ancestry.nesting, &settings, progress)
}

/// Goes on with a flow from its first step without a result.
pub(crate) fn resume(
    around: &Surroundings,
    workspace: &Workspace,
    run: &Run,
    more: Option<Usd>,
    progress: &mut dyn Progress,
) -> Result<RunReport> {
    go_on(around, workspace, run, more, progress)?;
    let config = workspace.config(around, &[])?;
    report::report(workspace, &workspace.journal(&config)?, run.id)
}

fn go_on(
    around: &Surroundings,
    workspace: &Workspace,
    run: &Run,
    more: Option<Usd>,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    let _lock = claim(workspace, run.id)?;
    let mut settings: FlowSettings = read_settings(run)?;
    if let Some(more) = more {
        settings.budget += more;
        settings.raised += more;
    }
    let reaped = reap(&config, &journal, run.id, around)?;
    reopen(around, &journal, run, run.kind.as_str(), &settings)?;
    progress.update(&Update::Resumed { run: run.id, reaped });
    Sandboxes { around, workspace, config: &config, run: run.id }.clean_up();
    let nesting = Nesting { depth: run.depth, limit: settings.max_depth };
    work(around, workspace, &config, &journal, run.id, nesting, &settings, progress)
}

fn create(
    around: &Surroundings,
    journal: &dyn Journal,
    settings: &FlowSettings,
    ancestry: &Ancestry,
    id: RunId,
) -> Result<()> {
    let kind = settings.planned.kind();
    let (name, task) = settings.planned.words();
    let trace = ancestry.trace_of(id);
    let run = Run {
        trace: trace.clone(),
        task: Some(task.clone()),
        depth: ancestry.nesting.depth,
        settings: serde_json::to_value(settings).map_err(bug)?,
        ..Run::begin(id, kind, name, around.clock.now())
    };
    let events = Events { around, trace };
    let payload = json!({
        "kind": kind,
        "task": task,
        "budget_usd": settings.budget,
        "started_by": ancestry.started_by(journal)?,
    });
    let event = events.make(SourceKind::Runner, kind.as_str(), "run.started", id, payload);
    Ok(journal.create_run(&run, &[event])?)
}

/// How a flow ended or parked, and what its layer has to say.
struct Rest {
    outcome: Outcome,
    parked: Option<Parked>,
    told: serde_json::Value,
}

#[expect(clippy::too_many_arguments, reason = "the one place where all parts of a flow meet")]
fn work(
    around: &Surroundings,
    workspace: &Workspace,
    config: &Config,
    journal: &dyn Journal,
    root: RunId,
    nesting: Nesting,
    settings: &FlowSettings,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    outbox::flush(around, workspace, journal)?;
    let missing = || Error::new(Fault::BadInput, format!("there is no run {root}"));
    let run = journal.run(root)?.ok_or_else(missing)?;
    let usd = |amount| Allowance { usd: Some(amount), ..Allowance::default() };
    let budget = BudgetTree::new(usd(settings.budget), usd(spent(journal, &run)?));
    let ground = ActiveFlow {
        around,
        workspace,
        config,
        journal,
        root,
        trace: run.trace.clone(),
        nesting,
        budget: Mutex::new(budget),
        raised: settings.raised,
        projecting: Mutex::new(()),
        broker: Broker::start(around, workspace, config)?,
    };
    ground.write(&ground.dir().join(".trace"), &format!("{}\n", run.trace))?;
    ground.live_report()?;
    let place = LayerPlace {
        run: root,
        parent: None,
        attempt: 1,
        name: run.name.clone(),
        dir: PathBuf::new(),
        depth: run.depth,
        budget: BudgetTree::ROOT,
    };
    let rest = lead(&ground, place, &settings.planned, progress)?;
    if let Some(parked) = &rest.parked {
        park(&ground, &run, parked)?;
    }
    outbox::flush(around, workspace, journal)?;
    report(&ground, rest)
}

fn lead(
    ground: &ActiveFlow<'_>,
    place: LayerPlace,
    planned: &Planned,
    progress: &mut dyn Progress,
) -> Result<Rest> {
    let ended = |outcome, told| Ok(Rest { outcome, parked: None, told });
    match planned {
        Planned::Exec { plan } => {
            let exec =
                Exec { ground, place, plan, diagnosis: None, resolution: None, budget: None };
            Ok(exec_rest(plan, exec.work(progress)?))
        }
        Planned::Stage { plan } => {
            let plan = plan.clone();
            let stages = Orchestrator { ground, place, plan, prefix: String::new() };
            match stages.work(progress)? {
                StagesOver::Ended(ending) => {
                    ended(ending.outcome, serde_json::to_value(&ending.manifest).map_err(bug)?)
                }
                StagesOver::Parked(parked) => Ok(waiting(parked)),
            }
        }
        Planned::Phase { plan } => {
            let coordinator = Coordinator { ground, place, plan: plan.clone() };
            match coordinator.work(progress)? {
                PhasesOver::Ended(ending) => {
                    ended(ending.outcome, serde_json::to_value(&ending.manifest).map_err(bug)?)
                }
                PhasesOver::Parked(parked) => Ok(waiting(parked)),
            }
        }
        Planned::Sentinel { max_cycles, checks } => {
            let (max_cycles, settings) = (*max_cycles, (**checks).clone());
            let checks = Checks { ground, place, max_cycles, settings };
            Ok(checks_rest(&checks, checks.work(progress)?))
        }
    }
}

fn checks_rest(checks: &Checks<'_>, over: ChecksOver) -> Rest {
    let (outcome, parked, last) = match over {
        ChecksOver::Ended { ending, last } => (ending.outcome, None, last),
        ChecksOver::Parked { parked, last } => (parked.outcome, Some(parked), last),
    };
    let path = |last| results_path(checks.ground, &checks.place, last);
    let told = json!({
        "grade": last.as_ref().map(|last| last.overall),
        "results": last.as_ref().map(path),
        "verification": last,
    });
    Rest { outcome, parked, told }
}

fn waiting(parked: Parked) -> Rest {
    Rest { outcome: parked.outcome, parked: Some(parked), told: json!({}) }
}

fn exec_rest(plan: &ExecPlan, done: ExecEnd) -> Rest {
    let outcome = done.end.outcome;
    let told = json!({
        "executor": plan.executor,
        "action": plan.action,
        "target": plan.target,
        "result": done.result,
        "artifact": done.end.artifact,
    });
    let park = match outcome {
        Outcome::Interrupted => Some(Park::Interrupt),
        Outcome::QuotaParked => Some(Park::Quota),
        Outcome::NeedsHuman => Some(Park::Human),
        _ => None,
    };
    let parked = park.map(|park| Parked {
        outcome,
        park: done.end.park.unwrap_or(park),
        reason: done.end.reason.unwrap_or_default(),
    });
    Rest { outcome, parked, told }
}

/// Writes down that a flow waits, and for what.
fn park(ground: &ActiveFlow<'_>, run: &Run, parked: &Parked) -> Result<()> {
    let below = ground.journal.children(run.id)?;
    let change = RunChange {
        state: Some(RunState::Parked),
        outcome: Some(parked.outcome),
        park: Some(Some(parked.park)),
        reason: Some(parked.reason.clone()),
        cost: Some(Cost { usd: spent(ground.journal, run)?, ..estimate(&below) }.into()),
        ..RunChange::default()
    };
    let payload = json!({ "park": parked.park, "reason": parked.reason });
    let word = run.kind.as_str();
    let event = ground.event(SourceKind::Runner, word, "run.parked", run.id, payload);
    Ok(ground.journal.update_run(run.id, &change, &[event])?)
}

fn estimate(below: &[Run]) -> Cost {
    below.iter().map(|run| Cost::from(run.cost)).sum()
}

fn report(ground: &ActiveFlow<'_>, rest: Rest) -> Result<FlowReport> {
    let report = report::report(ground.workspace, ground.journal, ground.root)?;
    Ok(FlowReport {
        run: ground.root,
        kind: report.run.kind,
        name: report.run.name.clone(),
        status: report.status,
        outcome: rest.outcome,
        exit_code: rest.outcome.exit_code(),
        reason: report.run.reason.clone(),
        trace_id: report.run.trace.clone(),
        cost: report.cost,
        directory: report.directory,
        next: report.next,
        told: rest.told,
    })
}
