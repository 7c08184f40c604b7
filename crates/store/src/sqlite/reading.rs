//! Questions about many runs at once: which of them, what they cost, how many bounces they had.
//!
//! A condition stands in the statement only where it was asked for: one that is always true keeps
//! SQLite from the index that would answer the rest.

use std::collections::HashMap;

use rusqlite::types::{ToSqlOutput, Value};
use rusqlite::{Connection, Row, ToSql, params};
use serde::Serialize;
use spore_model::{ContextUse, Cost, Run, RunId, Timestamp, Usage, Usd};

use super::rows::{self, FIGURE, JsonWord, RUN};
use crate::journal::{FigureRow, RunQuery, Spending, SpendingBy};

/// A run with all that is below it: sessions of a list, a race or a flow are booked on its tasks.
const BELOW: &str = "(WITH RECURSIVE below (id) AS (
    SELECT run.id UNION ALL
    SELECT part.id FROM run AS part JOIN below ON part.parent = below.id
      WHERE part.kind NOT IN ('bounce', 'session'))
    SELECT id FROM below)";

/// What was spent by a run: booked on it or below it, or summed up in its row at its end.
fn spent_in_all() -> String {
    format!(
        "max(run.cost_nanos, (
           SELECT coalesce(sum(cost_nanos), 0) FROM spent
           WHERE by = 'run' AND known = 1 AND word IN {BELOW}))"
    )
}

/// Leaves out the runs that a race is made of.
const NO_RACER: &str = "(run.parent IS NULL OR
    (SELECT above.kind FROM run AS above WHERE above.id = run.parent) <> 'race')";

/// Conditions on rows of `run`, and the values that they name.
#[derive(Default)]
struct Conditions {
    all: Vec<String>,
    values: Vec<(&'static str, Value)>,
}

impl Conditions {
    fn of(query: &RunQuery) -> rusqlite::Result<Self> {
        let mut conditions = Self::default();
        match (query.roots_only, query.with_tasks) {
            (true, true) => {
                // The first is what the index holds, word for word.
                conditions.plain("(run.parent IS NULL OR run.kind = 'orchestrate')");
                conditions.plain(NO_RACER);
            }
            (true, false) => conditions.plain("run.parent IS NULL"),
            (false, _) => {}
        }
        if query.open_only {
            conditions.plain("run.mark IS NULL AND run.state <> 'ended'");
        }
        if let Some(kind) = query.kind {
            conditions.add("run.kind = :kind", ":kind", word(&JsonWord(kind))?);
        }
        if let Some(id) = query.before {
            let older = "(run.started, run.id) < (SELECT started, id FROM run WHERE id = :before)";
            conditions.add(older, ":before", word(&JsonWord(id))?);
        }
        let booked = |column: &str| {
            format!(
                "(run.{column} = :{column} OR EXISTS (
                   SELECT 1 FROM ledger WHERE root IN {BELOW} AND ledger.{column} = :{column}))"
            )
        };
        for (column, name, asked) in [
            ("backend", ":backend", &query.backend),
            ("model", ":model", &query.model),
            ("role", ":role", &query.role),
        ] {
            if let Some(asked) = asked {
                conditions.add(&booked(column), name, asked.clone().into());
            }
        }
        if let Some(label) = &query.experiment {
            conditions.add("run.experiment = :experiment", ":experiment", label.clone().into());
        }
        if let Some(text) = &query.text {
            let holds = "instr(lower(coalesce(run.task, run.name)), lower(:text)) > 0";
            conditions.add(holds, ":text", text.clone().into());
        }
        if let Some(usd) = query.min_cost {
            conditions.add(&format!("{} >= :usd", spent_in_all()), ":usd", usd.as_nanos().into());
        }
        if let Some(least) = query.lasted {
            let millis = i64::try_from(least.least.as_millis()).unwrap_or(i64::MAX);
            conditions.add(
                "coalesce(run.ended, :now) - run.started >= :millis",
                ":millis",
                millis.into(),
            );
            conditions.values.push((":now", least.now.as_millis().into()));
        }
        Ok(conditions)
    }

    fn plain(&mut self, condition: &str) {
        self.all.push(condition.to_owned());
    }

    fn add(&mut self, condition: &str, name: &'static str, value: Value) {
        self.plain(condition);
        self.values.push((name, value));
    }

    fn begun_since(&mut self, since: Option<Timestamp>) {
        if let Some(since) = since {
            self.add("run.started >= :since", ":since", since.as_millis().into());
        }
    }

    /// Returns the rows of `ledger` that are asked for, and what they are found by.
    fn booked_since(&mut self, since: Option<Timestamp>) -> &'static str {
        let Some(since) = since else { return "ledger INDEXED BY ledger_sums" };
        self.values.push((":since", since.as_millis().into()));
        "ledger INDEXED BY ledger_recent WHERE booked >= :since"
    }

    fn sql(&self) -> String {
        if self.all.is_empty() { "TRUE".to_owned() } else { self.all.join(" AND ") }
    }

    fn read<T>(
        &self,
        connection: &Connection,
        sql: &str,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        let values: Vec<(&str, &dyn ToSql)> =
            self.values.iter().map(|(name, value)| (*name, value as &dyn ToSql)).collect();
        connection.prepare_cached(sql)?.query_map(&values[..], read)?.collect()
    }
}

fn word<T: Serialize>(word: &JsonWord<T>) -> rusqlite::Result<Value> {
    match word.to_sql()? {
        ToSqlOutput::Owned(value) => Ok(value),
        ToSqlOutput::Borrowed(value) => Value::try_from(value).map_err(Into::into),
        _ => Ok(Value::Null),
    }
}

pub(super) fn runs(connection: &Connection, query: &RunQuery) -> rusqlite::Result<Vec<Run>> {
    let mut conditions = Conditions::of(query)?;
    conditions.begun_since(query.since);
    // Settings are long and of no use in a sum. What is left of a root is in one index.
    let lean = RUN.replace("settings", "'null'");
    let columns = if query.without_settings { &lean } else { RUN };
    let table = match (query.without_settings && query.roots_only, query.open_only) {
        (_, true) => "run INDEXED BY run_open",
        (true, false) => "run INDEXED BY run_figures",
        (false, false) => "run",
    };
    let limit = query.limit.map_or(String::new(), |limit| format!("LIMIT {limit}"));
    let sql = format!(
        "SELECT {columns} FROM {table} WHERE {} ORDER BY started DESC, id DESC {limit}",
        conditions.sql()
    );
    conditions.read(connection, &sql, rows::run)
}

const DAY: i64 = 86_400_000;

/// Returns the sums that are kept as sessions are booked, where they answer the question: it is one
/// about all runs, and about all time or days from their beginning.
fn kept_sums(
    connection: &Connection,
    query: &RunQuery,
    by: SpendingBy,
) -> rusqlite::Result<Option<Vec<Spending>>> {
    let from_day = match query.since.map(Timestamp::as_millis) {
        None => i64::MIN,
        Some(since) if by == SpendingBy::Day && since >= 0 && since % DAY == 0 => since / DAY,
        Some(_) => return Ok(None),
    };
    if !Conditions::of(query)?.all.is_empty() {
        return Ok(None);
    }
    let kept = match by {
        SpendingBy::Run => "run",
        SpendingBy::Role => "role",
        SpendingBy::Model => "model",
        SpendingBy::Day => "day",
        SpendingBy::Experiment => "experiment",
    };
    let sql = "SELECT CASE WHEN known THEN word END, label, runs, sessions, turns, input_tokens,
             output_tokens, cache_read_tokens, cache_write_tokens, cost_nanos, cost_estimated
         FROM spent WHERE by = ?1 AND (by <> 'day' OR CAST(word AS INTEGER) >= ?2)";
    let mut select = connection.prepare_cached(sql)?;
    let sums = select.query_map(params![kept, from_day], |row| spent(row, by))?;
    sums.collect::<rusqlite::Result<_>>().map(Some)
}

/// The runs' own bills are summed first, out of the index alone; the few sums that are left are
/// then held against the conditions on their runs.
pub(super) fn spending(
    connection: &Connection,
    query: &RunQuery,
    by: SpendingBy,
) -> rusqlite::Result<Vec<Spending>> {
    if let Some(sums) = kept_sums(connection, query, by)? {
        return Ok(sums);
    }
    let mut conditions = Conditions::of(query)?;
    let booked = conditions.booked_since(query.since);
    let (inner, outer, label) = match by {
        SpendingBy::Run => ("root", "word", "run.name"),
        SpendingBy::Role => ("role", "word", "NULL"),
        SpendingBy::Model => ("model", "word", "NULL"),
        SpendingBy::Day => ("booked / 86400000", "word", "NULL"),
        SpendingBy::Experiment => ("root", "run.experiment", "NULL"),
    };
    let sums = [
        "turns",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "cost_nanos",
    ];
    let inner_sums = sums.map(|name| format!("sum({name}) AS {name}")).join(", ");
    let sql = format!(
        "SELECT CAST({outer} AS TEXT), {label}, count(DISTINCT paid.root), sum(sessions), {},
             max(estimated)
         FROM (SELECT root, {inner} AS word, count(*) AS sessions, max(cost_estimated) AS estimated,
                   {inner_sums}
               FROM {booked} GROUP BY root, word) AS paid
         CROSS JOIN run ON run.id = paid.root
         WHERE {}
         GROUP BY {outer}",
        sums.map(|name| format!("sum(paid.{name})")).join(", "),
        conditions.sql()
    );
    conditions.read(connection, &sql, |row| spent(row, by))
}

/// Counts the kept sums of runs, or reads the roots of bills alone, which costs a fraction of summing them up once more.
pub(super) fn paying_runs(connection: &Connection, query: &RunQuery) -> rusqlite::Result<u64> {
    let mut conditions = Conditions::of(query)?;
    if conditions.all.is_empty() && query.since.is_none() {
        let kept = "SELECT count(*) FROM spent WHERE by = 'run'";
        let count: i64 = connection.prepare_cached(kept)?.query_row([], |row| row.get(0))?;
        return Ok(count.max(0).cast_unsigned());
    }
    let booked = conditions.booked_since(query.since);
    let sql = format!(
        "SELECT count(*) FROM (
             SELECT DISTINCT root FROM {booked}) AS paid
         CROSS JOIN run ON run.id = paid.root
         WHERE {}",
        conditions.sql()
    );
    let counted = conditions.read(connection, &sql, |row| row.get::<_, i64>(0))?;
    Ok(counted.first().map_or(0, |count| (*count).max(0).cast_unsigned()))
}

/// Reads a sum, from left to right: what it is of, its label, and its figures.
fn spent(row: &Row<'_>, by: SpendingBy) -> rusqlite::Result<Spending> {
    let count = |at: usize| Ok::<_, rusqlite::Error>(row.get::<_, i64>(at)?.max(0).cast_unsigned());
    let of: Option<String> = row.get(0)?;
    Ok(Spending {
        of: match by {
            SpendingBy::Day => of
                .and_then(|day| day.parse::<i64>().ok())
                .map(|day| Timestamp::from_millis(day.saturating_mul(DAY)).day()),
            _ => of,
        },
        label: row.get(1)?,
        runs: count(2)?,
        sessions: count(3)?,
        turns: count(4)?,
        usage: Usage {
            input_tokens: count(5)?,
            output_tokens: count(6)?,
            cache_read_tokens: count(7)?,
            cache_write_tokens: count(8)?,
        },
        cost: Cost { usd: Usd::from_nanos(row.get(9)?), estimated: row.get(10)? },
    })
}

pub(super) fn figures(
    connection: &Connection,
    query: &RunQuery,
) -> rusqlite::Result<Vec<FigureRow>> {
    let mut conditions = Conditions::of(&RunQuery { roots_only: true, ..query.clone() })?;
    conditions.begun_since(query.since);
    // All of it is in one index.
    let sql = format!(
        "SELECT {FIGURE} FROM run INDEXED BY run_figures WHERE {} ORDER BY started DESC, id DESC",
        conditions.sql()
    );
    let mut rows = conditions.read(connection, &sql, rows::figure)?;
    let mut tallies = tallies(connection, query.since)?;
    for row in &mut rows {
        (row.bounces, row.context) = tallies.remove(&row.id).unwrap_or_default();
    }
    Ok(rows)
}

/// How many bounces a run had, and what its newest task file was worth that is known of.
type BounceTally = (u32, Option<ContextUse>);

/// Counts the bounces of runs that began at `since` or later; of all runs in one pass over the index,
/// of some by asking for each of these.
fn tallies(
    connection: &Connection,
    since: Option<Timestamp>,
) -> rusqlite::Result<HashMap<RunId, BounceTally>> {
    let mut conditions = Conditions::default();
    let bounces = match since {
        None => "run AS bounce INDEXED BY run_bounces",
        Some(_) => {
            conditions.plain("(run.parent IS NULL OR run.kind = 'orchestrate')");
            conditions.begun_since(since);
            "run INDEXED BY run_figures
             CROSS JOIN run AS bounce INDEXED BY run_bounces ON bounce.parent = run.id"
        }
    };
    // Of bare columns SQLite takes the row that the maximum is from.
    let sql = format!(
        "SELECT bounce.parent, count(*), bounce.settings,
             max(CASE WHEN bounce.settings <> 'null' THEN bounce.attempt END)
         FROM {bounces}
         WHERE bounce.kind = 'bounce' AND bounce.parent IS NOT NULL AND {}
         GROUP BY bounce.parent",
        conditions.sql()
    );
    let tallies = conditions.read(connection, &sql, |row| {
        let run = row.get::<_, JsonWord<RunId>>(0)?.0;
        let context = serde_json::from_str(row.get_ref(2)?.as_str()?).ok();
        Ok((run, (row.get(1)?, context)))
    })?;
    Ok(tallies.into_iter().collect())
}
