//! `dotnet test` with the console logger: a line for every test at normal verbosity, and a
//! block of totals for every test project. Written from the documented format.

use super::TestReport;

pub(super) fn parse(text: &str) -> TestReport {
    let mut report = TestReport::default();
    let mut blocks = 0_u32;
    for line in text.lines() {
        if let Some(totals) = one_line(line) {
            blocks += 1;
            for (word, count) in totals {
                add(&mut report, word, count);
            }
        } else if line.starts_with("Total tests: ") {
            blocks += 1;
        } else if let Some((word, count)) = total(line) {
            add(&mut report, word, count);
        } else if let Some((word, name)) = test_line(line) {
            match word {
                "Passed" => report.ran.push(name.to_owned()),
                "Failed" => {
                    report.ran.push(name.to_owned());
                    report.failures.push(name.to_owned());
                }
                _ => {}
            }
        }
    }
    let named = report.failures.len() == report.failed as usize;
    report.recognised = blocks > 0 && named;
    report.keep_whole_list();
    report
}

fn add(report: &mut TestReport, word: &str, count: u32) {
    let sum = match word {
        "Passed" => &mut report.passed,
        "Failed" => &mut report.failed,
        "Skipped" => &mut report.skipped,
        _ => return,
    };
    *sum = sum.saturating_add(count);
}

/// Reads `  Passed Demo.SumTests.Adds [3 ms]`; tests stand two spaces to the right.
fn test_line(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '))?;
    let (word, name) = rest.split_once(' ')?;
    ["Passed", "Failed", "Skipped"].contains(&word).then_some(())?;
    let (name, time) = name.rsplit_once(" [")?;
    time.ends_with(']').then_some((word, name))
}

/// Reads `     Passed: 1`, below `Total tests: 3`.
fn total(line: &str) -> Option<(&str, u32)> {
    let (word, count) = line.strip_prefix("   ")?.trim_start().split_once(": ")?;
    ["Passed", "Failed", "Skipped"].contains(&word).then_some(())?;
    Some((word, count.trim().parse().ok()?))
}

/// Reads `Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3, Duration: …`.
fn one_line(line: &str) -> Option<Vec<(&str, u32)>> {
    let (head, rest) = line.split_once("!  - ")?;
    ["Passed", "Failed", "Skipped"].contains(&head).then_some(())?;
    let parts = rest.split(", ").map_while(|part| {
        let (word, count) = part.split_once(':')?;
        Some((word, count.trim().parse().ok()?))
    });
    Some(parts.collect())
}
