//! Memory as people read it. Reports of passes name files and lines and repeat nothing of what
//! events said; `status` and `why` show a person their own lines.

use std::collections::BTreeMap;
use std::fmt::Write;

use spore_app::Cursor;
use spore_app::memory::{
    CarriedRuns, Crystallized, Decision, InboxTask, LineDecision, LineEvidence, LineStanding,
    MemoryJudged, MemoryScanned, MemoryStatus, MemoryUpdated, MemoryWhy, MemoryWoven, PassEnding,
    TrialFinding, TrialReport, WeaveMode,
};
use spore_app::memory::{PRIORITY, Terminal};
use spore_config::ScheduleConfig;
use spore_plain::{line, line_within};

/// How much of a line is shown in a table.
const WIDTH: usize = 60;

/// Without a fragment exactly the one sentence, and nothing with it.
pub(super) fn scanned(scanned: &MemoryScanned) -> String {
    if scanned.ending.terminal == Terminal::NoNewGradient {
        return scanned.ending.result.clone();
    }
    let mut text = format!("{}\n\n", scanned.ending.result);
    row(&mut text, "Scanned", &format!("{} to {}", place(&scanned.from), place(&scanned.to)));
    row(&mut text, "Accepted", &kinds(&scanned.accepted));
    row(&mut text, "Rejected", &kinds(&scanned.rejected));
    if scanned.unscannable > 0 {
        row(&mut text, "Unscannable", &scanned.unscannable.to_string());
    }
    if scanned.recalled > 0 {
        row(&mut text, "Only said back what memory told", &scanned.recalled.to_string());
    }
    text.push_str("Fragments:\n");
    for path in &scanned.fragments {
        let _ = writeln!(text, "  {path}");
    }
    evidence(&mut text, &scanned.lines);
    if scanned.pending > 0 {
        row(&mut text, "Pending for judgement", &scanned.pending.to_string());
    }
    row(&mut text, "State advanced", if scanned.state_advanced { "yes" } else { "no" });
    task_rows(&mut text, &scanned.ending);
    text
}

pub(super) fn crystallized(done: &Crystallized) -> String {
    let mut text = format!("{}\n", done.ending.result);
    if !done.written.is_empty() {
        text.push_str("\nWritten:\n");
        for path in &done.written {
            let _ = writeln!(text, "  {path}");
        }
    }
    evidence(&mut text, &done.lines);
    if done.new_signals > 0 {
        row(&mut text, "Signals that no line says", &format!("{} new", done.new_signals));
    }
    task_rows(&mut text, &done.ending);
    text
}

pub(super) fn judged(judged: &MemoryJudged) -> String {
    let mut text = format!("{}\n", judged.ending.result);
    if judged.ending.run.is_none() {
        return text;
    }
    text.push('\n');
    let answers: Vec<String> =
        judged.answers.iter().map(|(answer, count)| format!("{answer} {count}")).collect();
    if !answers.is_empty() {
        row(&mut text, "Answers", &answers.join(", "));
    }
    for one in &judged.refused {
        row(&mut text, "Refused", &format!("{}: {}", one.event, one.reason));
    }
    if judged.stray > 0 {
        row(&mut text, "About what was not asked", &judged.stray.to_string());
    }
    if !judged.fragments.is_empty() {
        text.push_str("Fragments:\n");
        for path in &judged.fragments {
            let _ = writeln!(text, "  {path}");
        }
    }
    row(&mut text, "Still waiting", &judged.left.to_string());
    row(&mut text, "Cost", &format!("{} in {} sessions", judged.cost_usd, judged.sessions));
    text
}

/// Without a change exactly the one sentence, and nothing with it.
pub(super) fn woven(woven: &MemoryWoven) -> String {
    if woven.ending.terminal == Terminal::NoNewGradient {
        return woven.ending.result.clone();
    }
    let mut text = format!("{}\n\n", woven.ending.result);
    let mode = match woven.mode {
        WeaveMode::Directed => "directed",
        WeaveMode::Reflective => "reflective",
    };
    row(&mut text, "Mode", mode);
    text.push_str("Passes:\n");
    for pass in &woven.passes {
        let _ = writeln!(text, "  {}: {}", pass.pass, line(&pass.result));
    }
    for task in &woven.tasks {
        match &task.why {
            None => row(&mut text, "Done and off the inbox", &task.ack),
            Some(why) => row(&mut text, "Still in the inbox", &format!("{}: {why}", task.ack)),
        }
    }
    if !woven.changed.is_empty() {
        text.push_str("Changed:\n");
        for path in &woven.changed {
            let _ = writeln!(text, "  {path}");
        }
    }
    evidence(&mut text, &woven.lines);
    text
}

pub(super) fn updated(updated: &MemoryUpdated) -> String {
    let mut text = String::new();
    if updated.dry_run {
        text.push_str("Nothing was changed. An update would say:\n");
    }
    let _ = writeln!(text, "{}", updated.ending.result);
    decisions(&mut text, "Removed", &updated.removed);
    if !updated.rewritten.is_empty() {
        text.push_str("Rewritten:\n");
    }
    for line in &updated.rewritten {
        let _ = writeln!(text, "  {}: {} is {} now, by {}", line.line, line.old, line.new, line.by);
    }
    for hash in &updated.trials_ended {
        row(&mut text, "Trial ended", &format!("{hash} is no longer what runs are told"));
    }
    decisions(&mut text, "Kept", &updated.kept);
    decisions(&mut text, "For review", &updated.for_judgement);
    for one in &updated.refused {
        row(&mut text, "Refused", &format!("{}: {}", one.proposal, one.reason));
    }
    if !updated.diff.is_empty() {
        let _ = write!(text, "\n{}", updated.diff);
    }
    task_rows(&mut text, &updated.ending);
    text
}

fn decisions(text: &mut String, title: &str, lines: &[LineDecision]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(text, "{title}:");
    for line in lines {
        let _ = writeln!(text, "  {}: {}", line.line, tally(line));
    }
}

fn tally(line: &LineDecision) -> String {
    format!("{} helped, {} missed, {} waiting", line.helped, line.missed, line.waiting)
}

fn evidence(text: &mut String, lines: &[LineEvidence]) {
    if lines.is_empty() {
        return;
    }
    text.push_str("Lines:\n");
    for line in lines {
        let _ = writeln!(text, "  {}: {}", line.line, line.evidence);
    }
}

fn task_rows(text: &mut String, ending: &PassEnding) {
    if let Some(name) = &ending.acked {
        row(text, "Done and off the inbox", name);
    }
    if let Some(name) = &ending.pending_task {
        row(text, "Still in the inbox", name);
    }
}

fn row(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "{name}: {}", line(value));
}

fn kinds(kinds: &BTreeMap<String, u64>) -> String {
    if kinds.is_empty() {
        return "none".to_owned();
    }
    kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect::<Vec<_>>().join(", ")
}

fn place(cursor: &Cursor) -> String {
    if cursor.partition.is_empty() {
        return "the beginning".to_owned();
    }
    format!("{}@{}", cursor.partition, cursor.offset)
}

pub(super) fn status(status: &MemoryStatus) -> String {
    let mut text = String::new();
    if status.lines.is_empty() {
        text.push_str("memory/CLAUDE.md has no lines yet: write what every agent should keep in mind into .spore/memory/CLAUDE.md.\n");
    }
    for line in &status.lines {
        let _ = writeln!(text, "{}", standing(line));
    }
    if !status.lessons.is_empty() {
        text.push_str("\nLessons of runs:\n");
    }
    for lesson in &status.lessons {
        let _ = writeln!(text, "{}", standing(lesson));
    }
    text.push('\n');
    let read = status.scanned_to.as_ref().map_or_else(|| "never".to_owned(), place);
    row(&mut text, "Scanned to", &read);
    let removable = status.lines.iter().filter(|l| l.decision.decision == Decision::Remove).count();
    for (what, number, command) in [
        ("Bytes of events no scan has read", status.unscanned_bytes, "spore memory scan"),
        ("Fragments not in the ledger", status.not_folded.into(), "spore memory crystallize"),
        ("Fragments that are refused", count(status.refused_fragments), ""),
        ("Lines the ledger asks to remove", count(removable), "spore memory update"),
        ("Pages missing", count(status.missing_dossiers.len()), "spore memory crystallize"),
        (
            "Events waiting for review",
            count(status.pending) + status.pending_older,
            "spore memory judge",
        ),
        ("Signals that no line says", count(status.new_signals), ""),
        ("Lines of the ledger no longer in the file", count(status.gone), ""),
        ("Trials of lines no longer in the file", count(status.trials_without_line.len()), ""),
        ("Tasks in the inbox", count(status.inbox.len()), "spore memory inbox list"),
    ] {
        left(&mut text, what, number, command);
    }
    text
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// One thing that is left to do, with the command that does it.
fn left(text: &mut String, what: &str, number: u64, command: &str) {
    let _ = match (number, command) {
        (0, _) => Ok(()),
        (_, "") => writeln!(text, "{what}: {number}"),
        _ => writeln!(text, "{what}: {number} (`{command}`)"),
    };
}

fn standing(line: &LineStanding) -> String {
    // Two files may have a line of one number.
    let number = match line.decision.line.split_once(':') {
        Some(("lesson", _)) | None => "",
        Some((PRIORITY, _)) => line.decision.line.trim_start_matches("memory/"),
        Some((_, number)) => number,
    };
    let trial = line.trial.map(|share| format!(", on trial, {share}")).unwrap_or_default();
    let open = if line.pending > 0 { format!(", {} pending", line.pending) } else { String::new() };
    let trend = if line.trend.is_empty() { String::new() } else { format!("  {}", line.trend) };
    format!(
        "{number:<5} {}  {:<9} {}\n      {}{open}{}{trial}{trend}",
        line.decision.hash,
        word(line.decision.decision),
        line_within(&line.text, WIDTH),
        tally(&line.decision),
        carried(line.carried)
    )
}

fn carried(runs: CarriedRuns) -> String {
    match runs.runs {
        0 => String::new(),
        count => format!(", carried by {count} runs of which {} were verified", runs.verified),
    }
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Untested => "untested",
        Decision::Keep => "keep",
        Decision::Waiting => "waiting",
        Decision::Judge => "review",
        Decision::Remove => "remove",
    }
}

pub(super) fn why(why: &MemoryWhy) -> String {
    let at = why.line.as_deref().unwrap_or("no longer in memory/CLAUDE.md");
    let mut text = format!("{at} {}\n  {}\n\n", why.hash, line(&why.text));
    let _ = writeln!(text, "{}: {}.", word(why.decision), why.why);
    for (name, cues) in [
        ("Points to", &why.pointers),
        ("Paths", &why.paths),
        ("Triggers", &why.triggers),
        ("Actions", &why.actions),
    ] {
        if !cues.is_empty() {
            row(&mut text, name, &cues.join(" | "));
        }
    }
    if !why.was.is_empty() {
        let was: Vec<&str> = why.was.iter().map(|hash| hash.as_str()).collect();
        row(&mut text, "Was", &was.join(" | "));
    }
    if why.carried.runs > 0 {
        let CarriedRuns { runs, verified, fell_short } = why.carried;
        let told = format!("by {runs} runs: {verified} verified, {fell_short} fell short");
        row(&mut text, "Carried", &told);
    }
    if !why.evidence.is_empty() {
        text.push_str("\nEvidence:\n");
    }
    for row in &why.evidence {
        let cause = row.root_cause.map_or(String::new(), |cause| format!(" ({cause})"));
        let elsewhere = if row.here { "" } else { ", on another machine" };
        let _ = writeln!(
            text,
            "  {} {} by {} from {}{cause}, decided by {}{elsewhere}\n    {}",
            row.ts, row.trajectory, row.signal, row.kind, row.by, row.fragment
        );
        if let Some(evidence) = &row.evidence {
            let _ = writeln!(text, "    {}", line(evidence));
        }
    }
    if !why.pending.is_empty() {
        text.push_str("\nWaiting for review:\n");
    }
    for touch in &why.pending {
        let relation = touch.relation.map_or("", |relation| relation.as_str());
        let _ = writeln!(
            text,
            "  {} {} {} by {relation}: {}",
            line(&touch.ts),
            line(&touch.kind),
            line(&touch.what),
            place(&touch.at)
        );
    }
    text
}

/// What serving will do, for who starts it.
pub(super) fn schedule(schedule: &ScheduleConfig, no_model: bool) -> String {
    let model = match no_model {
        true => "no model is asked",
        false => "a model is asked where an agent is ready",
    };
    format!(
        "Weaving by itself: tasks of the inbox every {:?}, what is new every {} of these; {model}. \
         Ctrl-C ends it.",
        schedule.tick, schedule.cooldown_ticks
    )
}

pub(super) fn trial(report: &TrialReport) -> String {
    let mut text = format!("{}\n  {}\n\n", report.hash, line(&report.text));
    let since = match &report.trial.ended {
        Some(ended) => format!("{} to {ended}", report.trial.started),
        None => format!("{}, still on", report.trial.started),
    };
    row(&mut text, "On trial", &format!("{since}; withheld from {}", report.trial.share));
    for (name, arm) in [("Told", report.told), ("Withheld", report.withheld)] {
        let figures =
            format!("{} runs, {} verified, ${:.2} each", arm.runs, arm.verified, arm.mean_cost_usd);
        row(&mut text, name, &figures);
    }
    for (name, found) in
        [("Verified more often by", report.verified), ("Dearer by", report.cost_usd)]
    {
        if let Some(found) = found {
            let figures = format!("{:.3} ({:.3} to {:.3})", found.mean, found.low, found.high);
            row(&mut text, name, &figures);
        }
    }
    let finding = match report.finding {
        TrialFinding::TooFewRuns => "too few runs to say anything: ten on each side at least",
        TrialFinding::NoDifferenceSeen => "no difference is seen",
        TrialFinding::Helps => "runs that are told the line are verified more often",
        TrialFinding::Harms => "runs that are told the line are verified less often",
    };
    row(&mut text, "So far", finding);
    if !report.also_in.is_empty() {
        let files = report.also_in.join(", ");
        text.push_str(&format!(
            "\nThe line is in {files} too, which agents read by themselves: runs that are not told it \
             may know it all the same. Take it out there for as long as the trial is on.\n"
        ));
    }
    text
}

pub(super) fn inbox(tasks: &[InboxTask]) -> String {
    if tasks.is_empty() {
        return "The inbox is empty.".to_owned();
    }
    let line = |task: &InboxTask| {
        if let Some(why) = &task.unreadable {
            return format!("{}: {}\n", task.packet.ack, line_within(why, 2 * WIDTH));
        }
        let passes: Vec<&str> = task.packet.passes.iter().map(|pass| pass.as_str()).collect();
        format!(
            "{}: {}  ({})\n",
            task.packet.ack,
            line_within(&task.packet.body, WIDTH),
            passes.join(", ")
        )
    };
    tasks.iter().map(line).collect()
}

pub(super) fn task(task: &InboxTask) -> String {
    let passes: Vec<&str> = task.packet.passes.iter().map(|pass| pass.as_str()).collect();
    let body: Vec<_> = task.packet.body.lines().map(line).collect();
    format!("{}: needs {}\n\n{}", task.packet.ack, passes.join(", "), body.join("\n"))
}
