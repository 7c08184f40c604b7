use spore_app::{Error, FlowReport, Result, SentinelAsked, Surroundings};
use spore_model::Fault;

use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Run the project's own checks on the files as they are now, and grade them
///
/// PASS: every check passed. WARN: only linters complain. FAIL: any other check failed. Fix it
/// and run the command again: the next cycle is compared with the one before. The sentinel
/// gives up after the last cycle, or after two in a row that were no better. Your files are not
/// touched: the checks run in a checkout of their own.
///
/// Exit codes: 0 PASS or WARN, 10 FAIL, 11 FAIL and no better for two cycles, 20 interrupted.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore sentinel --checks-only\n  spore sentinel --checks-only --fresh --json"
)]
pub(crate) struct SentinelArgs {
    /// Only run the checks; you or an agent fix what they find
    #[arg(long)]
    checks_only: bool,
    /// How many cycles there are at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_cycles: Option<u32>,
    /// Begin with cycle 1, although an earlier sentinel waits for its next one
    #[arg(long)]
    fresh: bool,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &SentinelArgs) -> Result<u8> {
    if !args.checks_only {
        return Err(Error::new(Fault::Usage, "the sentinel cannot fix anything by itself yet")
            .hint(
                "add `--checks-only`: it checks and grades, and you or an agent fix what it finds",
            ));
    }
    let asked = SentinelAsked { max_cycles: args.max_cycles, fresh: args.fresh };
    listen_for_signals(&around.interrupt)?;
    let report = spore_app::sentinel(around, &asked, ui)?;
    ui.answer(&report, || text(&report));
    Ok(report.exit_code)
}

/// What fails by name, and the last of what the check printed.
fn failing(check: &serde_json::Value) -> String {
    const NAMED: usize = 10;
    let mut lines = Vec::new();
    for name in check["failing"].as_array().into_iter().flatten().take(NAMED) {
        lines.push(format!("fails: {}", spore_plain::line(name.as_str().unwrap_or_default())));
    }
    lines.extend(check["note"].as_str().map(|note| spore_plain::line(note).into_owned()));
    let output = check["output"].as_str().unwrap_or_default();
    lines.extend(super::text::last_lines(output).lines().map(str::to_owned));
    lines.iter().map(|line| format!("    {line}\n")).collect()
}

fn text(report: &FlowReport) -> String {
    let found = &report.told["verification"];
    let grade = report.told["grade"].as_str().unwrap_or("none");
    let mut text = format!("{grade} in cycle {}\n", found["cycle"]);
    for check in found["checks"].as_array().into_iter().flatten() {
        let word = |key: &str| check[key].as_str().unwrap_or_default();
        let told = match (check["passed"].as_bool(), word("severity")) {
            (Some(true), _) => "passed".to_owned(),
            (_, "warning") => format!("warning, {} wrong", check["errors"]),
            _ => format!("failed, {} wrong", check["errors"]),
        };
        let name = spore_plain::ends_within(word("name"), 32);
        text.push_str(&format!("  {name:16}  {told}\n"));
        if check["passed"] == false {
            text.push_str(&failing(check));
        }
    }
    if let Some(compared) = found.get("compared").filter(|compared| !compared.is_null()) {
        text.push_str(&format!(
            "  {} blocking, {} in cycle {}\n",
            found["blocking_count"], compared["blocking_before"], compared["with_cycle"]
        ));
    }
    let reason = report.reason.as_deref().unwrap_or_default();
    text.push_str(&format!("{reason}\n  {}/sentinel\n", report.directory));
    if report.exit_code == 10 && report.status == spore_model::RunStatus::ParkedHuman {
        text.push_str("When that is fixed:\n  spore sentinel --checks-only\n");
    }
    text
}
