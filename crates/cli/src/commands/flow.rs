//! What the commands of flows have in common.

use std::path::PathBuf;

use spore_app::{FlowOptions, FlowReport};
use spore_model::{RunStatus, Usd};
use spore_plain::{ends_within, line, line_within};

use super::orchestrate::dollars;
use super::text::to_do;

#[derive(clap::Args)]
pub(crate) struct FlowArgs {
    /// The agent of every executor that names none
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// The scenario that the replay agent plays, where an executor names none
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// US dollars the whole flow may cost
    #[arg(long, value_name = "USD", value_parser = dollars)]
    budget: Option<Usd>,
    /// How deep sessions may be nested
    #[arg(long, value_name = "N")]
    max_depth: Option<u32>,
}

impl FlowArgs {
    pub(super) fn options(&self) -> FlowOptions {
        FlowOptions {
            backend: self.backend.clone(),
            scenario: self.scenario.clone(),
            budget: self.budget,
            max_depth: self.max_depth,
        }
    }
}

/// The last words about a flow.
pub(super) fn ending(report: &FlowReport) -> String {
    let (id, cost) = (report.run.short(), report.cost);
    let reason = report.reason.as_deref().unwrap_or("no reason was given");
    let (reason, name) = (line(reason), line(&report.name));
    let kind = report.kind.as_str();
    match report.status {
        RunStatus::Finished => format!(
            "{}{} is done for {cost}: {reason}\n  {}",
            parts(report),
            name,
            report.directory
        ),
        RunStatus::Interrupted => {
            format!("Run {id} is interrupted, after {cost}. To go on:\n  spore resume {id}")
        }
        RunStatus::ParkedBudget | RunStatus::ParkedQuota | RunStatus::ParkedHuman => {
            let what = match report.status {
                RunStatus::ParkedBudget => "budget",
                RunStatus::ParkedQuota => "quota",
                _ => "a person",
            };
            let next = report.next.as_ref().map(|next| format!("\n{}", to_do(next)));
            format!("Run {id} waits for {what}: {reason}{}", next.unwrap_or_default())
        }
        _ => format!(
            "{}The {kind} {} ended with exit code {}, after {cost}: {reason}\n  spore runs show {id}\n  {}",
            parts(report),
            name,
            report.exit_code,
            report.directory
        ),
    }
}

/// One line a stage or phase.
fn parts(report: &FlowReport) -> String {
    let mut text = String::new();
    let list = |key: &str| report.told[key].as_array().cloned().unwrap_or_default();
    for stage in list("stages") {
        let word = |key: &str| stage[key].as_str().unwrap_or_default().to_owned();
        let attempts = stage["attempts"].as_u64().unwrap_or(0);
        let again =
            if attempts > 1 { format!(" after {attempts} attempts") } else { String::new() };
        text.push_str(&part(&word("name"), &format!("{}{again}", word("status")), &word("error")));
    }
    for phase in list("phases") {
        let word = |key: &str| phase[key].as_str().unwrap_or_default().to_owned();
        let attempts = phase["orchestrators"].as_array().map_or(0, Vec::len);
        let again =
            if attempts > 1 { format!(" after {attempts} attempts") } else { String::new() };
        text.push_str(&part(&word("phase"), &format!("{}{again}", word("status")), &word("error")));
    }
    text
}

fn part(name: &str, status: &str, error: &str) -> String {
    let error = line_within(error, 200);
    let told = if error.is_empty() { status.to_owned() } else { format!("{status}: {error}") };
    format!("  {:16}  {told}\n", ends_within(name, 32))
}
