//! Two runs, or two experiments, side by side.

use spore_app::{
    Conclusiveness, ExperimentComparison, MeasuredDifference, Result, RunComparison, RunFigures,
    Surroundings,
};

use super::filter::FilterArgs;
use super::table::{self, CsvArgs, RunTable, took};
use crate::ui::Ui;

/// Put two runs side by side
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  spore runs compare 7QX2 9ABC")]
pub(crate) struct RunsCompareArgs {
    /// Any unique part of a run's id as it is shown
    a: String,
    /// The other one
    b: String,
    #[command(flatten)]
    csv: CsvArgs,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &RunsCompareArgs) -> Result<u8> {
    let compared = spore_app::compare_runs(around, &args.a, &args.b)?;
    let values = || super::top::figures(&[compared.a.clone(), compared.b.clone()]);
    table::print(ui, &args.csv, &compared, values, || text(&compared));
    Ok(0)
}

fn text(compared: &RunComparison) -> String {
    let mut table = RunTable::new(&[("", false), ("a", true), ("b", true)]);
    let mut row = |name: &str, of: fn(&RunFigures) -> String| {
        table.row([name.to_owned(), of(&compared.a), of(&compared.b)]);
    };
    row("run", |run| run.id.short());
    row("status", |run| run.status.to_string());
    row("cost", |run| run.cost.to_string());
    row("time", |run| took(run.duration_ms));
    row("attempts", |run| run.bounces.to_string());
    row("turns", |run| run.turns.to_string());
    row("experiment", |run| run.experiment.clone().unwrap_or_else(|| "none".to_owned()));
    row("files named", |run| match &run.context {
        Some(context) => format!("{} of {}", context.ranks().count(), context.changed.len()),
        None => "-".to_owned(),
    });
    let other = if compared.same_task { "" } else { "\nThey are different tasks.\n" };
    let names = [&compared.a, &compared.b].map(|run| spore_plain::line(&run.name).into_owned());
    format!("a: {}\nb: {}\n{other}\n{}", names[0], names[1], table.text())
}

/// Say whether two ways of working differ, over the tasks that both worked on
///
/// A and B are labels given to `orchestrate --experiment`; `unlabelled` means runs without one.
/// Differences are B less A, over pairs of runs at the same task, with an interval that holds the
/// true difference in 95 of 100 such comparisons (a paired bootstrap). An interval that holds zero
/// tells no difference, and fewer than ten pairs tell nothing.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore runs compare-experiments no-context unlabelled\n  spore runs compare-experiments a b --since 30d --csv"
)]
pub(crate) struct CompareExperimentsArgs {
    /// The label that is held against
    a: String,
    /// The label that is asked about
    b: String,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    csv: CsvArgs,
}

pub(crate) fn run_experiments(
    ui: &mut Ui,
    around: &Surroundings,
    args: &CompareExperimentsArgs,
) -> Result<u8> {
    let filter = args.filter.filter(around)?;
    let compared = spore_app::compare_experiments(around, &filter, [&args.a, &args.b])?;
    let values = || pairs(&compared);
    table::print(ui, &args.csv, &compared, values, || experiments_text(&compared));
    Ok(0)
}

fn experiments_text(compared: &ExperimentComparison) -> String {
    let mut table = RunTable::new(&[
        ("measure", false),
        ("a", true),
        ("b", true),
        ("b_less_a", true),
        ("95_%_interval", true),
        ("", false),
    ]);
    for measure in &compared.measures {
        let (mean, interval) = match measure.difference {
            Some(found) => {
                (format!("{:+.3}", found.mean), format!("{:+.3} to {:+.3}", found.low, found.high))
            }
            None => (format!("{:+.3}", measure.mean_b - measure.mean_a), "-".to_owned()),
        };
        table.row([
            measure.measure.replace('_', " "),
            format!("{:.3}", measure.mean_a),
            format!("{:.3}", measure.mean_b),
            mean,
            interval,
            conclusion(measure),
        ]);
    }
    let mut text = format!(
        "a: {}\nb: {}\n{} that both worked on; without a counterpart: {} of a, {} of b\n\n{}",
        spore_plain::line(&compared.a),
        spore_plain::line(&compared.b),
        crate::commands::text::many(compared.pairs, "task"),
        compared.only_a,
        compared.only_b,
        table.text()
    );
    if compared.pairs < compared.least_pairs {
        let (pairs, least) = (compared.pairs, compared.least_pairs);
        text.push_str(&format!("\nToo few to tell: {pairs} of at least {least} tasks.\n"));
    }
    text
}

fn conclusion(measure: &MeasuredDifference) -> String {
    match (measure.finding, measure.pairs_needed) {
        (Conclusiveness::TooFewPairs, _) => "too few to tell".to_owned(),
        (Conclusiveness::BMore, _) => "b has more".to_owned(),
        (Conclusiveness::BLess, _) => "b has less".to_owned(),
        (Conclusiveness::NoDifferenceSeen, Some(pairs)) => {
            format!("no difference seen; {pairs} tasks might tell")
        }
        (Conclusiveness::NoDifferenceSeen, None) => "no difference seen".to_owned(),
    }
}

fn pairs(compared: &ExperimentComparison) -> RunTable {
    let mut table = RunTable::new(&[
        ("task", false),
        ("a_runs", true),
        ("b_runs", true),
        ("a_cost_usd", true),
        ("b_cost_usd", true),
        ("a_turns", true),
        ("b_turns", true),
        ("a_duration_s", true),
        ("b_duration_s", true),
        ("a_verified", true),
        ("b_verified", true),
    ]);
    for pair in &compared.tasks {
        let (a, b) = (&pair.a, &pair.b);
        let figures = [
            (a.cost_usd, b.cost_usd),
            (a.turns, b.turns),
            (a.duration_s, b.duration_s),
            (a.verified, b.verified),
        ];
        let runs = [pair.task.clone(), a.runs.to_string(), b.runs.to_string()];
        let figures = figures.iter().flat_map(|(a, b)| [a.to_string(), b.to_string()]);
        table.row(runs.into_iter().chain(figures));
    }
    table
}
