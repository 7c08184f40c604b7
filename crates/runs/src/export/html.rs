//! One run as a page.

use std::borrow::Cow;

use super::account::{BounceChange, GateLog, RunAccount, TaskAccount, WholeChange};
use super::badge::badge;
use super::words::{heading_of_tasks, in_one_line, moment, ruling, took, verdict_in_one_line};
use super::{change, charts};
use crate::report::{BounceReport, RunReport};
use crate::timeline::RunTimeline;
use spore_model::RunKind;
use spore_plain::page::{HtmlTable, block, page, text, wide};

pub(super) fn run(account: &RunAccount) -> String {
    let RunAccount { report, timeline, changes, logs, whole, tasks } = account;
    let run = &report.run;
    let mut body = format!(
        "<p class=\"faint\">Run <code>{}</code></p>\n<h1>{}</h1>\n<p>{}</p>\n{}",
        run.id,
        text(&run.name),
        badge(report.status.as_str()),
        facts(report)
    );
    if let Some(task) = run.task.as_deref().filter(|task| task.trim() != run.name.trim()) {
        body.push_str(&format!("<h2>Task</h2>\n<pre class=\"task\">{}</pre>\n", block(task)));
    }
    if let Some(answer) = &report.answer {
        body.push_str(&format!("<h2>Answer</h2>\n<pre class=\"task\">{}</pre>\n", block(answer)));
    }
    body.push_str(&tasks_table(tasks, run.kind));
    if let Some(whole) = whole {
        body.push_str(&whole_change(whole));
    }
    let chart = wide(&charts::timeline(timeline));
    body.push_str(&format!("<h2>Timeline</h2>\n{chart}{}", parts(timeline)));
    body.push_str(&format!("<h2>Cost</h2>\n<p>{} in all.</p>\n", report.cost));
    body.push_str(&wide(&charts::cost(&report.ledger, run.started, run.ended)));
    body.push_str(&bills(report));
    let base: Vec<&GateLog> = logs.iter().filter(|log| log.bounce.is_none()).collect();
    if !base.is_empty() {
        body.push_str("<h2>Checks at the base</h2>\n");
        base.into_iter().for_each(|log| body.push_str(&gate_log(log, false)));
    }
    for bounce in &report.bounces {
        body.push_str(&attempt(bounce, changes, logs));
    }
    page(&format!("{} · {}", run.name, run.id.short()), &body)
}

fn facts(report: &RunReport) -> String {
    let run = &report.run;
    let mut html = "<dl class=\"facts\">\n".to_owned();
    let mut fact =
        |name: &str, value: &str| html.push_str(&format!("<dt>{name}</dt><dd>{value}</dd>\n"));
    fact("started", &moment(run.started));
    if let Some(ended) = run.ended {
        let millis = u64::try_from(ended.since(run.started).as_millis()).unwrap_or(u64::MAX);
        fact("ended", &format!("{}, after {}", moment(ended), took(millis)));
    }
    fact("cost", &format!("{} in {} sessions", report.cost, report.ledger.len()));
    if let Some(reason) = &run.reason {
        fact("reason", &text(&in_one_line(Some(reason))));
    }
    if let Some(base) = &run.base_commit {
        fact("base", &format!("<code>{}</code>", text(base.as_str())));
    }
    if let Some(commit) = &report.commit {
        fact("commit", &format!("<code>{}</code>", text(commit.as_str())));
    }
    if let Some(applied) = &report.applied {
        let not = if applied.done { "" } else { "not applied: " };
        fact("work", &format!("{not}{}", text(&applied.what)));
    }
    if let Some(experiment) = &run.experiment {
        fact("experiment", &text(experiment));
    }
    if let Some(next) = &report.next {
        fact("next", &format!("{} <code>{}</code>", text(&next.say), text(&next.command)));
    }
    html + "</dl>\n"
}

/// The tasks of a list, or the racers, each with what a person types to see more of it.
fn tasks_table(tasks: &[TaskAccount], kind: RunKind) -> String {
    if tasks.is_empty() {
        return String::new();
    }
    let mut table = HtmlTable::new(&["run", "task", "agent", "status", "verdict", "why"]);
    for TaskAccount { end, verdict } in tasks {
        let id = end.run.map(|run| format!("<code>{}</code>", run.short())).unwrap_or_default();
        let verdict = verdict.as_ref().map(verdict_in_one_line).unwrap_or_default();
        table.row([
            (false, id.into()),
            (false, text(&end.name).into()),
            (false, text(end.agent.as_deref().unwrap_or_default()).into()),
            (false, badge(end.standing()).into()),
            (false, text(&verdict).into()),
            (false, text(&in_one_line(end.why.as_deref())).into()),
        ]);
    }
    format!("<h2>{}</h2>\n{}", heading_of_tasks(kind), table.end())
}

fn whole_change(whole: &WholeChange) -> String {
    format!(
        "<h2>Change</h2>\n<p class=\"faint\">From the base to <code>{}</code></p>\n{}",
        text(whole.commit.as_str()),
        diff(&whole.diff)
    )
}

fn parts(timeline: &RunTimeline) -> String {
    let mut table =
        HtmlTable::new(&["part", "status", "#after", "#took", "#turns", "#cost", "model", "why"]);
    for entry in &timeline.entries {
        let indent = "&nbsp;&nbsp;".repeat(entry.depth.min(12) as usize);
        let status = entry.failure.map_or(entry.status.as_str(), |failure| failure.as_str());
        let is_paid = entry.turns > 0 || entry.cost.usd > spore_model::Usd::ZERO;
        let paid = |told: String| if is_paid { told.into() } else { Cow::Borrowed("") };
        table.row([
            (false, format!("{indent}{}", text(&entry.name)).into()),
            (false, badge(status).into()),
            (true, took(entry.after_ms).into()),
            (true, entry.duration_ms.map_or_else(String::new, took).into()),
            (true, paid(entry.turns.to_string())),
            (true, paid(entry.cost.to_string())),
            (false, text(entry.model.as_deref().unwrap_or_default()).into()),
            (
                false,
                text(&spore_plain::line_within(&in_one_line(entry.reason.as_deref()), 160)).into(),
            ),
        ]);
    }
    table.end()
}

fn bills(report: &RunReport) -> String {
    if report.ledger.is_empty() {
        return "<p class=\"faint\">No session was paid for.</p>\n".to_owned();
    }
    let mut table = HtmlTable::new(&[
        "role",
        "agent",
        "model",
        "#turns",
        "#input",
        "#cache read",
        "#cache written",
        "#output",
        "#cost",
        "booked",
    ]);
    for bill in &report.ledger {
        let usage = &bill.usage;
        let number = |tokens: u64| (true, Cow::Owned(tokens.to_string()));
        table.row([
            (false, text(&bill.role).into()),
            (false, text(&bill.backend).into()),
            (false, text(bill.model.as_deref().unwrap_or("")).into()),
            number(u64::from(bill.turns)),
            number(usage.input_tokens),
            number(usage.cache_read_tokens),
            number(usage.cache_write_tokens),
            number(usage.output_tokens),
            (true, bill.cost.to_string().into()),
            (false, moment(bill.booked).into()),
        ]);
    }
    table.end()
}

fn attempt(bounce: &BounceReport, changes: &[BounceChange], logs: &[GateLog]) -> String {
    let mut html =
        format!("<h2>Attempt {} {}</h2>\n", bounce.bounce, badge(bounce.status.as_str()));
    if let Some(reason) = &bounce.reason {
        html.push_str(&format!("<p>{}</p>\n", text(&in_one_line(Some(reason)))));
    }
    for secret in &bounce.secrets {
        html.push_str(&format!("<p>Looks like a secret: {}</p>\n", text(&secret.to_string())));
    }
    html.push_str(&verdict(bounce));
    let mut diffs = changes.iter().filter(|change| change.bounce == bounce.bounce).peekable();
    if diffs.peek().is_some() {
        html.push_str("<h3>Change</h3>\n");
    }
    diffs.for_each(|change| html.push_str(&diff(&change.diff)));
    if !bounce.gates.is_empty() {
        html.push_str("<h3>Checks</h3>\n<ul>\n");
        bounce.gates.iter().for_each(|line| html.push_str(&format!("<li>{}</li>\n", text(line))));
        html.push_str("</ul>\n");
    }
    if !bounce.failing.is_empty() {
        html.push_str("<p>Fails now, and did not at the base:</p>\n<ul>\n");
        let names = bounce.failing.iter().take(100);
        names.for_each(|name| html.push_str(&format!("<li><code>{}</code></li>\n", text(name))));
        html.push_str("</ul>\n");
    }
    for log in logs.iter().filter(|log| log.bounce == Some(bounce.bounce)) {
        html.push_str(&gate_log(log, !bounce.failing.is_empty()));
    }
    html
}

fn verdict(bounce: &BounceReport) -> String {
    let Some(verdict) = &bounce.verdict else { return String::new() };
    let mut html = format!(
        "<h3>Verdict</h3>\n<p>{} <span class=\"faint\">{:.0} % sure</span></p>\n<p>{}</p>\n",
        badge(&ruling(verdict)),
        verdict.confidence * 100.0,
        text(&verdict.reason)
    );
    if !verdict.findings.is_empty() {
        let findings = verdict.findings.iter();
        let items = findings.map(|finding| format!("<li>{}</li>\n", text(&finding.to_string())));
        html.push_str(&format!("<ul>\n{}</ul>\n", items.collect::<String>()));
    }
    html
}

fn diff(diff: &str) -> String {
    let (files, left_out) = change::files(diff);
    let mut html = String::new();
    for file in &files {
        html.push_str(&format!(
            "<details open><summary><code>{}</code> <span class=\"plus\">+{}</span> <span \
             class=\"minus\">−{}</span></summary><pre class=\"diff\"><div>",
            text(&file.name),
            file.added,
            file.removed
        ));
        for line in &file.lines {
            // Indentation counts, and tabs are what they are; a line end of another system is not shown.
            let shown = block(line.text.trim_end_matches('\r'));
            html.push_str(&format!("<span class=\"{}\">{shown}</span>", line.kind.class()));
        }
        html.push_str("</div></pre></details>\n");
    }
    if left_out > 0 {
        html.push_str(&format!("<p class=\"faint\">{left_out} bytes more are not shown.</p>\n"));
    }
    html
}

fn gate_log(log: &GateLog, is_open: bool) -> String {
    let open = if is_open { " open" } else { "" };
    if log.text.trim().is_empty() {
        return format!(
            "<p class=\"faint\"><code>{}</code> printed nothing.</p>\n",
            text(&log.name)
        );
    }
    format!(
        "<details{open}><summary>Log of <code>{}</code></summary><pre>{}</pre></details>\n",
        text(&log.name),
        block(&log.text)
    )
}
