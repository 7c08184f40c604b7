//! A pass of memory as a run: on record before it does anything, alone while it works, and
//! able to go on where it was killed.
//!
//! Every pass first finds out what it will do and puts that on record, then does it, then
//! records what came of it, then acknowledges the task it was given, then ends. Each of these
//! is a step that has a result or is done again, and doing it again changes nothing.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spore_config::Config;
use spore_effects::files::Lock;
use spore_memory::inbox::{Packet, PassKind, Terminal};
use spore_memory::rules::RESTORED;
use spore_model::{
    Event, Fault, Outcome, Park, Run, RunId, RunKind, RunState, SourceKind, StepKey,
};
use spore_store::{Journal, RunChange};

use super::places::MemoryPlaces;
use crate::base::error::bug;
use crate::base::outbox::{self, Events};
use crate::base::run_files::RunFiles;
use crate::base::run_lock::claim;
use crate::base::step::Steps;
use crate::base::stores::ProjectJournal;
use crate::base::totals;
use crate::{Error, Result, Surroundings, Workspace};

/// What is told of every pass, whatever it did.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PassEnding {
    /// Nothing where nothing was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    pub terminal: Terminal,
    /// One line that begins with the terminal word.
    pub result: String,
    /// The task that was taken off the inbox, and the one that has to stay there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acked: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_task: Option<String>,
}

impl PassEnding {
    pub fn outcome(&self) -> Outcome {
        match self.terminal {
            Terminal::PartialUpdate => Outcome::Partial,
            _ => Outcome::Success,
        }
    }
}

/// What a pass reports: its own findings around the common ending.
pub(super) trait Report: Serialize + DeserializeOwned {
    fn ending(&mut self) -> &mut PassEnding;
    /// What the spine is told: counts and references, never content.
    fn told(&self) -> (&'static str, Value);
    /// The lines that the person who asked has put back: on record for the next scan.
    fn restored(&self) -> Vec<Value> {
        Vec::new()
    }
}

/// The task that a pass was given, as it was when it was acknowledged.
const TASK: &str = "task.md";

/// One pass at work.
pub(super) struct Pass<'a> {
    pub(super) around: &'a Surroundings,
    pub(super) workspace: &'a Workspace,
    pub(super) config: &'a Config,
    pub(super) places: MemoryPlaces,
    pub(super) run: RunId,
    journal: ProjectJournal,
    trace: spore_model::TraceId,
    /// A pass of a weaving: the weaver takes tasks off the inbox.
    is_woven: bool,
    _locks: Vec<Lock>,
}

impl<'a> Pass<'a> {
    /// Puts a new pass on record.
    pub(super) fn begin(
        around: &'a Surroundings,
        workspace: &'a Workspace,
        config: &'a Config,
        name: &str,
        settings: &impl Serialize,
    ) -> Result<Self> {
        let journal = workspace.journal(config)?;
        let places = MemoryPlaces::of(workspace);
        let alone = places.lock()?;
        let id = around.ids.run();
        let claimed = claim(workspace, id)?;
        let run = Run {
            settings: serde_json::to_value(settings).map_err(bug)?,
            ..Run::begin(id, RunKind::Memory, name, around.clock.now())
        };
        let trace = run.trace.clone();
        let pass = Self {
            around,
            workspace,
            config,
            places,
            run: id,
            journal,
            trace,
            is_woven: false,
            _locks: vec![alone, claimed],
        };
        let event = pass.event(SourceKind::Runner, "run.started", json!({ "name": name }));
        pass.journal.create_run(&run, &[event])?;
        pass.flush()?;
        Ok(pass)
    }

    /// Takes up a pass that was interrupted or killed.
    pub(super) fn reopen(
        around: &'a Surroundings,
        workspace: &'a Workspace,
        config: &'a Config,
        run: &Run,
    ) -> Result<Self> {
        let journal = workspace.journal(config)?;
        let places = MemoryPlaces::of(workspace);
        let locks = vec![places.lock()?, claim(workspace, run.id)?];
        let pass = Self {
            around,
            workspace,
            config,
            places,
            run: run.id,
            journal,
            trace: run.trace.clone(),
            is_woven: false,
            _locks: locks,
        };
        let change =
            RunChange { state: Some(RunState::Running), park: Some(None), ..RunChange::default() };
        let event = pass.event(SourceKind::Runner, "run.resumed", json!({}));
        pass.journal.update_run(run.id, &change, &[event])?;
        pass.flush()?;
        Ok(pass)
    }

    /// Opens a pass below this one, under this one's lock: a new one, or one that was killed.
    /// Nothing where it has ended.
    pub(super) fn child(
        &self,
        id: RunId,
        name: &str,
        settings: &impl Serialize,
    ) -> Result<Option<Self>> {
        let Self { around, workspace, config, .. } = *self;
        let pass = Self {
            around,
            workspace,
            config,
            places: MemoryPlaces::of(workspace),
            run: id,
            journal: workspace.journal(config)?,
            trace: self.trace.clone(),
            is_woven: true,
            _locks: vec![claim(workspace, id)?],
        };
        match pass.journal.run(id)? {
            Some(run) if !run.is_open() => return Ok(None),
            Some(_) => {
                let change = RunChange {
                    state: Some(RunState::Running),
                    park: Some(None),
                    ..RunChange::default()
                };
                let event = pass.event(SourceKind::Runner, "run.resumed", json!({}));
                pass.journal.update_run(id, &change, &[event])?;
            }
            None => {
                let run = Run {
                    parent: Some(self.run),
                    trace: self.trace.clone(),
                    depth: 1,
                    settings: serde_json::to_value(settings).map_err(bug)?,
                    ..Run::begin(id, RunKind::Memory, name, around.clock.now())
                };
                let event = pass.event(SourceKind::Runner, "run.started", json!({ "name": name }));
                pass.journal.create_run(&run, &[event])?;
            }
        }
        pass.flush()?;
        Ok(Some(pass))
    }

    /// Does a pass from its first step to its end, however much of it is done already. What
    /// cannot be done is the end of the run; what the machine refused can be gone on with.
    pub(super) fn perform<R: Report>(
        &self,
        kind: Option<PassKind>,
        task: Option<&str>,
        act: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let done = act().and_then(|report| {
            let mut report: R = self.step("result", || self.keep_report(report))?;
            self.settle(kind, task, report.ending())?;
            self.finish(&mut report)?;
            Ok(report)
        });
        let done = done.inspect_err(|error| self.give_up(error));
        self.flush()?;
        done
    }

    /// Does a step unless its result is on record.
    pub(super) fn step<T: Serialize + DeserializeOwned>(
        &self,
        name: &'static str,
        act: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        self.steps().once(&StepKey::named(name), |_, _| act())
    }

    pub(super) fn steps(&self) -> Steps<'_> {
        let Self { around, workspace, run, .. } = *self;
        Steps { around, workspace, journal: &self.journal, run }
    }

    fn keep_report<R: Report>(&self, report: R) -> Result<R> {
        self.around.write_json(&self.files().report(), &report)?;
        Ok(report)
    }

    /// Takes the task off the inbox, now that the result is on record and settles it.
    fn settle(
        &self,
        kind: Option<PassKind>,
        task: Option<&str>,
        ending: &mut PassEnding,
    ) -> Result<()> {
        let (Some(kind), Some(name), false) = (kind, task, self.is_woven) else { return Ok(()) };
        let acked: bool = self.step("ack", || {
            let path = self.places.inbox().join(name);
            let Some(body) = self.places.read(&path)? else { return Ok(false) };
            if !Packet::new(name, &body).is_settled_by(kind, ending.terminal) {
                return Ok(false);
            }
            self.around.write_file(&self.files().file(TASK), body.as_bytes())?;
            self.around.remove_file(&path)?;
            Ok(true)
        })?;
        // Killed between the removal and its record, the file is gone and its copy is here.
        let kept = self.files().file(TASK).exists();
        if acked || kept {
            ending.acked = Some(name.to_owned());
        } else {
            ending.pending_task = Some(name.to_owned());
        }
        Ok(())
    }

    fn finish<R: Report>(&self, report: &mut R) -> Result<()> {
        let _: Value = self.steps().once(&StepKey::finish(), |_, entry| {
            let (what, payload) = report.told();
            let ending = report.ending().clone();
            let below = self.journal.children(self.run)?;
            let totals = match below.is_empty() {
                true => RunChange::default(),
                false => totals::of_runs(below.iter()),
            };
            let change = RunChange {
                state: Some(RunState::Ended),
                outcome: Some(ending.outcome()),
                reason: Some(ending.result.clone()),
                ended: Some(self.around.clock.now()),
                ..totals
            };
            let finished = json!({ "outcome": ending.outcome(), "reason": ending.result });
            let restored = report.restored().into_iter();
            entry.events.extend(restored.map(|line| self.event(SourceKind::Human, RESTORED, line)));
            entry.events.push(self.event(SourceKind::Meta, what, payload));
            entry.events.push(self.event(SourceKind::Runner, "run.finished", finished));
            entry.runs.push((self.run, change));
            Ok(json!({}))
        })?;
        Ok(())
    }

    /// Ends a run that can never do better, parks one that was interrupted, and leaves the
    /// rest to be resumed. The caller reports `error`, so that a failure here is not told.
    fn give_up(&self, error: &Error) {
        let interrupted = error.exit_code() == Outcome::Interrupted.exit_code();
        let (change, what) = if interrupted {
            let change = RunChange {
                state: Some(RunState::Parked),
                outcome: Some(Outcome::Interrupted),
                park: Some(Some(Park::Interrupt)),
                ..RunChange::default()
            };
            (change, "run.parked")
        } else if matches!(error.fault, Fault::BadInput | Fault::Usage | Fault::Missing) {
            let change = RunChange {
                state: Some(RunState::Ended),
                outcome: Some(Outcome::Failure),
                ended: Some(self.around.clock.now()),
                ..RunChange::default()
            };
            (change, "run.finished")
        } else {
            return;
        };
        let change = RunChange { reason: Some(error.to_string()), ..change };
        let payload = json!({ "outcome": change.outcome, "reason": error.to_string() });
        let event = self.event(SourceKind::Runner, what, payload);
        let _ = self.journal.update_run(self.run, &change, &[event]);
    }

    fn event(&self, kind: SourceKind, what: &str, payload: Value) -> Event {
        let events = Events { around: self.around, trace: self.trace.clone() };
        events.make(kind, "memory", what, self.run, payload)
    }

    pub(super) fn files(&self) -> RunFiles {
        self.workspace.run_files(self.run)
    }

    pub(super) fn trace(&self) -> spore_model::TraceId {
        self.trace.clone()
    }

    pub(super) fn flush(&self) -> Result<()> {
        outbox::flush(self.around, self.workspace, &self.journal)
    }

    pub(super) fn journal(&self) -> &dyn Journal {
        &self.journal
    }
}
