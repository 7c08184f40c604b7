//! Ends the processes of a run that is going on, from elsewhere: it is interrupted, and can be resumed.
//!
//! The process that works on the run is known by what it wrote into its claim, its sessions and
//! checks by the journal: each by its id, its start and the boot it belongs to, so no other process
//! is ever met. It is asked first, and parks the run as on Ctrl-C. What does not end within
//! [`POLITE`] is killed, agents and checks that ignore every signal too: then the run stands where a
//! crash would have left it, which `resume` goes on from as well.

use std::thread;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use spore_effects::session::{self, ProcessIdentity};
use spore_model::{Outcome, Park, Run, RunId, RunState, SourceKind};
use spore_store::{Journal, RunChange};

use crate::base::outbox::{self, Events};
use crate::base::run_lock::{claim, holder, is_claimed};
use crate::base::totals;
use crate::report::{self, is_over, root_of};
use crate::{Result, Surroundings, Workspace};

/// How long the process that works on a run may take to park it.
const POLITE: Duration = Duration::from_millis(900);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// What became of a run that was cancelled.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Interrupted {
    pub run: RunId,
    pub name: String,
    /// Whether a process was working on it.
    pub was_running: bool,
    /// Whether it had to be killed: it did not park the run in time.
    pub killed: bool,
    /// Processes of sessions and checks that were killed.
    pub ended: u32,
}

/// Ends what works on the run that `typed` names, and on all that it belongs to.
pub fn cancel(around: &Surroundings, typed: &str) -> Result<Interrupted> {
    let workspace = Workspace::find_with_runs(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    let run = root_of(&journal, report::find_run(&journal, typed)?)?;
    if !run.is_open() {
        return Err(is_over(&run));
    }
    interrupt(around, &workspace, &journal, &run)
}

/// The same for a run that is known.
pub(crate) fn interrupt(
    around: &Surroundings,
    workspace: &Workspace,
    journal: &dyn Journal,
    run: &Run,
) -> Result<Interrupted> {
    let mut tree = Vec::new();
    open_below(journal, run, &mut tree)?;
    let was_running = tree.iter().any(|id| is_claimed(workspace, *id));
    for one in &holders_of(workspace, &tree) {
        session::interrupt(one);
    }
    let clock = &around.clock;
    let deadline = clock.monotonic() + POLITE;
    let is_held = || tree.iter().any(|id| is_claimed(workspace, *id));
    while is_held() && clock.monotonic() < deadline {
        thread::sleep(LOOK_AGAIN);
    }
    // One that let go has written down that it waits, and ends by itself.
    let held: Vec<RunId> = tree.iter().copied().filter(|id| is_claimed(workspace, *id)).collect();
    let holders = holders_of(workspace, &held);
    let killed = holders.iter().filter(|one| session::end(one)).count() > 0;
    let mut ended = 0;
    for id in &tree {
        for row in journal.open_processes(*id)? {
            let (pid, start_ticks, boot_id) = (row.pid, row.start_ticks, row.boot_id);
            let identity = ProcessIdentity { pid, start_ticks, boot_id };
            ended += session::reap(&identity, &row.token, Duration::ZERO);
            journal.process_ended(&row.token, around.clock.now())?;
        }
    }
    let _lock = claim(workspace, run.id)?;
    park(around, journal, run.id)?;
    outbox::flush(around, workspace, journal)?;
    Ok(Interrupted { run: run.id, name: run.name.clone(), was_running, killed, ended })
}

/// Lists the processes that work on these runs, each once.
fn holders_of(workspace: &Workspace, runs: &[RunId]) -> Vec<ProcessIdentity> {
    let mut holders: Vec<ProcessIdentity> = Vec::new();
    for found in runs.iter().filter_map(|id| holder(workspace, *id)) {
        if !holders.contains(&found) {
            holders.push(found);
        }
    }
    holders
}

/// Lists a run and all that is open below it.
fn open_below(journal: &dyn Journal, run: &Run, found: &mut Vec<RunId>) -> Result<()> {
    if run.is_open() {
        found.push(run.id);
    }
    for child in journal.children(run.id)? {
        open_below(journal, &child, found)?;
    }
    Ok(())
}

/// Says that the run waits, unless the process that worked on it has said so.
fn park(around: &Surroundings, journal: &dyn Journal, id: RunId) -> Result<()> {
    let Some(run) = journal.run(id)?.filter(|run| run.state == RunState::Running) else {
        return Ok(());
    };
    let reason = "a person cancelled it";
    let change = RunChange {
        state: Some(RunState::Parked),
        outcome: Some(Outcome::Interrupted),
        park: Some(Some(Park::Interrupt)),
        reason: Some(reason.to_owned()),
        ..totals::of_tree(journal, id)?
    };
    let events = Events { around, trace: run.trace };
    let payload = json!({ "park": Park::Interrupt, "reason": reason });
    let event = events.make(SourceKind::Human, "runs cancel", "run.parked", id, payload);
    Ok(journal.update_run(id, &change, &[event])?)
}
