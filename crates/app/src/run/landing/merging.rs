//! Performs a merge: a run of its own, below the one whose work it brings onto another commit.
//!
//! Its row has the id that was planned, so it is started once, gone on with after a crash, and only
//! told when it is over. Its agents are the verifier's alone, its checks those of the tip, or of the commit of a
//! person's that the tip was made from.

use serde_json::json;
use spore_model::{Fault, Run, RunId, RunKind, SourceKind};

use crate::base::error::bug;
use crate::base::outbox::{self, Events};
use crate::base::run_lock::{self, claim};
use crate::checks::project::{gates, refuse_submodules};
use crate::run::context::{ClaimedRun, RunProject};
use crate::run::landing::merge::{LandedHow, LandedWork, MergeAsked, MergeEnd, MergeRuns, told};
use crate::run::settings::{RunSettings, settings_of};
use crate::session::agent_choice::RoleAgents;
use crate::session::processes::reap;
use crate::session::sandbox::Sandboxes;
use crate::session::sign_in::SignIns;
use crate::{Error, Progress, Result, Surroundings, Workspace};

/// Works on a run until it ends or has to wait.
pub(crate) type Play<'a> = &'a dyn Fn(ClaimedRun, &mut dyn Progress) -> Result<()>;

/// Starts the run of a merge, goes on with it, or tells how it ended.
pub(crate) fn perform(
    project: RunProject<'_>,
    asked: &MergeAsked<'_>,
    play: Play<'_>,
    progress: &mut dyn Progress,
) -> Result<Vec<(RunId, MergeEnd)>> {
    let RunProject { around, workspace, repository, journal, .. } = project;
    if let [only] = asked.entries
        && only.base == *asked.tip
    {
        let tree = repository.tree_of(&only.commit)?;
        let how = LandedHow::FastForward;
        let landed = LandedWork { commit: only.commit.clone(), tree, how };
        return Ok(vec![(only.owner, MergeEnd::Landed(landed))]);
    }
    let known = journal.run(asked.place.id)?;
    if known.as_ref().is_some_and(|run| run.base_commit.as_ref() != Some(asked.tip)) {
        let end = MergeEnd::Blocked { reason: "it was brought onto another commit".to_owned() };
        return Ok(asked.entries.iter().map(|entry| (entry.owner, end.clone())).collect());
    }
    if known.as_ref().is_none_or(Run::is_open) {
        let _lock = claim(workspace, asked.place.id)?;
        let settings = settle(project, asked, known.as_ref())?;
        match &known {
            Some(run) => reopen(project, run, &settings)?,
            None => create(project, asked, &settings)?,
        }
        play(claimed(project, asked, settings)?, progress)?;
        outbox::flush(around, workspace, journal)?;
    }
    let run = journal.run(asked.place.id)?;
    let run = run.ok_or_else(|| Error::new(Fault::Bug, "a merge has no record"))?;
    told(journal, repository, &run, asked)
}

/// Brings verified work onto a commit and checks the two together; tells what came of each entry.
/// Asked for again with the same id it goes on, or tells the same.
pub(crate) fn integrate(
    around: &Surroundings,
    asked: &MergeAsked<'_>,
    progress: &mut dyn Progress,
) -> Result<Vec<(RunId, MergeEnd)>> {
    let workspace = &Workspace::find(around)?;
    let config = &workspace.config(around, &[])?;
    let journal = &workspace.journal(config)?;
    let repository = &workspace.project_repository()?;
    RunProject { around, workspace, repository, config, journal }.merge(asked, progress)
}

fn settle(
    project: RunProject<'_>,
    asked: &MergeAsked<'_>,
    known: Option<&Run>,
) -> Result<RunSettings> {
    let RunProject { around, workspace, repository, config, .. } = project;
    let mut settings = match known {
        Some(run) => settings_of(run)?,
        None => {
            let owner = match asked.settings {
                Some(settings) => settings.clone(),
                None => settings_of_owner(project, asked)?,
            };
            repository.complete(asked.tip)?;
            refuse_submodules(repository, asked.tip, config)?;
            let of = owner.trusted.as_ref().unwrap_or(asked.tip);
            let gates = gates(workspace, repository, of, config, &owner.asked_gates())?;
            owner.merging(asked.tip, gates, asked.entries)
        }
    };
    crate::checks::needs::require(around, &settings.gates)?;
    settings.budget = asked.budget;
    settings.nesting = asked.place.nesting;
    settings.sandbox = Some(RoleAgents::enforcement(around, config, &settings.agents)?);
    Ok(settings)
}

fn settings_of_owner(project: RunProject<'_>, asked: &MergeAsked<'_>) -> Result<RunSettings> {
    let first = asked.entries.first();
    let owner = first.map(|entry| project.journal.run(entry.owner)).transpose()?.flatten();
    let owner = owner
        .ok_or_else(|| Error::new(Fault::BadInput, "the run whose work is to be merged is gone"))?;
    settings_of(&owner)
}

fn claimed(
    project: RunProject<'_>,
    asked: &MergeAsked<'_>,
    settings: RunSettings,
) -> Result<ClaimedRun> {
    let RunProject { around, config, .. } = project;
    let agents = RoleAgents::of(around, config, &settings.agents, settings.scenario.as_deref())?;
    let enforcement = settings.sandbox.clone();
    let enforcement =
        enforcement.ok_or_else(|| Error::new(Fault::Bug, "nobody said what holds the verifier"))?;
    let (id, trace, depth) = (asked.place.id, asked.place.trace.clone(), asked.place.depth);
    Ok(ClaimedRun { id, trace, depth, settings, agents, enforcement })
}

fn create(project: RunProject<'_>, asked: &MergeAsked<'_>, settings: &RunSettings) -> Result<()> {
    let RunProject { around, journal, .. } = project;
    let place = &asked.place;
    let verifier = settings.choice("verifier");
    let title = crate::base::title::title(&settings.task);
    let run = Run {
        parent: Some(place.parent),
        trace: place.trace.clone(),
        depth: place.depth,
        task: Some(settings.task.clone()),
        backend: Some(verifier.backend),
        model: verifier.model,
        base_commit: Some(asked.tip.clone()),
        experiment: settings.experiment.clone(),
        settings: serde_json::to_value(settings).map_err(bug)?,
        ..Run::begin(place.id, RunKind::Merge, title, around.clock.now())
    };
    let events = Events { around, trace: place.trace.clone() };
    let owners: Vec<_> = asked.entries.iter().map(|entry| entry.owner).collect();
    let payload = json!({ "kind": "merge", "tip": asked.tip, "of": owners });
    let event = events.make(SourceKind::Runner, "merge", "run.started", place.id, payload);
    Ok(journal.create_run(&run, &[event])?)
}

/// Ends what a killed process left, and opens the row again.
fn reopen(project: RunProject<'_>, run: &Run, settings: &RunSettings) -> Result<()> {
    let RunProject { around, workspace, config, journal, .. } = project;
    reap(config, journal, run.id, around)?;
    SignIns { around, config }.bring_back_left();
    Sandboxes { around, workspace, config, run: run.id }.clean_up();
    run_lock::reopen(around, journal, run, "merge", settings)
}
