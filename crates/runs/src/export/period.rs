//! The runs of a period: their sums, what they cost day by day, and a line each.

use std::borrow::Cow;

use super::account::PeriodAccount;
use super::badge::badge;
use super::charts;
use super::markdown::{code, table};
use super::words::{moment, took};
use crate::spending::SpendingReport;
use crate::stats::RunStats;
use spore_plain::page::{HtmlTable, page, text, wide};

/// More runs than this are summed up and have no line.
const MOST_LINES: usize = 1000;

pub(super) fn html(account: &PeriodAccount) -> String {
    let (from, to) = (moment(account.since), moment(account.until));
    let mut body = format!("<h1>Runs since {from}</h1>\n<p class=\"faint\">until {to}</p>\n");
    body.push_str("<dl class=\"facts\">\n");
    for (name, value) in sums(&account.stats) {
        body.push_str(&format!("<dt>{name}</dt><dd>{}</dd>\n", text(&value)));
    }
    body.push_str("</dl>\n<h2>Cost</h2>\n");
    body.push_str(&wide(&charts::days(&account.by_day.lines)));
    for (title, report) in groups(account) {
        body.push_str(&format!("<h3>By {title}</h3>\n{}", spending(report, title)));
    }
    if !account.stats.reasons.is_empty() {
        body.push_str("<h2>Why tasks were not verified</h2>\n");
        let mut reasons = HtmlTable::new(&["#runs", "reason"]);
        for reason in &account.stats.reasons {
            reasons.row([
                (true, Cow::Owned(reason.runs.to_string())),
                (false, text(&reason.reason).into()),
            ]);
        }
        body.push_str(&reasons.end());
    }
    body.push_str("<h2>Runs</h2>\n");
    let columns =
        ["run", "task", "status", "started", "#took", "#attempts", "#cost", "experiment", "why"];
    let mut runs = HtmlTable::new(&columns);
    for run in account.runs.iter().take(MOST_LINES) {
        let why = spore_plain::line_within(run.reason.as_deref().unwrap_or_default(), 160);
        runs.row([
            (false, Cow::Owned(format!("<code>{}</code>", run.id.short()))),
            (false, text(&spore_plain::line_within(&run.name, 160)).into()),
            (false, badge(run.status.as_str()).into()),
            (false, moment(run.started).into()),
            (true, took(run.duration_ms).into()),
            (true, run.bounces.to_string().into()),
            (true, run.cost.to_string().into()),
            (false, text(run.experiment.as_deref().unwrap_or_default()).into()),
            (false, text(&why).into()),
        ]);
    }
    body.push_str(&runs.end());
    body.push_str(&left_out(account).map(|told| format!("<p>{told}</p>\n")).unwrap_or_default());
    page(&format!("Runs since {from}"), &body)
}

pub(super) fn markdown(account: &PeriodAccount) -> String {
    let (from, to) = (moment(account.since), moment(account.until));
    let mut page = format!("# Runs since {from}\n\nuntil {to}\n\n");
    for (name, value) in sums(&account.stats) {
        page.push_str(&format!("- {name}: {value}\n"));
    }
    page.push_str("\n## Cost\n");
    for (title, report) in groups(account) {
        let rows: Vec<Vec<String>> = report
            .lines
            .iter()
            .map(|line| {
                let of = line.of.as_deref().unwrap_or("none");
                vec![code(of), line.sessions.to_string(), line.cost.to_string()]
            })
            .collect();
        page.push_str(&format!("\n{}", table(&[title, "#sessions", "#cost"], &rows)));
    }
    let rows: Vec<Vec<String>> = account
        .runs
        .iter()
        .take(MOST_LINES)
        .map(|run| {
            vec![
                run.id.short(),
                code(&run.name),
                run.status.to_string(),
                moment(run.started),
                took(run.duration_ms),
                run.bounces.to_string(),
                run.cost.to_string(),
            ]
        })
        .collect();
    let columns = ["run", "task", "status", "started", "#took", "#attempts", "#cost"];
    page.push_str(&format!("\n## Runs\n\n{}", table(&columns, &rows)));
    page.push_str(&left_out(account).map(|told| format!("\n{told}\n")).unwrap_or_default());
    page
}

fn left_out(account: &PeriodAccount) -> Option<String> {
    let more = account.runs.len().checked_sub(MOST_LINES).filter(|more| *more > 0)?;
    Some(format!("{more} older runs have no line here; they are in the sums."))
}

fn groups(account: &PeriodAccount) -> [(&'static str, &SpendingReport); 3] {
    [("day", &account.by_day), ("model", &account.by_model), ("role", &account.by_role)]
}

fn spending(report: &SpendingReport, title: &str) -> String {
    let mut lines = HtmlTable::new(&[title, "#sessions", "#turns", "#input", "#output", "#cost"]);
    for line in &report.lines {
        lines.row([
            (false, Cow::Owned(text(line.of.as_deref().unwrap_or("none")))),
            (true, line.sessions.to_string().into()),
            (true, line.turns.to_string().into()),
            (true, line.usage.input_tokens.to_string().into()),
            (true, line.usage.output_tokens.to_string().into()),
            (true, line.cost.to_string().into()),
        ]);
    }
    lines.end()
}

/// Returns the sums of the runs, a name and a value each.
fn sums(stats: &RunStats) -> Vec<(&'static str, String)> {
    let percent = |rate: f64| format!("{:.0} %", rate * 100.0);
    let mut sums = stats.counts();
    sums.push(("cost", stats.cost.to_string()));
    if let Some(rate) = stats.verified_rate {
        let of =
            format!("{}, {} of {} decided tasks", percent(rate), stats.verified, stats.decided);
        sums.push(("verified", of));
    }
    if let Some(rate) = stats.first_attempt_rate {
        sums.push(("first try", format!("{} of the verified ones", percent(rate))));
    }
    if let Some(cost) = stats.cost_per_verified {
        sums.push(("price", format!("{cost} for a verified change, with what was in vain")));
    }
    if let Some(context) = &stats.context {
        let of = format!("{} of {} changed files were named", context.named, context.changed);
        sums.push(("context", format!("{}: {of}", percent(context.hit_rate))));
    }
    sums
}
