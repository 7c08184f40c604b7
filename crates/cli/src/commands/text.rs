//! Runs as people read them.

use spore_app::{BounceReport, RunReport, RunRow, SessionRow};
use spore_model::{RunState, Status, Timestamp};

/// The last words of a command that worked on a run.
pub(super) fn ending(report: &RunReport) -> String {
    let (id, cost) = (report.run.id.short(), report.cost);
    let reason = clean(report.run.reason.as_deref().unwrap_or_default());
    match (report.status, &report.branch) {
        (Status::Verified, Some(branch)) => format!(
            "Verified after {} for {cost}. The work is on branch {branch}:\n  git diff HEAD...{branch}\n  git merge {branch}",
            many(report.bounces.len(), "bounce"),
        ),
        (Status::Interrupted, _) => format!(
            "Run {id} is interrupted, after {cost}. Nothing that was recorded is lost:\n  spore resume {id}"
        ),
        (Status::ParkedBudget, _) => {
            format!(
                "Run {id} waits for budget: {reason}. To go on:\n  spore resume {id} --budget +5"
            )
        }
        (Status::ParkedQuota, _) => {
            format!("Run {id} waits for quota: {reason}\nWhen there is some:\n  spore resume {id}")
        }
        (_, _) if report.run.state == RunState::Parked => {
            format!(
                "Run {id} waits for a person: {reason}\nWhen that is mended:\n  spore resume {id}"
            )
        }
        (Status::Escalated, _) => format!(
            "Run {id} is escalated: {reason}\nIt cost {cost}. A person has to decide; everything that was tried is kept:\n  spore runs show {id}\n  {}/escalation.md",
            report.directory
        ),
        (status, _) => format!(
            "Run {id} {status}: {reason}\nIt cost {cost}. To see what was tried:\n  spore runs show {id}"
        ),
    }
}

pub(super) fn table_of_runs(rows: &[RunRow]) -> String {
    if rows.is_empty() {
        return "No runs yet. `spore orchestrate TASK` starts one.".to_owned();
    }
    let mut text =
        format!("{:8}  {:13}  {:16}  {:>9}  {}\n", "RUN", "STATUS", "STARTED", "COST", "TASK");
    for row in rows {
        text.push_str(&format!(
            "{:8}  {:13}  {:16}  {:>9}  {}\n",
            row.run.id.short(),
            row.status,
            minute(row.run.started),
            spore_model::Cost::from(row.run.cost).to_string(),
            row.run.name
        ));
    }
    text
}

pub(super) fn run_in_full(report: &RunReport) -> String {
    let run = &report.run;
    let mut text = format!("Run {}  {}\n", run.id, report.status);
    line(&mut text, "task", &run.name);
    if let Some(base) = &run.base_commit {
        line(&mut text, "base", &base.as_str()[..12]);
    }
    let took = run.ended.map(|ended| format!(", took {}", duration(ended.since(run.started))));
    line(&mut text, "started", &format!("{}{}", minute(run.started), took.unwrap_or_default()));
    let sessions = many(report.ledger.len(), "session");
    line(&mut text, "cost", &format!("{} in {sessions}", report.cost));
    if let Some(reason) = run.reason.as_deref().filter(|_| report.status != Status::Verified) {
        line(&mut text, "reason", reason);
    }
    if let (Some(branch), Some(commit)) = (&report.branch, &report.commit) {
        line(&mut text, "commit", &format!("{} on {branch}", &commit.as_str()[..12]));
    }
    line(&mut text, "files", &report.directory);
    for bounce in &report.bounces {
        bounce_in_full(&mut text, bounce);
    }
    text
}

fn bounce_in_full(text: &mut String, bounce: &BounceReport) {
    text.push_str(&format!("\nBounce {}  {}\n", bounce.bounce, bounce.status));
    let (coders, others): (Vec<_>, Vec<_>) =
        bounce.sessions.iter().partition(|session| session.role == "coder");
    for session in coders {
        session_line(text, session);
    }
    for gate in &bounce.gates {
        line(text, "gate", gate);
    }
    for session in others {
        session_line(text, session);
    }
    if let Some(verdict) = &bounce.verdict {
        let ruling = serde_json::to_value(verdict.ruling).unwrap_or_default();
        let ruling = ruling.as_str().unwrap_or_default();
        let told = format!("{ruling} ({:.0} %): {}", verdict.confidence * 100.0, verdict.reason);
        line(text, "verdict", told.trim_end_matches(": "));
    } else if let Some(reason) = bounce.reason.as_deref().filter(|_| bounce.gates.is_empty()) {
        line(text, "reason", reason);
    }
}

fn session_line(text: &mut String, session: &SessionRow) {
    let said = session.reason.as_deref().map(|reason| format!(", {reason}"));
    let told = format!(
        "{}, {}, {}{}",
        session.status,
        spore_app::counted(session.turns, "turn"),
        session.cost,
        said.unwrap_or_default()
    );
    line(text, &session.role, &told);
}

pub(super) fn many(number: usize, noun: &str) -> String {
    spore_app::counted(u32::try_from(number).unwrap_or(u32::MAX), noun)
}

/// Text of an agent's without what would drive the terminal.
fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || *c == '\n').collect()
}

/// One named line; further lines of the value are set in below it.
fn line(text: &mut String, name: &str, value: &str) {
    let indented = clean(value).trim_end().replace('\n', &format!("\n{:12}", ""));
    text.push_str(&format!("  {name:8}  {indented}\n"));
}

pub(super) fn minute(time: Timestamp) -> String {
    time.to_string()[..16].replace('T', " ")
}

fn duration(time: std::time::Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        seconds @ 60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}
