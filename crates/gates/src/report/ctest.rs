//! CTest: a line for every test, the totals, and lists of what failed or did not run.

use super::TestReport;

pub(super) fn parse(text: &str) -> TestReport {
    let mut report = TestReport::default();
    let mut list = CtestList::None;
    let mut totals: Option<(u32, u32)> = None;
    let mut not_run = Vec::new();
    for line in text.lines() {
        if let Some(name) = test_line(line) {
            report.ran.push(name.to_owned());
        } else if let Some(said) = summary(line) {
            totals = Some(said);
        } else if line == "The following tests FAILED:" {
            list = CtestList::Failed;
        } else if line == "The following tests did not run:" {
            list = CtestList::NotRun;
        } else if let Some(name) = listed(line) {
            match list {
                CtestList::Failed => report.failures.push(name.to_owned()),
                CtestList::NotRun => not_run.push(name.to_owned()),
                CtestList::None => {}
            }
        }
    }
    let Some((failed, all)) = totals else { return TestReport::default() };
    let skipped = not_run.iter().filter(|name| report.ran.contains(name)).count();
    report.ran.retain(|name| !not_run.contains(name));
    report.skipped = u32::try_from(skipped).unwrap_or(u32::MAX);
    report.failed = failed;
    let ran = u32::try_from(report.ran.len()).unwrap_or(u32::MAX);
    report.passed = ran.saturating_sub(failed);
    // Those that were skipped are among all; those that are switched off are not.
    let counted = ran <= all && all <= ran.saturating_add(report.skipped);
    report.recognised = counted && report.failures.len() == failed as usize;
    report.keep_whole_list();
    report
}

enum CtestList {
    None,
    Failed,
    NotRun,
}

/// Reads the name in ` 2/7 Test  #2: bad ........***Failed    0.00 sec`.
fn test_line(line: &str) -> Option<&str> {
    let (count, rest) = line.trim_start().split_once(" Test ")?;
    let (at, all) = count.split_once('/')?;
    (at.parse::<u32>().is_ok() && all.parse::<u32>().is_ok()).then_some(())?;
    let (number, rest) = rest.trim_start().strip_prefix('#')?.split_once(": ")?;
    number.parse::<u32>().ok()?;
    rest.ends_with(" sec").then_some(())?;
    let end = rest.find(" ..").or_else(|| rest.find("   "))?;
    Some(&rest[..end])
}

/// Reads `33% tests passed, 4 tests failed out of 6`. Where none failed CMake from 4.4 on says no more
/// than `100% tests passed out of 2`.
fn summary(line: &str) -> Option<(u32, u32)> {
    let (_, rest) = line.split_once("% tests passed")?;
    let (failed, all) = rest.split_once(" out of ")?;
    let failed = match failed.strip_prefix(", ") {
        Some(failed) => failed.strip_suffix(" tests failed")?.parse().ok()?,
        None => failed.is_empty().then_some(0)?,
    };
    Some((failed, all.trim().parse().ok()?))
}

/// Reads the name in `2 - bad (Failed)`, behind a tab.
fn listed(line: &str) -> Option<&str> {
    let (number, rest) = line.strip_prefix('\t')?.trim_start().split_once(" - ")?;
    number.parse::<u32>().ok()?;
    rest.rsplit_once(" (").map(|(name, _)| name)
}
