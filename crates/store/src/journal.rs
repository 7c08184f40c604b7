//! The contract of the journal: what is promised about a run, its steps and its bills.
//!
//! A run is worked on by one process after another, each of which may be killed at any
//! point. So every write carries a key, and where an effect may be repeated an attempt
//! number; what an old process says late is refused instead of believed. The trait names no
//! database: a shared one can stand behind it later, and the contract suite in `contract.rs`
//! is what it would have to pass.
//!
//! Nothing is ever removed here but outbox rows, which the spine holds afterwards.

#[cfg(test)]
pub(crate) mod contract;

use serde_json::Value;
use spore_model::{
    CommitId, ContextUse, Cost, EffectClass, Event, EventId, LedgerEntry, Outcome, Park, Run,
    RunCost, RunId, RunKind, RunMark, RunStanding, RunState, SessionToken, StepKey, Timestamp,
    TreeId, Usage, Usd,
};

use crate::spine::Cursor;

/// The memory of all runs of one repository.
///
/// One method is one transaction: when it returns `Ok`, all of it is on disk; when it returns
/// an error, or the process dies in it, none of it happened. Methods may be called from
/// several threads and processes at once; they wait for each other.
///
/// Events handed to a method are written with it and wait in the outbox, in the order of the
/// transactions, until [`crate::spine::flush`] moves them. An event whose id already waits is
/// not written again. A payload too large for a line of the spine is replaced by its size.
pub trait Journal: Send + Sync {
    /// Adds a run. If there is one with this id, nothing changes and no event is written:
    /// the first call counts. A parent that is not there is [`JournalError::NoSuchRun`].
    fn create_run(&self, run: &Run, events: &[Event]) -> Result<(), JournalError>;

    /// Returns a run as it is now, `None` if there is none with this id.
    fn run(&self, id: RunId) -> Result<Option<Run>, JournalError>;

    /// Returns the direct children by start, then id. A run that is not there has none.
    fn children(&self, parent: RunId) -> Result<Vec<Run>, JournalError>;

    /// Returns the runs that `query` asks for, newest first.
    fn runs(&self, query: &RunQuery) -> Result<Vec<Run>, JournalError>;

    /// Returns what was booked on the runs that `query` asks for, summed up, in no order. Its `since`
    /// is when a session was booked; its limit and whether it wants settings do not count.
    fn spending(&self, query: &RunQuery, by: SpendingBy) -> Result<Vec<Spending>, JournalError>;

    /// Returns how many runs [`Self::spending`] sums up for the same question, whatever it is by.
    fn paying_runs(&self, query: &RunQuery) -> Result<u64, JournalError>;

    /// Returns the figures of the roots that `query` asks for, newest first, and of the tasks below them
    /// where it asks for these, too.
    fn figures(&self, query: &RunQuery) -> Result<Vec<FigureRow>, JournalError>;

    /// Returns every run whose id begins or ends with `typed`, or whose short form has it in it,
    /// in either case, by id. One
    /// candidate is an answer, several are a question to the person; the empty text names
    /// nothing. No character of `typed` is a wildcard.
    fn find_runs(&self, typed: &str) -> Result<Vec<Run>, JournalError>;

    /// Changes what `change` names and leaves the rest. The same change again gives the same
    /// run, but its events are written again if they have left the outbox: what must happen
    /// once belongs into a step.
    fn update_run(
        &self,
        id: RunId,
        change: &RunChange,
        events: &[Event],
    ) -> Result<(), JournalError>;

    /// Records that an effect is about to happen, and returns what is known of it. The first
    /// call for a key stores `intent` and `class` for good. While there is no result each
    /// call raises the attempt by one, which shuts out the process that had the one before;
    /// once there is a result, calls only return it.
    fn begin_step(
        &self,
        run: RunId,
        key: &StepKey,
        class: EffectClass,
        intent: &Value,
        now: Timestamp,
    ) -> Result<StepBegun, JournalError>;

    /// Adds the rows that an attempt needs before its effect, such as the child run of a
    /// session. Refused with [`JournalError::Fenced`] if the attempt is not the newest or the
    /// step is finished. Runs that are there already stay as they are; if all of them are,
    /// this call was made before and its events are not written again.
    fn amend_step(
        &self,
        run: RunId,
        key: &StepKey,
        attempt: u32,
        new_runs: &[Run],
        events: &[Event],
    ) -> Result<(), JournalError>;

    /// Records a step's result and everything that follows from it. Refused with
    /// [`JournalError::Fenced`] if the attempt is not the newest, or if there is a result and
    /// it is another one; the same result again changes nothing.
    ///
    /// New runs are added first, then the changes are made, then ledger and events are
    /// written; a new run or a session that is there already stays as it is.
    fn finish_step(
        &self,
        run: RunId,
        key: &StepKey,
        attempt: u32,
        entry: &StepEntry,
    ) -> Result<(), JournalError>;

    /// Returns a step, `None` if it has not begun.
    fn step(&self, run: RunId, key: &StepKey) -> Result<Option<RecordedStep>, JournalError>;

    /// Returns a run's steps in the order in which they first began.
    fn steps(&self, run: RunId) -> Result<Vec<RecordedStep>, JournalError>;

    /// Books one paid session. Returns false, and changes nothing, if it was booked before.
    fn book(&self, entry: &LedgerEntry) -> Result<bool, JournalError>;

    /// Returns what was booked on a root, by time of booking, then session.
    fn ledger(&self, root: RunId) -> Result<Vec<LedgerEntry>, JournalError>;

    /// Records a process before it does anything. A second process under the same token
    /// takes the place of the first: the token is what finds both of them.
    fn process_started(&self, row: &ProcessRow) -> Result<(), JournalError>;

    /// Records that nothing of a session lives any more. The first time counts; for a token that
    /// was never recorded nothing is done.
    fn process_ended(&self, token: &SessionToken, now: Timestamp) -> Result<(), JournalError>;

    /// Returns the processes below a root run whose end is not recorded, by start, then token.
    fn open_processes(&self, root: RunId) -> Result<Vec<ProcessRow>, JournalError>;

    /// Returns the processes of all runs whose end is not recorded, by start, then token.
    fn unended_processes(&self) -> Result<Vec<ProcessRow>, JournalError>;

    /// Returns what was last kept under `kind` and `key`. `None` means: work it out.
    fn cached(&self, kind: &str, key: &str) -> Result<Option<Value>, JournalError>;

    /// Keeps a value that can be worked out again, in place of the one before.
    fn cache(
        &self,
        kind: &str,
        key: &str,
        value: &Value,
        now: Timestamp,
    ) -> Result<(), JournalError>;

    /// Returns the events that are not on the spine yet, oldest first.
    fn pending_events(&self) -> Result<Vec<Event>, JournalError>;

    /// Returns where the last flush began to write, if it was cut short.
    fn flush_intent(&self) -> Result<Option<Cursor>, JournalError>;

    /// Records where a flush begins to write and returns the oldest pending events, as many
    /// as make one bounded write. If there are none, nothing is recorded. Only
    /// [`crate::spine::flush`] calls this, and holds a lock.
    fn begin_flush(&self, intent: &Cursor) -> Result<Vec<PendingEvent>, JournalError>;

    /// Removes events that are on the spine now, and the flush intent with them. Ids that do
    /// not wait in the outbox are passed over.
    fn end_flush(&self, written: &[EventId]) -> Result<(), JournalError>;
}

/// Which runs to list. The default is all of them; the limit counts what is left by the rest.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunQuery {
    /// Leave out children.
    pub roots_only: bool,
    /// But not the tasks among them, whatever they are below; the racers of a race are one task, which
    /// is the race.
    pub with_tasks: bool,
    /// Leave out what `resume` could do nothing with.
    pub open_only: bool,
    pub kind: Option<RunKind>,
    /// Leave out what began before.
    pub since: Option<Timestamp>,
    /// The agent of the run, or of any session that is booked on it.
    pub backend: Option<String>,
    /// The same for the model.
    pub model: Option<String>,
    /// A part of the task, whatever the case of its ASCII letters. No character is a wildcard.
    pub text: Option<String>,
    /// The role of the run, or of any session that is booked on it.
    pub role: Option<String>,
    pub experiment: Option<String>,
    /// Leave out what cost less so far.
    pub min_cost: Option<Usd>,
    /// Leave out what was over sooner.
    pub lasted: Option<LeastTime>,
    /// Leave out this one and what is newer.
    pub before: Option<RunId>,
    /// Leave out the settings: they are null. Most of what is read of a row is these.
    pub without_settings: bool,
    pub limit: Option<u32>,
}

/// How long a run took at the least; one that is not over has lasted until `now`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeastTime {
    pub least: std::time::Duration,
    pub now: Timestamp,
}

/// What sums of money are made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpendingBy {
    /// The run that a session is booked on.
    Run,
    Role,
    Model,
    /// In UTC.
    Day,
    Experiment,
}

/// A sum over the ledger.
#[derive(Clone, PartialEq, Debug)]
pub struct Spending {
    /// The run, role, model, day or experiment; nothing where it has none.
    pub of: Option<String>,
    /// What people call it, where that is something else.
    pub label: Option<String>,
    /// Some session of each of them is in the sum.
    pub runs: u64,
    pub sessions: u64,
    pub turns: u64,
    pub usage: Usage,
    pub cost: Cost,
}

/// What sums over many runs are made of: less than a [`Run`], and how its bounces ended.
#[derive(Clone, PartialEq, Debug)]
pub struct FigureRow {
    pub id: RunId,
    pub parent: Option<RunId>,
    pub standing: RunStanding,
    pub name: String,
    pub task: Option<String>,
    pub reason: Option<String>,
    pub started: Timestamp,
    pub ended: Option<Timestamp>,
    pub turns: u32,
    /// As its row has it: of a run that is not over what it was when it last stopped.
    pub cost: Cost,
    pub experiment: Option<String>,
    pub bounces: u32,
    /// What the newest task file was worth that is known of.
    pub context: Option<ContextUse>,
}

/// What to change in a run; `None` leaves a field as it is.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunChange {
    pub state: Option<RunState>,
    pub outcome: Option<Outcome>,
    /// `Some(None)` is a run that waits no longer.
    pub park: Option<Option<Park>>,
    pub mark: Option<RunMark>,
    /// An empty one takes away what was there.
    pub reason: Option<String>,
    pub tree_hash: Option<TreeId>,
    pub base_commit: Option<CommitId>,
    pub ended: Option<Timestamp>,
    pub turns: Option<u32>,
    pub tokens: Option<Usage>,
    pub cost: Option<RunCost>,
    pub settings: Option<Value>,
    /// A run that is over by then is left as it is.
    pub if_open: bool,
}

/// What is known of a step at the moment it begins, perhaps not for the first time.
#[derive(Clone, PartialEq, Debug)]
pub struct StepBegun {
    /// Counts from one. To be handed back with the result.
    pub attempt: u32,
    /// The first intent ever recorded under the key, so that a redo does the very same thing.
    pub intent: Value,
    /// The step is done: use this and do nothing.
    pub result: Option<Value>,
}

/// A step's result and what follows from it, written as one.
#[derive(Clone, PartialEq, Debug)]
pub struct StepEntry {
    pub result: Value,
    pub runs: Vec<(RunId, RunChange)>,
    pub new_runs: Vec<Run>,
    pub ledger: Vec<LedgerEntry>,
    pub events: Vec<Event>,
    pub now: Timestamp,
}

/// One step of one run, as recorded.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordedStep {
    pub run: RunId,
    pub key: StepKey,
    pub class: EffectClass,
    /// The newest attempt.
    pub attempt: u32,
    pub intent: Value,
    pub result: Option<Value>,
    /// When the first attempt began.
    pub begun: Timestamp,
    pub finished: Option<Timestamp>,
}

/// A process that Spore started. A pid alone says nothing after a reboot or a wrap-around;
/// with the start time and the boot it names one process for ever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessRow {
    pub token: SessionToken,
    /// The run at the root of the tree.
    pub root: RunId,
    /// The run that the process is.
    pub session: RunId,
    pub pid: i32,
    pub start_ticks: u64,
    pub boot_id: String,
    pub started: Timestamp,
}

/// An event that waits for the spine, as the line that will stand there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PendingEvent {
    pub id: EventId,
    pub line: String,
}

/// What the database library said.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why the journal did not do what it was asked. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("there is no run {run}")]
    NoSuchRun { run: RunId },
    /// A result or an amendment for a step that never began.
    #[error("run {run} has no step {key}")]
    NoSuchStep { run: RunId, key: StepKey },
    /// Another process has taken the step over, or finished it: stop, do not retry.
    #[error("attempt {attempt} at step {key} of run {run} no longer counts, {newest} does")]
    Fenced { run: RunId, key: StepKey, attempt: u32, newest: u32 },
    /// Too large for a line of the spine even without its payload.
    #[error("event {event} is larger than a line of the spine may be")]
    EventTooLarge { event: EventId },
    #[error("the disk is full")]
    Full { source: Cause },
    #[error("the journal cannot be written to")]
    ReadOnly { source: Cause },
    /// Another process held the journal for longer than the busy timeout.
    #[error("the journal is held by another process")]
    Busy { source: Cause },
    /// The file is damaged, or holds what no version of Spore wrote.
    #[error("the journal is damaged")]
    Corrupt { source: Cause },
    #[error("the journal cannot be read or written")]
    Io { source: Cause },
    /// The database refused a statement of ours.
    #[error("the journal was used wrongly")]
    Bug { source: Cause },
}
