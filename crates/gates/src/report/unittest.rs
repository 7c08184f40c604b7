//! unittest: a heading for every failure, then `Ran N tests` and one line of totals.
//!
//! Nothing is captured here, so tests print between the runner's own lines. A heading counts
//! only below its rule of `=`, and only as many as the totals say. Commands that run
//! discovery several times are added up.

use std::collections::BTreeSet;

use super::TestReport;

pub(super) fn parse(text: &str) -> TestReport {
    let mut unittest_report = UnittestReport::default();
    for line in text.lines() {
        unittest_report.line(line);
    }
    unittest_report.report.recognised =
        unittest_report.runs > 0 && !unittest_report.inconsistent && unittest_report.ran.is_none();
    // Subtests fail many times over, and are one test; so tests are counted and not failures.
    unittest_report.names.sort_unstable();
    unittest_report.names.dedup();
    if unittest_report.names.len() as u64 == unittest_report.tests {
        unittest_report.report.ran = unittest_report.names;
    }
    unittest_report.report
}

#[derive(Default)]
struct UnittestReport {
    report: TestReport,
    headings: Headings,
    /// Right below a rule, where a heading may be.
    below_rule: bool,
    /// From `Ran N tests`, until the totals come.
    ran: Option<u32>,
    runs: u32,
    inconsistent: bool,
    /// Tests that began, by the line that says so, and how many did by the totals.
    names: Vec<String>,
    tests: u64,
}

#[derive(Default)]
struct Headings {
    failures: Vec<String>,
    unexpected: Vec<String>,
    /// Whole classes and modules that were skipped; none of their tests is among those run.
    skipped_fixtures: u32,
}

impl UnittestReport {
    fn line(&mut self, line: &str) {
        let below_rule = std::mem::replace(&mut self.below_rule, is_rule(line));
        if let Some(ran) = self.ran {
            if let Some(totals) = UnittestTotals::read(line) {
                self.ran = None;
                self.end_run(ran, &totals);
            } else if !line.is_empty() {
                self.ran = None;
                self.inconsistent = true;
            }
        } else if let Some(ran) = ran(line) {
            self.ran = Some(ran);
        } else if below_rule {
            self.heading(line);
        } else if is_fixture(line) && line.contains(") ... skipped ") {
            self.headings.skipped_fixtures += 1;
        } else if let Some(name) = begun(line) {
            self.names.push(name.to_owned());
        }
    }

    fn heading(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("UNEXPECTED SUCCESS: ") {
            self.headings.unexpected.push(name.to_owned());
            // These stand below one another under a single rule.
            self.below_rule = true;
        } else if let Some(name) =
            line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: "))
        {
            self.headings.failures.push(name.to_owned());
        }
    }

    fn end_run(&mut self, ran: u32, totals: &UnittestTotals) {
        let headings = std::mem::take(&mut self.headings);
        self.runs += 1;
        self.inconsistent |= headings.failures.len() != totals.failed as usize
            || headings.unexpected.len() != totals.unexpected as usize;
        // A test with subtests has many failures and is still one test.
        let failed: BTreeSet<&str> = headings
            .failures
            .iter()
            .map(|name| name.split_inclusive(')').next().unwrap_or(name))
            .filter(|name| !is_fixture(name))
            .collect();
        let skipped = totals.skipped.saturating_sub(headings.skipped_fixtures);
        let passed = ran
            .saturating_sub(u32::try_from(failed.len()).unwrap_or(u32::MAX))
            .saturating_sub(totals.unexpected)
            .saturating_sub(skipped);
        self.tests += u64::from(ran.saturating_sub(skipped));
        let report = &mut self.report;
        report.passed = report.passed.saturating_add(passed);
        report.failed = report.failed.saturating_add(totals.failed + totals.unexpected);
        report.skipped = report.skipped.saturating_add(totals.skipped);
        report.failures.extend(headings.failures);
        report.failures.extend(headings.unexpected);
    }
}

/// Returns the test that a line such as `test_a (test_m.T.test_a) ... ok` tells of, unless it
/// was skipped. The test's first line of prose stands on a line of its own, before the dots.
fn begun(line: &str) -> Option<&str> {
    let end = line.find(')')? + 1;
    let (name, rest) = line.split_at(end);
    let (test, place) = name.split_once(" (")?;
    let is_word = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
    };
    let is_name = is_word(test) && is_word(&place[..place.len() - 1]) && !is_fixture(name);
    let runs = rest.is_empty() || rest.starts_with(" ... ") && !rest.starts_with(" ... skipped");
    (is_name && runs).then_some(name)
}

fn is_rule(line: &str) -> bool {
    line.len() >= 70 && line.bytes().all(|b| b == b'=')
}

fn is_fixture(name: &str) -> bool {
    ["setUpClass (", "tearDownClass (", "setUpModule (", "tearDownModule ("]
        .iter()
        .any(|fixture| name.starts_with(fixture))
}

fn ran(line: &str) -> Option<u32> {
    let (count, time) = line.strip_prefix("Ran ")?.split_once(" test")?;
    time.ends_with('s').then_some(())?;
    count.parse().ok()
}

#[derive(Default)]
struct UnittestTotals {
    failed: u32,
    unexpected: u32,
    skipped: u32,
}

impl UnittestTotals {
    /// Reads `OK`, `OK (skipped=1)` or `FAILED (failures=2, errors=1)`.
    fn read(line: &str) -> Option<Self> {
        let (word, details) = line.split_once(" (").unwrap_or((line, ")"));
        if !matches!(word, "OK" | "FAILED" | "NO TESTS RAN") {
            return None;
        }
        let mut totals = Self::default();
        for part in details.strip_suffix(')')?.split(", ").filter(|part| !part.is_empty()) {
            let (what, count) = part.split_once('=')?;
            let count: u32 = count.parse().ok()?;
            let sum = match what {
                "failures" | "errors" => &mut totals.failed,
                "unexpected successes" => &mut totals.unexpected,
                "skipped" | "expected failures" => &mut totals.skipped,
                _ => return None,
            };
            *sum = sum.saturating_add(count);
        }
        Some(totals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, counts: (u32, u32, u32), failures: &[&str], recognised: bool) {
        let report = crate::parse(crate::Parser::Unittest, text.as_bytes());
        let (passed, failed, skipped) = counts;
        let failures = failures.iter().map(|name| (*name).to_owned()).collect();
        let ran = report.ran.clone();
        assert_eq!(report, TestReport { passed, failed, skipped, failures, ran, recognised });
    }

    const GREEN: &str = "\
test_ok (test_u.T.test_ok) ... ok
test_skip (test_u.T.test_skip) ... skipped 'later'

----------------------------------------------------------------------
Ran 2 tests in 0.000s

OK (skipped=1)
";

    #[test]
    fn a_green_run_is_counted() {
        check(GREEN, (1, 0, 1), &[], true);
        check("\nRan 0 tests in 0.000s\n\nOK\n", (0, 0, 0), &[], true);
        check("\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n", (0, 0, 0), &[], true);
    }

    #[test]
    fn several_runs_add_up() {
        check(&GREEN.repeat(3), (3, 0, 3), &[], true);
    }

    /// A rule, as the runner draws it.
    const RULE: &str = "======================================================================";

    fn red() -> String {
        format!(
            "\
test_imp (unittest.loader._FailedTest.test_imp) ... ERROR
setUpClass (test_u.K) ... skipped 'no K'
setUpClass (test_u.S) ... ERROR
test_bad (test_u.T.test_bad)
Says what. ... FAIL
test_err (test_u.T.test_err) ... ERROR
test_noise (test_u.T.test_noise) ... FAIL: fake (x.y)
noise
ok
test_ok (test_u.T.test_ok) ... ok
test_skip (test_u.T.test_skip) ... skipped 'later'
test_sub (test_u.T.test_sub) ... 
  test_sub (test_u.T.test_sub) (i=0) ... FAIL
  test_sub (test_u.T.test_sub) (i=2) ... FAIL
test_us (test_u.T.test_us) ... unexpected success
test_ut (test_u.T.test_ut) ... unexpected success
test_xf (test_u.T.test_xf) ... expected failure

{RULE}
ERROR: test_imp (unittest.loader._FailedTest.test_imp)
----------------------------------------------------------------------
ImportError: Failed to import test module: test_imp

{RULE}
ERROR: setUpClass (test_u.S)
----------------------------------------------------------------------
RuntimeError: setup

{RULE}
ERROR: test_err (test_u.T.test_err)
----------------------------------------------------------------------
ValueError: v

{RULE}
FAIL: test_bad (test_u.T.test_bad)
Says what.
----------------------------------------------------------------------
AssertionError: 1 != 2

{RULE}
FAIL: test_sub (test_u.T.test_sub) (i=0)
----------------------------------------------------------------------
AssertionError: 0 != 1

{RULE}
FAIL: test_sub (test_u.T.test_sub) (i=2)
----------------------------------------------------------------------
AssertionError: 2 != 1

{RULE}
UNEXPECTED SUCCESS: test_us (test_u.T.test_us)
UNEXPECTED SUCCESS: test_ut (test_u.T.test_ut)
----------------------------------------------------------------------
Ran 10 tests in 0.003s

FAILED (failures=3, errors=3, skipped=2, expected failures=1, unexpected successes=2)
"
        )
    }

    const RED_NAMES: [&str; 8] = [
        "setUpClass (test_u.S)",
        "test_bad (test_u.T.test_bad)",
        "test_err (test_u.T.test_err)",
        "test_imp (unittest.loader._FailedTest.test_imp)",
        "test_sub (test_u.T.test_sub) (i=0)",
        "test_sub (test_u.T.test_sub) (i=2)",
        "test_us (test_u.T.test_us)",
        "test_ut (test_u.T.test_ut)",
    ];

    #[test]
    fn every_kind_of_failure_is_named_and_only_tests_that_ran_count_as_passed() {
        check(&red(), (2, 8, 3), &RED_NAMES, true);
    }

    #[test]
    fn a_heading_that_a_test_printed_is_noticed() {
        let fake = format!("{RULE}\nFAIL: fake (x.y)\n{GREEN}");
        check(&fake, (0, 0, 1), &["fake (x.y)"], false);
    }

    #[test]
    fn output_that_stops_before_the_totals_is_not_recognised() {
        let red = red();
        check(&red[..red.rfind("FAILED").unwrap()], (0, 0, 0), &[], false);
        check(&red[..red.rfind("Ran").unwrap()], (0, 0, 0), &[], false);
    }
}
