use spore_app::{Result, RunFilter, Surroundings};

use super::filter::FilterArgs;
use super::table::{self, CsvArgs, RunTable};
use crate::commands::text;
use crate::ui::Ui;

/// List runs, newest first
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore runs list --status escalated\n  spore runs list --since 7d --backend claude\n  spore runs list --task parser --limit 100\n  spore runs list --min-cost 2 --csv"
)]
pub(crate) struct RunsListArgs {
    /// How many at the most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Only older ones than this run: the next page
    #[arg(long, value_name = "RUN")]
    before: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    csv: CsvArgs,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &RunsListArgs) -> Result<u8> {
    let before = args.before.as_deref().map(|typed| spore_app::run_named(around, typed));
    let filter = RunFilter { before: before.transpose()?, ..args.filter.filter(around)? };
    let is_filtered = filter != RunFilter::default();
    let list = spore_app::list_runs(around, &filter, args.limit)?;
    let values = || {
        let mut table = RunTable::new(&[
            ("run", false),
            ("kind", false),
            ("status", false),
            ("started", false),
            ("cost_usd", true),
            ("cost_estimated", false),
            ("turns", true),
            ("experiment", false),
            ("task", false),
        ]);
        for row in &list.rows {
            let run = &row.run;
            table.row([
                run.id.to_string(),
                run.kind.as_str().to_owned(),
                row.status.to_string(),
                run.started.to_string(),
                run.cost.cost_usd.as_dollars().to_string(),
                run.cost.cost_estimated.to_string(),
                run.turns.to_string(),
                run.experiment.clone().unwrap_or_default(),
                run.name.clone(),
            ]);
        }
        table
    };
    table::print(ui, &args.csv, &list.rows, values, || text::table_of_runs(&list, is_filtered));
    // The rows themselves have no place for it.
    if list.is_cut && (ui.is_json() || args.csv.csv) {
        ui.note(&text::more_runs(list.rows.len()));
    }
    Ok(0)
}
