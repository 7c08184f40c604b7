//! What several methods of the journal share, inside their transaction.

use rusqlite::{Connection, OptionalExtension, named_params, params};
use spore_model::{Event, LedgerEntry, Run, RunId, StepKey, Timestamp};

use super::failure::journal_error;
use super::rows::{self, Json, JsonWord, integer};
use crate::journal::{JournalError, RecordedStep, RunChange};
use crate::spine;

/// Adds runs, passing over those that are there. Returns whether any was added.
pub(super) fn add_runs(connection: &Connection, runs: &[Run]) -> Result<bool, JournalError> {
    let mut any = false;
    for run in runs {
        if let Some(parent) = run.parent {
            require_run(connection, parent)?;
        }
        any |= insert_run(connection, run).map_err(journal_error)?;
    }
    Ok(any)
}

pub(super) fn require_run(connection: &Connection, run: RunId) -> Result<(), JournalError> {
    let found = connection
        .prepare_cached("SELECT 1 FROM run WHERE id = ?1")
        .and_then(|mut select| select.exists([JsonWord(run)]))
        .map_err(journal_error)?;
    if found { Ok(()) } else { Err(JournalError::NoSuchRun { run }) }
}

pub(super) fn find_step(
    connection: &Connection,
    run: RunId,
    key: &StepKey,
) -> rusqlite::Result<Option<RecordedStep>> {
    let mut select = connection.prepare_cached("SELECT * FROM step WHERE run = ?1 AND key = ?2")?;
    select.query_row(params![JsonWord(run), JsonWord(key)], rows::step).optional()
}

/// Returns the step if `attempt` is the newest at it.
pub(super) fn claim_step(
    connection: &Connection,
    run: RunId,
    key: &StepKey,
    attempt: u32,
) -> Result<RecordedStep, JournalError> {
    let step = find_step(connection, run, key)
        .map_err(journal_error)?
        .ok_or_else(|| JournalError::NoSuchStep { run, key: key.clone() })?;
    if step.attempt == attempt { Ok(step) } else { Err(fenced(&step, attempt)) }
}

pub(super) fn fenced(step: &RecordedStep, attempt: u32) -> JournalError {
    JournalError::Fenced { run: step.run, key: step.key.clone(), attempt, newest: step.attempt }
}

/// Puts events into the outbox, behind those that wait there.
pub(super) fn add_events(connection: &Connection, events: &[Event]) -> Result<(), JournalError> {
    for event in events {
        let line = spine::line_of(event).ok_or(JournalError::EventTooLarge { event: event.id })?;
        connection
            .prepare_cached("INSERT INTO outbox (id, line) VALUES (?1, ?2) ON CONFLICT DO NOTHING")
            .and_then(|mut insert| insert.execute(params![JsonWord(event.id), line]))
            .map_err(journal_error)?;
    }
    Ok(())
}

pub(super) fn change_run(
    connection: &Connection,
    id: RunId,
    change: &RunChange,
) -> Result<(), JournalError> {
    match update_run(connection, id, change).map_err(journal_error)? {
        0 if change.if_open => require_run(connection, id),
        0 => Err(JournalError::NoSuchRun { run: id }),
        _ => Ok(()),
    }
}

fn update_run(connection: &Connection, id: RunId, change: &RunChange) -> rusqlite::Result<usize> {
    let mut update = connection.prepare_cached(
        "UPDATE run SET
             state = coalesce(:state, state),
             outcome = coalesce(:outcome, outcome),
             park = CASE WHEN :set_park THEN :park ELSE park END,
             mark = coalesce(:mark, mark),
             reason = nullif(coalesce(:reason, reason), ''),
             tree_hash = coalesce(:tree_hash, tree_hash),
             base_commit = coalesce(:base_commit, base_commit),
             ended = coalesce(:ended, ended),
             turns = coalesce(:turns, turns),
             input_tokens = coalesce(:input_tokens, input_tokens),
             output_tokens = coalesce(:output_tokens, output_tokens),
             cache_read_tokens = coalesce(:cache_read_tokens, cache_read_tokens),
             cache_write_tokens = coalesce(:cache_write_tokens, cache_write_tokens),
             cost_nanos = coalesce(:cost_nanos, cost_nanos),
             cost_estimated = coalesce(:cost_estimated, cost_estimated),
             settings = coalesce(:settings, settings)
         WHERE id = :id AND NOT (:if_open AND state = 'ended')",
    )?;
    update.execute(named_params! {
        ":id": JsonWord(id),
        ":if_open": change.if_open,
        ":state": change.state.map(JsonWord),
        ":outcome": change.outcome.map(JsonWord),
        ":set_park": change.park.is_some(),
        ":park": change.park.flatten().map(JsonWord),
        ":mark": change.mark.map(JsonWord),
        ":reason": change.reason,
        ":tree_hash": change.tree_hash.as_ref().map(JsonWord),
        ":base_commit": change.base_commit.as_ref().map(JsonWord),
        ":ended": change.ended.map(Timestamp::as_millis),
        ":turns": change.turns,
        ":input_tokens": change.tokens.map(|tokens| integer(tokens.input_tokens)),
        ":output_tokens": change.tokens.map(|tokens| integer(tokens.output_tokens)),
        ":cache_read_tokens": change.tokens.map(|tokens| integer(tokens.cache_read_tokens)),
        ":cache_write_tokens": change.tokens.map(|tokens| integer(tokens.cache_write_tokens)),
        ":cost_nanos": change.cost.map(|cost| cost.cost_usd.as_nanos()),
        ":cost_estimated": change.cost.map(|cost| cost.cost_estimated),
        ":settings": change.settings.as_ref().map(Json),
    })
}

/// Books a session unless it is booked. Returns whether it was booked now.
pub(super) fn book(connection: &Connection, entry: &LedgerEntry) -> Result<bool, JournalError> {
    require_run(connection, entry.root)?;
    require_run(connection, entry.session)?;
    insert_ledger_entry(connection, entry).map_err(journal_error)
}

fn insert_ledger_entry(connection: &Connection, entry: &LedgerEntry) -> rusqlite::Result<bool> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO ledger (session, root, role, backend, model, turns, input_tokens,
             output_tokens, cache_read_tokens, cache_write_tokens, cost_nanos, cost_estimated,
             interrupted, booked, duration_ms, failure)
         VALUES (:session, :root, :role, :backend, :model, :turns, :input_tokens,
             :output_tokens, :cache_read_tokens, :cache_write_tokens, :cost_nanos,
             :cost_estimated, :interrupted, :booked, :duration_ms, :failure)
         ON CONFLICT (session) DO NOTHING",
    )?;
    let added = insert.execute(named_params! {
        ":session": JsonWord(entry.session),
        ":root": JsonWord(entry.root),
        ":role": entry.role,
        ":backend": entry.backend,
        ":model": entry.model,
        ":turns": entry.turns,
        ":input_tokens": integer(entry.usage.input_tokens),
        ":output_tokens": integer(entry.usage.output_tokens),
        ":cache_read_tokens": integer(entry.usage.cache_read_tokens),
        ":cache_write_tokens": integer(entry.usage.cache_write_tokens),
        ":cost_nanos": entry.cost.usd.as_nanos(),
        ":cost_estimated": entry.cost.estimated,
        ":interrupted": entry.interrupted,
        ":booked": entry.booked.as_millis(),
        ":duration_ms": entry.duration_ms.map(integer),
        ":failure": entry.failure.map(JsonWord),
    })?;
    Ok(added == 1)
}

/// Adds a run unless its id is taken. Returns whether it was added.
fn insert_run(connection: &Connection, run: &Run) -> rusqlite::Result<bool> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO run (id, parent, trace, kind, name, task, attempt, depth, role, backend,
             model, state, outcome, park, mark, reason, base_commit, tree_hash, started, ended,
             turns, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
             cost_nanos, cost_estimated, experiment, settings)
         VALUES (:id, :parent, :trace, :kind, :name, :task, :attempt, :depth, :role, :backend,
             :model, :state, :outcome, :park, :mark, :reason, :base_commit, :tree_hash, :started,
             :ended, :turns, :input_tokens, :output_tokens, :cache_read_tokens,
             :cache_write_tokens, :cost_nanos, :cost_estimated, :experiment, :settings)
         ON CONFLICT (id) DO NOTHING",
    )?;
    let added = insert.execute(named_params! {
        ":id": JsonWord(run.id),
        ":parent": run.parent.map(JsonWord),
        ":trace": JsonWord(&run.trace),
        ":kind": JsonWord(run.kind),
        ":name": run.name,
        ":task": run.task,
        ":attempt": run.attempt,
        ":depth": run.depth,
        ":role": run.role,
        ":backend": run.backend,
        ":model": run.model,
        ":state": JsonWord(run.state),
        ":outcome": run.outcome.map(JsonWord),
        ":park": run.park.map(JsonWord),
        ":mark": run.mark.map(JsonWord),
        ":reason": run.reason,
        ":base_commit": run.base_commit.as_ref().map(JsonWord),
        ":tree_hash": run.tree_hash.as_ref().map(JsonWord),
        ":started": run.started.as_millis(),
        ":ended": run.ended.map(Timestamp::as_millis),
        ":turns": run.turns,
        ":input_tokens": integer(run.tokens.input_tokens),
        ":output_tokens": integer(run.tokens.output_tokens),
        ":cache_read_tokens": integer(run.tokens.cache_read_tokens),
        ":cache_write_tokens": integer(run.tokens.cache_write_tokens),
        ":cost_nanos": run.cost.cost_usd.as_nanos(),
        ":cost_estimated": run.cost.cost_estimated,
        ":experiment": run.experiment,
        ":settings": Json(&run.settings),
    })?;
    Ok(added == 1)
}
