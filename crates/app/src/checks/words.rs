//! The results of the gates in words: for the loop, the coder, the verifier and the spine.

use serde_json::json;
use spore_gates::{GateResult, Standing, Tampering};
use spore_pipeline::{GateSummary, NamelessGate};

use crate::checks::project::TASK_GATE;
use crate::checks::review::Review;

/// Sums up the results, with at most `room` bytes of what red gates printed.
pub(crate) fn summary(results: &[GateResult], notes: Vec<String>, room: usize) -> GateSummary {
    let red: Vec<&GateResult> =
        results.iter().filter(|result| result.standing == Standing::Red).collect();
    let mut evidence = String::new();
    for result in &red {
        evidence.push_str(&heading(result));
        let log = spore_effects::files::read(&result.log).unwrap_or_default();
        let room = room.saturating_sub(evidence.len());
        evidence.push_str(&spore_gates::excerpt(&log, room));
    }
    GateSummary {
        green: red.is_empty(),
        lines: results.iter().map(line).chain(notes).collect(),
        new_failures: red.iter().flat_map(|result| result.new_failures.clone()).collect(),
        evidence,
        proof: None,
        nameless: red.iter().filter_map(|result| nameless(result)).collect(),
        asked: asked(&red),
    }
}

/// Returns the commands of red gates, if all of them are those of the task.
fn asked(red: &[&GateResult]) -> Vec<String> {
    match red.iter().all(|result| result.gate.starts_with(TASK_GATE)) {
        true => red.iter().map(|result| result.command.clone()).collect(),
        false => Vec::new(),
    }
}

/// Returns what is known of a red gate that names no test.
fn nameless(result: &GateResult) -> Option<NamelessGate> {
    /// What the shell says of a program that is not there, or that it may not start.
    const UNSTARTED: [Option<i32>; 2] = [Some(126), Some(127)];
    const LINES: usize = 12;
    const BYTES: usize = 2000;
    if result.exit.is_some() && result.recognised && !result.failures.is_empty() {
        return None;
    }
    let log = spore_effects::files::read(&result.log).unwrap_or_default();
    let said = spore_gates::excerpt(&log, BYTES);
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    Some(NamelessGate {
        command: result.command.clone(),
        unstarted: UNSTARTED.contains(&result.exit),
        tail: last.join("\n"),
    })
}

/// Sums up a change that was not even checked: it decides itself how it would be.
pub(crate) fn refusal(review: &Review) -> GateSummary {
    let lines = review
        .tampering
        .iter()
        .map(|one| format!("refused: {} {}", one.path, one.what))
        .collect::<Vec<_>>();
    let evidence = format!(
        "The change edits what decides how it is checked, so nothing was checked:\n{}\n\
         Put these back as they were and solve the task without them.\n",
        review
            .tampering
            .iter()
            .map(|one| format!("- {}: {}", one.path, one.what))
            .collect::<Vec<_>>()
            .join("\n")
    );
    let (new_failures, nameless, asked) = (Vec::new(), Vec::new(), Vec::new());
    GateSummary { green: false, lines, new_failures, evidence, proof: None, nameless, asked }
}

/// Says in one line that work decides itself how it would be checked, and what a person can do.
pub(crate) fn tampered(found: &[Tampering]) -> String {
    const MOST: usize = 5;
    let mut all: Vec<String> =
        found.iter().take(MOST).map(|one| format!("{} {}", one.path, one.what)).collect();
    if found.len() > MOST {
        all.push(format!("{} more", found.len() - MOST));
    }
    format!(
        "what those before it left edits what decides how it is checked ({}): put that back, or \
         allow it with `[gates] allow_test_changes`",
        all.join("; ")
    )
}

/// What a coder is told above a red gate's output.
fn heading(result: &GateResult) -> String {
    let place = if result.restored {
        "With the tests as they were before your change (yours were set aside for this run, and \
         they do not count here):\n"
    } else {
        ""
    };
    let mut heading = format!("{place}$ {}\n", result.command);
    if !result.missing.is_empty() {
        const MOST: usize = 20;
        heading.push_str("These tests ran before your change and no longer do; bring them back:\n");
        for name in result.missing.iter().take(MOST) {
            heading.push_str(&format!("- {name}\n"));
        }
        if let Some(more) = result.missing.len().checked_sub(MOST).filter(|more| *more > 0) {
            heading.push_str(&format!("- and {more} more\n"));
        }
    }
    heading
}

/// Names of tests that a line repeats; all of them are with the result.
const NAMED: usize = 5;

fn some_of(names: &[String]) -> String {
    let named = names[..names.len().min(NAMED)].join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// One line a gate: what was run and what it said.
pub(crate) fn line(result: &GateResult) -> String {
    let counts = match (result.passed, result.failed) {
        (0, 0) => String::new(),
        (passed, failed) => format!(", {passed} passed, {failed} failed"),
    };
    let word = match (result.standing, result.exit) {
        (_, None) => "timed out".to_owned(),
        (Standing::Green, _) => "green".to_owned(),
        (Standing::OldRed, _) => "red as at the base".to_owned(),
        (Standing::Red, Some(code)) => match result.new_failures.as_slice() {
            [] => format!("red, exit {code}"),
            names => format!("red, failing: {}", some_of(names)),
        },
    };
    let note = result.note.as_deref().map_or_else(String::new, |note| format!("; {note}"));
    let tests = if result.restored { " with the base's tests" } else { "" };
    format!("{} `{}`{tests}: {word}{counts}{note}", result.gate, result.command)
}

/// What the event of a gate carries.
pub(crate) fn payload(results: &[GateResult]) -> serde_json::Value {
    json!({ "gates": results.iter().map(|result| json!({
        "gate": result.gate,
        "command": result.command,
        "tree": result.tree,
        "exit": result.exit,
        "passed": result.passed,
        "failed": result.failed,
        "new_failures": result.new_failures,
        "missing": result.missing,
        "rewritten": result.rewritten,
        "base_tests": result.restored,
        "standing": result.standing,
        "note": result.note,
    })).collect::<Vec<_>>() })
}
