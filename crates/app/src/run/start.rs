//! Starts a run of a task, by itself or below another run.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use spore_config::Config;
use spore_git::Repository;
use spore_model::{
    Allowance, BudgetTree, Fault, Run, RunId, RunKind, RunState, SourceKind, TraceId, Usd,
};
use spore_pipeline::{Bounce, Conclusion, End, Machine, Solo, drive};
use spore_store::{Journal, RunChange};

use crate::base::outbox::{self, Events};
use crate::base::run_lock::claim;
use crate::report::{self, RunReport};
use crate::run::apply::Apply;
use crate::run::record::ledger_totals;
use crate::run::settings::RunSettings;
use crate::run::world::Orchestration;
use crate::session::broker::Broker;
use crate::session::players::Cast;
use crate::session::sandbox::Hold;
use crate::{Error, Progress, Result, Surroundings, Update, Workspace};

/// What a person asks for with a task. What is left out comes from the configuration.
#[derive(Clone, Debug, Default)]
pub struct Orchestrate {
    pub task: String,
    /// The commit to start from, as git names it: a branch, a tag, an id. HEAD if left out.
    pub base: Option<String>,
    /// The agent of every role that has none of its own.
    pub backend: Option<String>,
    pub scenario: Option<PathBuf>,
    /// A tier or a model's own name, for every role.
    pub model: Option<String>,
    /// The same for the coder alone.
    pub coder_model: Option<String>,
    pub max_bounces: Option<u32>,
    pub max_turns: Option<u32>,
    pub budget: Option<Usd>,
    pub timeout: Option<Duration>,
    pub allow_red: bool,
    pub allow_test_changes: bool,
    pub summarize: Option<bool>,
    pub apply: Option<Apply>,
    pub in_place: bool,
    /// One session of this role, and nothing around it.
    pub agent: Option<String>,
    pub experiment: Option<String>,
    /// The run whose task is tried again.
    pub retry_of: Option<RunId>,
}

/// The run that a task belongs to, and the id that it was planned with: asked for again after
/// a crash, the same task is found there.
#[derive(Clone, Debug)]
pub(crate) struct Under {
    pub(crate) id: RunId,
    pub(crate) parent: RunId,
    pub(crate) trace: TraceId,
    pub(crate) depth: u32,
}

/// Runs a task from its text to a verdict.
pub fn orchestrate(
    around: &Surroundings,
    asked: &Orchestrate,
    progress: &mut dyn Progress,
) -> Result<RunReport> {
    let workspace = Workspace::find(around)?;
    let run = around.ids.run();
    let place = Place { id: run, parent: None, trace: run.into(), depth: 0 };
    start(around, &workspace, asked, place, progress)
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
            crate::resume::go_on(around, &workspace, &run, asked.budget, progress)
        }
        Some(run) => report::report(&workspace, &journal, run.id),
        None => {
            let Under { id, parent, trace, depth } = under.clone();
            let place = Place { id, parent: Some(parent), trace, depth };
            start(around, &workspace, asked, place, progress)
        }
    }
}

/// Where a new run stands in the tree of runs.
struct Place {
    id: RunId,
    parent: Option<RunId>,
    trace: TraceId,
    depth: u32,
}

fn start(
    around: &Surroundings,
    workspace: &Workspace,
    asked: &Orchestrate,
    place: Place,
    progress: &mut dyn Progress,
) -> Result<RunReport> {
    refuse_empty(&asked.task)?;
    let repository = workspace.repository(around)?;
    let config = workspace.config(around, &[])?;
    // The one question that takes long in a large tree, asked meanwhile.
    let (settings, dirty) = std::thread::scope(|scope| {
        let dirty = scope.spawn(|| repository.dirty_files());
        (RunSettings::settle(workspace, &repository, &config, asked), dirty.join())
    });
    let mut settings = settings?;
    crate::checks::needs::require(around, &settings.gates)?;
    let hold = Cast::hold(&config, &settings)?;
    settings.sandbox = Some(hold.clone());
    let cast = Cast::of(around, &config, &settings)?;
    if settings.in_place {
        crate::run::apply::refuse_dirty(&repository)?;
    }
    refuse_branch(&repository)?;
    if !workspace.database().exists() {
        crate::base::init::init(around)?;
        progress.update(&Update::Initialised);
    }
    let journal = workspace.journal(&config)?;
    let dirty = dirty.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    if dirty > 0 {
        progress.update(&Update::NotInBase { files: dirty });
    }
    let (run, trace, depth) = (place.id, place.trace.clone(), place.depth);
    let _lock = claim(workspace, run)?;
    create_run(around, &journal, place, &settings)?;
    progress.update(&Update::Started { run, base: settings.base.to_string() });
    let stage =
        Stage { around, workspace, repository: &repository, config: &config, journal: &journal };
    stage.work(Part { run, trace, depth, settings, cast, hold }, progress)
}

/// Git cannot have a branch in the place of a folder of branches.
fn refuse_branch(repository: &Repository) -> Result<()> {
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

/// Where runs of one project are worked on.
pub(crate) struct Stage<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) workspace: &'a Workspace,
    pub(crate) repository: &'a Repository,
    pub(crate) config: &'a Config,
    pub(crate) journal: &'a dyn Journal,
}

/// A run that is about to be worked on.
pub(crate) struct Part {
    pub(crate) run: RunId,
    pub(crate) trace: TraceId,
    pub(crate) depth: u32,
    pub(crate) settings: RunSettings,
    pub(crate) cast: Cast,
    pub(crate) hold: Hold,
}

impl Stage<'_> {
    /// Works on a run until it ends or has to wait.
    pub(crate) fn work(&self, part: Part, progress: &mut dyn Progress) -> Result<RunReport> {
        let Self { around, workspace, journal, .. } = *self;
        for note in &part.hold.notes {
            progress.update(&Update::NotHeld { note: note.clone() });
        }
        outbox::flush(around, workspace, journal)?;
        let run = part.run;
        let end = self.play(part, progress)?;
        outbox::flush(around, workspace, journal)?;
        if let End::Concluded(Conclusion { fault: Some(fault), reason, .. }) = end {
            return Err(could_not_begin(fault, &reason, run));
        }
        report::report(workspace, journal, run)
    }

    fn play(&self, part: Part, progress: &mut dyn Progress) -> Result<End> {
        let Part { run, trace, depth, settings, cast, hold } = part;
        let knowledge = self.workspace.knowledge(self.config)?;
        let broker = Broker::start(self.around, self.workspace, self.config)?;
        let spent = self.journal.ledger(run)?.iter().map(|entry| entry.cost.usd).sum();
        let caps = Allowance { usd: Some(settings.budget), ..Allowance::default() };
        let budget = BudgetTree::new(caps, Allowance { usd: Some(spent), ..Allowance::default() });
        let mut machine: Box<dyn Machine> = match &settings.solo {
            Some(role) => Box::new(Solo::new(role)),
            None => Box::new(Bounce::new(settings.rules())),
        };
        let mut world = Orchestration {
            around: self.around,
            workspace: self.workspace,
            repository: self.repository,
            journal: self.journal,
            knowledge: &knowledge,
            config: self.config,
            run,
            trace,
            depth,
            settings,
            cast,
            broker,
            hold,
            budget,
            reserved: None,
            progress,
            gate_results: Vec::new(),
        };
        let end = drive(machine.as_mut(), &mut world)?;
        if let End::Parked { outcome, park, reason } = &end {
            let change = RunChange {
                state: Some(RunState::Parked),
                outcome: Some(*outcome),
                park: Some(Some(*park)),
                reason: Some(reason.clone()),
                ..ledger_totals(&self.journal.ledger(run)?)
            };
            let payload = json!({ "park": park, "reason": reason });
            let event = world.event(SourceKind::Runner, "run.parked", run, payload);
            self.journal.update_run(run, &change, &[event])?;
        }
        Ok(end)
    }
}

/// A run that could not rightly begin is an error of the call, although it is on record.
fn could_not_begin(fault: Fault, reason: &str, run: RunId) -> Error {
    let error = Error::new(fault, reason);
    match fault {
        Fault::BadInput => error.hint(format!(
            "mend them and commit, or add `--allow-red` to go on all the same; what they said is \
             in .spore/runs/{run}/baseline/"
        )),
        _ => error,
    }
}

fn create_run(
    around: &Surroundings,
    journal: &dyn Journal,
    place: Place,
    settings: &RunSettings,
) -> Result<()> {
    let title = crate::run::prompts::title(&settings.task);
    let (id, trace) = (place.id, place.trace);
    let kind = if settings.solo.is_some() { RunKind::Solo } else { RunKind::Orchestrate };
    let coder = settings.player(settings.solo.as_deref().unwrap_or("coder"));
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
    });
    let event = events.make(SourceKind::Runner, "orchestrate", "run.started", id, payload);
    Ok(journal.create_run(&run, &[event])?)
}
