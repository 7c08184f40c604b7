//! Rows as the model's types.

use rusqlite::Row;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use serde::Serialize;
use serde::de::value::{Error as WordError, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde_json::Value;
use spore_model::{Cost, LedgerEntry, Run, RunCost, Timestamp, Usage, Usd};

use crate::journal::{ProcessRow, RecordedStep};

/// A value whose JSON is one string: ids, and enums without fields. Its column holds the
/// same word that people see in `--json`.
pub(super) struct JsonWord<T>(pub(super) T);

impl<T: Serialize> ToSql for JsonWord<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match serde_json::to_value(&self.0) {
            Ok(Value::String(word)) => Ok(word.into()),
            Ok(other) => Err(rusqlite::Error::ToSqlConversionFailure(
                format!("{other} is not a word").into(),
            )),
            Err(error) => Err(rusqlite::Error::ToSqlConversionFailure(error.into())),
        }
    }
}

impl<T: DeserializeOwned> FromSql for JsonWord<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let word: StrDeserializer<'_, WordError> = value.as_str()?.into_deserializer();
        T::deserialize(word).map(Self).map_err(FromSqlError::other)
    }
}

/// A JSON document in a text column.
pub(super) struct Json<T>(pub(super) T);

impl ToSql for Json<&Value> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.to_string().into())
    }
}

impl FromSql for Json<Value> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        serde_json::from_str(value.as_str()?).map(Self).map_err(FromSqlError::other)
    }
}

/// A count that SQLite keeps as a signed number; nothing real comes near the limit.
pub(super) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn count(row: &Row<'_>, column: &str) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)?.max(0).cast_unsigned())
}

fn word<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    Ok(row.get::<_, JsonWord<T>>(column)?.0)
}

fn word_if_any<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<T>> {
    Ok(row.get::<_, Option<JsonWord<T>>>(column)?.map(|word| word.0))
}

fn time(row: &Row<'_>, column: &str) -> rusqlite::Result<Timestamp> {
    row.get(column).map(Timestamp::from_millis)
}

fn time_if_any(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<Timestamp>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
}

fn usage(row: &Row<'_>) -> rusqlite::Result<Usage> {
    Ok(Usage {
        input_tokens: count(row, "input_tokens")?,
        output_tokens: count(row, "output_tokens")?,
        cache_read_tokens: count(row, "cache_read_tokens")?,
        cache_write_tokens: count(row, "cache_write_tokens")?,
    })
}

fn cost(row: &Row<'_>) -> rusqlite::Result<Cost> {
    Ok(Cost { usd: Usd::from_nanos(row.get("cost_nanos")?), estimated: row.get("cost_estimated")? })
}

pub(super) fn run(row: &Row<'_>) -> rusqlite::Result<Run> {
    Ok(Run {
        id: word(row, "id")?,
        parent: word_if_any(row, "parent")?,
        trace: word(row, "trace")?,
        kind: word(row, "kind")?,
        name: row.get("name")?,
        task: row.get("task")?,
        attempt: row.get("attempt")?,
        depth: row.get("depth")?,
        role: row.get("role")?,
        backend: row.get("backend")?,
        model: row.get("model")?,
        state: word(row, "state")?,
        outcome: word_if_any(row, "outcome")?,
        park: word_if_any(row, "park")?,
        mark: word_if_any(row, "mark")?,
        reason: row.get("reason")?,
        base_commit: word_if_any(row, "base_commit")?,
        tree_hash: word_if_any(row, "tree_hash")?,
        started: time(row, "started")?,
        ended: time_if_any(row, "ended")?,
        turns: row.get("turns")?,
        tokens: usage(row)?,
        cost: RunCost::from(cost(row)?),
        experiment: row.get("experiment")?,
        settings: row.get::<_, Json<Value>>("settings")?.0,
    })
}

pub(super) fn step(row: &Row<'_>) -> rusqlite::Result<RecordedStep> {
    Ok(RecordedStep {
        run: word(row, "run")?,
        key: word(row, "key")?,
        class: word(row, "class")?,
        attempt: row.get("attempt")?,
        intent: row.get::<_, Json<Value>>("intent")?.0,
        result: row.get::<_, Option<Json<Value>>>("result")?.map(|result| result.0),
        begun: time(row, "begun")?,
        finished: time_if_any(row, "finished")?,
    })
}

pub(super) fn ledger_entry(row: &Row<'_>) -> rusqlite::Result<LedgerEntry> {
    Ok(LedgerEntry {
        session: word(row, "session")?,
        root: word(row, "root")?,
        role: row.get("role")?,
        backend: row.get("backend")?,
        model: row.get("model")?,
        turns: row.get("turns")?,
        usage: usage(row)?,
        cost: cost(row)?,
        interrupted: row.get("interrupted")?,
        duration_ms: row
            .get::<_, Option<i64>>("duration_ms")?
            .map(|time| time.max(0).cast_unsigned()),
        failure: word_if_any(row, "failure")?,
        booked: time(row, "booked")?,
    })
}

pub(super) fn process(row: &Row<'_>) -> rusqlite::Result<ProcessRow> {
    Ok(ProcessRow {
        token: word(row, "token")?,
        root: word(row, "root")?,
        session: word(row, "session")?,
        pid: row.get("pid")?,
        start_ticks: count(row, "start_ticks")?,
        boot_id: row.get("boot_id")?,
        started: time(row, "started")?,
    })
}
