//! Gives up a run that waits: it is cancelled, for good, and nothing of it is lost.
//!
//! What a killed process left running is ended and what its sessions used is booked, as a resume
//! would do. Then the rows say that a person cancelled them. The checkouts stay; files of the
//! coder's that no ref keeps get one first, so that pruning is free to remove them later.

use serde::Serialize;
use serde_json::json;
use spore_config::Config;
use spore_git::Checkout;
use spore_model::{Cost, Outcome, Run, RunId, RunKind, RunMark, RunState, SourceKind};
use spore_store::{Journal, RunChange};

use crate::base::checkouts::{Checkouts, Snapshot};
use crate::base::outbox::{self, Events};
use crate::base::run_lock::claim;
use crate::base::{run_refs, totals};
use crate::report::{self, is_over, root_of};
use crate::run::settings::settings_of;
use crate::session::lost::{Lost, told_in};
use crate::session::processes::reap;
use crate::session::sandbox::Sandboxes;
use crate::session::sign_in::SignIns;
use crate::{Result, Surroundings, Workspace};

/// What became of a run that was given up.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Abandoned {
    pub run: RunId,
    pub name: String,
    /// Processes that it had left and that were ended.
    pub reaped: u32,
    pub cost: Cost,
    /// The ref that keeps what its coder had not handed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
}

/// Cancels the run that `typed` names, with all that belongs to it.
pub fn abandon(around: &Surroundings, typed: &str) -> Result<Abandoned> {
    let workspace = Workspace::find(around)?;
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
    let reaped = reap(config, journal, run.id, around)?;
    SignIns { around, config }.bring_back_left();
    Sandboxes { around, workspace, config, run: run.id }.clean_up();
    let left = giving_up.keep_work()?;
    giving_up.book_lost(run)?;
    let cost = giving_up.cancel(why)?;
    outbox::flush(around, workspace, journal)?;
    Ok(Abandoned { run: run.id, name: run.name.clone(), reaped, cost, left })
}

struct GivingUp<'a> {
    around: &'a Surroundings,
    workspace: &'a Workspace,
    config: &'a Config,
    journal: &'a dyn Journal,
    run: &'a Run,
}

impl GivingUp<'_> {
    /// Keeps the coder's files under a ref, unless one has them already.
    fn keep_work(&self) -> Result<Option<String>> {
        let run = self.run;
        if !matches!(run.kind, RunKind::Orchestrate | RunKind::Solo) {
            return Ok(None);
        }
        let repository = self.workspace.project_repository()?;
        let place = self.workspace.run_state(run.id).join("coder");
        let Some(checkout) = Checkout::open(&repository, &place) else { return Ok(None) };
        let settings = settings_of(run)?;
        let (around, workspace) = (self.around, self.workspace);
        let checkouts = Checkouts {
            around,
            workspace,
            repository: &repository,
            run: run.id,
            settings: settings.checkout(),
        };
        // Files that cannot be stored stay where they are: pruning leaves such a checkout alone.
        let Snapshot::Taken(tree) = checkouts.snapshot(&checkout)? else { return Ok(None) };
        let refs = repository.refs_under(&run_refs::prefix(run.id))?;
        let kept = refs.into_iter().chain([(String::new(), settings.base.clone())]);
        for (_, commit) in kept {
            if repository.tree_of(&commit)? == tree {
                return Ok(None);
            }
        }
        let name = run_refs::own(run.id, "left/abandoned");
        let message = format!("left behind in run {}", run.id);
        let now = around.clock.now();
        let commit = repository.commit_tree(&tree, &settings.base, &message, now)?;
        repository.set_ref(&name, &commit)?;
        Ok(Some(name))
    }

    /// Books the sessions below `run` whose end no process saw.
    fn book_lost(&self, run: &Run) -> Result<()> {
        let GivingUp { around, workspace, config, .. } = *self;
        let told = |session: &Run| told_in(around, workspace, config, self.run, session);
        let told_below =
            |top: &Run, session: &Run| told_in(around, workspace, config, top, session);
        let lost = Lost {
            journal: self.journal,
            config: self.config,
            events: Events { around: self.around, trace: self.run.trace.clone() },
            root: self.root_of_ledger(run)?,
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
    fn root_of_ledger(&self, run: &Run) -> Result<RunId> {
        let mut run = run.clone();
        while run.kind == RunKind::Bounce
            && let Some(parent) = run.parent
            && let Some(above) = self.journal.run(parent)?
        {
            run = above;
        }
        Ok(run.id)
    }

    /// Marks the run and what is open below it as cancelled, and tells of it.
    fn cancel(&self, why: &GivenUp<'_>) -> Result<Cost> {
        let now = self.around.clock.now();
        let reason = why.reason;
        let ended = || RunChange {
            state: Some(RunState::Ended),
            outcome: Some(Outcome::Interrupted),
            park: Some(None),
            mark: Some(RunMark::Cancelled),
            reason: Some(reason.to_owned()),
            ended: Some(now),
            ..RunChange::default()
        };
        self.cancel_below(self.run.id, &ended)?;
        let ledger = self.journal.ledger(self.run.id)?;
        let totals = totals::of_ledger(ledger.iter());
        let change =
            RunChange { turns: totals.turns, tokens: totals.tokens, cost: totals.cost, ..ended() };
        let events = Events { around: self.around, trace: self.run.trace.clone() };
        let payload = json!({ "reason": reason });
        let event = events.make(why.kind, why.by, "run.cancelled", self.run.id, payload);
        self.journal.update_run(self.run.id, &change, &[event])?;
        Ok(ledger.iter().map(|entry| entry.cost).sum())
    }

    fn cancel_below(&self, parent: RunId, ended: &dyn Fn() -> RunChange) -> Result<()> {
        for child in self.journal.children(parent)? {
            self.cancel_below(child.id, ended)?;
            if child.is_open() {
                self.journal.update_run(child.id, &ended(), &[])?;
            }
        }
        Ok(())
    }
}
