//! Starts a run of a task, by itself or below another run.

use serde_json::json;
use spore_config::Config;
use spore_git::Repository;
use spore_model::{Fault, Outcome, Run, RunId, RunKind, RunState, SourceKind, TraceId};
use spore_runs::{Apply, RunReport};
use spore_store::{Journal, RunChange};

use crate::agents::ready;
use crate::base::outbox::Events;
use crate::base::run_lock::claim;
use crate::base::secrets::without_keys;
use crate::base::starts::StartBounds;
use crate::base::totals;
use crate::report;
use crate::run::context::{ClaimedRun, RunProject};
use crate::run::request::Orchestrate;
use crate::run::resume;
use crate::run::settings::RunSettings;
use crate::session::agent_choice::RoleAgents;
use crate::session::nesting::{Ancestry, Nesting};
use crate::session::parent::{ParentSession, refuse_checkout, refuse_inside};
use crate::{Error, Progress, Result, Surroundings, Update, Workspace};

/// The run that a task belongs to, and the id that it was planned with: asked for again after
/// a crash, the same task is found there.
#[derive(Clone, Debug)]
pub(crate) struct Under {
    pub(crate) id: RunId,
    pub(crate) parent: RunId,
    pub(crate) trace: TraceId,
    pub(crate) depth: u32,
    pub(crate) nesting: Nesting,
}

/// Runs a task from its text to a verdict. Called inside of a session, that one's own process runs it.
pub fn orchestrate(
    around: &Surroundings,
    asked: &Orchestrate,
    progress: &mut dyn Progress,
) -> Result<RunReport> {
    match ParentSession::of(around) {
        Some(parent) => parent.start("orchestrate", asked, around, progress),
        None => begin_tree(around, asked, None, progress),
    }
}

/// Runs a task for a session, within its bounds. It begins from a commit of the project and ends on a
/// branch of its own. What waits in other runs is over here: the session is told, and decides.
pub(crate) fn orchestrate_within(
    around: &Surroundings,
    asked: &Orchestrate,
    bounds: &StartBounds,
    progress: &mut dyn Progress,
) -> Result<RunReport> {
    let workspace = Workspace::find_for_run(around)?;
    refuse_checkout(&workspace, bounds)?;
    let asked = asked.within(around, bounds)?;
    let report = begin_tree(around, &asked, Some(bounds), progress)?;
    if !report.run.is_open() {
        return Ok(report);
    }
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    end_with_session(around, &journal, &report.run)?;
    report::report(&workspace, &journal, report.run.id)
}

/// Ends a run of a session where one of a person would wait, and what is open below it.
fn end_with_session(around: &Surroundings, journal: &dyn Journal, run: &Run) -> Result<()> {
    for child in journal.children(run.id)? {
        if child.is_open() {
            end_with_session(around, journal, &child)?;
        }
    }
    let change = RunChange {
        state: Some(RunState::Ended),
        outcome: Some(run.outcome.unwrap_or(Outcome::Interrupted)),
        park: Some(None),
        ended: Some(around.clock.now()),
        ..RunChange::default()
    };
    Ok(journal.update_run(run.id, &change, &[])?)
}

impl Orchestrate {
    /// Returns what is asked for as far as a session may ask for it. What is a person's to decide is
    /// refused, and not left out: a session would take the one for the other.
    fn within(&self, around: &Surroundings, bounds: &StartBounds) -> Result<Self> {
        let flags = [
            ("--apply", self.apply.is_some_and(|apply| apply != Apply::Branch)),
            ("--in-place", self.in_place),
            ("--allow-red", self.allow_red),
            ("--allow-test-changes", self.allow_test_changes),
        ];
        if let Some((flag, _)) = flags.into_iter().find(|(_, is_asked)| *is_asked) {
            return Err(Error::new(Fault::Usage, format!("a session cannot ask for {flag}"))
                .hint("leave it out: verified work is put on a branch of its own"));
        }
        let seen = |path: &std::path::Path| bounds.seen(&around.cwd, path);
        Ok(Self {
            scenario: self.scenario.as_deref().map(seen).transpose()?,
            budget: bounds.budget(self.budget),
            apply: Some(Apply::Branch),
            ..self.clone()
        })
    }
}

fn begin_tree(
    around: &Surroundings,
    asked: &Orchestrate,
    bounds: Option<&StartBounds>,
    progress: &mut dyn Progress,
) -> Result<RunReport> {
    let workspace = Workspace::find_for_run(around)?;
    let config = workspace.config(around, &[])?;
    let ancestry = Ancestry::read(around, config.spawn.max_depth)?;
    refuse_inside(around, &workspace, bounds)?;
    let id = around.ids.run();
    let place = RunPlace {
        id,
        parent: bounds.map(|bounds| bounds.session),
        trace: ancestry.trace_of(id),
        depth: ancestry.nesting.depth,
        nesting: ancestry.nesting,
        ancestry: Some(ancestry),
    };
    let ran = start(around, &workspace, &config, asked, place, progress);
    match (ran, bounds) {
        (Err(error), Some(_)) if workspace.database().exists() => {
            let journal = workspace.journal(&config)?;
            Err(totals::given_up(&journal, id, around.clock.now(), error)?)
        }
        (ran, _) => ran,
    }
}

/// Runs a task as a part of another run: starts it, goes on with it, or tells how it ended.
pub(crate) fn within(
    around: &Surroundings,
    asked: &Orchestrate,
    under: &Under,
    progress: &mut dyn Progress,
) -> Result<RunReport> {
    let workspace = Workspace::find(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    match journal.run(under.id)? {
        Some(run) if run.is_open() => {
            resume::go_on(around, &workspace, &run, asked.budget, progress)
        }
        Some(run) => report::report(&workspace, &journal, run.id),
        None => {
            let Under { id, parent, trace, depth, nesting } = under.clone();
            let place =
                RunPlace { id, parent: Some(parent), trace, depth, nesting, ancestry: None };
            start(around, &workspace, &config, asked, place, progress)
        }
    }
}

/// Begins a run that may have a row already and has no settings yet: one that was submitted.
pub(crate) fn begin(
    around: &Surroundings,
    asked: &Orchestrate,
    run: &Run,
    progress: &mut dyn Progress,
) -> Result<RunReport> {
    let workspace = Workspace::find_for_run(around)?;
    let config = workspace.config(around, &[])?;
    let place = RunPlace {
        id: run.id,
        parent: run.parent,
        trace: run.trace.clone(),
        depth: run.depth,
        nesting: Ancestry::read(around, config.spawn.max_depth)?.nesting,
        ancestry: None,
    };
    start(around, &workspace, &config, asked, place, progress)
}

/// Where a new run stands in the tree of runs.
struct RunPlace {
    id: RunId,
    parent: Option<RunId>,
    trace: TraceId,
    depth: u32,
    nesting: Nesting,
    /// Of a run that belongs to no other: what the environment says about its beginning.
    ancestry: Option<Ancestry>,
}

fn start(
    around: &Surroundings,
    workspace: &Workspace,
    config: &Config,
    asked: &Orchestrate,
    place: RunPlace,
    progress: &mut dyn Progress,
) -> Result<RunReport> {
    refuse_empty(&asked.task)?;
    let mut config = config.clone();
    ready::choose(around, &mut config, asked.backend.as_deref(), progress);
    let config = &config;
    let task = without_keys(around, &asked.task, "the task", progress);
    let asked = &Orchestrate { task, ..asked.clone() };
    let repository = workspace.repository(around)?;
    // The one question that takes long in a large tree, asked meanwhile.
    let (settings, dirty) = std::thread::scope(|scope| {
        let dirty = scope.spawn(|| repository.dirty_files());
        (RunSettings::settle(workspace, &repository, config, asked), dirty.join())
    });
    let mut settings = settings?;
    crate::checks::needs::require(around, &settings.gates)?;
    settings.nesting = place.nesting;
    let enforcement = RoleAgents::enforcement(around, config, &settings.agents)?;
    settings.sandbox = Some(enforcement.clone());
    let agents = RoleAgents::of(around, config, &settings.agents, settings.scenario.as_deref())?;
    if settings.in_place {
        crate::run::landing::apply::refuse_dirty(&repository)?;
    }
    refuse_branch(&repository)?;
    if !workspace.database().exists() {
        crate::base::init::init(around)?;
        progress.update(&Update::Initialised);
    }
    let journal = workspace.journal(config)?;
    let dirty = dirty.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    // The layer above, which names the base of a run below it, knows what is in it.
    let is_placed = place.parent.is_some() && asked.base.is_some();
    if dirty > 0 && !is_placed {
        progress.update(&Update::NotInBase { files: dirty });
    }
    let (id, trace, depth) = (place.id, place.trace.clone(), place.depth);
    let _lock = claim(workspace, id)?;
    create_run(around, &journal, place, &settings)?;
    progress.update(&Update::Started { run: id, base: settings.base.to_string() });
    let project =
        RunProject { around, workspace, repository: &repository, config, journal: &journal };
    project.work(ClaimedRun { id, trace, depth, settings, agents, enforcement }, progress)
}

/// Git cannot have a branch in the place of a folder of branches.
pub(crate) fn refuse_branch(repository: &Repository) -> Result<()> {
    if repository.ref_target("refs/heads/spore")?.is_none() {
        return Ok(());
    }
    let message = "there is a branch called `spore`, and work is kept on branches below `spore/`";
    Err(Error::new(Fault::BadInput, message).hint("rename it: git branch -m spore NAME"))
}

pub(crate) fn refuse_empty(task: &str) -> Result<()> {
    if task.trim().is_empty() {
        return Err(Error::new(Fault::Usage, "the task is empty")
            .hint("say what is to be done: spore orchestrate \"make the parser accept tabs\""));
    }
    Ok(())
}

fn create_run(
    around: &Surroundings,
    journal: &dyn Journal,
    place: RunPlace,
    settings: &RunSettings,
) -> Result<()> {
    let title = crate::base::title::title(&settings.task);
    let started_by = match &place.ancestry {
        Some(ancestry) => ancestry.started_by(journal)?,
        None => None,
    };
    let (id, trace) = (place.id, place.trace);
    let kind = if settings.solo.is_some() { RunKind::Solo } else { RunKind::Orchestrate };
    let coder = settings.choice(settings.solo.as_deref().unwrap_or("coder"));
    let run = Run {
        parent: place.parent,
        trace: trace.clone(),
        depth: place.depth,
        task: Some(settings.task.clone()),
        role: settings.solo.clone(),
        backend: Some(coder.backend.clone()),
        model: coder.model,
        base_commit: Some(settings.base.clone()),
        experiment: settings.experiment.clone(),
        settings: serde_json::to_value(settings).map_err(crate::base::error::bug)?,
        ..Run::begin(id, kind, title, around.clock.now())
    };
    let events = Events { around, trace };
    let payload = json!({
        "task": settings.task,
        "base": settings.base,
        "backend": coder.backend,
        "experiment": settings.experiment,
        "retry_of": settings.retry_of,
        "started_by": started_by,
    });
    let event = events.make(SourceKind::Runner, "orchestrate", "run.started", id, payload);
    if journal.run(id)?.is_none() {
        return Ok(journal.create_run(&run, &[event])?);
    }
    // It was submitted, and nothing of it is settled yet.
    let change = RunChange {
        state: Some(RunState::Running),
        base_commit: run.base_commit,
        settings: Some(run.settings),
        ..RunChange::default()
    };
    Ok(journal.update_run(id, &change, &[event])?)
}
