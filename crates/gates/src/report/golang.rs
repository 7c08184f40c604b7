//! `go test -v`, in plain text or as `-json`.
//!
//! In text the name of a package comes after its tests. A test that fails is told with all
//! its parents, which fail with it; each is a name of its own.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::TestReport;
use super::outline::without_time;

pub(super) fn parse(text: &str) -> TestReport {
    let mut go_report = GoReport::default();
    let mut pending = String::new();
    for line in text.lines() {
        match event(line) {
            Some(event) => {
                // Only what was written to the stream of tests is in the order of its lines.
                pending.push_str(&event.output);
                while let Some(end) = pending.find('\n') {
                    go_report.line(&pending[..end]);
                    pending.drain(..=end);
                }
            }
            None => go_report.line(line),
        }
    }
    go_report.finish()
}

#[derive(Deserialize)]
struct GoTestEvent {
    #[serde(rename = "Action")]
    action: String,
    #[serde(rename = "Output", default)]
    output: String,
}

fn event(line: &str) -> Option<GoTestEvent> {
    if !line.starts_with('{') {
        return None;
    }
    let event: GoTestEvent = serde_json::from_str(line).ok()?;
    let known = ["start", "run", "pause", "cont", "pass", "bench", "fail", "output", "skip"];
    let of_builds = ["build-output", "build-fail"];
    (known.contains(&event.action.as_str()) || of_builds.contains(&event.action.as_str()))
        .then_some(event)
}

#[derive(Default)]
struct GoReport {
    report: TestReport,
    /// Of the package that is being told.
    passed: Vec<String>,
    failed: BTreeSet<String>,
    skipped: u32,
    packages: u32,
    inconsistent: bool,
}

impl GoReport {
    fn line(&mut self, line: &str) {
        let told = line.trim_start();
        if let Some(name) = told.strip_prefix("--- PASS: ") {
            self.passed.push(without_time(name).to_owned());
        } else if let Some(name) = told.strip_prefix("--- FAIL: ") {
            self.failed.insert(without_time(name).to_owned());
        } else if told.starts_with("--- SKIP: ") {
            self.skipped = self.skipped.saturating_add(1);
        } else if let Some(rest) = line.strip_prefix("ok  \t") {
            self.end_package(rest, true);
        } else if let Some(rest) = line.strip_prefix("FAIL\t") {
            self.end_package(rest, false);
        } else if line.starts_with("?   \t") {
            self.packages += 1;
        }
    }

    fn end_package(&mut self, rest: &str, passed: bool) {
        let mut columns = rest.split(['\t', ' ']);
        let package = columns.next().unwrap_or_default();
        self.packages += 1;
        let failed = std::mem::take(&mut self.failed);
        // A package may fail without a test that did: it was not built, or it panicked later.
        self.inconsistent |= passed && !failed.is_empty();
        if !passed && failed.is_empty() {
            self.report.failures.push(package.to_owned());
            self.report.failed = self.report.failed.saturating_add(1);
            self.report.ran.push(package.to_owned());
        }
        let count = |list: usize| u32::try_from(list).unwrap_or(u32::MAX);
        let passes = std::mem::take(&mut self.passed);
        self.report.passed = self.report.passed.saturating_add(count(passes.len()));
        self.report.failed = self.report.failed.saturating_add(count(failed.len()));
        self.report.skipped = self.report.skipped.saturating_add(std::mem::take(&mut self.skipped));
        let whole = |name: &String| format!("{package} {name}");
        self.report.ran.extend(passes.iter().chain(&failed).map(whole));
        self.report.failures.extend(failed.iter().map(whole));
    }

    fn finish(mut self) -> TestReport {
        let left = !self.passed.is_empty() || !self.failed.is_empty();
        self.report.recognised = self.packages > 0 && !self.inconsistent && !left;
        self.report.keep_whole_list();
        self.report
    }
}
