//! Where a run's sessions are booked: on the run that pays for them.
//!
//! Mostly that is the run itself. One that a session started is paid for by the run that this
//! session belongs to, so its books are a part of those.

use std::collections::BTreeSet;

use spore_model::{LedgerEntry, Run, RunId, RunKind};
use spore_store::{Journal, JournalError};

/// Returns the sessions below `run`, at any depth.
pub fn sessions_below(journal: &dyn Journal, run: RunId) -> Result<BTreeSet<RunId>, JournalError> {
    let mut found = BTreeSet::new();
    let mut open = vec![run];
    while let Some(run) = open.pop() {
        for child in journal.children(run)? {
            if child.kind == RunKind::Session {
                found.insert(child.id);
            }
            open.push(child.id);
        }
    }
    Ok(found)
}

/// Returns what was booked for a run that may have been started by a session.
pub(crate) fn books_of(journal: &dyn Journal, run: &Run) -> Result<Vec<LedgerEntry>, JournalError> {
    let own = journal.ledger(run.id)?;
    let mut above = run.parent;
    if !own.is_empty() || above.is_none() {
        return Ok(own);
    }
    let sessions = sessions_below(journal, run.id)?;
    while let Some(id) = above {
        let mut bills = journal.ledger(id)?;
        bills.retain(|bill| sessions.contains(&bill.session));
        if !bills.is_empty() {
            return Ok(bills);
        }
        above = journal.run(id)?.and_then(|run| run.parent);
    }
    Ok(own)
}
