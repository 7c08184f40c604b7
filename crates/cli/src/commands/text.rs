//! Runs as people read them.

use spore_app::{
    ALLOW_SECRETS, Applied, Apply, BounceReport, NextStep, PartRow, RolePlan, RunList, RunPlan,
    RunReport, SessionRow,
};
use spore_model::{RefusedCalls, Run, RunKind, RunState, RunStatus, Timestamp};
use spore_plain as plain;

use crate::local_time::minute;

/// The last words of a command that worked on a run.
pub(super) fn ending(report: &RunReport) -> String {
    let (id, cost) = (report.run.id.short(), report.cost);
    let reason = plain::line(report.run.reason.as_deref().unwrap_or_default());
    match (report.status, &report.applied) {
        (RunStatus::Verified, Some(applied)) => verified(report, applied),
        (RunStatus::Finished, Some(applied)) if report.run.kind == RunKind::Solo => {
            let not =
                if applied.done { "What it did is" } else { "But what it did is not applied:" };
            let next = applied.next.as_deref().map(|next| format!("\n  {next}"));
            format!(
                "{}\n\nRun {id} finished for {cost}; no verifier judged it. {not} {}{}",
                report.answer.as_deref().unwrap_or_default().trim(),
                applied.what,
                next.unwrap_or_default()
            )
        }
        (RunStatus::Finished, _) if report.run.kind == RunKind::Spawn => {
            report.answer.clone().unwrap_or_default()
        }
        (RunStatus::Finished | RunStatus::Partial, Some(applied)) => {
            let word = report.status;
            let place = match applied.done {
                true => format!("\n{}", where_it_is(applied)),
                // The reason says it.
                false => to_type(applied),
            };
            format!("Run {id} {word} for {cost}: {reason}{place}")
        }
        (RunStatus::Finished, _) if report.run.kind != RunKind::Solo => {
            format!("Run {id} finished for {cost}: {reason}\n  {}", report.directory)
        }
        (RunStatus::Finished, _) => format!(
            "{}\n\nRun {id} finished for {cost}; no verifier judged it. What it left:\n  {}\n  git --git-dir=.spore/work.git diff {} refs/spore/{}/bounce/1",
            report.answer.as_deref().unwrap_or_default().trim(),
            report.directory,
            report.run.base_commit.as_ref().map_or("HEAD", |base| &base.as_str()[..12]),
            report.run.id
        ),
        (RunStatus::Interrupted, _) => format!(
            "Run {id} is interrupted, after {cost}. Nothing that was recorded is lost:\n  spore resume {id}"
        ),
        (status, _) if report.run.state == RunState::Parked => {
            let what = match status {
                RunStatus::ParkedBudget => "budget",
                RunStatus::ParkedQuota => "quota",
                _ => "a person",
            };
            let next = report.next.as_ref().map(|next| format!("\n{}", to_do(next)));
            format!("Run {id} waits for {what}: {reason}{}", next.unwrap_or_default())
        }
        (RunStatus::Escalated, _) => format!(
            "Run {id} is escalated: {reason}\nIt cost {cost}. A person has to decide; everything that was tried is kept:\n  spore runs show {id}\n  {}/escalation.md",
            report.directory
        ),
        (status, _) => {
            let next = report.next.as_ref().map(|next| format!("\n{}", to_do(next)));
            format!(
                "Run {id} {status}: {reason}\nIt cost {cost}. To see what was tried:\n  spore runs show {id}{}",
                next.unwrap_or_default()
            )
        }
    }
}

/// What a person does now, and what to type.
pub(super) fn to_do(next: &NextStep) -> String {
    if let Some(until) = next.until {
        let until = minute(until);
        return format!("Wait until {until}, when its limit is over:\n  {}", next.command);
    }
    let mut say = next.say.chars();
    let say: String = say.next().map(|c| c.to_ascii_uppercase()).into_iter().chain(say).collect();
    format!("{say}:\n  {}", next.command.replace('\n', "\n  "))
}

fn verified(report: &RunReport, applied: &Applied) -> String {
    let after = many(report.bounces.len(), "attempt");
    let mut text = format!("Verified after {after} for {}. ", report.cost);
    let in_files = report.run.settings["in_place"] == true;
    text.push_str(&match (in_files, applied.done) {
        (true, true) => format!("The work is {}{}", applied.what, to_type(applied)),
        (false, true) => where_it_is(applied),
        (_, false) => format!("But the work is not applied: {}{}", applied.what, to_type(applied)),
    });
    text
}

/// Where work is that was applied, and how to bring it on from there.
fn where_it_is(applied: &Applied) -> String {
    match (&applied.how, &applied.branch) {
        (Apply::Branch, Some(branch)) => format!(
            "The work is on branch {branch}:\n  git diff HEAD...{branch}\n  git merge {branch}"
        ),
        _ => format!("The work is {}{}", applied.what, to_type(applied)),
    }
}

/// What to type next about work that was applied, or could not be.
fn to_type(applied: &Applied) -> String {
    applied.next.as_deref().map(|next| format!("\n  {next}")).unwrap_or_default()
}

/// What a run would do.
pub(super) fn plan(plan: &RunPlan) -> String {
    let mut text =
        format!("Would work on: {}\n", plain::line(plan.task.lines().next().unwrap_or("")));
    field(&mut text, "base", &plan.base.as_str()[..12]);
    if plan.left_out > 0 {
        let files = spore_app::counted(plan.left_out, "uncommitted file");
        field(&mut text, "without", &files);
    }
    for (role, RolePlan { choice, terms }) in &plan.roles {
        let model = choice.model.as_deref().map(|model| format!(", {model}")).unwrap_or_default();
        let turns = spore_app::counted(terms.turns, "turn");
        let time = duration(std::time::Duration::from_millis(terms.wall_ms));
        let agent = match choice.backend.as_str() {
            "" => "no agent yet",
            backend => backend,
        };
        field(&mut text, role, &format!("{agent}{model}, {turns} in {time}"));
    }
    for gate in &plan.gates {
        field(&mut text, "check", gate);
    }
    let bounces = spore_app::counted(plan.max_bounces, "attempt");
    let limits = format!("{bounces}, {} in all", plan.budget_usd);
    field(&mut text, "limits", &limits);
    let summed = if plan.summarize { "summed up" } else { "not summed up" };
    let laid = if plan.in_place { " and put into your files" } else { "" };
    field(&mut text, "result", &format!("applied as {}{laid}, {summed}", plan.apply));
    let held = if plan.sandboxed { "the kernel confines agents and checks" } else { "none" };
    field(&mut text, "sandbox", held);
    for note in &plan.not_held {
        field(&mut text, "", note);
    }
    if let Some(missing) = &plan.missing {
        field(&mut text, "missing", missing);
    }
    text.push_str("Nothing was done.\n");
    text
}

/// Says that there is nothing to show, and what to do about it.
pub(super) fn no_runs(is_filtered: bool) -> String {
    match is_filtered {
        false => "No runs yet. `spore orchestrate TASK` starts one.".to_owned(),
        true => "No run is like that. `spore runs list` shows all.".to_owned(),
    }
}

pub(super) fn table_of_runs(list: &RunList, is_filtered: bool) -> String {
    if list.rows.is_empty() {
        return no_runs(is_filtered);
    }
    let mut text =
        format!("{:8}  {:13}  {:20}  {:>9}  {}\n", "RUN", "STATUS", "STARTED", "COST", "TASK");
    for row in &list.rows {
        text.push_str(&format!(
            "{:8}  {:13}  {:20}  {:>9}  {}\n",
            row.run.id.short(),
            row.status,
            minute(row.run.started),
            spore_model::Cost::from(row.run.cost).to_string(),
            plain::ends_within(what(&row.run), 60)
        ));
    }
    if list.is_cut {
        text.push_str(&format!("{}\n", more_runs(list.rows.len())));
    }
    text
}

/// Says that there are more runs than were listed.
pub(super) fn more_runs(shown: usize) -> String {
    format!("Older runs are not shown: --limit {} shows more.", shown.max(1) * 5)
}

pub(super) fn run_in_full(report: &RunReport, now: Timestamp) -> String {
    let run = &report.run;
    let mut text = format!("Run {}  {}\n", run.id, report.status);
    field(&mut text, "task", what(run));
    if let Some(base) = &run.base_commit {
        field(&mut text, "base", &base.as_str()[..12]);
    }
    let took = run.ended.map(|ended| format!(", took {}", duration(ended.since(run.started))));
    field(&mut text, "started", &format!("{}{}", minute(run.started), took.unwrap_or_default()));
    let sessions = many(report.ledger.len(), "session");
    field(&mut text, "cost", &format!("{} in {sessions}", report.cost));
    if let Some(reason) = run.reason.as_deref().filter(|_| report.status != RunStatus::Verified) {
        field(&mut text, "reason", reason);
    }
    if let (Some(applied), Some(commit)) = (&report.applied, &report.commit) {
        let not = if applied.done { "" } else { "not applied: " };
        let commit = &applied.named(commit).as_str()[..12];
        field(&mut text, "commit", &format!("{commit}, {not}{}", applied.what));
    }
    field(&mut text, "files", &report.directory);
    if let Some(next) = &report.next {
        field(&mut text, "next", &to_do(next));
    }
    if !report.left.is_empty() {
        let shown =
            report.left.iter().map(|name| format!("\n  git --git-dir=.spore/work.git show {name}"));
        let shown: String = shown.collect();
        field(&mut text, "left", &format!("What was changed when a session was cut short:{shown}"));
    }
    for live in &report.live {
        field(&mut text, "now", &live.line(now.since(live.started)));
    }
    for bounce in &report.bounces {
        bounce_in_full(&mut text, bounce);
    }
    if !report.sessions.is_empty() {
        text.push_str("\nThe run itself\n");
        for session in &report.sessions {
            session_line(&mut text, session, run.kind);
        }
    }
    let layers = report.parts.iter().filter(|part| part.kind != RunKind::Session);
    for (at, part) in layers.enumerate() {
        text.push_str(if at == 0 { "\nParts\n" } else { "" });
        part_line(&mut text, part, run.kind);
    }
    for session in report.parts.iter().filter(|part| part.kind == RunKind::Session) {
        refused_line(&mut text, &session.refused, run.kind, &session.name);
    }
    text
}

/// What a run is about. A flow's name is that of its definition alone, and says nothing of its target.
fn what(run: &Run) -> &str {
    use RunKind::{Campaign, Exec, Phase, Sentinel, Stage};
    let is_flow = matches!(run.kind, Exec | Stage | Phase | Campaign | Sentinel);
    run.task.as_deref().filter(|_| is_flow).unwrap_or(&run.name)
}

/// One row: what a person types to see more of it and what it cost, then where it is in the tree. Of
/// those who race the agent is told, which is all that they differ in.
fn part_line(text: &mut String, part: &PartRow, of: RunKind) {
    let indent = "  ".repeat(part.depth.saturating_sub(1) as usize);
    let again =
        if part.attempt > 1 { format!(", attempt {}", part.attempt) } else { String::new() };
    let agent = part.backend.as_deref().filter(|_| of == RunKind::Race);
    let agent = agent.map(|agent| format!(" ({})", plain::line(agent))).unwrap_or_default();
    let is_news =
        |reason: &&str| part.status != RunStatus::Finished && *reason != part.status.as_str();
    let said = part.reason.as_deref().filter(is_news);
    let said = said.map(|reason| format!(": {}", plain::line(reason))).unwrap_or_default();
    let (kind, name) = (part.kind.as_str(), plain::line(&part.name));
    let made = part.commit.as_ref().map(|commit| format!("  {}", &commit.as_str()[..12]));
    let made = made.unwrap_or_default();
    let kept = part.rolled_back.as_ref().map(|name| format!("  taken back to {name}"));
    let made = format!("{made}{}", kept.unwrap_or_default());
    text.push_str(&format!(
        "  {}  {:>8}  {indent}{kind} {name}{agent}{again}  {}{said}{made}\n",
        part.id.short(),
        part.cost.to_string(),
        part.status
    ));
}

fn bounce_in_full(text: &mut String, bounce: &BounceReport) {
    text.push_str(&format!("\nAttempt {}  {}\n", bounce.bounce, bounce.status));
    let (coders, others): (Vec<_>, Vec<_>) =
        bounce.sessions.iter().partition(|session| session.role == "coder");
    for session in coders {
        session_line(text, session, RunKind::Orchestrate);
    }
    if !bounce.left_out.is_empty() {
        let files: Vec<String> =
            bounce.left_out.iter().map(|file| plain::ends_within(file, 60)).collect();
        let told = format!("{}; `[commit] allow` lets paths in", files.join(", "));
        field(text, "left out", &told);
    }
    for secret in &bounce.secrets {
        field(text, "secret", &secret.to_string());
    }
    if !bounce.secrets.is_empty() {
        field(text, "", &format!("where it is meant to be: {ALLOW_SECRETS}"));
    }
    for said in &bounce.gates {
        match said.split_once(": ") {
            Some(("proof", proof)) => field(text, "proof", proof),
            Some(("not proved", doubt)) => field(text, "doubt", doubt),
            _ => field(text, "check", said),
        }
    }
    red_checks(text, bounce);
    for session in others {
        session_line(text, session, RunKind::Orchestrate);
    }
    if let Some(verdict) = &bounce.verdict {
        let ruling = serde_json::to_value(verdict.ruling).unwrap_or_default();
        let ruling = ruling.as_str().unwrap_or_default();
        let told = format!("{ruling} ({:.0} %): {}", verdict.confidence * 100.0, verdict.reason);
        field(text, "verdict", told.trim_end_matches(": "));
        for finding in &verdict.findings {
            field(text, "finding", &finding.to_string());
        }
    } else if let Some(reason) = bounce.reason.as_deref().filter(|_| bounce.gates.is_empty()) {
        field(text, "reason", reason);
    }
}

/// What fails, and the last of what was printed about it.
fn red_checks(text: &mut String, bounce: &BounceReport) {
    const NAMED: usize = 10;
    for name in bounce.failing.iter().take(NAMED) {
        field(text, "fails", name);
    }
    if let Some(more) = bounce.failing.len().checked_sub(NAMED).filter(|more| *more > 0) {
        field(text, "", &format!("and {more} more"));
    }
    let last = last_lines(&bounce.output);
    if !last.is_empty() {
        field(text, "output", &last);
    }
}

/// The end of what a check printed, which mostly says why it failed.
pub(super) fn last_lines(output: &str) -> String {
    const LINES: usize = 12;
    let lines: Vec<&str> = output.trim_end().lines().collect();
    let from = lines.len().saturating_sub(LINES);
    let mut told: Vec<String> = lines[from..].iter().map(|line| indented(line, 160)).collect();
    if from > 0 {
        told.insert(0, "…".to_owned());
    }
    told.join("\n")
}

/// A line of a program's output, whose indentation says something.
fn indented(line: &str, most: usize) -> String {
    let indent = line.len() - line.trim_start_matches(' ').len();
    format!("{}{}", " ".repeat(indent.min(16)), plain::ends_within(line, most))
}

/// What a session was not let do, and what would let it.
fn refused_line(text: &mut String, refused: &RefusedCalls, kind: RunKind, role: &str) {
    let cure = match kind {
        RunKind::Spawn => "`--allowed-tools` lets them through".to_owned(),
        RunKind::Orchestrate | RunKind::Solo => {
            format!("`[roles.{role}] tools` says what it may use")
        }
        _ => "`allowed_tools` of its executor lets them through".to_owned(),
    };
    if !refused.is_empty() {
        field(text, "", &format!("{refused}; {cure}"));
    }
}

fn session_line(text: &mut String, session: &SessionRow, kind: RunKind) {
    let said = session.reason.as_deref().map(|reason| format!(", {reason}"));
    let told = format!(
        "{}, {}, {}{}",
        session.status,
        spore_app::counted(session.turns, "turn"),
        session.cost,
        said.unwrap_or_default()
    );
    field(text, &session.role, &told);
    refused_line(text, &session.refused, kind, &session.role);
}

pub(super) fn many(number: usize, noun: &str) -> String {
    spore_app::counted(u32::try_from(number).unwrap_or(u32::MAX), noun)
}

/// One named line; further lines of the value are set in below it.
pub(super) fn field(text: &mut String, name: &str, value: &str) {
    let indented = plain::block(value).trim_end().replace('\n', &format!("\n{:14}", ""));
    text.push_str(&format!("  {name:10}  {indented}\n"));
}

pub(super) fn duration(time: std::time::Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        seconds @ 60..3600 if seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds @ 60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use spore_model::{Cost, RunId, Usd};

    use super::*;

    #[test]
    fn a_part_is_told_with_its_id_its_cost_and_of_a_race_its_agent() {
        let part = |depth, dollars, estimated| PartRow {
            id: RunId::from_parts(0, 7),
            kind: RunKind::Orchestrate,
            name: "write it".to_owned(),
            attempt: 1,
            depth,
            status: RunStatus::Failed,
            outcome: None,
            backend: Some("codex".to_owned()),
            reason: Some("its checks are red".to_owned()),
            turns: 1,
            cost: Cost { usd: Usd::from_dollars(dollars).unwrap(), estimated },
            started: Timestamp::from_millis(0),
            ended: None,
            commit: None,
            rolled_back: None,
            refused: RefusedCalls::default(),
        };
        let told = |part: &PartRow, of| {
            let mut text = String::new();
            part_line(&mut text, part, of);
            text
        };
        for (part, of, expected) in [
            (part(1, 0.5, false), RunKind::Race, "     $0.50  orchestrate write it (codex)"),
            (part(1, 0.5, true), RunKind::Loop, "    ~$0.50  orchestrate write it"),
            (part(2, 112.5, false), RunKind::Stage, "   $112.50    orchestrate write it"),
        ] {
            let expected = format!("  00000007{expected}  failed: its checks are red\n");
            assert_eq!(told(&part, of), expected);
        }
    }
}
