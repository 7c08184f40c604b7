//! What was paid, by run, role, model, day or experiment.
//!
//! Sums are made of the ledger alone: every paid session is in it once, also those of runs that
//! are not over. A session belongs to the run that it is booked on, so a task inside of a flow has
//! a line of its own, and lines of any kind add up to the same total.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::{Cost, LedgerEntry, RunId, Timestamp, Usage};
use spore_store::{Journal, JournalError, RunQuery, Spending, SpendingBy};

use crate::list::RunFilter;
use crate::live::Presence;

#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct SpendingReport {
    pub total: SpendingLine,
    /// Dearest first; days in their order.
    pub lines: Vec<SpendingLine>,
}

impl SpendingReport {
    /// Leaves `most` of the lines that were made `by` something: the dearest, of days the newest. The
    /// total stays that of all.
    pub fn cut_to(&mut self, most: usize, by: SpendingBy) {
        let over = self.lines.len().saturating_sub(most);
        match by {
            SpendingBy::Day => drop(self.lines.drain(..over)),
            _ => self.lines.truncate(most),
        }
    }
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

/// Sums up what the sessions cost that were booked on runs that `filter` asks for. Its kind, status and
/// time are those of what was asked for, whose sessions are mostly booked on parts of it. Its limit
/// does not count.
pub fn report_spending(
    journal: &dyn Journal,
    presence: &dyn Presence,
    filter: &RunFilter,
    by: SpendingBy,
    now: Timestamp,
) -> Result<SpendingReport, JournalError> {
    if filter.kind.is_some() || filter.status.is_some() || filter.min_time.is_some() {
        return of_whole_runs(journal, presence, filter, by, now);
    }
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

/// Sums up what was booked on runs that belong to no other and on all that is below them.
fn of_whole_runs(
    journal: &dyn Journal,
    presence: &dyn Presence,
    filter: &RunFilter,
    by: SpendingBy,
    now: Timestamp,
) -> Result<SpendingReport, JournalError> {
    // When something was booked is asked of the bills, and not of the runs.
    let query = RunQuery { since: None, without_settings: true, ..filter.query(now) };
    let mut asked: BTreeSet<RunId> = BTreeSet::new();
    for run in journal.runs(&query)? {
        let is_meant = |wanted| run.status(run.is_open() && presence.is_alive(run.id)) == wanted;
        if filter.status.is_none_or(is_meant)
            && !filter.is_too_short(journal, presence, &run, now)?
        {
            asked.insert(run.id);
        }
    }
    let booked = RunQuery { since: filter.since, ..RunQuery::default() };
    let mut of_run = journal.spending(&booked, SpendingBy::Run)?;
    let mut above: HashMap<RunId, Option<RunId>> = HashMap::new();
    let mut kept = Vec::new();
    for sum in of_run.drain(..) {
        let Some(id) = sum.of.as_deref().and_then(|id| id.parse::<RunId>().ok()) else { continue };
        if asked.contains(&root_of(journal, id, &asked, &mut above)?) {
            kept.push((id, sum));
        }
    }
    let runs = kept.len() as u64;
    let mut sums: BTreeMap<Option<String>, Spending> = BTreeMap::new();
    for (id, sum) in kept {
        match by {
            SpendingBy::Run => add(&mut sums, sum),
            SpendingBy::Experiment => {
                let of = journal.run(id)?.and_then(|run| run.experiment);
                add(&mut sums, Spending { of, label: None, ..sum });
            }
            SpendingBy::Role | SpendingBy::Model | SpendingBy::Day => {
                let mut of_bills: BTreeMap<Option<String>, Spending> = BTreeMap::new();
                let bills = journal.ledger(id)?.into_iter();
                for bill in bills.filter(|bill| filter.since.is_none_or(|at| bill.booked >= at)) {
                    add(&mut of_bills, of_bill(bill, by));
                }
                // However many sessions it had, it is one run.
                of_bills.into_values().for_each(|sum| add(&mut sums, Spending { runs: 1, ..sum }));
            }
        }
    }
    Ok(sorted(sums.into_values().collect(), by, runs))
}

/// Returns the run that `run` is a part of and that belongs to no other. What is `known` to be one is
/// not looked up.
fn root_of(
    journal: &dyn Journal,
    run: RunId,
    known: &BTreeSet<RunId>,
    above: &mut HashMap<RunId, Option<RunId>>,
) -> Result<RunId, JournalError> {
    let mut at = run;
    while !known.contains(&at) {
        let parent = match above.get(&at) {
            Some(parent) => *parent,
            None => *above.entry(at).or_insert(journal.run(at)?.and_then(|run| run.parent)),
        };
        match parent {
            Some(parent) => at = parent,
            None => break,
        }
    }
    Ok(at)
}

fn of_bill(bill: LedgerEntry, by: SpendingBy) -> Spending {
    Spending {
        of: match by {
            SpendingBy::Role => Some(bill.role),
            SpendingBy::Model => bill.model,
            SpendingBy::Day => Some(bill.booked.day()),
            SpendingBy::Run | SpendingBy::Experiment => None,
        },
        label: None,
        runs: 1,
        sessions: 1,
        turns: bill.turns.into(),
        usage: bill.usage,
        cost: bill.cost,
    }
}

fn add(sums: &mut BTreeMap<Option<String>, Spending>, more: Spending) {
    let Some(sum) = sums.get_mut(&more.of) else {
        sums.insert(more.of.clone(), more);
        return;
    };
    sum.runs += more.runs;
    sum.sessions += more.sessions;
    sum.turns += more.turns;
    sum.usage = [sum.usage, more.usage].into_iter().sum();
    sum.cost = [sum.cost, more.cost].into_iter().sum();
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

#[cfg(test)]
mod tests {
    use spore_model::{Outcome, Run, RunKind, RunState, RunStatus, Usd};
    use spore_store::SqliteJournal;

    use super::*;
    use crate::live::Live;

    struct Nobody;

    impl Presence for Nobody {
        fn is_alive(&self, _: RunId) -> bool {
            false
        }

        fn live(&self, _: RunId) -> Vec<Live> {
            Vec::new()
        }
    }

    const DAY: i64 = 86_400_000;

    /// A loop with two tasks, which are paid for by themselves, and a task that was escalated.
    fn journal() -> (tempfile::TempDir, SqliteJournal) {
        let dir = tempfile::tempdir().unwrap();
        let journal = SqliteJournal::open(&dir.path().join("spore.db")).unwrap();
        let of = |number: u128, kind, outcome, parent: Option<u128>| Run {
            parent: parent.map(|number| RunId::from_parts(0, number)),
            state: RunState::Ended,
            outcome: Some(outcome),
            ..Run::begin(RunId::from_parts(0, number), kind, "a run", Timestamp::from_millis(0))
        };
        let (task, verified) = (RunKind::Orchestrate, Outcome::Success);
        for run in [
            of(1, RunKind::Loop, verified, None),
            of(2, task, verified, Some(1)),
            of(3, task, Outcome::NeedsEscalation, Some(1)),
            of(4, task, Outcome::NeedsEscalation, None),
        ] {
            journal.create_run(&run, &[]).unwrap();
        }
        for (session, root, model, day, dollars) in
            [(12, 2, "m", 1, 1.0), (22, 2, "m", 2, 2.0), (13, 3, "n", 2, 4.0), (14, 4, "m", 3, 8.0)]
        {
            let part = of(session, RunKind::Session, verified, Some(root));
            journal.create_run(&part, &[]).unwrap();
            let bill = LedgerEntry {
                session: part.id,
                root: RunId::from_parts(0, root),
                role: "coder".to_owned(),
                backend: "replay".to_owned(),
                model: Some(model.to_owned()),
                turns: 1,
                usage: Usage { input_tokens: 1, ..Usage::default() },
                cost: Cost::exact(Usd::from_dollars(dollars).unwrap()),
                interrupted: false,
                duration_ms: None,
                failure: None,
                booked: Timestamp::from_millis(day * DAY),
            };
            assert!(journal.book(&bill).unwrap());
        }
        (dir, journal)
    }

    #[track_caller]
    fn check(filter: &RunFilter, by: SpendingBy, expected: &[(&str, f64)], runs: u64) {
        let (_dir, journal) = journal();
        let now = Timestamp::from_millis(9 * DAY);
        let report = report_spending(&journal, &Nobody, filter, by, now).unwrap();
        let of = |line: &SpendingLine| line.of.clone().unwrap_or_default();
        let lines: Vec<(String, f64)> =
            report.lines.iter().map(|line| (of(line), line.cost.usd.as_dollars())).collect();
        let told: Vec<(&str, f64)> = lines.iter().map(|(of, usd)| (of.as_str(), *usd)).collect();
        assert_eq!(told, expected);
        assert_eq!(report.total.runs, runs);
        let sum: f64 = expected.iter().map(|(_, usd)| usd).sum();
        assert_eq!(report.total.cost.usd.as_dollars(), sum);
        assert_eq!(report.total.sessions, report.total.usage.input_tokens);
    }

    #[test]
    fn a_list_costs_what_its_tasks_cost() {
        let loops = RunFilter { kind: Some(RunKind::Loop), ..RunFilter::default() };
        check(&loops, SpendingBy::Model, &[("n", 4.0), ("m", 3.0)], 2);
        check(&loops, SpendingBy::Day, &[("1970-01-02", 1.0), ("1970-01-03", 6.0)], 2);
        check(&loops, SpendingBy::Experiment, &[("", 7.0)], 2);
        let [two, three] = [2, 3].map(|id| RunId::from_parts(0, id).to_string());
        check(&loops, SpendingBy::Run, &[(&three, 4.0), (&two, 3.0)], 2);
        let since = Some(Timestamp::from_millis(2 * DAY));
        let late = RunFilter { since, ..loops };
        check(&late, SpendingBy::Model, &[("n", 4.0), ("m", 2.0)], 2);
        let races = RunFilter { kind: Some(RunKind::Race), ..RunFilter::default() };
        check(&races, SpendingBy::Run, &[], 0);
    }

    #[test]
    fn of_days_the_newest_are_left_and_else_the_dearest() {
        let left = |by: SpendingBy, most: usize| {
            let (_dir, journal) = journal();
            let (all, now) = (RunFilter::default(), Timestamp::from_millis(9 * DAY));
            let mut report = report_spending(&journal, &Nobody, &all, by, now).unwrap();
            report.cut_to(most, by);
            assert_eq!(report.total.sessions, 4);
            let of = report.lines.into_iter().filter_map(|line| line.of);
            of.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(left(SpendingBy::Day, 2), "1970-01-03 1970-01-04");
        assert_eq!(left(SpendingBy::Day, 9), "1970-01-02 1970-01-03 1970-01-04");
        assert_eq!(left(SpendingBy::Model, 1), "m");
    }

    #[test]
    fn only_what_stands_as_it_is_asked_for_is_summed_up() {
        let escalated = RunFilter { status: Some(RunStatus::Escalated), ..RunFilter::default() };
        check(&escalated, SpendingBy::Role, &[("coder", 8.0)], 1);
        let task = RunFilter { kind: Some(RunKind::Orchestrate), ..RunFilter::default() };
        check(&task, SpendingBy::Role, &[("coder", 8.0)], 1);
        let all = RunFilter::default();
        check(&all, SpendingBy::Role, &[("coder", 15.0)], 3);
    }
}
