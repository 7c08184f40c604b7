//! Goes on with a run, of whatever kind, from its first step without a result.
//!
//! What a killed process left running is ended first. Each kind of run knows how it goes on;
//! finding the run, and telling about it, is the same for all.

use std::time::Duration;

use serde_json::json;
use spore_config::Config;
use spore_effects::session::{self, ProcessIdentity};
use spore_model::{Fault, Run, RunId, RunKind, RunState, RunStatus, SourceKind, Usd};
use spore_store::{Journal, RunChange};

use crate::base::outbox::Events;
use crate::base::run_lock::{claim, is_claimed};
use crate::base::run_refs::branch;
use crate::report::{self, RunReport};
use crate::run::settings::RunSettings;
use crate::run::start::{Part, Stage};
use crate::session::players::Cast;
use crate::session::sandbox::Sandboxes;
use crate::{Error, Progress, Result, Surroundings, Update, Workspace};

/// Which run to go on with.
#[derive(Clone, Debug, Default)]
pub struct Resume {
    /// Part of a run's id; the newest open run where missing.
    pub run: Option<String>,
    /// Raises the budget by this much.
    pub more_budget: Option<Usd>,
}

/// Goes on with a run.
pub fn resume(
    around: &Surroundings,
    asked: &Resume,
    progress: &mut dyn Progress,
) -> Result<RunReport> {
    let workspace = Workspace::find(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    let run = match &asked.run {
        Some(typed) => report::find_run(&journal, typed)?,
        None => newest_open(&workspace, &journal)?,
    };
    let run = root_of(&journal, run)?;
    if !run.is_open() {
        return Err(is_over(&run));
    }
    match run.kind {
        RunKind::Orchestrate | RunKind::Solo => {
            let budget = budget_of(&run, asked.more_budget)?;
            go_on(around, &workspace, &run, budget, progress)
        }
        RunKind::Exec | RunKind::Stage | RunKind::Phase | RunKind::Sentinel => {
            crate::flows::resume(around, &workspace, &run, asked.more_budget, progress)
        }
        RunKind::Memory => crate::memory::go_on(around, &workspace, &run),
        RunKind::Investigate => crate::investigate::go_on(around, &workspace, &run, progress),
        kind => Err(Error::new(
            Fault::BadInput,
            format!("run {} is a {}, which cannot be gone on with", run.id.short(), kind.as_str()),
        )
        .hint("start it anew")),
    }
}

/// Whether a run of this kind can be gone on with by itself.
const fn is_resumable(kind: RunKind) -> bool {
    matches!(
        kind,
        RunKind::Orchestrate
            | RunKind::Solo
            | RunKind::Exec
            | RunKind::Stage
            | RunKind::Phase
            | RunKind::Sentinel
            | RunKind::Memory
            | RunKind::Investigate
    )
}

/// Goes on with a task's run, with `budget` in all where it is given.
pub(crate) fn go_on(
    around: &Surroundings,
    workspace: &Workspace,
    run: &Run,
    budget: Option<Usd>,
    progress: &mut dyn Progress,
) -> Result<RunReport> {
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    let repository = workspace.project_repository()?;
    let _lock = claim(workspace, run.id)?;
    let mut settings = settings_of(run)?;
    settings.budget = budget.unwrap_or(settings.budget);
    let cast = Cast::of(around, &config, &settings)?;
    let hold = Cast::hold(&config, &settings)?;
    settings.sandbox = Some(hold.clone());
    let reaped = reap(&config, &journal, run.id, around)?;
    Sandboxes { around, workspace, config: &config, run: run.id }.clean_up();
    reopen(around, &journal, run, &settings)?;
    progress.update(&Update::Resumed { run: run.id, reaped });
    let stage =
        Stage { around, workspace, repository: &repository, config: &config, journal: &journal };
    let (trace, depth) = (run.trace.clone(), run.depth);
    stage.work(Part { run: run.id, trace, depth, settings, cast, hold }, progress)
}

/// Reads what a run was started with.
pub(crate) fn settings_of(run: &Run) -> Result<RunSettings> {
    serde_json::from_value(run.settings.clone()).map_err(|source| {
        Error::new(
            Fault::BadInput,
            format!("the settings of run {} cannot be read", run.id.short()),
        )
        .hint("it was started by another version of Spore: start the task anew")
        .because(source)
    })
}

fn budget_of(run: &Run, more: Option<Usd>) -> Result<Option<Usd>> {
    more.map(|more| Ok(settings_of(run)?.budget + more)).transpose()
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
    match (status, run.kind) {
        (RunStatus::Verified, _) => error.hint(format!("its work is on branch {}", branch(run.id))),
        (_, RunKind::Orchestrate) => error.hint(format!(
            "`spore runs show {id}` tells why; `spore retry {id}` starts the task anew"
        )),
        _ => error.hint(format!("`spore runs show {id}` tells why")),
    }
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
        settings: Some(serde_json::to_value(settings).map_err(crate::base::error::bug)?),
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
        .find(|run| is_resumable(run.kind) && !is_claimed(workspace, run.id))
        .ok_or_else(|| {
            Error::new(Fault::BadInput, "no run is waiting to be resumed")
                .hint("`spore runs list` shows all runs")
        })
}

/// Ends what a killed process left running, before anything is done again.
pub(crate) fn reap(
    config: &Config,
    journal: &dyn Journal,
    run: RunId,
    around: &Surroundings,
) -> Result<u32> {
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
