//! What was paid, by run, role, model, day or experiment.
//!
//! Sums are made of the ledger alone: every paid session is in it once, also those of runs that
//! are not over. A session belongs to the run that it is booked on, so a task inside of a flow has
//! a line of its own, and lines of any kind add up to the same total.

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::{Cost, Timestamp, Usage};
use spore_store::{Journal, JournalError, RunQuery, Spending, SpendingBy};

use crate::list::RunFilter;

#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct SpendingReport {
    pub total: SpendingLine,
    /// Dearest first; days in their order.
    pub lines: Vec<SpendingLine>,
}

#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct SpendingLine {
    /// The run's id, or the role, model, day or experiment; nothing where it has none.
    pub of: Option<String>,
    /// A run's task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub runs: u64,
    pub sessions: u64,
    pub turns: u64,
    pub usage: Usage,
    pub cost: Cost,
}

impl From<Spending> for SpendingLine {
    fn from(sum: Spending) -> Self {
        Self {
            of: sum.of,
            name: sum.label,
            runs: sum.runs,
            sessions: sum.sessions,
            turns: sum.turns,
            usage: sum.usage,
            cost: sum.cost,
        }
    }
}

/// Sums up what the sessions cost that were booked on runs that `filter` asks for. Its status and
/// its limit do not count.
pub fn report_spending(
    journal: &dyn Journal,
    filter: &RunFilter,
    by: SpendingBy,
    now: Timestamp,
) -> Result<SpendingReport, JournalError> {
    // A task inside of a flow is no root, and pays by itself.
    let query = RunQuery { roots_only: false, ..filter.query(now) };
    let sums = journal.spending(&query, by)?;
    let runs = match by {
        SpendingBy::Run | SpendingBy::Experiment => sums.iter().map(|sum| sum.runs).sum(),
        // A run has sessions of several roles: it would count once for each.
        _ => journal.paying_runs(&query)?,
    };
    Ok(sorted(sums, by, runs))
}

fn sorted(sums: Vec<Spending>, by: SpendingBy, runs: u64) -> SpendingReport {
    let mut lines: Vec<SpendingLine> = sums.into_iter().map(SpendingLine::from).collect();
    let total = SpendingLine {
        of: None,
        name: None,
        runs,
        sessions: lines.iter().map(|line| line.sessions).sum(),
        turns: lines.iter().map(|line| line.turns).sum(),
        usage: lines.iter().map(|line| line.usage).sum(),
        cost: lines.iter().map(|line| line.cost).sum(),
    };
    match by {
        SpendingBy::Day => lines.sort_by(|a, b| a.of.cmp(&b.of)),
        _ => lines.sort_by(|a, b| (b.cost.usd, &a.of).cmp(&(a.cost.usd, &b.of))),
    }
    SpendingReport { total, lines }
}
