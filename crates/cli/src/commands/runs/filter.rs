//! Which runs a command looks at: one set of flags for all of them.

use std::time::Duration;

use spore_app::{Error, Result, RunFilter, Surroundings};
use spore_model::{Fault, RunKind, RunStatus, Timestamp, Usd};

#[derive(clap::Args)]
pub(super) struct FilterArgs {
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
    /// Only with a session of this role, such as tester
    #[arg(long, value_name = "ROLE", visible_alias = "agent")]
    role: Option<String>,
    /// Only with this label, as given to `orchestrate --experiment`
    #[arg(long, value_name = "LABEL")]
    experiment: Option<String>,
    /// Only of this kind, such as orchestrate, spawn or stage
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<RunKind>,
    /// Only what cost this many dollars or more
    #[arg(long, value_name = "USD", value_parser = usd)]
    min_cost: Option<Usd>,
    /// Only what took this long or longer, as in 90s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = spore_config::parse_duration)]
    min_time: Option<Duration>,
    /// Only with these words in the task
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,
}

impl FilterArgs {
    pub(super) fn filter(&self, around: &Surroundings) -> Result<RunFilter> {
        let now = around.clock.now();
        let since = |typed: &String| -> Result<Timestamp> {
            spore_app::parse_since(typed, now)
                .map_err(|error| Error::new(Fault::Usage, error.to_string()))
        };
        Ok(RunFilter {
            status: self.status,
            since: self.since.as_ref().map(since).transpose()?,
            backend: self.backend.clone(),
            model: self.model.clone(),
            role: self.role.clone(),
            experiment: self.experiment.clone(),
            kind: self.kind,
            min_cost: self.min_cost,
            min_time: self.min_time,
            text: self.task.clone(),
            ..RunFilter::default()
        })
    }
}

fn usd(typed: &str) -> std::result::Result<Usd, String> {
    let dollars = typed.trim_start_matches('$').parse::<f64>().ok();
    dollars.and_then(Usd::from_dollars).ok_or_else(|| "it is an amount such as 0.50".to_owned())
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
