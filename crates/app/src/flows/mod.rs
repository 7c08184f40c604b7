//! `spore exec`, `spore stage`, `spore phase` and `spore campaign`: layers of runs.
//!
//! A flow is an ordinary run whose children are ordinary runs, so listing, budgets, events and
//! resume need not know that there are layers. Each layer is a pure machine of
//! [`spore_compose`]; what is here performs its steps: intent, effect, result, layer by layer,
//! all in the journal.
//!
//! A flow has one branch of its own. Each part works in a checkout of what those before it left,
//! never in the person's files, and what holds becomes a commit there. Only a flow that a session
//! starts works in that session's directory, as a part of its work.

mod branch;
mod campaigns;
mod checks;
mod execs;
mod flow;
mod landing;
mod layers;
mod leading;
mod lost;
mod phases;
mod projection;
mod prompts;
mod questions;
mod requests;
mod stages;
pub(crate) mod starts;
mod told;
mod verified;
mod worksite;

use std::path::PathBuf;
use std::sync::Mutex;

use serde_json::json;
use spore_compose::{ExecPlan, Parked};
use spore_config::Config;
use spore_model::{
    Allowance, BudgetTree, Cost, Fault, Outcome, Park, Run, RunId, RunKind, RunState, SourceKind,
    Usd,
};
use spore_store::{Journal, RunChange, RunQuery};

use branch::{FlowBranch, FlowSite};
pub use campaigns::{
    CampaignPhaseRow, CampaignQuestion, CampaignStatus, ChangeAsked, ChangedPhases, PhaseEdit,
    campaign_status, change_campaign,
};
use campaigns::{CampaignRest, CampaignWork, changes_lost_by, find_campaign};
use checks::{Checks, ChecksOver, ChecksRest, results_path};
use execs::{Exec, ExecEnd};
use flow::{ActiveFlow, LayerPlace, LeaderChoice, PersonAnswer, spent};
use phases::{Coordinator, PhasesOver};
pub use prompts::{LintedLine, PromptLint, lint_prompts};
pub use questions::{FlowAnswer, FlowQuestion};
use questions::{MoreSaid, open_questions};
pub use requests::{CampaignAsked, ExecAsked, FlowOptions, PhaseAsked, SentinelAsked, StageAsked};
use requests::{FlowSettings, Planned, depth, plan};
use stages::{Orchestrator, StagesOver};
use told::FlowRest;
pub use told::{FlowChild, FlowReport};

use crate::agents::{leaders, ready};
use crate::base::error::bug;
use crate::base::outbox::{self, Events};
use crate::base::run_lock::{HeldRun, claim, read_settings, reopen_telling, unclaimed};
use crate::base::secrets::without_keys;
use crate::base::starts::StartBounds;
use crate::base::totals;
use crate::report;
use crate::session::broker::Broker;
use crate::session::confinement::OwnHold;
use crate::session::nesting::{Ancestry, Nesting};
use crate::session::parent::{ParentSession, refuse_checkout, refuse_inside};
use crate::session::processes::reap;
use crate::session::sandbox::{Enforcement, Sandboxes};
use crate::{Error, Progress, Result, Surroundings, Update, Workspace};

/// Runs one action of an executor.
pub fn exec(
    around: &Surroundings,
    asked: &ExecAsked,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    match ParentSession::of(around) {
        Some(parent) => parent.start("exec", asked, around, progress),
        None => start(around, &asked.options, None, |ready| plan::exec(ready, asked), progress),
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
    start(around, &asked.options, Some(bounds), |ready| plan::exec(ready, &asked), progress)
}

/// Runs the stages of an orchestrator.
pub fn stage(
    around: &Surroundings,
    asked: &StageAsked,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    match ParentSession::of(around) {
        Some(parent) => parent.start("stage", asked, around, progress),
        None => start(around, &asked.options, None, |ready| plan::stage(ready, asked), progress),
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
    start(around, &asked.options, Some(bounds), |ready| plan::stage(ready, &asked), progress)
}

/// Runs the phases of a coordinator.
pub fn phase(
    around: &Surroundings,
    asked: &PhaseAsked,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    match ParentSession::of(around) {
        Some(parent) => parent.start("phase", asked, around, progress),
        None => start(around, &asked.options, None, |ready| plan::phase(ready, asked), progress),
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
    start(around, &asked.options, Some(bounds), |ready| plan::phase(ready, &asked), progress)
}

/// The same for a session that works in the project itself. A cycle that finds something is its end:
/// the session mends that, and asks again.
pub(crate) fn sentinel_within(
    around: &Surroundings,
    asked: &SentinelAsked,
    bounds: &StartBounds,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    refuse_checkout(&Workspace::find_for_run(around)?, bounds)?;
    let options = asked.options.within(around, bounds)?;
    let asked = SentinelAsked { options, ..asked.clone() };
    start(around, &asked.options, Some(bounds), |ready| plan::sentinel(ready, &asked), progress)
}

/// Runs a campaign. A session cannot have one run for it: what it starts is a part of its work, and
/// a campaign is led by people.
pub fn campaign(
    around: &Surroundings,
    asked: &CampaignAsked,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    match ParentSession::of(around) {
        Some(parent) => parent.start("campaign", asked, around, progress),
        None => start(around, &asked.options, None, |ready| plan::campaign(ready, asked), progress),
    }
}

/// Checks the work as it is: goes on with a sentinel that waits and was asked for the same, else
/// begins one.
pub fn sentinel(
    around: &Surroundings,
    asked: &SentinelAsked,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    if let Some(parent) = ParentSession::of(around) {
        return parent.start("sentinel", asked, around, progress);
    }
    let workspace = Workspace::find_for_run(around)?;
    if !asked.fresh && workspace.database().exists() {
        let config = workspace.config(around, &[])?;
        let journal = workspace.journal(&config)?;
        let query = RunQuery { roots_only: true, open_only: true, ..RunQuery::default() };
        let since = match &asked.since {
            Some(since) => Some(workspace.repository(around)?.resolve(since)?),
            None => None,
        };
        let is_meant = |run: &Run| {
            let settings = read_settings::<FlowSettings>(run);
            run.kind == RunKind::Sentinel
                && settings.is_ok_and(|settings| settings.planned.answers(asked, since.as_ref()))
        };
        let begun = journal.runs(&query)?.into_iter().filter(is_meant);
        if let Some(run) = unclaimed(&workspace, begun.collect()).first() {
            let said = MoreSaid {
                whole_budget: asked.options.budget,
                max_cycles: asked.max_cycles,
                ..MoreSaid::default()
            };
            return go_on(around, &workspace, run, said, progress);
        }
    }
    start(around, &asked.options, None, |ready| plan::sentinel(ready, asked), progress)
}

fn start(
    around: &Surroundings,
    options: &FlowOptions,
    bounds: Option<&StartBounds>,
    plan: impl FnOnce(&requests::Ready<'_>) -> Result<Planned>,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    let workspace = Workspace::find_for_run(around)?;
    refuse_inside(around, &workspace, bounds)?;
    let config = workspace.config(around, &[])?;
    let only = ready::only(around, &config, options.backend.as_deref());
    let backend = options.backend.clone().or_else(|| only.clone());
    let options = &FlowOptions { backend, ..options.clone() };
    let ready = requests::Ready { around, workspace: &workspace, config: &config, options, bounds };
    let planned = plan(&ready)?;
    if let Some(backend) = only.filter(|_| planned.starts_sessions()) {
        progress.update(&Update::AgentChosen { backend });
    }
    let backend = options.backend.as_deref().unwrap_or(&config.orchestrate.backend);
    let notes = match planned.kind() {
        // Its checks work in a checkout, and say what holds them.
        RunKind::Sentinel => Vec::new(),
        _ => match bounds {
            Some(bounds) => OwnHold::find(around, &config, backend, &bounds.dir)?.notes().to_vec(),
            None => Enforcement::find(around, &config, backend)?.notes,
        },
    };
    // Each layer that a session leads is one level of sessions more.
    let leads = planned.leads();
    if leads > 0 {
        leaders::refuse_unless_leads(backend)?;
    }
    let limit = options.max_depth.unwrap_or_else(|| planned.depth_limit(&config));
    let limit = limit.saturating_sub(leads);
    let ancestry = depth::within_limit(around, &config, limit)?;
    let planned = depth::fitted(planned, &config, ancestry.nesting, progress);
    planned.refuse_missing(around, &workspace, &config)?;
    planned.refuse_unchecked(around, &workspace, &config)?;
    if bounds.is_none() {
        planned.refuse_left_out(&config)?;
    }
    options.refuse_other_session()?;
    let id = around.ids.run();
    if options.dry_run {
        return told::dry(&planned, id, ancestry.trace_of(id));
    }
    let site = planned.site(&ready, id, progress)?;
    if !workspace.database().exists() {
        crate::base::init::init(around)?;
        progress.update(&Update::Initialised);
    }
    if ancestry.nesting.left() == 1 {
        progress.update(&Update::Shallow { limit });
    }
    let journal = workspace.journal(&config)?;
    let _lock = claim(&workspace, id)?;
    let budget = options.budget.or(planned.budget()).unwrap_or(config.orchestrate.budget_usd);
    let settings = FlowSettings {
        planned,
        budget,
        raised: Usd::ZERO,
        max_depth: limit,
        site,
        answers: Vec::new(),
        options: FlowOptions { scenario: ready.scenario()?, ..options.clone() },
    };
    create(around, &journal, &settings, (&ancestry, bounds), id)?;
    for note in notes {
        progress.update(&Update::NotHeld { note });
    }
    let nesting = ancestry.nesting;
    let worked = work(around, &workspace, &config, &journal, id, nesting, &settings, progress);
    match (worked, bounds) {
        (Err(error), Some(_)) => Err(totals::given_up(&journal, id, around.clock.now(), error)?),
        (Err(error), None) => Err(stopped_by(around, &journal, id, error)),
        (worked, _) => worked,
    }
}

/// Puts on record what stopped a flow in the middle, for a person who asks why it is interrupted. Where
/// that cannot be written either, the error that is told is the first one.
fn stopped_by(around: &Surroundings, journal: &dyn Journal, id: RunId, error: Error) -> Error {
    let reason = around.secrets().strike(&error.to_string()).into_owned();
    let change = RunChange { reason: Some(reason), if_open: true, ..RunChange::default() };
    let _ = journal.update_run(id, &change, &[]);
    error
}

/// Goes on with a flow from its first step without a result.
pub(crate) fn resume(
    around: &Surroundings,
    workspace: &Workspace,
    run: &Run,
    more: Option<Usd>,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    let said = MoreSaid { budget: more, ..MoreSaid::default() };
    go_on(around, workspace, run, said, progress)
}

/// Goes on with a campaign, and tells what came of it as `spore campaign run` does.
pub fn resume_campaign(
    around: &Surroundings,
    typed: Option<&str>,
    more: Option<Usd>,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    let workspace = Workspace::find(around)?;
    refuse_inside(around, &workspace, None)?;
    let config = workspace.config(around, &[])?;
    let run = find_campaign(&workspace, &config, typed)?;
    if !run.is_open() {
        return Err(report::is_over(&run));
    }
    let said = MoreSaid { budget: more, ..MoreSaid::default() };
    go_on(around, &workspace, &run, said, progress)
}

/// Answers what a flow asked a person, and goes on with it.
pub fn resolve(
    around: &Surroundings,
    typed: &str,
    answer: &FlowAnswer,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    let workspace = Workspace::find(around)?;
    // An answer is a person's: no session gives it in a person's place.
    refuse_inside(around, &workspace, None)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    let part = report::find_run(&journal, typed)?;
    let run = report::root_of(&journal, part.clone())?;
    if !run.is_open() {
        return Err(report::is_over(&run));
    }
    let asks =
        matches!(run.kind, RunKind::Exec | RunKind::Stage | RunKind::Phase | RunKind::Campaign);
    if !asks || run.park != Some(Park::Human) {
        return Err(asks_nothing(&run));
    }
    let settings: FlowSettings = read_settings(&run)?;
    let mut asked = open_questions(&journal, &part, &settings.answers)?;
    if asked.is_empty() {
        asked = questions_of_run(&journal, &run, &part, &settings)?;
    }
    // What a campaign has collected is put as one question, and answered as one.
    let is_collected = run.kind == RunKind::Campaign && part.id == run.id;
    match asked.len() {
        0 => return Err(asks_nothing(&run)),
        1 => {}
        _ if is_collected => {}
        _ => return Err(asks_more_than_one(&run, &asked)),
    }
    let words = without_keys(around, &answer.words()?, "the answer", progress);
    let approves = *answer == FlowAnswer::Approve;
    let lost = match approves {
        true => Vec::new(),
        false => changes_lost_by(&journal, &run, &settings)?,
    };
    if !lost.is_empty() {
        progress.update(&Update::ChangesLost { changes: lost });
    }
    let said = asked.iter().map(|question| PersonAnswer {
        to: question.asker.unwrap_or(question.run),
        words: words.clone(),
        approves,
    });
    let said = MoreSaid { answers: said.collect(), ..MoreSaid::default() };
    go_on(around, &workspace, &run, said, progress)
}

/// Returns what the part that is named left behind, where it is over and asked.
fn questions_of_run(
    journal: &dyn Journal,
    root: &Run,
    part: &Run,
    settings: &FlowSettings,
) -> Result<Vec<FlowQuestion>> {
    let mut asked = open_questions(journal, root, &settings.answers)?;
    asked.retain(|question| question.run == part.id);
    Ok(asked)
}

fn asks_nothing(run: &Run) -> Error {
    let id = run.id.short();
    Error::new(Fault::BadInput, format!("run {id} asks nothing that could be answered")).hint(
        format!(
            "`spore resume {id}` goes on with it; `spore runs show {id}` says what it waits for"
        ),
    )
}

fn asks_more_than_one(run: &Run, asked: &[FlowQuestion]) -> Error {
    let list = asked.iter().map(|one| {
        let question = spore_plain::line_within(&one.question, 200);
        format!("{} ({}): {question}", one.run.short(), one.name)
    });
    let list: Vec<String> = list.collect();
    let message = format!("{} parts of run {} ask", asked.len(), run.id.short());
    Error::new(Fault::Usage, format!("{message}:\n{}", list.join("\n")))
        .hint("name the one that is answered, by its own id")
}

fn go_on(
    around: &Surroundings,
    workspace: &Workspace,
    run: &Run,
    said: MoreSaid,
    progress: &mut dyn Progress,
) -> Result<FlowReport> {
    let held = HeldRun::take(around, workspace, run.id)?;
    let (config, journal) = (&held.config, &held.journal);
    let mut settings: FlowSettings = read_settings(run)?;
    settings.answers.extend(said.answers);
    settings.hear(said.budget, said.whole_budget, said.max_cycles);
    let reaped = reap(config, journal, run.id, around)?;
    // A raise is on record with what it raises, or not at all.
    let raise = said.budget.filter(|_| run.kind == RunKind::Campaign).map(|more| {
        let change = format!("the budget is raised by {more}, to {}", settings.budget);
        ("campaign.changed", json!({ "change": change, "budget_usd": settings.budget }))
    });
    reopen_telling(around, journal, run, (run.kind.as_str(), raise), &settings)?;
    progress.update(&Update::Resumed { run: run.id, reaped });
    Sandboxes { around, workspace, config, run: run.id }.clean_up();
    let nesting = Nesting { depth: run.depth, limit: settings.max_depth };
    work(around, workspace, config, journal, run.id, nesting, &settings, progress)
        .map_err(|error| stopped_by(around, journal, run.id, error))
}

fn create(
    around: &Surroundings,
    journal: &dyn Journal,
    settings: &FlowSettings,
    (ancestry, bounds): (&Ancestry, Option<&StartBounds>),
    id: RunId,
) -> Result<()> {
    let kind = settings.planned.kind();
    let (name, task) = settings.planned.words();
    let trace = ancestry.trace_of(id);
    let run = Run {
        parent: bounds.map(|bounds| bounds.session),
        trace: trace.clone(),
        task: Some(task.clone()),
        depth: ancestry.nesting.depth,
        settings: serde_json::to_value(settings).map_err(bug)?,
        base_commit: settings.site.base().cloned(),
        ..Run::begin(id, kind, name, around.clock.now())
    };
    let events = Events { around, trace };
    let payload = json!({
        "kind": kind,
        "task": task,
        "budget_usd": settings.budget,
        "branch": settings.site.name(),
        "started_by": ancestry.started_by(journal)?,
    });
    let event = events.make(SourceKind::Runner, kind.as_str(), "run.started", id, payload);
    Ok(journal.create_run(&run, &[event])?)
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
        payer: settings.site.payer().unwrap_or(root),
        trace: run.trace.clone(),
        nesting,
        budget: Mutex::new(budget),
        raised: settings.raised,
        projecting: Mutex::default(),
        broker: Broker::start(around, workspace, config)?,
        answers: settings.answers.clone(),
        session_dir: settings.options.session_dir.clone(),
        planner: &|(name, work), text| {
            let (options, bounds) = (&settings.options, None);
            let ready = requests::Ready { around, workspace, config, options, bounds };
            plan::made(&ready, (name, work), text)
        },
        phase_planner: &|work, text| {
            let (options, bounds) = (&settings.options, None);
            let ready = requests::Ready { around, workspace, config, options, bounds };
            let made = plan::made_phases(&ready, work, text, &[])?;
            Ok(made.and_then(|made| match depth::too_deep(&settings.planned, &made, nesting) {
                None => Ok(made),
                Some(why) => Err(why),
            }))
        },
        leader: LeaderChoice {
            backend: settings
                .options
                .backend
                .clone()
                .unwrap_or_else(|| config.orchestrate.backend.clone()),
            model: settings.options.model.clone(),
            scenario: settings.options.scenario.clone(),
        },
        branch: FlowBranch::of(workspace, &settings.site)?,
        own_dir: match &settings.site {
            FlowSite::Session { dir, .. } => dir.clone(),
            FlowSite::Project | FlowSite::Branch { .. } => workspace.root().to_owned(),
        },
    };
    ground.write(&ground.dir().join(".trace"), &format!("{}\n", run.trace))?;
    for (at, answer) in ground.answers.iter().enumerate() {
        let file = ground.dir().join(format!("resolutions/person-{}.md", at + 1));
        ground.write(&file, &format!("{}\n", answer.words.trim_end()))?;
    }
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
        match run.parent {
            None => park(&ground, &run, parked)?,
            Some(_) => ground.end_with_session(&run, parked)?,
        }
    }
    outbox::flush(around, workspace, journal)?;
    told::report(&ground, rest)
}

fn lead(
    ground: &ActiveFlow<'_>,
    place: LayerPlace,
    planned: &Planned,
    progress: &mut dyn Progress,
) -> Result<FlowRest> {
    let ended = |outcome, told| Ok(FlowRest { outcome, parked: None, told });
    let start = ground.branch.as_ref().map(|branch| branch.base.clone());
    match planned {
        Planned::Exec { plan } => {
            let (diagnosis, resolution, budget) = (None, None, None);
            let exec = Exec { ground, place, plan, diagnosis, resolution, budget, start };
            Ok(exec_rest(plan, exec.work(progress)?))
        }
        Planned::Stage { plan } => {
            let plan = plan.clone();
            let stages = Orchestrator { ground, place, plan, prefix: String::new(), start };
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
        Planned::Campaign { plan } => {
            let campaign = CampaignWork { ground, place, plan: (**plan).clone() };
            let over = campaign.work(progress)?;
            let told = serde_json::to_value(&over.manifest).map_err(bug)?;
            let (outcome, parked) = match over.rest {
                CampaignRest::Ended(outcome) => (outcome, None),
                CampaignRest::Parked(parked) => (parked.outcome, Some(parked)),
            };
            Ok(FlowRest { outcome, parked, told })
        }
        Planned::Sentinel { max_cycles, checks, judges, alone } => {
            let (max_cycles, settings) = (*max_cycles, (**checks).clone());
            let judges = judges.as_deref().cloned();
            let purse = Some(place.budget);
            let checks = Checks { ground, place, max_cycles, settings, at: None, judges, purse };
            Ok(checks_rest(&checks, checks.work(progress)?, alone.as_deref()))
        }
    }
}

fn checks_rest(checks: &Checks<'_>, over: ChecksOver, alone: Option<&str>) -> FlowRest {
    let (outcome, parked) = match over.rest {
        ChecksRest::Ended(ending) => (ending.outcome, None),
        ChecksRest::Parked(parked) => (parked.outcome, Some(parked)),
    };
    let last = over.last;
    let path = |last| results_path(checks.ground, &checks.place, last);
    let told = json!({
        "grade": over.grade,
        "results": last.as_ref().map(path),
        "verification": last,
        "mended": over.mended,
        "checks_only": checks.judges.is_none(),
        "no_judges_because": alone,
    });
    FlowRest { outcome, parked, told }
}

fn waiting(parked: Parked) -> FlowRest {
    FlowRest { outcome: parked.outcome, parked: Some(parked), told: json!({}) }
}

fn exec_rest(plan: &ExecPlan, done: ExecEnd) -> FlowRest {
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
        Outcome::NeedsHuman | Outcome::NeedsEscalation => Some(Park::Human),
        _ => None,
    };
    let parked = park.map(|park| Parked {
        outcome,
        park: done.end.park.unwrap_or(park),
        reason: done.end.reason.unwrap_or_default(),
    });
    FlowRest { outcome, parked, told }
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
