//! What sessions may cost, and what they did.

use spore_model::{Allowance, BudgetTree, LedgerEntry, Outcome, Park, Usd};
use spore_pipeline::{Done, SessionSummary};

use crate::run::context::RunContext;
use crate::{Result, Update};

impl RunContext<'_> {
    /// Sets budget aside for a session, or says that there is none.
    pub(crate) fn out_of_budget(&mut self) -> Option<Done> {
        match self.budget.reserve(BudgetTree::ROOT, Allowance::default()) {
            Ok(reserved) => {
                self.reserved = Some(reserved);
                None
            }
            Err(_) => Some(Done::Stopped {
                park: Park::Budget,
                reason: format!("its budget of {} is spent", self.settings.budget),
            }),
        }
    }

    /// Settles what the session really cost, and tells by how much it went over.
    pub(crate) fn settle(&mut self, entry: &LedgerEntry) {
        let Some(reserved) = self.reserved.take() else { return };
        let spent = Allowance { usd: Some(entry.cost.usd), ..Allowance::default() };
        let over = self.budget.settle(reserved, spent);
        if over.usd > Usd::ZERO {
            self.progress.update(&Update::OverBudget { usd: over.usd });
        }
    }

    /// Books a session that will be run again: it has no place in a step's result.
    pub(crate) fn book_if_stopped(&mut self, role: &str, session: &SessionSummary) -> Result<()> {
        let waits = [Outcome::Interrupted, Outcome::QuotaParked, Outcome::NeedsHuman];
        if waits.contains(&session.outcome) {
            return self.book_stopped(role, session);
        }
        Ok(())
    }

    pub(crate) fn book_stopped(&mut self, role: &str, session: &SessionSummary) -> Result<()> {
        let booking = self.booking(role, session);
        let bill = booking.book_stopped(self.journal, &self.events(), session.outcome)?;
        self.settle(&bill);
        Ok(())
    }
}
