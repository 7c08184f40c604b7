//! What a run consumed, summed up for its row.

use spore_model::{
    Cost, LedgerEntry, Outcome, Run, RunId, RunKind, RunState, Timestamp, Usage, Usd,
};
use spore_runs::sessions_below;
use spore_store::{Journal, RunChange};

use crate::{Error, Result};

/// Sums up sessions as they were booked.
pub(crate) fn of_ledger<'a>(entries: impl Iterator<Item = &'a LedgerEntry> + Clone) -> RunChange {
    RunChange {
        turns: Some(sum(entries.clone().map(|entry| entry.turns))),
        tokens: Some(entries.clone().map(|entry| entry.usage).sum::<Usage>()),
        cost: Some(entries.map(|entry| entry.cost).sum::<Cost>().into()),
        ..RunChange::default()
    }
}

/// Sums up what is booked on a run and on all that is below it: what a list or a flow is made of has
/// books of its own.
pub(crate) fn of_tree(journal: &dyn Journal, run: RunId) -> Result<RunChange> {
    let mut entries = Vec::new();
    let mut below = vec![run];
    while let Some(id) = below.pop() {
        entries.extend(journal.ledger(id)?);
        let parts = journal.children(id)?.into_iter();
        below.extend(parts.filter(|part| part.kind != RunKind::Session).map(|part| part.id));
    }
    Ok(of_ledger(entries.iter()))
}

/// Sums up the rows below a run.
pub(crate) fn of_runs<'a>(runs: impl Iterator<Item = &'a Run> + Clone) -> RunChange {
    RunChange {
        turns: Some(sum(runs.clone().map(|run| run.turns))),
        tokens: Some(runs.clone().map(|run| run.tokens).sum::<Usage>()),
        cost: Some(runs.map(|run| Cost::from(run.cost)).sum::<Cost>().into()),
        ..RunChange::default()
    }
}

/// Sums up the rows below a run, and what sessions among them had started: a session's own row has
/// its own tokens alone, those that it started have rows of their own below it.
pub(crate) fn with_started(journal: &dyn Journal, below: &[Run]) -> Result<RunChange> {
    let mut all = below.to_vec();
    for session in below.iter().filter(|run| run.kind == RunKind::Session) {
        all.extend(journal.children(session.id)?);
    }
    Ok(of_runs(all.iter()))
}

/// Returns what was booked on `payer` for the sessions below `run`, at any depth, and on tasks below it,
/// which have books of their own.
pub(crate) fn booked_below(
    journal: &dyn Journal,
    payer: RunId,
    run: RunId,
) -> Result<Vec<LedgerEntry>> {
    let mut bills = journal.ledger(payer)?;
    if payer != run {
        let sessions = sessions_below(journal, run)?;
        bills.retain(|bill| sessions.contains(&bill.session));
    }
    let mut below = journal.children(run)?;
    while let Some(part) = below.pop() {
        if matches!(part.kind, RunKind::Orchestrate | RunKind::Solo | RunKind::Merge) {
            bills.extend(journal.ledger(part.id)?);
        }
        below.extend(journal.children(part.id)?);
    }
    Ok(bills)
}

/// Agents count their turns by themselves, and may say anything.
fn sum(turns: impl Iterator<Item = u32>) -> u32 {
    turns.fold(0, u32::saturating_add)
}

/// What a tree of runs has cost so far, whatever its layers have summed up yet.
pub(crate) fn spent(journal: &dyn Journal, run: &Run) -> Result<Usd> {
    match run.kind {
        RunKind::Exec | RunKind::Stage | RunKind::Phase | RunKind::Campaign | RunKind::Sentinel => {
            let below = journal.children(run.id)?;
            below.iter().map(|child| spent(journal, child)).sum()
        }
        RunKind::Orchestrate => {
            let own: Usd = journal.ledger(run.id)?.iter().map(|entry| entry.cost.usd).sum();
            let merges = journal.children(run.id)?;
            let merges = merges.iter().filter(|child| child.kind == RunKind::Merge);
            Ok(own + merges.map(|merge| spent(journal, merge)).sum::<Result<Usd>>()?)
        }
        RunKind::Merge => Ok(journal.ledger(run.id)?.iter().map(|entry| entry.cost.usd).sum()),
        RunKind::Spawn => {
            let below = journal.children(run.id)?;
            below.iter().map(|session| spent(journal, session)).sum()
        }
        RunKind::Session => {
            let started = journal.children(run.id)?;
            let started = started.iter().map(|run| spent(journal, run)).sum::<Result<Usd>>()?;
            Ok(run.cost.cost_usd + started)
        }
        _ => Ok(run.cost.cost_usd),
    }
}

/// Ends a run that a session started and that stopped with an error, with all that is open below it, and
/// returns the error with what it cost by then: the session answers for that, whatever went wrong.
pub(crate) fn given_up(
    journal: &dyn Journal,
    run: RunId,
    at: Timestamp,
    error: Error,
) -> Result<Error> {
    let Some(run) = journal.run(run)? else { return Ok(error) };
    let gone = spent(journal, &run)?;
    end_open(journal, &run, at, &error.to_string())?;
    Ok(error.having_spent(gone))
}

fn end_open(journal: &dyn Journal, run: &Run, at: Timestamp, why: &str) -> Result<()> {
    for child in journal.children(run.id)? {
        end_open(journal, &child, at, why)?;
    }
    if run.state == RunState::Ended {
        return Ok(());
    }
    let change = RunChange {
        state: Some(RunState::Ended),
        outcome: Some(Outcome::Failure),
        park: Some(None),
        reason: Some(why.to_owned()),
        ended: Some(at),
        ..with_started(journal, &journal.children(run.id)?)?
    };
    Ok(journal.update_run(run.id, &change, &[])?)
}
