//! A flow that a session started.
//!
//! It is below that session in the tree of runs, works in its directory and is paid for by the same
//! run. Nobody goes on with it by itself: what has to wait is told to the session, which is to
//! decide, and is over.

use serde_json::json;
use spore_compose::Parked;
use spore_model::{Run, RunState, SourceKind};
use spore_store::RunChange;

use super::flow::ActiveFlow;
use crate::Result;
use crate::base::totals;

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
                self.end_open(&child)?;
                let stopped = Parked {
                    outcome: spore_model::Outcome::Interrupted,
                    park: spore_model::Park::Interrupt,
                    reason: "stopped with what it belongs to".to_owned(),
                };
                self.journal.update_run(child.id, &self.over(&child, &stopped)?, &[])?;
            }
        }
        Ok(())
    }
}
