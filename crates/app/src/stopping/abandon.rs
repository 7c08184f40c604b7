//! Gives up a run that waits: it is cancelled, for good, and nothing of it is lost.
//!
//! What a killed process left running is ended and what its sessions used is booked, as a resume
//! would do. Then the rows say that a person cancelled them. The checkouts stay; files of the
//! coder's that no ref keeps get one first, so that pruning is free to remove them later.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use spore_config::Config;
use spore_model::{Cost, Outcome, Run, RunId, RunKind, RunMark, RunState, SourceKind};
use spore_store::{Journal, RunChange};

use crate::base::outbox::{self, Events};
use crate::base::run_lock::claim;
use crate::base::{run_refs, totals};
use crate::report::{self, is_over, root_of};
use crate::run::retention::remaining::{Remaining, remaining};
use crate::session::lost::{Lost, told_in};
use crate::session::processes::reap;
use crate::session::sandbox::Sandboxes;
use crate::session::sign_in::SignIns;
use crate::{Result, Surroundings, Workspace};

/// What became of a run that was given up.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Abandoned {
    pub run: RunId,
    pub name: String,
    /// Processes that it had left and that were ended.
    pub reaped: u32,
    pub cost: Cost,
    /// The refs that keep what its coders had not handed in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
    /// What starts the same anew, for people.
    #[serde(skip)]
    pub again: Option<String>,
}

/// Cancels the run that `typed` names, with all that belongs to it.
pub fn abandon(around: &Surroundings, typed: &str) -> Result<Abandoned> {
    let workspace = Workspace::find_with_runs(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    let run = root_of(&journal, report::find_run(&journal, typed)?)?;
    if !run.is_open() {
        return Err(is_over(&run));
    }
    let why =
        GivenUp { reason: "a person gave it up", kind: SourceKind::Human, by: "runs abandon" };
    give_up(around, &workspace, &config, &journal, &run, &why)
}

/// Why a run is given up, and by whom.
pub(crate) struct GivenUp<'a> {
    pub(crate) reason: &'a str,
    pub(crate) kind: SourceKind,
    pub(crate) by: &'a str,
}

/// Cancels a run that no process works on, with all that belongs to it.
pub(crate) fn give_up(
    around: &Surroundings,
    workspace: &Workspace,
    config: &Config,
    journal: &dyn Journal,
    run: &Run,
    why: &GivenUp<'_>,
) -> Result<Abandoned> {
    let _lock = claim(workspace, run.id)?;
    let giving_up = GivingUp { around, workspace, config, journal, run };
    let tree = tree_of(journal, run)?;
    let reaped = giving_up.end_processes(&tree)?;
    let left = giving_up.keep_work(&tree)?;
    giving_up.book_lost(run)?;
    let cost = giving_up.cancel(&tree, why)?;
    outbox::flush(around, workspace, journal)?;
    let (id, name, again) = (run.id, run.name.clone(), begins_anew(run));
    Ok(Abandoned { run: id, name, reaped, cost, left, again })
}

/// Says what starts a run of this kind anew that was given up.
fn begins_anew(run: &Run) -> Option<String> {
    let source = || spore_runs::source_of_list(run);
    match run.kind {
        RunKind::Orchestrate | RunKind::Solo => {
            Some(format!("`spore retry {}` starts the task anew.", run.id.short()))
        }
        RunKind::Loop => source()
            .map(|list| format!("`spore loop --source {list}` goes on behind what is verified.")),
        RunKind::Batch => source().map(|list| format!("`spore batch {list}` begins it anew.")),
        RunKind::Race => {
            Some("`spore orchestrate --race` with the same task starts it anew.".to_owned())
        }
        _ => None,
    }
}

/// Returns a run and all that is below it, those below behind what they are below.
fn tree_of(journal: &dyn Journal, run: &Run) -> Result<Vec<Run>> {
    let mut tree = vec![run.clone()];
    let mut at = 0;
    while at < tree.len() {
        tree.extend(journal.children(tree[at].id)?);
        at += 1;
    }
    Ok(tree)
}

struct GivingUp<'a> {
    around: &'a Surroundings,
    workspace: &'a Workspace,
    config: &'a Config,
    journal: &'a dyn Journal,
    run: &'a Run,
}

impl GivingUp<'_> {
    /// Ends what killed processes left of any of the runs, and removes what was only theirs.
    fn end_processes(&self, tree: &[Run]) -> Result<u32> {
        let Self { around, workspace, config, journal, .. } = *self;
        let mut reaped = 0;
        for run in tree {
            reaped += reap(config, journal, run.id, around)?;
        }
        // First what a session may have renewed, for what follows removes its home.
        SignIns { around, config }.bring_back_left();
        for run in tree {
            Sandboxes { around, workspace, config, run: run.id }.clean_up();
        }
        Ok(reaped)
    }

    /// Keeps the files of the runs' coders under refs, unless some have them already. Files that
    /// cannot be stored stay where they are: pruning leaves such a checkout alone.
    fn keep_work(&self, tree: &[Run]) -> Result<Vec<String>> {
        let Self { around, workspace, config, .. } = *self;
        let mut left = Vec::new();
        for run in tree.iter().filter(|run| workspace.run_state(run.id).exists()) {
            let repository = workspace.project_repository()?;
            if let Remaining::Work { tree, base } =
                remaining(around, workspace, &repository, config, run)?
            {
                let name = run_refs::own(run.id, "left/abandoned");
                let message = format!("left behind in run {}", run.id);
                let commit = repository.commit_tree(&tree, &base, &message, around.clock.now())?;
                repository.set_ref(&name, &commit)?;
                left.push(name);
            }
        }
        Ok(left)
    }

    /// Books the sessions below `run` whose end no process saw.
    fn book_lost(&self, run: &Run) -> Result<()> {
        let GivingUp { around, workspace, config, .. } = *self;
        let owner = self.owner_of_ledger(run)?;
        // A task has files of its own; those of a flow's parts are with the flow.
        let is_apart = workspace.run_files(owner.id).dir().exists();
        let holder = if is_apart { &owner } else { self.run };
        let told = |session: &Run| told_in(around, workspace, config, holder, session);
        let told_below =
            |top: &Run, session: &Run| told_in(around, workspace, config, top, session);
        let lost = Lost {
            journal: self.journal,
            config: self.config,
            events: Events { around: self.around, trace: self.run.trace.clone() },
            root: owner.id,
            told: &told,
            told_below: &told_below,
        };
        lost.close_below(run.id)?;
        for child in self.journal.children(run.id)? {
            if child.kind != RunKind::Session {
                self.book_lost(&child)?;
            }
        }
        Ok(())
    }

    /// Sessions are booked with the task, flow or spawned session that they belong to.
    fn owner_of_ledger(&self, run: &Run) -> Result<Run> {
        let mut run = run.clone();
        while run.kind == RunKind::Bounce
            && let Some(parent) = run.parent
            && let Some(above) = self.journal.run(parent)?
        {
            run = above;
        }
        Ok(run)
    }

    /// Marks the run and what is open below it as cancelled, each with what is booked on it and on
    /// what is below it, and tells of it.
    fn cancel(&self, tree: &[Run], why: &GivenUp<'_>) -> Result<Cost> {
        let now = self.around.clock.now();
        // From the lowest up, so that nothing open is below what is over.
        for run in tree.iter().rev() {
            // Sessions are booked on the run of their task, or on what else they belong to.
            let totals = match run.kind {
                RunKind::Session | RunKind::Bounce | RunKind::Gates => RunChange::default(),
                _ => totals::of_tree(self.journal, run.id)?,
            };
            let change = RunChange {
                state: Some(RunState::Ended),
                outcome: Some(Outcome::Interrupted),
                park: Some(None),
                mark: Some(RunMark::Cancelled),
                reason: Some(why.reason.to_owned()),
                ended: Some(now),
                ..totals
            };
            if run.id == self.run.id {
                let events = Events { around: self.around, trace: run.trace.clone() };
                let payload = json!({ "reason": why.reason });
                let event = events.make(why.kind, why.by, "run.cancelled", run.id, payload);
                self.journal.update_run(run.id, &change, &[event])?;
                return Ok(change.cost.unwrap_or_default().into());
            }
            if self.journal.run(run.id)?.is_some_and(|run| run.is_open()) {
                self.journal.update_run(run.id, &change, &[])?;
            }
        }
        Ok(Cost::default())
    }
}
