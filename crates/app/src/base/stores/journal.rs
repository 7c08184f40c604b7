//! The journal of a project, whose writes are effects by construction.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use spore_effects::{Effect, Probe};
use spore_model::{
    EffectClass, Event, EventId, LedgerEntry, Run, RunId, SessionToken, StepKey, Timestamp,
};
use spore_store::spine::Cursor;
use spore_store::{
    FigureRow, Journal, JournalError, PendingEvent, ProcessRow, RecordedStep, RunChange, RunQuery,
    Spending, SpendingBy, StepBegun, StepEntry,
};

use super::struck;
use crate::base::credentials::Credentials;

type Answer<T> = std::result::Result<T, JournalError>;

/// A journal that names each of its writes to the probe.
pub(crate) struct ProjectJournal {
    store: Box<dyn Journal>,
    probe: Probe,
    credentials: Credentials,
    /// What runs are called in the names of effects, by id; only filled where a test listens.
    labels: Mutex<BTreeMap<RunId, String>>,
}

impl ProjectJournal {
    pub(super) fn new(store: Box<dyn Journal>, probe: Probe, credentials: Credentials) -> Self {
        Self { store, probe, credentials, labels: Mutex::default() }
    }

    fn row<T>(&self, name: impl FnOnce() -> String, act: impl FnOnce() -> T) -> T {
        self.effect(Effect::Row, name, act)
    }

    fn effect<T>(
        &self,
        effect: Effect,
        name: impl FnOnce() -> String,
        act: impl FnOnce() -> T,
    ) -> T {
        if self.probe.is_armed() { self.probe.around(effect, &name(), act) } else { act() }
    }

    /// Returns what a run is called: nothing for a root, else its way down from the root. The
    /// same in every process, and of one run only, so that parallel layers stay apart.
    fn label(&self, id: RunId) -> String {
        let known = self.labels.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        if let Some(known) = known {
            return known;
        }
        let label = match self.store.run(id) {
            Ok(Some(run)) => self.label_of(&run),
            _ => String::new(),
        };
        self.labels.lock().unwrap_or_else(PoisonError::into_inner).insert(id, label.clone());
        label
    }

    fn label_of(&self, run: &Run) -> String {
        match run.parent {
            Some(parent) => format!("{}{}/{} ", self.label(parent), run.name, run.attempt),
            None => String::new(),
        }
    }
}

impl Journal for ProjectJournal {
    fn create_run(&self, run: &Run, events: &[Event]) -> Answer<()> {
        let name = || match run.parent {
            Some(_) => format!("create {}", self.label_of(run).trim_end()),
            None => "create run".to_owned(),
        };
        let secrets = &self.credentials.known();
        let (struck, events) = (struck::run(secrets, run), struck::events(secrets, events));
        self.row(name, || self.store.create_run(&struck, &events))
    }

    fn run(&self, id: RunId) -> Answer<Option<Run>> {
        self.store.run(id)
    }

    fn children(&self, parent: RunId) -> Answer<Vec<Run>> {
        self.store.children(parent)
    }

    fn runs(&self, query: &RunQuery) -> Answer<Vec<Run>> {
        self.store.runs(query)
    }

    fn spending(&self, query: &RunQuery, by: SpendingBy) -> Answer<Vec<Spending>> {
        self.store.spending(query, by)
    }

    fn paying_runs(&self, query: &RunQuery) -> Answer<u64> {
        self.store.paying_runs(query)
    }

    fn figures(&self, query: &RunQuery) -> Answer<Vec<FigureRow>> {
        self.store.figures(query)
    }

    fn find_runs(&self, typed: &str) -> Answer<Vec<Run>> {
        self.store.find_runs(typed)
    }

    fn update_run(&self, id: RunId, change: &RunChange, events: &[Event]) -> Answer<()> {
        let name = || format!("update {}", self.label(id));
        let secrets = &self.credentials.known();
        let (change, events) = (struck::change(secrets, change), struck::events(secrets, events));
        self.row(name, || self.store.update_run(id, &change, &events))
    }

    fn begin_step(
        &self,
        run: RunId,
        key: &StepKey,
        class: EffectClass,
        intent: &Value,
        now: Timestamp,
    ) -> Answer<StepBegun> {
        let name = || format!("begin {}{key}", self.label(run));
        let intent = struck::value(&self.credentials.known(), intent);
        self.row(name, || self.store.begin_step(run, key, class, &intent, now))
    }

    fn amend_step(
        &self,
        run: RunId,
        key: &StepKey,
        attempt: u32,
        new_runs: &[Run],
        events: &[Event],
    ) -> Answer<()> {
        let name = || format!("amend {}{key}", self.label(run));
        let secrets = &self.credentials.known();
        let (runs, events) = (struck::runs(secrets, new_runs), struck::events(secrets, events));
        self.row(name, || self.store.amend_step(run, key, attempt, &runs, &events))
    }

    fn finish_step(
        &self,
        run: RunId,
        key: &StepKey,
        attempt: u32,
        entry: &StepEntry,
    ) -> Answer<()> {
        let name = || format!("finish {}{key}", self.label(run));
        let entry = struck::entry(&self.credentials.known(), entry);
        self.row(name, || self.store.finish_step(run, key, attempt, &entry))
    }

    fn step(&self, run: RunId, key: &StepKey) -> Answer<Option<RecordedStep>> {
        self.store.step(run, key)
    }

    fn steps(&self, run: RunId) -> Answer<Vec<RecordedStep>> {
        self.store.steps(run)
    }

    fn book(&self, entry: &LedgerEntry) -> Answer<bool> {
        self.row(|| format!("book {}", entry.role), || self.store.book(entry))
    }

    fn ledger(&self, root: RunId) -> Answer<Vec<LedgerEntry>> {
        self.store.ledger(root)
    }

    fn process_started(&self, row: &ProcessRow) -> Answer<()> {
        let name = || format!("start {}", self.label(row.session).trim_end());
        self.effect(Effect::Process, name, || self.store.process_started(row))
    }

    fn process_ended(&self, token: &SessionToken, now: Timestamp) -> Answer<()> {
        let name = || "end".to_owned();
        self.effect(Effect::Process, name, || self.store.process_ended(token, now))
    }

    fn open_processes(&self, root: RunId) -> Answer<Vec<ProcessRow>> {
        self.store.open_processes(root)
    }

    fn unended_processes(&self) -> Answer<Vec<ProcessRow>> {
        self.store.unended_processes()
    }

    fn cached(&self, kind: &str, key: &str) -> Answer<Option<Value>> {
        self.store.cached(kind, key)
    }

    fn cache(&self, kind: &str, key: &str, value: &Value, now: Timestamp) -> Answer<()> {
        let value = struck::value(&self.credentials.known(), value);
        self.row(|| format!("cache {kind}"), || self.store.cache(kind, key, &value, now))
    }

    fn pending_events(&self) -> Answer<Vec<Event>> {
        self.store.pending_events()
    }

    fn flush_intent(&self) -> Answer<Option<Cursor>> {
        self.store.flush_intent()
    }

    // The two writes of a flush are parts of one effect, which the outbox names: what a kill
    // between them does is tested on the flush itself, in `spore_store`.
    fn begin_flush(&self, intent: &Cursor) -> Answer<Vec<PendingEvent>> {
        self.store.begin_flush(intent)
    }

    fn end_flush(&self, written: &[EventId]) -> Answer<()> {
        self.store.end_flush(written)
    }
}
