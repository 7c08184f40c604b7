//! Works on a run that is on record, until it ends or has to wait.

use serde_json::json;
use spore_config::Config;
use spore_git::Repository;
use spore_model::{Allowance, BudgetTree, Fault, RunId, RunState, SourceKind, TraceId};
use spore_pipeline::{Bounce, Conclusion, End, Machine, Solo, drive};
use spore_store::{Journal, RunChange};

use crate::base::outbox;
use crate::report::{self, RunReport};
use crate::run::context::RunContext;
use crate::run::record::ledger_totals;
use crate::run::settings::RunSettings;
use crate::session::broker::Broker;
use crate::session::players::Cast;
use crate::session::sandbox::Hold;
use crate::{Error, Progress, Result, Surroundings, Update, Workspace};

/// The project whose runs are worked on, with its stores and settings.
pub(crate) struct RunProject<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) workspace: &'a Workspace,
    pub(crate) repository: &'a Repository,
    pub(crate) config: &'a Config,
    pub(crate) journal: &'a dyn Journal,
}

/// A run that this process has claimed and is about to work on.
pub(crate) struct ClaimedRun {
    pub(crate) run: RunId,
    pub(crate) trace: TraceId,
    pub(crate) depth: u32,
    pub(crate) settings: RunSettings,
    pub(crate) cast: Cast,
    pub(crate) hold: Hold,
}

impl RunProject<'_> {
    /// Works on a run until it ends or has to wait.
    pub(crate) fn work(
        &self,
        claimed: ClaimedRun,
        progress: &mut dyn Progress,
    ) -> Result<RunReport> {
        let Self { around, workspace, journal, .. } = *self;
        for note in &claimed.hold.notes {
            progress.update(&Update::NotHeld { note: note.clone() });
        }
        outbox::flush(around, workspace, journal)?;
        let run = claimed.run;
        let end = self.play(claimed, progress)?;
        outbox::flush(around, workspace, journal)?;
        if let End::Concluded(Conclusion { fault: Some(fault), reason, .. }) = end {
            return Err(could_not_begin(fault, &reason, run));
        }
        report::report(workspace, journal, run)
    }

    fn play(&self, claimed: ClaimedRun, progress: &mut dyn Progress) -> Result<End> {
        let ClaimedRun { run, trace, depth, settings, cast, hold } = claimed;
        let knowledge = self.workspace.knowledge(self.config)?;
        let broker = Broker::start(self.around, self.workspace, self.config)?;
        let spent = self.journal.ledger(run)?.iter().map(|entry| entry.cost.usd).sum();
        let caps = Allowance { usd: Some(settings.budget), ..Allowance::default() };
        let budget = BudgetTree::new(caps, Allowance { usd: Some(spent), ..Allowance::default() });
        let mut machine: Box<dyn Machine> = match &settings.solo {
            Some(role) => Box::new(Solo::new(role)),
            None => Box::new(Bounce::new(settings.rules())),
        };
        let mut world = RunContext {
            around: self.around,
            workspace: self.workspace,
            repository: self.repository,
            journal: self.journal,
            knowledge: &knowledge,
            config: self.config,
            run,
            trace,
            depth,
            settings,
            cast,
            broker,
            hold,
            budget,
            reserved: None,
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
                ..ledger_totals(&self.journal.ledger(run)?)
            };
            let payload = json!({ "park": park, "reason": reason });
            let event = world.event(SourceKind::Runner, "run.parked", run, payload);
            self.journal.update_run(run, &change, &[event])?;
        }
        Ok(end)
    }
}

/// A run that could not rightly begin is an error of the call, although it is on record.
fn could_not_begin(fault: Fault, reason: &str, run: RunId) -> Error {
    let error = Error::new(fault, reason);
    match fault {
        Fault::BadInput => error.hint(format!(
            "mend them and commit, or add `--allow-red` to go on all the same; what they said is \
             in .spore/runs/{run}/baseline/"
        )),
        _ => error,
    }
}
