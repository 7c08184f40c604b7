//! How a layer of a flow is opened and how it ends: its row, and what others watch of it.

use serde_json::{Value, json};
use spore_compose::{Parked, SignalPointer};
use spore_model::{Begun, EffectClass, Outcome, Park, Run, RunKind, RunState, SourceKind, StepKey};
use spore_store::{RunChange, StepEntry};

use super::flow::{ActiveFlow, LayerEnding, LayerPlace};
use crate::Result;
use crate::base::error::bug;
use crate::base::totals;

/// Why a part ends that is not over when its whole is.
const WITH_ITS_WHOLE: &str = "stopped with what it belongs to";

impl ActiveFlow<'_> {
    /// Opens the row of a layer below the root, once.
    pub(crate) fn open(&self, place: &LayerPlace, kind: RunKind, details: &Run) -> Result<()> {
        if place.parent.is_none() {
            return Ok(());
        }
        let run = Run {
            id: place.run,
            parent: place.parent,
            trace: self.trace.clone(),
            kind,
            name: place.name.clone(),
            attempt: place.attempt,
            depth: place.depth,
            ..details.clone()
        };
        let payload = json!({ "kind": kind, "name": place.name, "attempt": place.attempt });
        let event =
            self.event(SourceKind::Runner, kind.as_str(), "run.started", place.run, payload);
        self.journal.create_run(&run, &[event])?;
        // The row as it is: it may have been there before, from another time.
        self.report_run(place.run)
    }

    /// Ends a layer: begins its last step and, unless that has a result, writes what
    /// `prepare` adds to it, closes the row, and records the end as the step's result.
    ///
    /// The end of the root is written to its signal file before it is in its row, under the time
    /// of the intent that is on record: once the row says so, a resumed flow would not write it.
    pub(crate) fn end(
        &self,
        place: &LayerPlace,
        kind: RunKind,
        ending: &LayerEnding<'_>,
        result: &impl serde::Serialize,
    ) -> Result<()> {
        let pointer = ending.points_at.map(|path| self.pointer(path)).unwrap_or_default();
        self.end_pointing(place, kind, (ending, &pointer), result)
    }

    /// Ends a layer whose signal points at what it left.
    pub(crate) fn end_pointing(
        &self,
        place: &LayerPlace,
        kind: RunKind,
        (ending, pointer): (&LayerEnding<'_>, &SignalPointer),
        result: &impl serde::Serialize,
    ) -> Result<()> {
        let (steps, key) = (self.steps(place), StepKey::finish());
        let begun = steps.begin::<Value>(&key, EffectClass::Keyed, steps.intent())?;
        let Begun::Do(ticket) = begun else { return Ok(()) };
        let at = ticket.time().map_err(bug)?;
        let mut entry = steps.entry(result)?;
        let below = self.journal.children(place.run)?;
        self.stop_open(&below, &mut entry);
        let change = RunChange {
            state: Some(RunState::Ended),
            outcome: Some(ending.outcome),
            reason: ending.reason.map(str::to_owned),
            ended: Some(at),
            ..totals::with_started(self.journal, &below)?
        };
        entry.runs.push((place.run, change));
        let payload = json!({
            "kind": kind, "name": place.name, "attempt": place.attempt,
            "outcome": ending.outcome, "reason": ending.reason,
        });
        let word = kind.as_str();
        entry.events.push(self.event(SourceKind::Runner, word, "run.finished", place.run, payload));
        if place.parent.is_none() {
            self.announce(place, ending, pointer, at)?;
        }
        steps.finish(&key, &ticket, &entry)?;
        match below.iter().any(|run| run.state != RunState::Ended) {
            // What was stopped with it has an end now, too.
            true => self.live_report(),
            false if place.parent.is_some() => self.report_run(place.run),
            false => Ok(()),
        }
    }

    /// Closes what a layer began and will never come back to.
    fn stop_open(&self, below: &[Run], entry: &mut StepEntry) {
        for open in below.iter().filter(|run| run.state != RunState::Ended) {
            let change = RunChange {
                state: Some(RunState::Ended),
                outcome: Some(Outcome::Interrupted),
                reason: Some(WITH_ITS_WHOLE.to_owned()),
                ended: Some(entry.now),
                ..RunChange::default()
            };
            entry.runs.push((open.id, change));
        }
    }
}

/// A flow that a session started is below that session in the tree of runs. It does not wait by
/// itself: what has to wait is told to the session, which decides, and is over.
impl ActiveFlow<'_> {
    /// Ends a flow of a session where one of a person would wait.
    pub(crate) fn end_with_session(&self, run: &Run, parked: &Parked) -> Result<()> {
        self.end_open(run)?;
        let event = {
            let payload = json!({
                "kind": run.kind, "name": run.name, "outcome": parked.outcome,
                "reason": parked.reason,
            });
            self.event(SourceKind::Runner, run.kind.as_str(), "run.finished", run.id, payload)
        };
        let change = self.over(run, parked)?;
        Ok(self.journal.update_run(run.id, &change, &[event])?)
    }

    fn over(&self, run: &Run, parked: &Parked) -> Result<RunChange> {
        Ok(RunChange {
            state: Some(RunState::Ended),
            outcome: Some(parked.outcome),
            reason: Some(parked.reason.clone()),
            ended: Some(self.now()),
            ..totals::with_started(self.journal, &self.journal.children(run.id)?)?
        })
    }

    /// Ends the layers below it that are not over.
    fn end_open(&self, run: &Run) -> Result<()> {
        for child in self.journal.children(run.id)? {
            if child.state != RunState::Ended {
                self.give_up(&child, WITH_ITS_WHOLE)?;
            }
        }
        Ok(())
    }

    /// Ends a layer that nothing comes back to, and those below it.
    pub(crate) fn give_up(&self, run: &Run, why: &str) -> Result<()> {
        self.end_open(run)?;
        let (outcome, park) = (Outcome::Interrupted, Park::Interrupt);
        let stopped = Parked { outcome, park, reason: why.to_owned() };
        Ok(self.journal.update_run(run.id, &self.over(run, &stopped)?, &[])?)
    }
}
