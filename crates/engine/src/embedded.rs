//! The engine that needs no service: the journal's rows are its queue, locks are its leases.
//!
//! A task is a run that is `Queued`, with the task as the intent of a step: that is stored once, for
//! good, and no runner touches it. A worker takes the lock of a task, raises its attempt by
//! beginning the step of the lease once more, and hands it to the runner. A
//! worker that dies lets go of the lock by dying: the row says `Running` and no lock is held, so the
//! next one takes it. A worker that is late finds a higher attempt on record and is shut out, by the
//! lease and by every step of the journal.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::json;
use spore_effects::Clock;
use spore_effects::files::{Lock, LockError, create_private_dir};
use spore_effects::session::{self, ProcessIdentity};
use spore_model::{EffectClass, Outcome, Park, Run, RunId, RunKind, RunState, StepKey};
use spore_store::{Journal, RunChange, RunQuery};

use crate::{
    Engine, EngineError, EngineTask, Lease, RunnerError, Submission, TaskRunner, TaskState,
};

/// How long a runner may take to see that its lease is lost, before its processes are killed.
const POLITE: Duration = Duration::from_millis(900);
/// And to let go of the task when they are.
const AFTER_KILL: Duration = Duration::from_millis(700);
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// How long a worker without a task waits.
const IDLE: Duration = Duration::from_millis(40);
/// Tasks in a journal, for the processes of one machine.
pub struct EmbeddedEngine {
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    /// Where the locks are.
    leases: PathBuf,
    /// So often a task is begun at most.
    attempts: u32,
}

impl EmbeddedEngine {
    /// An engine whose workers are processes of this machine that share `leases`.
    pub fn new(
        journal: Arc<dyn Journal>,
        clock: Arc<dyn Clock>,
        leases: &Path,
        attempts: u32,
    ) -> Result<Self, EngineError> {
        create_private_dir(leases)?;
        Ok(Self { journal, clock, leases: leases.to_owned(), attempts })
    }

    fn lock_of(&self, run: RunId) -> PathBuf {
        self.leases.join(format!("{run}.lock"))
    }

    /// Returns how often a task was submitted to be worked on; never for what is no task.
    fn rounds(&self, run: RunId) -> Result<u32, EngineError> {
        let steps = self.journal.steps(run)?;
        // A loop has steps of the same word, with the name of a task between.
        let number = |key: &StepKey| key.as_str().strip_prefix(TASK)?.parse::<u32>().ok();
        let is_round = |key: &StepKey| number(key).is_some();
        let rounds = steps.iter().filter(|step| is_round(&step.key)).count();
        Ok(u32::try_from(rounds).unwrap_or(u32::MAX))
    }

    fn task(&self, run: RunId) -> Result<SubmittedTask, EngineError> {
        let row = self.journal.run(run)?.ok_or(EngineError::NoSuchTask { run })?;
        let step = self.journal.step(run, &round_key(1))?.ok_or(EngineError::NotATask { run })?;
        let task = serde_json::from_value(step.intent)
            .map_err(|source| EngineError::Unreadable { run, source })?;
        Ok(SubmittedTask { row, task, round: self.rounds(run)? })
    }

    /// Takes the next task that no worker has; oldest first.
    fn take(&self) -> Result<Option<(EngineTask, EmbeddedLease)>, EngineError> {
        let open = self.journal.runs(&RunQuery { open_only: true, ..RunQuery::default() })?;
        let is_due = |run: &Run| matches!(run.state, RunState::Queued | RunState::Running);
        for run in open.iter().rev().filter(|run| is_due(run)) {
            if self.rounds(run.id)? == 0 {
                continue;
            }
            let lock = match Lock::try_take(&self.lock_of(run.id)) {
                Ok(lock) => lock,
                Err(LockError::Held { .. }) => continue,
                Err(LockError::Io { source, .. }) => return Err(source.into()),
            };
            // Another may have had it between the look and the lock.
            let SubmittedTask { row, task, round } = self.task(run.id)?;
            if !is_due(&row) {
                continue;
            }
            let (key, class) = (lease_key(round), EffectClass::Fenced);
            let begun =
                self.journal.begin_step(run.id, &key, class, &json!({}), self.clock.now())?;
            if begun.attempt > self.attempts {
                self.give_up(&row, "every worker that had it died or failed")?;
                continue;
            }
            let change = RunChange { state: Some(RunState::Running), ..RunChange::default() };
            self.journal.update_run(run.id, &change, &[])?;
            if let Ok(identity) = ProcessIdentity::of_this_process() {
                let signed = serde_json::to_vec(&identity).unwrap_or_default();
                lock.sign(&signed)?;
            }
            let journal = Arc::clone(&self.journal);
            let (run, attempt) = (run.id, begun.attempt);
            let lease = EmbeddedLease { journal, run, round, attempt, _lock: lock };
            return Ok(Some((task, lease)));
        }
        Ok(None)
    }

    /// Says of a task whose attempts are used up that it waits for a person.
    fn give_up(&self, run: &Run, why: &str) -> Result<(), EngineError> {
        let reason = match &run.reason {
            Some(last) => format!("given up after {} attempts: {last}", self.attempts),
            None => format!("given up after {} attempts: {why}", self.attempts),
        };
        let change = RunChange {
            state: Some(RunState::Parked),
            outcome: Some(Outcome::NeedsHuman),
            park: Some(Some(Park::Human)),
            reason: Some(reason),
            ..RunChange::default()
        };
        Ok(self.journal.update_run(run.id, &change, &[])?)
    }

    /// Puts a task that a runner failed at back, with the reason for people.
    fn put_back(&self, lease: &EmbeddedLease, error: &RunnerError) -> Result<(), EngineError> {
        let run = lease.run;
        let Some(row) = self.journal.run(run)?.filter(|row| row.state == RunState::Running) else {
            return Ok(());
        };
        let row = Run { reason: Some(error.to_string()), ..row };
        if lease.attempt >= self.attempts {
            return self.give_up(&row, "");
        }
        let change =
            RunChange { state: Some(RunState::Queued), reason: row.reason, ..RunChange::default() };
        Ok(self.journal.update_run(run, &change, &[])?)
    }

    /// Waits until no worker holds a task.
    fn is_let_go(&self, run: RunId, patience: Duration) -> bool {
        let (lock, deadline) = (self.lock_of(run), self.clock.monotonic() + patience);
        while Lock::is_held(&lock) {
            if self.clock.monotonic() >= deadline {
                return false;
            }
            thread::sleep(LOOK_AGAIN);
        }
        true
    }

    fn kill_processes(&self, run: RunId) -> Result<(), EngineError> {
        for row in self.journal.open_processes(run)? {
            let (pid, start_ticks, boot_id) = (row.pid, row.start_ticks, row.boot_id);
            let identity = ProcessIdentity { pid, start_ticks, boot_id };
            session::reap(&identity, &row.token, Duration::ZERO);
            self.journal.process_ended(&row.token, self.clock.now())?;
        }
        Ok(())
    }
}

/// A task on record.
struct SubmittedTask {
    row: Run,
    task: EngineTask,
    round: u32,
}

/// The steps by which a task is submitted, one for each time that it is to be worked on.
const TASK: &str = "task/";

fn round_key(round: u32) -> StepKey {
    numbered(TASK, round)
}

/// The step that is begun by every worker that has the task in this round.
fn lease_key(round: u32) -> StepKey {
    numbered("lease/", round)
}

fn numbered(word: &str, number: u32) -> StepKey {
    StepKey::new(format!("{word}{number}")).unwrap_or_else(|_| StepKey::named("task"))
}

impl Engine for EmbeddedEngine {
    fn submit(&self, task: &EngineTask) -> Result<Submission, EngineError> {
        let run = task.run;
        let told =
            serde_json::to_value(task).map_err(|source| EngineError::Unreadable { run, source })?;
        let submit = |round| {
            let (key, now) = (round_key(round), self.clock.now());
            self.journal.begin_step(run, &key, EffectClass::Keyed, &told, now)
        };
        let Some(row) = self.journal.run(run)? else {
            let first = task.task.lines().next().unwrap_or_default();
            let name: String = first.chars().take(72).collect();
            let row = Run {
                parent: task.parent,
                trace: task.trace.clone(),
                task: Some(task.task.clone()),
                base_commit: Some(task.base.clone()),
                state: RunState::Queued,
                ..Run::begin(run, RunKind::Orchestrate, name, self.clock.now())
            };
            self.journal.create_run(&row, &[])?;
            submit(1)?;
            return Ok(Submission::New);
        };
        match (self.rounds(run)?, row.state) {
            // A caller that was killed had begun to submit it.
            (0, RunState::Queued) => {
                submit(1)?;
                Ok(Submission::New)
            }
            (0, _) => Err(EngineError::NotATask { run }),
            (rounds, RunState::Parked) => {
                submit(rounds + 1)?;
                let change = RunChange {
                    state: Some(RunState::Queued),
                    park: Some(None),
                    reason: Some(String::new()),
                    ..RunChange::default()
                };
                self.journal.update_run(run, &change, &[])?;
                Ok(Submission::Again)
            }
            _ => Ok(Submission::Known),
        }
    }

    fn cancel(&self, run: RunId) -> Result<(), EngineError> {
        let row = self.task(run)?.row;
        if row.state == RunState::Ended {
            return Ok(());
        }
        if row.state != RunState::Parked {
            let change = RunChange {
                state: Some(RunState::Parked),
                outcome: Some(Outcome::Interrupted),
                park: Some(Some(Park::Interrupt)),
                reason: Some("cancelled".to_owned()),
                // Its worker may have brought it to its end since it was looked at.
                if_open: true,
                ..RunChange::default()
            };
            self.journal.update_run(run, &change, &[])?;
        }
        let let_go = self.is_let_go(run, POLITE);
        self.kill_processes(run)?;
        if let_go || self.is_let_go(run, AFTER_KILL) {
            return Ok(());
        }
        Err(EngineError::StillRunning { run })
    }

    fn wait(&self, run: RunId, patience: Duration) -> Result<TaskState, EngineError> {
        let deadline = self.clock.monotonic() + patience;
        loop {
            let row = self.task(run)?.row;
            let state = match row.state {
                RunState::Queued => TaskState::Queued,
                RunState::Running => TaskState::Running,
                RunState::Parked => TaskState::Waiting {
                    park: row.park.unwrap_or(Park::Interrupt),
                    reason: row.reason.unwrap_or_default(),
                },
                RunState::Ended => {
                    TaskState::Over { outcome: row.outcome.unwrap_or(Outcome::Failure) }
                }
            };
            let is_open = matches!(state, TaskState::Queued | TaskState::Running);
            if !is_open || self.clock.monotonic() >= deadline {
                return Ok(state);
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    fn serve(&self, runner: &dyn TaskRunner, stop: &dyn Fn() -> bool) -> Result<(), EngineError> {
        while !stop() {
            let Some((task, lease)) = self.take()? else {
                thread::sleep(IDLE);
                continue;
            };
            // What a worker left that was killed.
            self.kill_processes(task.run)?;
            let ran = runner.run(&task, &lease);
            let state = self.journal.run(task.run)?.map(|row| row.state);
            if state == Some(RunState::Running) && !lease.is_lost() {
                let unfinished = || RunnerError("its runner left it unfinished".to_owned());
                self.put_back(&lease, &ran.err().unwrap_or_else(unfinished))?;
            }
            if state == Some(RunState::Ended) {
                // No worker takes it any more.
                let _ = fs::remove_file(self.lock_of(task.run));
            }
            drop(lease);
        }
        Ok(())
    }
}

/// A lock on a task, and the attempt that goes with it.
struct EmbeddedLease {
    journal: Arc<dyn Journal>,
    run: RunId,
    round: u32,
    attempt: u32,
    _lock: Lock,
}

impl Lease for EmbeddedLease {
    fn attempt(&self) -> u32 {
        self.attempt
    }

    fn is_lost(&self) -> bool {
        let newest = self.journal.step(self.run, &lease_key(self.round));
        let is_newest = newest.is_ok_and(|step| step.is_some_and(|it| it.attempt == self.attempt));
        let row = self.journal.run(self.run);
        let is_wanted = row.is_ok_and(|row| row.is_some_and(|row| row.state == RunState::Running));
        !is_newest || !is_wanted
    }
}
