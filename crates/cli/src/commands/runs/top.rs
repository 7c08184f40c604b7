use spore_app::{Result, RunFigures, RunFilter, Surroundings, TopBy};

use super::super::text::no_runs;
use super::filter::FilterArgs;
use super::table::{self, CsvArgs, RunTable, took};
use crate::ui::Ui;

/// Name the runs that cost the most, took the longest or needed the most attempts
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore runs top --since 7d\n  spore runs top --by time --limit 3"
)]
pub(crate) struct RunsTopArgs {
    /// What there is the most of
    #[arg(long, value_enum, default_value = "cost")]
    by: MostOf,
    /// How many at the most
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    csv: CsvArgs,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum MostOf {
    Cost,
    Time,
    #[value(alias = "attempts")]
    Bounces,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &RunsTopArgs) -> Result<u8> {
    let by = match args.by {
        MostOf::Cost => TopBy::Cost,
        MostOf::Time => TopBy::Time,
        MostOf::Bounces => TopBy::Bounces,
    };
    let filter = args.filter.filter(around)?;
    let is_filtered = filter != RunFilter::default();
    let filter = RunFilter { limit: args.limit, ..filter };
    let runs = spore_app::top_runs(around, &filter, by)?;
    table::print(ui, &args.csv, &runs, || figures(&runs), || text(&runs, is_filtered));
    Ok(0)
}

fn text(runs: &[RunFigures], is_filtered: bool) -> String {
    if runs.is_empty() {
        return no_runs(is_filtered);
    }
    let mut table = RunTable::new(&[
        ("run", false),
        ("status", false),
        ("cost", true),
        ("time", true),
        ("attempts", true),
        ("task", false),
    ]);
    for run in runs {
        table.row([
            run.id.short(),
            run.status.to_string(),
            run.cost.to_string(),
            took(run.duration_ms),
            run.bounces.to_string(),
            run.name.clone(),
        ]);
    }
    table.text()
}

/// The figures of runs as plain values.
pub(super) fn figures(runs: &[RunFigures]) -> RunTable {
    let mut table = RunTable::new(&[
        ("run", false),
        ("kind", false),
        ("status", false),
        ("started", false),
        ("cost_usd", true),
        ("cost_estimated", false),
        ("duration_ms", true),
        ("turns", true),
        ("bounces", true),
        ("experiment", false),
        ("task", false),
    ]);
    for run in runs {
        table.row([
            run.id.to_string(),
            run.kind.as_str().to_owned(),
            run.status.to_string(),
            run.started.to_string(),
            run.cost.usd.as_dollars().to_string(),
            run.cost.estimated.to_string(),
            run.duration_ms.to_string(),
            run.turns.to_string(),
            run.bounces.to_string(),
            run.experiment.clone().unwrap_or_default(),
            run.name.clone(),
        ]);
    }
    table
}
