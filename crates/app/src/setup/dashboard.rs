//! `spore dashboard`: everything of a project on one screen, and whether it helps.

use schemars::JsonSchema;
use serde::Serialize;
use spore_memory::ledger::LineRecord;
use spore_model::{Cost, Timestamp, Usd};
use spore_runs::{
    BouncesSaved, ExperimentSum, RunFigures, RunFilter, RunStats, SpendingBy, WaitingRun,
};
use spore_store::Journal;

use crate::base::outbox;
use crate::knowledge::carried_runs::{CarriedRuns, carried_by};
use crate::knowledge::ledger::{read_ledger, told_map};
use crate::report::LocalRuns;
use crate::setup::health::{CheckoutSize, ProjectHealth, checkout_size, health_within};
use crate::{Result, Surroundings, Workspace};

const DAY: i64 = 86_400_000;
/// Rates are of the runs of so many days.
const RATED_DAYS: i64 = 30;
/// More runs that wait than this are counted and not shown.
const MOST_WAITING: usize = 12;

#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Dashboard {
    pub root: String,
    pub at: Timestamp,
    /// The newest first.
    pub recent: Vec<RunFigures>,
    /// The newest of what waits for a person.
    pub waiting: Vec<WaitingRun>,
    /// How many more wait.
    pub waiting_left_out: u32,
    pub spend: SpendToday,
    /// Of the last thirty days.
    pub stats: RunStats,
    pub helps: Helps,
    pub experiments: Vec<ExperimentSum>,
    /// Runs whose process is gone.
    pub stale: Vec<String>,
    pub checkouts: CheckoutSize,
    pub health: ProjectHealth,
}

/// What was spent, from the ledger. Days are those of UTC.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct SpendToday {
    pub today: Cost,
    pub week: Cost,
    /// The last seven days, the oldest first.
    pub days: Vec<DaySpend>,
    /// Today, by the hour in which a run began, in US dollars.
    pub hours: Vec<f64>,
}

#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct DaySpend {
    pub day: String,
    pub usd: f64,
}

/// Whether what task files carry helps.
#[derive(Clone, PartialEq, Debug, Default, Serialize, JsonSchema)]
pub struct Helps {
    pub lessons: CarriedOutcomes,
    /// Of the lines of the memory.
    pub memory: CarriedOutcomes,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounces_saved: Option<BouncesSaved>,
}

/// How often things were carried by the runs in question, and how often the ledger of memory saw them help or fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
pub struct CarriedOutcomes {
    /// How many there are.
    pub known: u32,
    pub carried: u32,
    /// Of the runs that carried one, by how they ended.
    pub verified: u32,
    pub fell_short: u32,
    pub helped: u32,
    pub missed: u32,
}

impl CarriedOutcomes {
    fn add(&mut self, carried: Option<&CarriedRuns>, record: Option<&LineRecord>) {
        let tally = record.map(LineRecord::tally).unwrap_or_default();
        self.known += 1;
        self.carried += carried.map_or(0, |carried| carried.runs);
        self.verified += carried.map_or(0, |carried| carried.verified);
        self.fell_short += carried.map_or(0, |carried| carried.fell_short);
        self.helped += tally.helped;
        self.missed += tally.missed;
    }
}

/// How runs went, and whether what they were told helped.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct StatsReport {
    #[serde(flatten)]
    pub stats: RunStats,
    pub helps: Helps,
}

/// Puts everything of a project together.
pub fn dashboard(around: &Surroundings, limit: usize) -> Result<Dashboard> {
    let workspace = Workspace::find(around)?;
    workspace.check_initialised()?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    outbox::catch_up(around, &workspace, &journal);
    let (now, runs) = (around.clock.now(), LocalRuns(&workspace));
    let back = |days: i64| Timestamp::from_millis(now.as_millis().saturating_sub(days * DAY));
    let rated =
        RunFilter { since: Some(back(RATED_DAYS)), limit: u32::MAX, ..RunFilter::default() };
    let figures = spore_runs::figures_with_tasks(&journal, &runs, &rated, now)?;
    let waiting = spore_runs::waiting_runs(&journal, &runs, back(7), MOST_WAITING)?;
    Ok(Dashboard {
        root: workspace.root().display().to_string(),
        at: now,
        stale: waiting.stale.iter().map(|run| run.short()).collect(),
        waiting_left_out: waiting.left_out,
        waiting: waiting.runs,
        spend: spend(&journal, &runs, &figures, now)?,
        stats: spore_runs::stats_of(&figures),
        helps: helps_of(&workspace, &config, &journal, &figures)?,
        experiments: spore_runs::sums_by_experiment(&figures),
        checkouts: checkout_size(workspace.state()),
        health: health_within(around, &workspace, &config, false)?,
        recent: figures.into_iter().filter(RunFigures::is_root).take(limit).collect(),
    })
}

fn spend(
    journal: &dyn Journal,
    runs: &LocalRuns<'_>,
    figures: &[RunFigures],
    now: Timestamp,
) -> Result<SpendToday> {
    let today = Timestamp::from_millis(now.as_millis() - now.as_millis().rem_euclid(DAY));
    let first = Timestamp::from_millis(today.as_millis() - 6 * DAY);
    let filter = RunFilter { since: Some(first), limit: u32::MAX, ..RunFilter::default() };
    let sums = spore_runs::report_spending(journal, runs, &filter, SpendingBy::Day, now)?;
    let of = |day: &str| sums.lines.iter().find(|line| line.of.as_deref() == Some(day));
    let days = (0..7).map(|back| {
        let day = Timestamp::from_millis(first.as_millis() + back * DAY).day();
        let usd = of(&day).map_or(0.0, |line| line.cost.usd.as_dollars());
        DaySpend { day, usd }
    });
    let exact = Cost::exact(Usd::ZERO);
    Ok(SpendToday {
        today: of(&today.day()).map_or(exact, |line| line.cost),
        week: sums.total.cost,
        days: days.collect(),
        hours: spore_runs::dollars_by_hour(figures, today).to_vec(),
    })
}

/// Says how the runs went that `filter` asks for, and whether what they were told helped.
pub fn stats_report(around: &Surroundings, filter: &RunFilter) -> Result<StatsReport> {
    let workspace = Workspace::find_with_runs(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    outbox::catch_up(around, &workspace, &journal);
    let now = around.clock.now();
    let figures = spore_runs::figures_with_tasks(&journal, &LocalRuns(&workspace), filter, now)?;
    let helps = helps_of(&workspace, &config, &journal, &figures)?;
    Ok(StatsReport { stats: spore_runs::stats_of(&figures), helps })
}

fn helps_of(
    workspace: &Workspace,
    config: &spore_config::Config,
    journal: &dyn Journal,
    figures: &[RunFigures],
) -> Result<Helps> {
    let (mut lessons, mut memory) = (CarriedOutcomes::default(), CarriedOutcomes::default());
    let carried = carried_by(workspace, journal, figures)?;
    // What the memory says of itself is no reason to show nothing else.
    let ledger = read_ledger(&workspace.spore_dir()).unwrap_or_default();
    for line in told_map(workspace, config)?.lines() {
        let sum = if line.is_lesson() { &mut lessons } else { &mut memory };
        sum.add(carried.get(&line.hash), ledger.entry(&line.hash));
    }
    Ok(Helps { lessons, memory, bounces_saved: spore_runs::bounces_saved(figures) })
}
