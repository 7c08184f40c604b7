//! The seam between what a task is and who works on it, where and when.
//!
//! Four verbs: a task is *submitted*, workers *serve*, the caller *waits* for it or *cancels* it. An
//! [`Engine`] decides which worker has a task and holds the lease; the [`TaskRunner`] is the same for
//! every engine and knows of none: it is given a task and a lease, and writes what it does into the
//! journal, which is the truth. So an engine that loses everything it knows loses no work: the next
//! worker is given the same task and goes on at the first step without a result.
//!
//! The one decision: a task names ids and a commit, never a path. What a worker needs beside them is
//! in the journal and in the repository, which it reaches under its own paths.
//!
//! A command works on its tasks in its own process and does not come through here: it holds the claim
//! of the run, and what it starts is a step of its own journal, planned under an id before it begins
//! and found again after a crash. A queue between the two would keep that twice. Both ways run a task
//! by the same code; this one is for workers that the caller does not hold.
//!
//! [`EmbeddedEngine`] needs no service: tasks are rows of the journal, leases are locks that die with
//! their worker. Another engine has to pass the same suite (`conformance`).

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod embedded;
mod task;

use std::time::Duration;

use spore_model::{Outcome, Park, RunId};
use spore_store::JournalError;

pub use embedded::EmbeddedEngine;
pub use task::{BadTerm, EngineTask, EngineTerm};

/// Who works on tasks, where and when.
///
/// All verbs may be called from several threads and processes at once, and again after a crash of the
/// caller: each is keyed by the id of the run.
pub trait Engine: Send + Sync {
    /// Hands a task over. The id is the task: submitted again it is the same run, and the first
    /// words count. A task that waits, cancelled or parked, is queued again with all its attempts.
    fn submit(&self, task: &EngineTask) -> Result<Submission, EngineError>;

    /// Ends the work on a task, with every process that is on record for it, within two seconds. It
    /// waits then, and goes on when it is submitted again. One that is over stays as it is.
    fn cancel(&self, run: RunId) -> Result<(), EngineError>;

    /// Waits until a task is over or waits for something, for at most `patience`, and tells how it is.
    fn wait(&self, run: RunId, patience: Duration) -> Result<TaskState, EngineError>;

    /// Works on tasks, one after another, until `stop` says so. A worker that is killed in here
    /// leaves its task to the others; so does one whose runner fails, until the attempts are used up.
    fn serve(&self, runner: &dyn TaskRunner, stop: &dyn Fn() -> bool) -> Result<(), EngineError>;
}

/// Works on one task. Knows no engine.
pub trait TaskRunner: Send + Sync {
    /// Works on a task until it ends or has to wait, and has that on record: the row of the run says
    /// `Ended` or `Parked` when this returns well. Anything else is a failed attempt.
    ///
    /// What was recorded by an earlier attempt is done. A runner that has started processes has them
    /// on record before they do anything, and stops soon when the lease is lost.
    fn run(&self, task: &EngineTask, lease: &dyn Lease) -> Result<(), RunnerError>;
}

/// The right of one worker to work on one task.
pub trait Lease: Send + Sync {
    /// Counts from one; every worker that is given the task has a higher number.
    fn attempt(&self) -> u32;

    /// Returns whether the work is to stop: the task was cancelled, or another has it.
    fn is_lost(&self) -> bool;
}

/// Why a runner gave up an attempt. Another may fare better.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RunnerError(pub String);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Submission {
    New,
    /// It was known, and is as it was.
    Known,
    /// It was waiting, and is queued again.
    Again,
}

/// How a task is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TaskState {
    /// No worker has it.
    Queued,
    Running,
    Waiting {
        park: Park,
        reason: String,
    },
    Over {
        outcome: Outcome,
    },
}

/// Why an engine did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("there is no task {run}")]
    NoSuchTask { run: RunId },
    /// The run is there, and was not submitted.
    #[error("run {run} is not a task of the engine")]
    NotATask { run: RunId },
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the engine cannot keep its leases")]
    Io(#[from] std::io::Error),
    /// What is on record as a task is none.
    #[error("the task of run {run} cannot be read")]
    Unreadable { run: RunId, source: serde_json::Error },
    /// Processes that cannot be ended are left of it.
    #[error("run {run} is still being worked on")]
    StillRunning { run: RunId },
}
