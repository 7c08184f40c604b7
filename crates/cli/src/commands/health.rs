use spore_app::{Result, Surroundings};
use spore_plain::line;

use super::runs::table::{self, CsvArgs, RunTable};
use crate::ui::Ui;

/// Check what Spore keeps of this project, with the fix for what is out of order
///
/// The database, code that changed since it was indexed, edges that point at nothing, vectors,
/// prompts, agents, disk, stuck runs, processes and checkouts that belong to no run. `spore doctor`
/// looks at the machine. Exits with 1 when anything is out of order.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore health\n  spore health --json | jq '.checks[] | select(.ok | not)'"
)]
pub(crate) struct HealthArgs {
    #[command(flatten)]
    csv: CsvArgs,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &HealthArgs) -> Result<u8> {
    let health = spore_app::health(around)?;
    let values = || {
        let mut table =
            RunTable::new(&[("check", false), ("ok", false), ("detail", false), ("fix", false)]);
        for check in &health.checks {
            table.row([
                check.check.clone(),
                check.ok.to_string(),
                check.detail.clone(),
                check.fix.clone(),
            ]);
        }
        table
    };
    let text = || {
        let mut text = String::new();
        for check in &health.checks {
            let mark = if check.ok { "ok" } else { "NOT OK" };
            let name = label(&check.check);
            text.push_str(&format!("  {mark:7}  {name:10}  {}\n", line(&check.detail)));
            if !check.fix.is_empty() {
                let fix = check.fix.replace('\n', &format!("\n{:23}", ""));
                text.push_str(&format!("  {:7}  {:10}  fix: {fix}\n", "", ""));
            }
        }
        let wrong = health.checks.iter().filter(|check| !check.ok).count();
        text.push_str(&match wrong {
            0 => "\nEverything is in order.\n".to_owned(),
            1 => "\nOne thing is out of order.\n".to_owned(),
            _ => format!("\n{wrong} things are out of order.\n"),
        });
        text
    };
    table::print(ui, &args.csv, &health, values, text);
    Ok(u8::from(!health.healthy))
}

/// The column is too narrow for some names, and their detail says the rest.
fn label(check: &str) -> &str {
    match check {
        "stale code" => "code",
        "orphan edges" => "edges",
        "prompt size" => "prompts",
        "stuck runs" => "runs",
        "orphan processes" => "processes",
        "orphan checkouts" => "checkouts",
        check => check,
    }
}
