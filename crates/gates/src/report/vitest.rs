//! Vitest: a line for every test with the verbose reporter, a list of what failed, and the
//! totals.

use std::collections::BTreeSet;

use super::outline::without_time;
use super::{TestReport, counts};

pub(super) fn parse(text: &str) -> TestReport {
    let mut report = TestReport::default();
    let (mut tests, mut files) = (BTreeSet::new(), BTreeSet::new());
    let mut summaries = 0_u32;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix(" FAIL  ") {
            match name.split_once(" [ ") {
                Some((file, _)) => files.insert(file.to_owned()),
                None => tests.insert(name.trim_end().to_owned()),
            };
        } else if let Some(name) = test_line(line) {
            report.ran.push(name.to_owned());
        } else if let Some(totals) = totals(line, "Tests") {
            summaries += 1;
            for (count, word) in totals {
                let sum = match word {
                    "passed" => &mut report.passed,
                    "failed" => &mut report.failed,
                    _ => &mut report.skipped,
                };
                *sum = sum.saturating_add(count);
            }
        }
    }
    report.recognised = summaries > 0 && tests.len() == report.failed as usize;
    report.keep_whole_list();
    let broken = u32::try_from(files.len()).unwrap_or(u32::MAX);
    report.failed = report.failed.saturating_add(broken);
    report.failures = tests.into_iter().chain(files).collect();
    report
}

/// Reads ` ✓ a.test.ts > sum > adds 2ms`; a line for a whole file has no ` > `.
fn test_line(line: &str) -> Option<&str> {
    let rest = [" ✓ ", " × ", " ✗ "].iter().find_map(|mark| line.strip_prefix(mark))?;
    rest.contains(" > ").then(|| without_time(rest))
}

/// Reads `      Tests  1 failed | 3 passed (4)`.
fn totals<'l>(line: &'l str, title: &str) -> Option<Vec<(u32, &'l str)>> {
    let rest = line.trim_start().strip_prefix(title)?.strip_prefix("  ")?;
    // The runner writes its titles to the right; a test would have to know.
    (line.len() - line.trim_start().len() >= 5).then_some(())?;
    let (list, _) = rest.rsplit_once(" (").unwrap_or((rest, ""));
    counts(list, " | ")
}
