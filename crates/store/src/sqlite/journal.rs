//! The journal's methods, one transaction each.

use rusqlite::{Connection, OptionalExtension, Params, Row, named_params, params};
use serde_json::Value;
use spore_model::{
    EffectClass, Event, EventId, LedgerEntry, Run, RunId, SessionToken, StepKey, Timestamp,
};

use super::SqliteJournal;
use super::failure::journal_error;
use super::reading;
use super::rows::{self, Json, JsonWord, RUN, integer};
use super::writes::{
    add_events, add_runs, book, change_run, claim_step, fenced, find_step, require_run,
};
use crate::journal::{
    FigureRow, Journal, JournalError, PendingEvent, ProcessRow, RecordedStep, RunChange, RunQuery,
    Spending, SpendingBy, StepBegun, StepEntry,
};
use crate::spine::Cursor;

/// How much one flush appends at once: enough that the time for the locks does not count, little
/// enough that other writers of the spine wait for milliseconds only.
const FLUSH_EVENTS: u32 = 1024;
const FLUSH_BYTES: usize = 4 << 20;

fn all<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare_cached(sql)?.query_map(params, read)?.collect()
}

fn one<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    connection.prepare_cached(sql)?.query_row(params, read).optional()
}

fn execute(connection: &Connection, sql: &str, params: impl Params) -> Result<(), JournalError> {
    let done = connection.prepare_cached(sql).and_then(|mut write| write.execute(params));
    done.map(|_| ()).map_err(journal_error)
}

impl Journal for SqliteJournal {
    fn create_run(&self, run: &Run, events: &[Event]) -> Result<(), JournalError> {
        self.write(|connection| {
            if add_runs(connection, std::slice::from_ref(run))? {
                add_events(connection, events)?;
            }
            Ok(())
        })
    }

    fn run(&self, id: RunId) -> Result<Option<Run>, JournalError> {
        self.read(|connection| {
            let sql = format!("SELECT {RUN} FROM run WHERE id = ?1");
            one(connection, &sql, [JsonWord(id)], rows::run)
        })
    }

    fn children(&self, parent: RunId) -> Result<Vec<Run>, JournalError> {
        let sql = format!("SELECT {RUN} FROM run WHERE parent = ?1 ORDER BY started, id");
        self.read(|connection| all(connection, &sql, [JsonWord(parent)], rows::run))
    }

    fn runs(&self, query: &RunQuery) -> Result<Vec<Run>, JournalError> {
        self.read(|connection| reading::runs(connection, query))
    }

    fn spending(&self, query: &RunQuery, by: SpendingBy) -> Result<Vec<Spending>, JournalError> {
        self.read(|connection| reading::spending(connection, query, by))
    }

    fn paying_runs(&self, query: &RunQuery) -> Result<u64, JournalError> {
        self.read(|connection| reading::paying_runs(connection, query))
    }

    fn figures(&self, query: &RunQuery) -> Result<Vec<FigureRow>, JournalError> {
        self.read(|connection| reading::figures(connection, query))
    }

    fn find_runs(&self, typed: &str) -> Result<Vec<Run>, JournalError> {
        let typed = typed.to_ascii_uppercase();
        if typed.is_empty() {
            return Ok(Vec::new());
        }
        // Reads every id, out of the index alone: a person types this, no loop does.
        let sql = format!(
            "SELECT {RUN} FROM run WHERE id IN (
                 SELECT id FROM run
                 WHERE substr(id, 1, length(?1)) = ?1 OR substr(id, -length(?1)) = ?1
                    OR instr(substr(id, -8), ?1) > 0)
             ORDER BY id"
        );
        self.read(|connection| all(connection, &sql, [typed], rows::run))
    }

    fn update_run(
        &self,
        id: RunId,
        change: &RunChange,
        events: &[Event],
    ) -> Result<(), JournalError> {
        self.write(|connection| {
            change_run(connection, id, change)?;
            add_events(connection, events)
        })
    }

    fn begin_step(
        &self,
        run: RunId,
        key: &StepKey,
        class: EffectClass,
        intent: &Value,
        now: Timestamp,
    ) -> Result<StepBegun, JournalError> {
        let sql = "INSERT INTO step (run, key, class, attempt, intent, begun)
             VALUES (:run, :key, :class, 1, :intent, :now)
             ON CONFLICT (run, key) DO UPDATE SET attempt = attempt + (result IS NULL)
             RETURNING *";
        self.write(|connection| {
            require_run(connection, run)?;
            let params = named_params! {
                ":run": JsonWord(run),
                ":key": JsonWord(key),
                ":class": JsonWord(class),
                ":intent": Json(intent),
                ":now": now.as_millis(),
            };
            let step = connection
                .prepare_cached(sql)
                .and_then(|mut insert| insert.query_row(params, rows::step))
                .map_err(journal_error)?;
            Ok(StepBegun { attempt: step.attempt, intent: step.intent, result: step.result })
        })
    }

    fn amend_step(
        &self,
        run: RunId,
        key: &StepKey,
        attempt: u32,
        new_runs: &[Run],
        events: &[Event],
    ) -> Result<(), JournalError> {
        self.write(|connection| {
            let step = claim_step(connection, run, key, attempt)?;
            if step.result.is_some() {
                return Err(fenced(&step, attempt));
            }
            if add_runs(connection, new_runs)? || new_runs.is_empty() {
                add_events(connection, events)?;
            }
            Ok(())
        })
    }

    fn finish_step(
        &self,
        run: RunId,
        key: &StepKey,
        attempt: u32,
        entry: &StepEntry,
    ) -> Result<(), JournalError> {
        self.write(|connection| {
            let step = claim_step(connection, run, key, attempt)?;
            match &step.result {
                Some(result) if *result == entry.result => return Ok(()),
                Some(_) => return Err(fenced(&step, attempt)),
                None => {}
            }
            let sql = "UPDATE step SET result = ?3, finished = ?4 WHERE run = ?1 AND key = ?2";
            let now = entry.now.as_millis();
            execute(
                connection,
                sql,
                params![JsonWord(run), JsonWord(key), Json(&entry.result), now],
            )?;
            add_runs(connection, &entry.new_runs)?;
            for (id, change) in &entry.runs {
                change_run(connection, *id, change)?;
            }
            for bill in &entry.ledger {
                book(connection, bill)?;
            }
            add_events(connection, &entry.events)
        })
    }

    fn step(&self, run: RunId, key: &StepKey) -> Result<Option<RecordedStep>, JournalError> {
        self.read(|connection| find_step(connection, run, key))
    }

    fn steps(&self, run: RunId) -> Result<Vec<RecordedStep>, JournalError> {
        let sql = "SELECT * FROM step WHERE run = ?1 ORDER BY seq";
        self.read(|connection| all(connection, sql, [JsonWord(run)], rows::step))
    }

    fn book(&self, entry: &LedgerEntry) -> Result<bool, JournalError> {
        self.write(|connection| book(connection, entry))
    }

    fn ledger(&self, root: RunId) -> Result<Vec<LedgerEntry>, JournalError> {
        let sql = "SELECT * FROM ledger WHERE root = ?1 ORDER BY booked, session";
        self.read(|connection| all(connection, sql, [JsonWord(root)], rows::ledger_entry))
    }

    fn process_started(&self, row: &ProcessRow) -> Result<(), JournalError> {
        let sql = "INSERT OR REPLACE INTO process
                 (token, root, session, pid, start_ticks, boot_id, started)
             VALUES (:token, :root, :session, :pid, :start_ticks, :boot_id, :started)";
        self.write(|connection| {
            require_run(connection, row.root)?;
            require_run(connection, row.session)?;
            let params = named_params! {
                ":token": JsonWord(&row.token),
                ":root": JsonWord(row.root),
                ":session": JsonWord(row.session),
                ":pid": row.pid,
                ":start_ticks": integer(row.start_ticks),
                ":boot_id": row.boot_id,
                ":started": row.started.as_millis(),
            };
            execute(connection, sql, params)
        })
    }

    fn process_ended(&self, token: &SessionToken, now: Timestamp) -> Result<(), JournalError> {
        let sql = "UPDATE process SET ended = ?2 WHERE token = ?1 AND ended IS NULL";
        self.write(|connection| execute(connection, sql, params![JsonWord(token), now.as_millis()]))
    }

    fn open_processes(&self, root: RunId) -> Result<Vec<ProcessRow>, JournalError> {
        let sql = "SELECT * FROM process WHERE root = ?1 AND ended IS NULL
             ORDER BY started, token";
        self.read(|connection| all(connection, sql, [JsonWord(root)], rows::process))
    }

    fn unended_processes(&self) -> Result<Vec<ProcessRow>, JournalError> {
        let sql = "SELECT * FROM process WHERE ended IS NULL ORDER BY started, token";
        self.read(|connection| all(connection, sql, [], rows::process))
    }

    fn cached(&self, kind: &str, key: &str) -> Result<Option<Value>, JournalError> {
        let sql = "SELECT value FROM cache WHERE kind = ?1 AND key = ?2";
        self.read(|connection| {
            one(connection, sql, [kind, key], |row| Ok(row.get::<_, Json<Value>>(0)?.0))
        })
    }

    fn cache(
        &self,
        kind: &str,
        key: &str,
        value: &Value,
        now: Timestamp,
    ) -> Result<(), JournalError> {
        let sql = "INSERT OR REPLACE INTO cache (kind, key, value, stored)
             VALUES (?1, ?2, ?3, ?4)";
        self.write(|connection| {
            execute(connection, sql, params![kind, key, Json(value), now.as_millis()])
        })
    }

    fn pending_events(&self) -> Result<Vec<Event>, JournalError> {
        let sql = "SELECT line FROM outbox ORDER BY seq";
        let lines =
            self.read(|connection| all(connection, sql, [], |row| row.get::<_, String>(0)))?;
        lines
            .iter()
            .map(|line| serde_json::from_str(line))
            .collect::<Result<_, _>>()
            .map_err(|error| JournalError::Corrupt { source: error.into() })
    }

    fn flush_intent(&self) -> Result<Option<Cursor>, JournalError> {
        self.read(|connection| {
            one(connection, "SELECT partition, offset FROM flush", [], |row| {
                let offset = row.get::<_, i64>(1)?.max(0).cast_unsigned();
                Ok(Cursor { partition: row.get(0)?, offset })
            })
        })
    }

    fn begin_flush(&self, intent: &Cursor) -> Result<Vec<PendingEvent>, JournalError> {
        self.write(|connection| {
            let events = oldest_pending(connection).map_err(journal_error)?;
            if !events.is_empty() {
                let sql = "INSERT OR REPLACE INTO flush (only, partition, offset)
                     VALUES (1, ?1, ?2)";
                execute(connection, sql, params![intent.partition, integer(intent.offset)])?;
            }
            Ok(events)
        })
    }

    fn end_flush(&self, written: &[EventId]) -> Result<(), JournalError> {
        self.write(|connection| {
            for id in written {
                execute(connection, "DELETE FROM outbox WHERE id = ?1", [JsonWord(id)])?;
            }
            execute(connection, "DELETE FROM flush", [])
        })
    }
}

fn oldest_pending(connection: &Connection) -> rusqlite::Result<Vec<PendingEvent>> {
    let sql = "SELECT id, line FROM outbox ORDER BY seq LIMIT ?1";
    let mut select = connection.prepare_cached(sql)?;
    let mut waiting = select.query([FLUSH_EVENTS])?;
    let (mut pending, mut bytes) = (Vec::new(), 0);
    while let Some(row) = waiting.next()?
        && bytes < FLUSH_BYTES
    {
        let event = PendingEvent { id: row.get::<_, JsonWord<EventId>>(0)?.0, line: row.get(1)? };
        bytes += event.line.len();
        pending.push(event);
    }
    Ok(pending)
}
