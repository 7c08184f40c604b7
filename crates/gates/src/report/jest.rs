//! Jest: a block for every file, then `Tests:` with the totals.
//!
//! With `--verbose` a block is an outline of all tests; without, only failures are told, each
//! under a bullet with its whole name. Both give the same names.

use std::collections::BTreeSet;

use super::outline::{Outline, indented, without_time};
use super::{TestReport, counts};

pub(super) fn parse(text: &str) -> TestReport {
    let mut jest_report = JestReport::default();
    for line in text.lines() {
        jest_report.line(line);
    }
    jest_report.finish()
}

#[derive(Default)]
struct JestReport {
    report: TestReport,
    file: String,
    outline: Outline,
    ran: Vec<String>,
    failed: BTreeSet<String>,
    broken_files: BTreeSet<String>,
    summaries: u32,
}

impl JestReport {
    fn line(&mut self, line: &str) {
        if let Some(file) = line.strip_prefix("PASS ").or_else(|| line.strip_prefix("FAIL ")) {
            without_time(file.trim()).clone_into(&mut self.file);
            self.outline.clear();
        } else if let Some(totals) = line.strip_prefix("Tests:") {
            self.totals(totals);
        } else if line.starts_with("Test Suites:") {
            self.file.clear();
        } else if !self.file.is_empty() {
            self.entry(line);
        }
    }

    fn entry(&mut self, line: &str) {
        let (indent, rest) = indented(line);
        if indent < 2 {
            return;
        }
        let depth = indent / 2 - 1;
        if let Some(title) = rest.strip_prefix("✓ ") {
            self.test(depth, title);
        } else if let Some(title) = rest.strip_prefix("✕ ") {
            let name = self.test(depth, title);
            self.failed.insert(name);
        } else if rest.strip_prefix("○ ").is_some() || rest.strip_prefix("✎ ").is_some() {
        } else if let Some(title) = rest.strip_prefix("● ").filter(|_| indent == 2) {
            match title {
                "Console" => {}
                "Test suite failed to run" => {
                    self.broken_files.insert(self.file.clone());
                }
                title => {
                    self.failed.insert(format!("{} › {title}", self.file));
                }
            }
        } else if !rest.is_empty() {
            self.outline.open(depth, rest);
        }
    }

    fn test(&mut self, depth: usize, title: &str) -> String {
        let name = format!("{} › {}", self.file, self.outline.name(depth, without_time(title)));
        self.ran.push(name.clone());
        name
    }

    fn totals(&mut self, line: &str) {
        let Some(counts) = counts(line, ", ") else { return };
        self.summaries += 1;
        for (count, word) in counts {
            let sum = match word {
                "passed" => &mut self.report.passed,
                "failed" => &mut self.report.failed,
                "skipped" | "todo" | "pending" => &mut self.report.skipped,
                _ => continue,
            };
            *sum = sum.saturating_add(count);
        }
    }

    fn finish(mut self) -> TestReport {
        let named = self.failed.len() == self.report.failed as usize;
        self.report.recognised = self.summaries > 0 && named;
        let broken = u32::try_from(self.broken_files.len()).unwrap_or(u32::MAX);
        self.report.failures = self.failed.into_iter().chain(self.broken_files).collect();
        self.report.ran = self.ran;
        self.report.keep_whole_list();
        self.report.failed = self.report.failed.saturating_add(broken);
        self.report
    }
}
