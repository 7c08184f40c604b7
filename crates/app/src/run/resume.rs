//! Goes on with a task's run, from its first step without a result.

use spore_model::{Run, Usd};
use spore_runs::RunReport;

use crate::base::run_lock::{HeldRun, reopen};
use crate::run::context::{ClaimedRun, RunProject};
use crate::run::settings::settings_of;
use crate::session::agent_choice::RoleAgents;
use crate::session::processes::reap;
use crate::session::sandbox::Sandboxes;
use crate::session::sign_in::SignIns;
use crate::{Progress, Result, Surroundings, Update, Workspace};

/// Goes on with a task's run, with `budget` in all where it is given.
pub(crate) fn go_on(
    around: &Surroundings,
    workspace: &Workspace,
    run: &Run,
    budget: Option<Usd>,
    progress: &mut dyn Progress,
) -> Result<RunReport> {
    let repository = workspace.project_repository()?;
    let held = HeldRun::take(around, workspace, run.id)?;
    let (config, journal) = (&held.config, &held.journal);
    let mut settings = settings_of(run)?;
    settings.budget = budget.unwrap_or(settings.budget);
    repository.complete(&settings.base)?;
    let agents = RoleAgents::of(around, config, &settings.agents, settings.scenario.as_deref())?;
    let enforcement = RoleAgents::enforcement(around, config, &settings.agents)?;
    settings.sandbox = Some(enforcement.clone());
    let reaped = reap(config, journal, run.id, around)?;
    // First what a session may have renewed, for what follows removes its home.
    SignIns { around, config }.bring_back_left();
    Sandboxes { around, workspace, config, run: run.id }.clean_up();
    reopen(around, journal, run, "orchestrate", &settings)?;
    progress.update(&Update::Resumed { run: run.id, reaped });
    let project = RunProject { around, workspace, repository: &repository, config, journal };
    let (trace, depth) = (run.trace.clone(), run.depth);
    project.work(ClaimedRun { id: run.id, trace, depth, settings, agents, enforcement }, progress)
}
