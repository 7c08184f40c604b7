use spore_app::{Result, SpendingBy, SpendingReport, Surroundings};

use super::filter::FilterArgs;
use super::table::{self, CsvArgs, RunTable};
use crate::ui::Ui;

/// Sum up what sessions cost, by run, role, model, day or experiment
///
/// Every paid session is counted once, on the day it was booked, also those of runs that are not
/// over or were in vain. `~` marks sums with an estimate in them. Days are those of UTC, and
/// `--since` is when a session was booked. `--kind` and `--status` choose among what was asked for, as
/// in `runs list`; what its parts were paid counts with it.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore runs cost --since 7d --by day\n  spore runs cost --by model --csv"
)]
pub(crate) struct RunsCostArgs {
    /// What the sums are made for
    #[arg(long, value_enum, default_value = "run")]
    by: SumsBy,
    /// How many lines at the most, the dearest, of days the newest; all if left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    csv: CsvArgs,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum SumsBy {
    Run,
    Role,
    Model,
    Day,
    Experiment,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &RunsCostArgs) -> Result<u8> {
    let (by, name) = match args.by {
        SumsBy::Run => (SpendingBy::Run, "run"),
        SumsBy::Role => (SpendingBy::Role, "role"),
        SumsBy::Model => (SpendingBy::Model, "model"),
        SumsBy::Day => (SpendingBy::Day, "day"),
        SumsBy::Experiment => (SpendingBy::Experiment, "experiment"),
    };
    let mut report = spore_app::sum_spending(around, &args.filter.filter(around)?, by)?;
    report.cut_to(args.limit.map_or(usize::MAX, |limit| limit as usize), by);
    let values = || values(&report, name);
    table::print(ui, &args.csv, &report, values, || text(&report, name));
    Ok(0)
}

fn text(report: &SpendingReport, name: &'static str) -> String {
    if report.total.sessions == 0 {
        return "No session was paid for.".to_owned();
    }
    let mut columns = vec![(name, false), ("cost", true), ("sessions", true), ("turns", true)];
    columns.extend([("tokens_in", true), ("tokens_out", true)]);
    if name == "run" {
        columns.push(("task", false));
    }
    let mut table = RunTable::new(&columns);
    let mut total = report.total.clone();
    total.of = Some("total".to_owned());
    for line in report.lines.iter().chain([&total]) {
        let of = line.of.clone().unwrap_or_else(|| "none".to_owned());
        let short: Option<spore_model::RunId> = if name == "run" { of.parse().ok() } else { None };
        let cells = [
            short.map_or(of, |run| run.short()),
            line.cost.to_string(),
            line.sessions.to_string(),
            line.turns.to_string(),
            line.usage.read_tokens().to_string(),
            line.usage.output_tokens.to_string(),
        ];
        let task = (name == "run").then(|| line.name.clone().unwrap_or_default());
        table.row(cells.into_iter().chain(task));
    }
    table.text()
}

fn values(report: &SpendingReport, name: &'static str) -> RunTable {
    let mut table = RunTable::new(&[
        (name, false),
        ("cost_usd", true),
        ("cost_estimated", false),
        ("runs", true),
        ("sessions", true),
        ("turns", true),
        ("input_tokens", true),
        ("output_tokens", true),
        ("cache_read_tokens", true),
        ("cache_write_tokens", true),
        ("task", false),
    ]);
    for line in &report.lines {
        table.row([
            line.of.clone().unwrap_or_default(),
            line.cost.usd.as_dollars().to_string(),
            line.cost.estimated.to_string(),
            line.runs.to_string(),
            line.sessions.to_string(),
            line.turns.to_string(),
            line.usage.input_tokens.to_string(),
            line.usage.output_tokens.to_string(),
            line.usage.cache_read_tokens.to_string(),
            line.usage.cache_write_tokens.to_string(),
            line.name.clone().unwrap_or_default(),
        ]);
    }
    table
}
