//! Starts a run, or goes on with one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use spore_agent::Agent;
use spore_config::Config;
use spore_effects::files::{Lock, LockError};
use spore_effects::session::{self, ProcessIdentity};
use spore_git::Repository;
use spore_model::{
    Allowance, BudgetTree, Fault, Run, RunId, RunKind, RunState, SourceKind, Status, Usd,
};
use spore_pipeline::{Bounce, Conclusion, End, drive};
use spore_store::{Journal, RunChange};

use crate::backends::backend;
use crate::orchestration::{Orchestration, branch};
use crate::records::ledger_totals;
use crate::reports::{self, RunReport};
use crate::sandbox::{Hold, Sandboxes};
use crate::settings::RunSettings;
use crate::spine::{self, Events};
use crate::{Error, Progress, Result, Surroundings, Update, Workspace};

/// What a person asks for with a task. What is left out comes from the configuration.
#[derive(Clone, Debug, Default)]
pub struct Orchestrate {
    pub task: String,
    pub backend: Option<String>,
    pub scenario: Option<PathBuf>,
    pub model: Option<String>,
    pub max_bounces: Option<u32>,
    pub max_turns: Option<u32>,
    pub budget: Option<Usd>,
    pub timeout: Option<Duration>,
    pub allow_red: bool,
}

/// Which run to go on with.
#[derive(Clone, Debug, Default)]
pub struct Resume {
    /// Part of a run's id; the newest open run where missing.
    pub run: Option<String>,
    /// Raises the budget by this much.
    pub more_budget: Option<Usd>,
}

/// Runs a task from its text to a verdict.
pub fn orchestrate(
    around: &Surroundings,
    asked: &Orchestrate,
    progress: &mut dyn Progress,
) -> Result<RunReport> {
    if asked.task.trim().is_empty() {
        return Err(Error::new(Fault::Usage, "the task is empty")
            .hint("say what is to be done: spore orchestrate \"make the parser accept tabs\""));
    }
    let workspace = Workspace::find(around)?;
    let repository = workspace.repository(around)?;
    let config = workspace.config(around, &[])?;
    let mut settings = settle_settings(&workspace, &repository, &config, asked)?;
    let hold = Hold::find(&config, &settings.backend)?;
    settings.sandbox = Some(hold.clone());
    let agent = backend(around, &config, &settings.backend, settings.scenario.as_deref())?;
    if !workspace.database().exists() {
        crate::init(around)?;
        progress.update(&Update::Initialised);
    }
    let journal = workspace.journal(&config)?;
    let dirty = repository.dirty_files()?;
    if dirty > 0 {
        progress.update(&Update::NotInBase { files: dirty });
    }
    let run = around.ids.run();
    let _lock = claim(&workspace, run)?;
    create_run(around, &journal, run, &settings)?;
    progress.update(&Update::Started { run, base: settings.base.to_string() });
    tell(&hold, progress);
    work(around, &workspace, &repository, &config, &journal, run, settings, agent, hold, progress)
}

/// Goes on with a run from its first step without a result.
pub fn resume(
    around: &Surroundings,
    asked: &Resume,
    progress: &mut dyn Progress,
) -> Result<RunReport> {
    let workspace = Workspace::find(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    let run = match &asked.run {
        Some(typed) => reports::find_run(&journal, typed)?,
        None => newest_open(&workspace, &journal)?,
    };
    let run = root_of(&journal, run)?;
    if !run.is_open() {
        return Err(is_over(&run));
    }
    let repository = Repository::discover(workspace.root())?;
    let _lock = claim(&workspace, run.id)?;
    let mut settings: RunSettings =
        serde_json::from_value(run.settings.clone()).map_err(|source| {
            Error::new(Fault::BadInput, "the run's settings cannot be read").because(source)
        })?;
    if let Some(more) = asked.more_budget {
        settings.budget += more;
    }
    let agent = backend(around, &config, &settings.backend, settings.scenario.as_deref())?;
    let hold = Hold::find(&config, &settings.backend)?;
    settings.sandbox = Some(hold.clone());
    let reaped = reap(&config, &journal, run.id, around)?;
    Sandboxes { around, workspace: &workspace, config: &config, run: run.id }.clean_up();
    reopen(around, &journal, &run, &settings)?;
    progress.update(&Update::Resumed { run: run.id, reaped });
    tell(&hold, progress);
    work(
        around,
        &workspace,
        &repository,
        &config,
        &journal,
        run.id,
        settings,
        agent,
        hold,
        progress,
    )
}

/// Says what nobody holds the run to. It is on record with the run's settings, too.
fn tell(hold: &Hold, progress: &mut dyn Progress) {
    for note in &hold.notes {
        progress.update(&Update::NotHeld { note: note.clone() });
    }
}

/// The run that a bounce or session belongs to: it is the one that can be resumed.
fn root_of(journal: &dyn Journal, mut run: Run) -> Result<Run> {
    while let Some(parent) = run.parent {
        run = journal.run(parent)?.ok_or_else(|| {
            Error::new(
                Fault::BadInput,
                format!("run {parent}, which {} belongs to, is gone", run.id),
            )
        })?;
    }
    Ok(run)
}

fn is_over(run: &Run) -> Error {
    let (id, status) = (run.id.short(), run.status(false));
    let error = Error::new(Fault::BadInput, format!("run {id} is over: {status}"));
    match status {
        Status::Verified => error.hint(format!("its work is on branch {}", branch(run.id))),
        _ => error.hint(format!(
            "`spore runs show {id}` tells why; `spore orchestrate` starts the task anew"
        )),
    }
}

#[expect(clippy::too_many_arguments, reason = "the one place where all parts of a run meet")]
fn work(
    around: &Surroundings,
    workspace: &Workspace,
    repository: &Repository,
    config: &Config,
    journal: &dyn Journal,
    run: RunId,
    settings: RunSettings,
    agent: Arc<dyn Agent>,
    hold: Hold,
    progress: &mut dyn Progress,
) -> Result<RunReport> {
    spine::flush(around, workspace, journal)?;
    let knowledge = workspace.knowledge(config)?;
    let spent = journal.ledger(run)?.iter().map(|entry| entry.cost.usd).sum();
    let caps = Allowance { usd: Some(settings.budget), ..Allowance::default() };
    let budget = BudgetTree::new(caps, Allowance { usd: Some(spent), ..Allowance::default() });
    let mut machine = Bounce::new(settings.rules());
    let mut world = Orchestration {
        around,
        workspace,
        repository,
        journal,
        knowledge: &knowledge,
        config,
        run,
        trace: run.into(),
        settings,
        agent,
        hold,
        budget,
        reserved: None,
        progress,
        gate_results: Vec::new(),
    };
    let end = drive(&mut machine, &mut world)?;
    if let End::Parked { outcome, park, reason } = &end {
        let change = RunChange {
            state: Some(RunState::Parked),
            outcome: Some(*outcome),
            park: Some(Some(*park)),
            reason: Some(reason.clone()),
            ..ledger_totals(&journal.ledger(run)?)
        };
        let payload = json!({ "park": park, "reason": reason });
        let event =
            world.events().make(SourceKind::Runner, "orchestrate", "run.parked", run, payload);
        journal.update_run(run, &change, &[event])?;
    }
    spine::flush(around, workspace, journal)?;
    if let End::Concluded(Conclusion { fault: Some(fault), reason, .. }) = end {
        return Err(could_not_begin(fault, &reason, run));
    }
    reports::report(workspace, journal, run)
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

fn settle_settings(
    workspace: &Workspace,
    repository: &Repository,
    config: &Config,
    asked: &Orchestrate,
) -> Result<RunSettings> {
    let base = repository.head()?;
    refuse_submodules(repository, &base, config)?;
    let backend = asked.backend.clone().unwrap_or_else(|| config.orchestrate.backend.clone());
    let max_turns = asked.max_turns.unwrap_or(config.orchestrate.max_turns);
    let wall = asked.timeout.unwrap_or_else(|| config.orchestrate.session_time(max_turns));
    let scenario = asked.scenario.as_deref().map(absolute).transpose()?;
    Ok(RunSettings {
        task: asked.task.clone(),
        gates: gates(workspace, repository, &base, config)?,
        base,
        backend,
        model: asked.model.clone(),
        scenario,
        max_bounces: asked.max_bounces.unwrap_or(config.orchestrate.max_bounces).max(1),
        max_turns,
        wall_ms: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
        budget: asked.budget.unwrap_or(config.orchestrate.budget_usd),
        allow_red: asked.allow_red || config.gates.allow_red,
        min_confidence: config.verdict.min_confidence,
        phrase_confidence: config.verdict.phrase_confidence,
        exclude: config.commit.exclude.clone(),
        allow: config.commit.allow.clone(),
        setup: config.checkout.setup.clone(),
        copy: config.checkout.copy.clone(),
        sandbox: None,
    })
}

fn absolute(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|source| {
        Error::new(Fault::Usage, format!("cannot read the scenario {}", path.display()))
            .because(source)
    })
}

/// A checkout leaves submodules empty, and a build that needs them fails for a reason nobody
/// would guess.
fn refuse_submodules(
    repository: &Repository,
    base: &spore_model::CommitId,
    config: &Config,
) -> Result<()> {
    let submodules = repository.submodules(base)?;
    let accepted = config.checkout.submodules == "empty" || !config.checkout.setup.is_empty();
    if submodules.is_empty() || accepted {
        return Ok(());
    }
    Err(Error::new(
        Fault::BadInput,
        format!("the repository has submodules, which Spore's checkouts leave empty: {}", submodules.join(", ")),
    )
    .hint("set `[checkout] setup = [\"git submodule update --init\"]`, or `submodules = \"empty\"` if the checks do not need them"))
}

/// The configured gates, else those that the base tree shows.
pub(crate) fn gates(
    workspace: &Workspace,
    repository: &Repository,
    base: &spore_model::CommitId,
    config: &Config,
) -> Result<Vec<spore_gates::Gate>> {
    if !config.gates.commands.is_empty() {
        return Ok(config
            .gates
            .commands
            .iter()
            .map(|(name, gate)| crate::settings::gate(name, gate, config))
            .collect());
    }
    let files = repository.list_files(base)?;
    let read = |path: &str| repository.read_file(base, path).ok().flatten();
    let found = spore_gates::detect(
        &read,
        &files,
        &spore_gates::Detection { timeout: config.gates.timeout },
    );
    if found.is_empty() {
        return Err(Error::new(
            Fault::Config,
            format!("no build or test command was found in {}", workspace.root().display()),
        )
        .hint("name one in .spore/config.toml:\n  [gates.commands.test]\n  run = \"make test\""));
    }
    Ok(found)
}

/// Takes the run for this process. The lock goes with the process, however that ends.
fn claim(workspace: &Workspace, run: RunId) -> Result<Lock> {
    let dir = workspace.run_dir(run);
    std::fs::create_dir_all(&dir)
        .map_err(|source| Error::io(format!("cannot create {}", dir.display()), source))?;
    Lock::try_take(&workspace.run_lock(run)).map_err(|error| match error {
        LockError::Held { .. } => Error::new(
            Fault::BadInput,
            format!("run {} is being worked on by another process", run.short()),
        )
        .hint(format!(
            "`spore runs show {}` tells how far it is; Ctrl-C there parks it",
            run.short()
        )),
        other => other.into(),
    })
}

fn create_run(
    around: &Surroundings,
    journal: &dyn Journal,
    id: RunId,
    settings: &RunSettings,
) -> Result<()> {
    let title = crate::prompts::title(&settings.task);
    let run = Run {
        task: Some(settings.task.clone()),
        backend: Some(settings.backend.clone()),
        model: settings.model.clone(),
        base_commit: Some(settings.base.clone()),
        settings: serde_json::to_value(settings).map_err(crate::gate_runs::bug)?,
        ..Run::begin(id, RunKind::Orchestrate, title, around.clock.now())
    };
    let events = Events { around, trace: id.into() };
    let payload =
        json!({ "task": settings.task, "base": settings.base, "backend": settings.backend });
    let event = events.make(SourceKind::Runner, "orchestrate", "run.started", id, payload);
    around
        .probe
        .around(spore_effects::Effect::Row, "create run", || journal.create_run(&run, &[event]))?;
    Ok(())
}

fn reopen(
    around: &Surroundings,
    journal: &dyn Journal,
    run: &Run,
    settings: &RunSettings,
) -> Result<()> {
    let change = RunChange {
        state: Some(RunState::Running),
        park: Some(None),
        settings: Some(serde_json::to_value(settings).map_err(crate::gate_runs::bug)?),
        ..RunChange::default()
    };
    let events = Events { around, trace: run.trace.clone() };
    let event = events.make(SourceKind::Runner, "orchestrate", "run.resumed", run.id, json!({}));
    Ok(journal.update_run(run.id, &change, &[event])?)
}

fn newest_open(workspace: &Workspace, journal: &dyn Journal) -> Result<Run> {
    let query = spore_store::RunQuery { roots_only: true, open_only: true, limit: None };
    journal
        .runs(&query)?
        .into_iter()
        .find(|run| run.kind == RunKind::Orchestrate && !Lock::is_held(&workspace.run_lock(run.id)))
        .ok_or_else(|| {
            Error::new(Fault::BadInput, "no run is waiting to be resumed")
                .hint("`spore runs list` shows all runs")
        })
}

/// Ends what a killed process left running, before anything is done again.
fn reap(config: &Config, journal: &dyn Journal, run: RunId, around: &Surroundings) -> Result<u32> {
    let patience =
        config.session.interrupt_grace + config.session.terminate_grace + Duration::from_secs(2);
    let mut killed = 0;
    for row in journal.open_processes(run)? {
        let identity =
            ProcessIdentity { pid: row.pid, start_ticks: row.start_ticks, boot_id: row.boot_id };
        killed += session::reap(&identity, &row.token, patience);
        journal.process_ended(&row.token, around.clock.now())?;
    }
    Ok(killed)
}
