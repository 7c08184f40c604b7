//! One run as Markdown. Foreign text is code, in a line or in a fence: no markup in it is one.

use spore_model::RunKind;
use spore_plain::{block, fenced};

use super::account::{GateLog, RunAccount, TaskAccount, WholeChange};
use super::charts;
use super::words::{heading_of_tasks, in_one_line, moment, ruling, took, verdict_in_one_line};
use crate::report::{BounceReport, RunReport};

/// Returns foreign text as one line of code that no cell of a table ends in.
pub(super) fn code(foreign: &str) -> String {
    match spore_plain::inline(foreign, 300).trim() {
        "" => String::new(),
        line => spore_plain::code(line, 300),
    }
}

/// Returns a table; columns whose name begins with `#` hold numbers.
pub(super) fn table(columns: &[&str], rows: &[Vec<String>]) -> String {
    let names: Vec<&str> = columns.iter().map(|name| name.trim_start_matches('#')).collect();
    let rules: Vec<&str> =
        columns.iter().map(|name| if name.starts_with('#') { "--:" } else { "---" }).collect();
    let mut text = format!("| {} |\n|{}|\n", names.join(" | "), rules.join("|"));
    rows.iter().for_each(|row| text.push_str(&format!("| {} |\n", row.join(" | "))));
    text
}

pub(super) fn run(account: &RunAccount) -> String {
    let RunAccount { report, timeline, changes, logs, whole, tasks } = account;
    let run = &report.run;
    let mut text = format!("# Run {}: {}\n\n{}\n", run.id.short(), code(&run.name), facts(report));
    if let Some(task) = run.task.as_deref().filter(|task| task.trim() != run.name.trim()) {
        text.push_str(&format!("## Task\n\n{}\n", fenced("text", &block(task))));
    }
    if let Some(answer) = &report.answer {
        text.push_str(&format!("## Answer\n\n{}\n", fenced("text", &block(answer))));
    }
    text.push_str(&tasks_table(tasks, run.kind));
    if let Some(WholeChange { commit, diff }) = whole {
        let diff = fenced("diff", &block(diff));
        text.push_str(&format!(
            "## Change\n\nFrom the base to {}.\n\n{diff}\n",
            code(commit.as_str())
        ));
    }
    let parts: Vec<Vec<String>> = timeline
        .entries
        .iter()
        .map(|entry| {
            let status = entry.failure.map_or(entry.status.as_str(), |failure| failure.as_str());
            vec![
                format!("{}{}", "· ".repeat(entry.depth.min(12) as usize), code(&entry.name)),
                status.to_owned(),
                took(entry.after_ms),
                entry.duration_ms.map_or_else(String::new, took),
                entry.turns.to_string(),
                entry.cost.to_string(),
                code(entry.model.as_deref().unwrap_or_default()),
            ]
        })
        .collect();
    let columns = ["part", "status", "#after", "#took", "#turns", "#cost", "model"];
    text.push_str(&format!("## Timeline\n\n{}\n", table(&columns, &parts)));
    text.push_str(&format!("## Cost\n\n{} in all.\n\n{}", report.cost, bills(report)));
    let chart = charts::cost_alone(&report.ledger, run.started, run.ended);
    if !chart.is_empty() {
        text.push_str(&format!("\n![What the run had cost]({})\n", data_address(&chart)));
    }
    for log in logs.iter().filter(|log| log.bounce.is_none()) {
        text.push_str(&format!("\n## Check at the base: {}\n\n{}", code(&log.name), printed(log)));
    }
    for bounce in &report.bounces {
        text.push_str(&attempt(bounce));
        for change in changes.iter().filter(|change| change.bounce == bounce.bounce) {
            text.push_str(&format!("\n### Change\n\n{}", fenced("diff", &block(&change.diff))));
        }
        for log in logs.iter().filter(|log| log.bounce == Some(bounce.bounce)) {
            text.push_str(&format!("\n### Log of {}\n\n{}", code(&log.name), printed(log)));
        }
    }
    text
}

/// The tasks of a list, or the racers, each with what a person types to see more of it.
fn tasks_table(tasks: &[TaskAccount], kind: RunKind) -> String {
    if tasks.is_empty() {
        return String::new();
    }
    let row = |TaskAccount { end, verdict }: &TaskAccount| {
        vec![
            end.run.map(|run| code(&run.short())).unwrap_or_default(),
            code(&end.name),
            code(end.agent.as_deref().unwrap_or_default()),
            end.standing().to_owned(),
            code(&verdict.as_ref().map(verdict_in_one_line).unwrap_or_default()),
            code(&in_one_line(end.why.as_deref())),
        ]
    };
    let rows: Vec<Vec<String>> = tasks.iter().map(row).collect();
    let columns = ["run", "task", "agent", "status", "verdict", "why"];
    format!("## {}\n\n{}\n", heading_of_tasks(kind), table(&columns, &rows))
}

fn printed(log: &GateLog) -> String {
    match log.text.trim() {
        "" => "It printed nothing.\n".to_owned(),
        _ => fenced("text", &block(&log.text)),
    }
}

fn facts(report: &RunReport) -> String {
    let run = &report.run;
    let mut text = format!("- status: {}\n- started: {}\n", report.status, moment(run.started));
    if let Some(ended) = run.ended {
        text.push_str(&format!("- ended: {}\n", moment(ended)));
    }
    text.push_str(&format!("- cost: {} in {} sessions\n", report.cost, report.ledger.len()));
    let mut fact = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            text.push_str(&format!("- {name}: {}\n", code(value)));
        }
    };
    fact("reason", run.reason.as_deref());
    fact("base", run.base_commit.as_ref().map(|commit| commit.as_str()));
    fact("commit", report.commit.as_ref().map(|commit| commit.as_str()));
    fact("work", report.applied.as_ref().map(|applied| applied.what.as_str()));
    fact("experiment", run.experiment.as_deref());
    fact("next", report.next.as_ref().map(|next| next.command.as_str()));
    text
}

fn bills(report: &RunReport) -> String {
    let rows: Vec<Vec<String>> = report
        .ledger
        .iter()
        .map(|bill| {
            vec![
                code(&bill.role),
                code(&bill.backend),
                code(bill.model.as_deref().unwrap_or("")),
                bill.turns.to_string(),
                bill.usage.input_tokens.to_string(),
                bill.usage.output_tokens.to_string(),
                bill.cost.to_string(),
            ]
        })
        .collect();
    if rows.is_empty() {
        return "No session was paid for.\n".to_owned();
    }
    table(&["role", "agent", "model", "#turns", "#input", "#output", "#cost"], &rows)
}

fn attempt(bounce: &BounceReport) -> String {
    let mut text = format!("\n## Attempt {}: {}\n", bounce.bounce, bounce.status);
    if let Some(reason) = &bounce.reason {
        text.push_str(&format!("\n{}\n", code(reason)));
    }
    if let Some(verdict) = &bounce.verdict {
        let sure = verdict.confidence * 100.0;
        let reason = code(&verdict.reason);
        text.push_str(&format!("\nVerdict: {}, {sure:.0} % sure. {reason}\n", ruling(verdict)));
        for finding in &verdict.findings {
            text.push_str(&format!("- {}\n", code(&finding.to_string())));
        }
    }
    if !bounce.gates.is_empty() || !bounce.failing.is_empty() {
        text.push_str("\nChecks:\n\n");
    }
    for line in &bounce.gates {
        text.push_str(&format!("- {}\n", code(line)));
    }
    for name in bounce.failing.iter().take(100) {
        text.push_str(&format!("- fails: {}\n", code(name)));
    }
    text
}

/// Returns a picture as an address that holds all of it.
fn data_address(svg: &str) -> String {
    let mut address = "data:image/svg+xml,".to_owned();
    for byte in svg.trim_end().bytes() {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'-'
            | b'.'
            | b'_'
            | b'~'
            | b'/'
            | b':'
            | b'=' => {
                address.push(char::from(byte));
            }
            byte => address.push_str(&format!("%{byte:02X}")),
        }
    }
    address
}
