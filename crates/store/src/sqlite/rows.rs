//! Rows as the model's types.

use rusqlite::Row;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use serde::Serialize;
use serde::de::value::{Error as WordError, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde_json::Value;
use spore_model::{Cost, LedgerEntry, Run, RunCost, RunStanding, Timestamp, Usage, Usd};

use crate::journal::{FigureRow, ProcessRow, RecordedStep};

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

/// The columns of a run, in the order in which [`run`] takes them.
pub(super) const RUN: &str = "id, parent, trace, kind, name, task, attempt, depth, role, backend,
    model, state, outcome, park, mark, reason, base_commit, tree_hash, started, ended, turns,
    input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_nanos, cost_estimated,
    experiment, settings";

/// Hands out the columns of a row from left to right. To seek each by its name took a third of the
/// time in which ten thousand runs are read.
struct Columns<'a> {
    row: &'a Row<'a>,
    at: usize,
}

impl Columns<'_> {
    fn take<T: FromSql>(&mut self) -> rusqlite::Result<T> {
        self.at += 1;
        self.row.get(self.at - 1)
    }

    fn word<T: DeserializeOwned>(&mut self) -> rusqlite::Result<T> {
        Ok(self.take::<JsonWord<T>>()?.0)
    }

    fn word_if_any<T: DeserializeOwned>(&mut self) -> rusqlite::Result<Option<T>> {
        Ok(self.take::<Option<JsonWord<T>>>()?.map(|word| word.0))
    }

    fn count(&mut self) -> rusqlite::Result<u64> {
        Ok(self.take::<i64>()?.max(0).cast_unsigned())
    }
}

/// Reads a row of [`RUN`].
pub(super) fn run(row: &Row<'_>) -> rusqlite::Result<Run> {
    let mut columns = Columns { row, at: 0 };
    // Fields are read in the order in which they stand here, which is that of `RUN`.
    Ok(Run {
        id: columns.word()?,
        parent: columns.word_if_any()?,
        trace: columns.word()?,
        kind: columns.word()?,
        name: columns.take()?,
        task: columns.take()?,
        attempt: columns.take()?,
        depth: columns.take()?,
        role: columns.take()?,
        backend: columns.take()?,
        model: columns.take()?,
        state: columns.word()?,
        outcome: columns.word_if_any()?,
        park: columns.word_if_any()?,
        mark: columns.word_if_any()?,
        reason: columns.take()?,
        base_commit: columns.word_if_any()?,
        tree_hash: columns.word_if_any()?,
        started: Timestamp::from_millis(columns.take()?),
        ended: columns.take::<Option<i64>>()?.map(Timestamp::from_millis),
        turns: columns.take()?,
        tokens: Usage {
            input_tokens: columns.count()?,
            output_tokens: columns.count()?,
            cache_read_tokens: columns.count()?,
            cache_write_tokens: columns.count()?,
        },
        cost: RunCost::from(Cost {
            usd: Usd::from_nanos(columns.take()?),
            estimated: columns.take()?,
        }),
        experiment: columns.take()?,
        settings: columns.take::<Json<Value>>()?.0,
    })
}

/// The columns of a run's figures, in the order in which [`figure`] takes them.
pub(super) const FIGURE: &str = "id, parent, kind, mark, state, park, outcome, name, task, reason,
    started, ended, turns, cost_nanos, cost_estimated, experiment";

/// Reads a row of [`FIGURE`]. How its bounces ended is not in it.
pub(super) fn figure(row: &Row<'_>) -> rusqlite::Result<FigureRow> {
    let mut columns = Columns { row, at: 0 };
    // As in `run`, in the order of `FIGURE`.
    Ok(FigureRow {
        id: columns.word()?,
        parent: columns.word_if_any()?,
        standing: RunStanding {
            kind: columns.word()?,
            mark: columns.word_if_any()?,
            state: columns.word()?,
            park: columns.word_if_any()?,
            outcome: columns.word_if_any()?,
        },
        name: columns.take()?,
        task: columns.take()?,
        reason: columns.take()?,
        started: Timestamp::from_millis(columns.take()?),
        ended: columns.take::<Option<i64>>()?.map(Timestamp::from_millis),
        turns: columns.take()?,
        cost: Cost { usd: Usd::from_nanos(columns.take()?), estimated: columns.take()? },
        experiment: columns.take()?,
        bounces: 0,
        context: None,
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
