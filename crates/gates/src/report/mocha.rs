//! Mocha's spec reporter: an outline, three lines of totals, then the failures by number.

use super::TestReport;
use super::outline::{Outline, indented, without_time};

pub(super) fn parse(text: &str) -> TestReport {
    let lines: Vec<&str> = text.lines().collect();
    // What a test prints may look like it; what comes last is the runner's own.
    let Some(end) = lines.iter().rposition(|line| total(line, "passing").is_some()) else {
        return TestReport::default();
    };
    let mut report =
        TestReport { passed: total(lines[end], "passing").unwrap_or(0), ..TestReport::default() };
    let mut at = end + 1;
    while let Some(line) = lines.get(at) {
        match (total(line, "pending"), total(line, "failing")) {
            (Some(count), _) => report.skipped = count,
            (_, Some(count)) => report.failed = count,
            _ => break,
        }
        at += 1;
    }
    report.failures = failures(&lines[at..]);
    report.recognised = report.failures.len() == report.failed as usize;
    report.ran = outline(&lines[..end]);
    report.keep_whole_list();
    report
}

/// Reads `  2 passing (18ms)`.
fn total(line: &str, word: &str) -> Option<u32> {
    let (count, rest) = line.strip_prefix("  ")?.split_once(' ')?;
    let rest = rest.strip_prefix(word)?;
    (rest.is_empty() || rest.starts_with(" (")).then_some(())?;
    count.parse().ok()
}

/// Reads the names in `  1) sum`, `       adds badly:`: one part a line, the last with a colon.
fn failures(lines: &[&str]) -> Vec<String> {
    let mut names = Vec::new();
    let mut parts: Option<Vec<&str>> = None;
    for line in lines {
        let (indent, rest) = indented(line);
        if let Some(title) = numbered(rest).filter(|_| indent == 2) {
            parts = Some(vec![title]);
        } else if let Some(open) = &mut parts {
            open.push(rest);
        }
        let last = parts.as_ref().and_then(|open| open.last()).copied().unwrap_or_default();
        if let Some(title) = last.strip_suffix(':') {
            let mut whole = parts.take().unwrap_or_default();
            whole.pop();
            whole.push(title);
            names.push(whole.join(" › "));
        }
    }
    names
}

fn outline(lines: &[&str]) -> Vec<String> {
    let mut outline = Outline::default();
    let mut ran = Vec::new();
    for line in lines {
        let (indent, rest) = indented(line);
        if indent < 2 || rest.is_empty() || total(line, "passing").is_some() {
            continue;
        }
        let depth = indent / 2 - 1;
        if let Some(title) = rest.strip_prefix("✔ ").or_else(|| rest.strip_prefix("✓ ")) {
            ran.push(outline.name(depth, without_time(title)));
        } else if let Some(title) = numbered(rest) {
            ran.push(outline.name(depth, title));
        } else if !rest.starts_with("- ") {
            outline.open(depth, rest);
        }
    }
    ran
}

/// Reads the title in `1) adds badly`.
fn numbered(text: &str) -> Option<&str> {
    let (number, title) = text.split_once(") ")?;
    number.parse::<u32>().ok().map(|_| title)
}
