//! One recorded step: begin, known result, act, finish.
//!
//! Everything that a run does goes through here, whatever kind of run it is. The intent is on
//! record before the effect and the result after it, in one transaction with the rows, the
//! bills and the events that follow from it. A step with a result is never done again; one
//! without is done again under a higher attempt, by the intent of the first.
//!
//! What belongs to a step stands in its entry. A caller that only needs "do this once" uses
//! [`Steps::once`]; one with a machine of its own calls [`Steps::begin`] and
//! [`Steps::finish`] around its effect.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use spore_model::{Begun, EffectClass, Run, RunId, StepKey, Ticket, Timestamp};
use spore_store::{Journal, RecordedStep, StepEntry};

use super::error::bug;
use super::outbox;
use crate::{Result, Surroundings, Workspace};

/// The steps of one run.
#[derive(Clone, Copy)]
pub(crate) struct Steps<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) workspace: &'a Workspace,
    pub(crate) journal: &'a dyn Journal,
    pub(crate) run: RunId,
}

/// What a step must do the same way again: its time, and the ids of the rows it opens.
#[derive(Clone, Debug)]
pub(crate) struct Intent(Map<String, Value>);

impl Intent {
    /// An intent of this moment.
    pub(crate) fn at(now: Timestamp) -> Self {
        Self(Map::new()).with("at", now.to_string())
    }

    /// Plans a row's id under `name`.
    pub(crate) fn plan(self, name: &str, id: RunId) -> Self {
        self.with(name, id.to_string())
    }

    /// Notes something else that decides what is done.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }
}

impl Steps<'_> {
    /// Returns an intent of this moment.
    pub(crate) fn intent(&self) -> Intent {
        Intent::at(self.now())
    }

    /// Records the intent of a step, or finds its result.
    pub(crate) fn begin<T: DeserializeOwned>(
        &self,
        key: &StepKey,
        class: EffectClass,
        intent: Intent,
    ) -> Result<Begun<T>> {
        let intent = Value::Object(intent.0);
        let begun = self.journal.begin_step(self.run, key, class, &intent, self.now())?;
        match begun.result {
            Some(result) => Ok(Begun::Done(serde_json::from_value(result).map_err(bug)?)),
            None => Ok(Begun::Do(Ticket { attempt: begun.attempt, intent: begun.intent })),
        }
    }

    /// Returns an entry with nothing but a result; the rest is for the caller to fill in.
    pub(crate) fn entry(&self, result: &impl Serialize) -> Result<StepEntry> {
        Ok(StepEntry {
            result: serde_json::to_value(result).map_err(bug)?,
            runs: Vec::new(),
            new_runs: Vec::new(),
            ledger: Vec::new(),
            events: Vec::new(),
            now: self.now(),
        })
    }

    /// Records a step's result with all that follows from it, and carries its events to the
    /// spine.
    pub(crate) fn finish(&self, key: &StepKey, ticket: &Ticket, entry: &StepEntry) -> Result<()> {
        self.record(key, ticket, entry)?;
        outbox::flush(self.around, self.workspace, self.journal)
    }

    /// Like [`Self::finish`], but its events wait for the next flush: for many steps in a row.
    pub(crate) fn record(&self, key: &StepKey, ticket: &Ticket, entry: &StepEntry) -> Result<()> {
        Ok(self.journal.finish_step(self.run, key, ticket.attempt, entry)?)
    }

    /// Does a keyed step unless its result is on record, and returns the result. `act` may add
    /// to the entry what follows from it.
    pub(crate) fn once<T: Serialize + DeserializeOwned>(
        &self,
        key: &StepKey,
        act: impl FnOnce(&Ticket, &mut StepEntry) -> Result<T>,
    ) -> Result<T> {
        let ticket = match self.begin(key, EffectClass::Keyed, self.intent())? {
            Begun::Done(done) => return Ok(done),
            Begun::Do(ticket) => ticket,
        };
        let mut entry = self.entry(&Value::Null)?;
        let done = act(&ticket, &mut entry)?;
        entry.result = serde_json::to_value(&done).map_err(bug)?;
        self.finish(key, &ticket, &entry)?;
        Ok(done)
    }

    /// Returns a step's result, `None` if there is none.
    pub(crate) fn result<T: DeserializeOwned>(&self, key: &StepKey) -> Result<Option<T>> {
        recorded(self.journal, self.run, key)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.around.clock.now()
    }
}

/// Returns the result of a run's step, for rooms that only read; `None` if there is none.
pub(crate) fn recorded<T: DeserializeOwned>(
    journal: &dyn Journal,
    run: RunId,
    key: &StepKey,
) -> Result<Option<T>> {
    let step = journal.step(run, key)?;
    Ok(step.and_then(|step| step.result).and_then(|value| serde_json::from_value(value).ok()))
}

/// Returns the id of the run that a step was planned with, if it does its work in one.
pub(crate) fn planned_run(step: &RecordedStep) -> Option<RunId> {
    step.intent.get("child")?.as_str()?.parse().ok()
}

/// Returns the run that a step was planned with, once that was begun.
pub(crate) fn run_of_step(journal: &dyn Journal, step: &RecordedStep) -> Result<Option<Run>> {
    Ok(planned_run(step).map(|id| journal.run(id)).transpose()?.flatten())
}

/// Returns the run that the step of this key was planned with, once that was begun.
pub(crate) fn begun_run(journal: &dyn Journal, run: RunId, key: &StepKey) -> Result<Option<Run>> {
    let step = journal.step(run, key)?;
    Ok(step.map(|step| run_of_step(journal, &step)).transpose()?.flatten())
}
