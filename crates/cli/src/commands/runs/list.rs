use spore_app::{Error, Result, RunFilter, Surroundings};
use spore_model::{Fault, RunKind, RunStatus};

use crate::commands::text;
use crate::ui::Ui;

/// List runs, newest first
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore runs list --status escalated\n  spore runs list --since 7d --backend claude\n  spore runs list --task parser --limit 100"
)]
pub(crate) struct RunsListArgs {
    /// How many at the most
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Only with this status, such as running, verified, escalated or parked:budget
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Option<RunStatus>,
    /// Only since then: a date, a time, or how long ago as in 30m, 2h, 7d
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only with a session of this agent
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// Only with a session of this model
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Only of this kind, such as orchestrate, spawn or stage
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<RunKind>,
    /// Only with these words in the task
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &RunsListArgs) -> Result<u8> {
    let since = args.since.as_deref().map(|since| {
        spore_app::parse_since(since, around.clock.now())
            .map_err(|error| Error::new(Fault::Usage, error.to_string()))
    });
    let filter = RunFilter {
        status: args.status,
        since: since.transpose()?,
        backend: args.backend.clone(),
        model: args.model.clone(),
        kind: args.kind,
        text: args.task.clone(),
        limit: 0,
    };
    let is_filtered = filter != RunFilter::default();
    let list = spore_app::list_runs(around, &filter, args.limit)?;
    ui.answer(&list.rows, || text::table_of_runs(&list, is_filtered));
    Ok(0)
}

fn status(typed: &str) -> std::result::Result<RunStatus, String> {
    let known = || RunStatus::ALL.map(RunStatus::as_str).join(", ");
    RunStatus::ALL
        .into_iter()
        .find(|status| status.as_str() == typed)
        .ok_or_else(|| format!("it is one of {}", known()))
}

fn kind(typed: &str) -> std::result::Result<RunKind, String> {
    let known = || RunKind::ALL.map(RunKind::as_str).join(", ");
    RunKind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == typed)
        .ok_or_else(|| format!("it is one of {}", known()))
}
