//! What a run consumed, summed up for its row.

use spore_model::{Cost, LedgerEntry, Run, Usage};
use spore_store::RunChange;

/// Sums up sessions as they were booked.
pub(crate) fn of_ledger<'a>(entries: impl Iterator<Item = &'a LedgerEntry> + Clone) -> RunChange {
    RunChange {
        turns: Some(entries.clone().map(|entry| entry.turns).sum()),
        tokens: Some(entries.clone().map(|entry| entry.usage).sum::<Usage>()),
        cost: Some(entries.map(|entry| entry.cost).sum::<Cost>().into()),
        ..RunChange::default()
    }
}

/// Sums up the rows below a run.
pub(crate) fn of_runs<'a>(runs: impl Iterator<Item = &'a Run> + Clone) -> RunChange {
    RunChange {
        turns: Some(runs.clone().map(|run| run.turns).sum()),
        tokens: Some(runs.clone().map(|run| run.tokens).sum::<Usage>()),
        cost: Some(runs.map(|run| Cost::from(run.cost)).sum::<Cost>().into()),
        ..RunChange::default()
    }
}
