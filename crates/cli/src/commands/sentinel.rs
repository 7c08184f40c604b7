use std::path::PathBuf;

use spore_app::{FlowOptions, FlowReport, Result, SentinelAsked, Surroundings};
use spore_model::Usd;

use super::flow::some_word;
use super::orchestrate::dollars;
use super::text::to_do;
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Check the work as it is now, grade it, and have mended what falls short
///
/// A writer says what the work has to show, the project's own checks run, an auditor holds their
/// results against that, a consolidator orders what to mend, a verified run mends it, and the
/// next cycle looks again. PASS: every check passed and every requirement is met. WARN: only
/// linters or requirements that should be met complain. FAIL: anything else; a role whose answer
/// cannot be read is no pass. It ends after the last cycle, or after two in a row that were no
/// better. Your files are not touched: what was mended is a commit.
///
/// With `--checks-only`, or where no agent is at hand, only the checks run and are graded. Fix
/// what they find and run the command again: the next cycle is compared with the one before.
///
/// Exit codes: 0 PASS or WARN, 10 FAIL, 11 FAIL and no better for two cycles or not judged,
/// 20 interrupted.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore sentinel --checks-only\n  spore sentinel --task 'the bill is told in dollars' --since main\n  spore sentinel --checks-only --fresh --json"
)]
pub(crate) struct SentinelArgs {
    /// Only run the checks; you or an agent fix what they find
    #[arg(long)]
    checks_only: bool,
    /// What the work was to do
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    task: String,
    /// What the work began from; your uncommitted changes if left out, else the last commit
    #[arg(long, value_name = "COMMIT")]
    since: Option<String>,
    /// Have tests written for each fix that its coder never sees
    #[arg(long)]
    hold_out: bool,
    /// The agent of every role
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// The scenario that the replay agent plays
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// The model of every role: a tier, or the agent's own name for one
    #[arg(long, value_name = "TIER|ID", value_parser = some_word)]
    model: Option<String>,
    /// US dollars that all cycles may cost
    #[arg(long, value_name = "USD", value_parser = dollars)]
    budget: Option<Usd>,
    /// How many cycles there are at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_cycles: Option<u32>,
    /// Begin with cycle 1, although an earlier sentinel waits for its next one
    #[arg(long)]
    fresh: bool,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &SentinelArgs) -> Result<u8> {
    let asked = SentinelAsked {
        checks_only: args.checks_only,
        task: args.task.clone(),
        since: args.since.clone(),
        hold_out: args.hold_out,
        options: FlowOptions {
            backend: args.backend.clone(),
            scenario: args.scenario.clone(),
            budget: args.budget,
            model: args.model.clone(),
            ..FlowOptions::default()
        },
        max_cycles: args.max_cycles,
        fresh: args.fresh,
    };
    listen_for_signals(&around.interrupt)?;
    let report = spore_app::sentinel(around, &asked, ui)?;
    ui.answer(&report, || text(&report));
    Ok(report.exit_code)
}

/// What fails by name and place, and the last of what the check printed.
fn failing(check: &serde_json::Value) -> String {
    const NAMED: usize = 10;
    let mut lines = Vec::new();
    let said = |name: &str| {
        let all = check["assertions"].as_array().into_iter().flatten();
        let mut own = all.filter(|one| one["test"] == name);
        own.next()
            .and_then(|one| one["said"].as_str())
            .map(|said| spore_plain::line_within(said, 160))
    };
    for name in check["failing"].as_array().into_iter().flatten().take(NAMED) {
        let name = name.as_str().unwrap_or_default();
        let said = said(name).map(|said| format!(": {said}")).unwrap_or_default();
        lines.push(format!("fails: {}{said}", spore_plain::line(name)));
    }
    lines.extend(places(check));
    lines.extend(check["note"].as_str().map(|note| spore_plain::line(note).into_owned()));
    let output = check["output"].as_str().unwrap_or_default();
    lines.extend(super::text::last_lines(output).lines().map(str::to_owned));
    lines.iter().map(|line| format!("    {line}\n")).collect()
}

/// The first places that a check complains about.
fn places(check: &serde_json::Value) -> Vec<String> {
    const NAMED: usize = 10;
    let all = check["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let told = |found: &serde_json::Value| {
        let word = |key: &str| found[key].as_str().unwrap_or_default();
        let rule = found["rule"].as_str().map(|rule| format!(" ({rule})")).unwrap_or_default();
        let line = format!("{}:{} {}{rule}", word("file"), found["line"], word("message"));
        spore_plain::line_within(&line, 200)
    };
    let mut lines: Vec<String> = all.iter().take(NAMED).map(told).collect();
    if all.len() > NAMED {
        lines.push(format!("and {} more places", all.len() - NAMED));
    }
    lines
}

/// What an auditor holds against the work.
fn audit(found: &serde_json::Value) -> String {
    let Some(grade) = found["audit"]["grade"].as_str() else { return String::new() };
    let mut text = format!("  {:16}  {grade}\n", "audit");
    for one in found["audit"]["requirements"].as_array().into_iter().flatten() {
        let word = |key: &str| one[key].as_str().unwrap_or_default();
        if word("status") != "met" {
            let line = format!("{} is {}: {}", word("id"), word("status"), word("evidence"));
            text.push_str(&format!("    {}\n", spore_plain::line_within(&line, 200)));
        }
    }
    text
}

/// The last words about a sentinel.
pub(super) fn text(report: &FlowReport) -> String {
    let found = &report.told["verification"];
    let grade = report.told["grade"].as_str();
    let mut text = match (grade, found["cycle"].as_u64()) {
        (Some(grade), Some(cycle)) => format!("{grade} in cycle {cycle}\n"),
        (None, Some(cycle)) => format!("No grade yet in cycle {cycle}\n"),
        (_, None) => "No check was run yet.\n".to_owned(),
    };
    for check in found["checks"].as_array().into_iter().flatten() {
        let word = |key: &str| check[key].as_str().unwrap_or_default();
        let told = match (check["passed"].as_bool(), word("severity")) {
            (Some(true), _) => match check["warnings"].as_u64() {
                None | Some(0) => "passed".to_owned(),
                Some(count) => format!("passed, {count} to look at"),
            },
            (_, "warning") => format!("warning, {} wrong", check["errors"]),
            _ => format!("failed, {} wrong", check["errors"]),
        };
        let name = spore_plain::ends_within(word("name"), 32);
        text.push_str(&format!("  {name:16}  {told}\n"));
        if check["passed"] == false {
            text.push_str(&failing(check));
        } else {
            text.extend(places(check).iter().map(|line| format!("    {line}\n")));
        }
    }
    text.push_str(&audit(found));
    if let Some(compared) = found.get("compared").filter(|compared| !compared.is_null()) {
        text.push_str(&format!(
            "  {} blocking, {} in cycle {}\n",
            found["blocking_count"], compared["blocking_before"], compared["with_cycle"]
        ));
    }
    let reason = report.reason.as_deref().unwrap_or_default();
    text.push_str(&format!("{reason}\n  {}/sentinel\n", report.directory));
    if let Some(commit) = report.told["mended"].as_str() {
        text.push_str(&format!("What was mended is a commit:\n  git diff HEAD {commit}\n"));
    }
    if let Some(why) = report.told["no_judges_because"].as_str() {
        let why = spore_plain::line(why);
        text.push_str(&format!("Only the checks were run, and nobody judged the work: {why}\n"));
    }
    if let Some(next) = &report.next {
        text.push_str(&format!("{}\n", to_do(next)));
    }
    text
}
