//! Works on a run that is on record, until it ends or has to wait.

use serde_json::json;
use spore_model::{Fault, RunId, RunState, SourceKind};
use spore_pipeline::{Bounce, Conclusion, End, Machine, Rebase, Solo, drive};
use spore_runs::RunReport;
use spore_store::RunChange;

use crate::base::outbox;
use crate::base::totals;
use crate::report;
use crate::run::budget::RunBudget;
use crate::run::context::{ClaimedRun, RunContext, RunProject};
use crate::run::landing::merge::{MergeAsked, MergeEnd, MergeRuns};
use crate::run::landing::merging;
use crate::run::retention::records::{TrimmedRecords, trim_records_hourly};
use crate::session::broker::Broker;
use crate::{Error, Progress, Result, Update};

impl RunProject<'_> {
    /// Works on a run until it ends or has to wait.
    pub(crate) fn work(&self, run: ClaimedRun, progress: &mut dyn Progress) -> Result<RunReport> {
        let Self { around, workspace, journal, .. } = *self;
        for note in &run.enforcement.notes {
            progress.update(&Update::NotHeld { note: note.clone() });
        }
        outbox::flush(around, workspace, journal)?;
        let id = run.id;
        let end = self.play(run, progress)?;
        outbox::flush(around, workspace, journal)?;
        // Nothing is amiss with a run because room could not be made.
        let cap = self.config.records.cap_bytes;
        if let Ok(TrimmedRecords { runs: 1.., bytes }) =
            trim_records_hourly(around, workspace, journal, cap, id)
        {
            progress.update(&Update::RecordsTrimmed { bytes });
        }
        if let End::Concluded(Conclusion { fault: Some(fault), reason, .. }) = end {
            return Err(could_not_begin(fault, &reason, id));
        }
        report::report(workspace, journal, id)
    }

    fn play(&self, run: ClaimedRun, progress: &mut dyn Progress) -> Result<End> {
        let id = run.id;
        let knowledge = self.workspace.knowledge(self.config)?;
        let spent = self.bills(id)?.iter().map(|entry| entry.cost.usd).sum();
        let mut machine: Box<dyn Machine> = match &run.settings.solo {
            Some(role) if run.settings.solo_lands => Box::new(Solo::new(role).landing()),
            Some(role) => Box::new(Solo::new(role)),
            None if run.settings.is_merge() => Box::new(Rebase::new(run.settings.rules())),
            None => Box::new(Bounce::new(run.settings.rules())),
        };
        let mut world = RunContext {
            project: *self,
            knowledge: &knowledge,
            broker: Broker::start(self.around, self.workspace, self.config)?,
            budget: RunBudget::new(run.settings.budget, spent),
            run,
            progress,
            gate_results: Vec::new(),
        };
        let end = drive(machine.as_mut(), &mut world)?;
        if let End::Parked { outcome, park, reason } = &end {
            let change = RunChange {
                state: Some(RunState::Parked),
                outcome: Some(*outcome),
                park: Some(Some(*park)),
                reason: Some(reason.clone()),
                ..totals::of_ledger(self.bills(id)?.iter())
            };
            let payload = json!({ "park": park, "reason": reason });
            let event = world.event(SourceKind::Runner, "run.parked", id, payload);
            self.journal.update_run(id, &change, &[event])?;
        }
        Ok(end)
    }
}

impl MergeRuns for RunProject<'_> {
    fn merge(
        &self,
        asked: &MergeAsked<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Vec<(RunId, MergeEnd)>> {
        let play =
            |run: ClaimedRun, progress: &mut dyn Progress| self.play(run, progress).map(|_| ());
        merging::perform(*self, asked, &play, progress)
    }
}

/// A run that could not rightly begin is an error of the call, although it is on record.
fn could_not_begin(fault: Fault, reason: &str, run: RunId) -> Error {
    let error = Error::new(fault, reason);
    match fault {
        Fault::BadInput if reason.contains("nothing to mend") => {
            error.hint("leave `--fix-red` out, and say what is to be done")
        }
        Fault::BadInput => error.hint(format!(
            "mend them and commit; `--fix-red` makes mending them the task, and `--allow-red` goes \
             on all the same where tests have names; what they said is in \
             .spore/runs/{run}/baseline/"
        )),
        _ => error,
    }
}
