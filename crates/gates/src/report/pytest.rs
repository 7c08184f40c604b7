//! pytest: a list of what failed, then one line of totals.
//!
//! Both come after everything that tests printed, so the last list and the totals behind it
//! are the ones. Each line of the list stands for one failure of the totals; a test that
//! fails and then fails again in its tear-down has two lines and one name.

use super::TestReport;

pub(super) fn parse(text: &str) -> TestReport {
    let lines: Vec<&str> = text.lines().collect();
    let list = lines.iter().rposition(|line| is_list_title(line));
    let end = &lines[list.map_or(0, |title| title + 1)..];
    let mut totals = end.iter().filter_map(|line| PytestTotals::read(line));
    let Some(last) = totals.next_back() else { return TestReport::default() };
    let failures: Vec<String> = match list {
        Some(_) => end.iter().filter_map(|line| failure(line)).collect(),
        None => Vec::new(),
    };
    // In the list only as of late, and only if asked for; what is missing is all missing.
    let passed = end.iter().filter_map(|line| line.strip_prefix("PASSED "));
    let mut ran: Vec<String> = passed.map(|name| name.trim().to_owned()).collect();
    let listed = ran.len();
    ran.extend(failures.iter().cloned());
    let mut report = TestReport {
        passed: last.passed,
        failed: last.failed,
        skipped: last.skipped,
        recognised: totals.next().is_none() && failures.len() == last.failed as usize,
        failures,
        ran,
    };
    // Passed against expectation is passed, and not in this list.
    if listed + last.unexpected as usize == last.passed as usize && report.recognised {
        report.ran.sort_unstable();
        report.ran.dedup();
    } else {
        report.ran.clear();
    }
    report
}

fn is_list_title(line: &str) -> bool {
    line.starts_with("==") && line.trim_matches('=') == " short test summary info "
}

#[derive(Default)]
struct PytestTotals {
    passed: u32,
    failed: u32,
    skipped: u32,
    unexpected: u32,
}

impl PytestTotals {
    /// Reads `1 failed, 2 passed in 0.03s`, with or without a rule of `=` around it.
    fn read(line: &str) -> Option<Self> {
        let line = line.trim_matches('=').trim();
        let (counts, time) = line.rsplit_once(" in ")?;
        let seconds = time.split(' ').next()?.strip_suffix('s')?;
        seconds.parse::<f64>().ok()?;
        let mut totals = Self::default();
        if counts == "no tests ran" {
            return Some(totals);
        }
        for part in counts.split(", ") {
            let (count, word) = part.split_once(' ')?;
            let count: u32 = count.parse().ok()?;
            if word == "xpassed" {
                totals.unexpected = totals.unexpected.saturating_add(count);
            }
            let sum = match word {
                "passed" | "xpassed" => &mut totals.passed,
                "failed" | "error" | "errors" => &mut totals.failed,
                "skipped" | "xfailed" => &mut totals.skipped,
                "deselected" | "warning" | "warnings" | "rerun" => continue,
                _ if word.starts_with("subtest") => continue,
                _ => return None,
            };
            *sum = sum.saturating_add(count);
        }
        Some(totals)
    }
}

/// Returns the name in a line such as `FAILED tests/test_a.py::test_b[1] - assert 0`.
fn failure(line: &str) -> Option<String> {
    let rest = line
        .strip_prefix("FAILED ")
        .or_else(|| line.strip_prefix("ERROR "))
        .or_else(|| line.strip_prefix("SUBFAILED"))?;
    // A parameter may hold the separator too, but only inside its brackets.
    let end = rest
        .match_indices(" - ")
        .map(|(at, _)| at)
        .find(|&at| rest[..at].matches('[').count() == rest[..at].matches(']').count());
    Some(rest[..end.unwrap_or(rest.len())].trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, counts: (u32, u32, u32), failures: &[&str], recognised: bool) {
        let report = crate::parse(crate::Parser::Pytest, text.as_bytes());
        let (passed, failed, skipped) = counts;
        let failures = failures.iter().map(|name| (*name).to_owned()).collect();
        let ran = report.ran.clone();
        assert_eq!(report, TestReport { passed, failed, skipped, failures, ran, recognised });
    }

    #[test]
    fn the_list_of_what_passed_counts_only_if_it_is_whole() {
        let list = "=========================== short test summary info ============================\n\
             PASSED test_a.py::test_ok\n\
             PASSED test_a.py::test_p[1]\n\
             FAILED test_a.py::test_p[a b - c] - AssertionError: no\n\
             1 failed, 3 passed, 1 skipped, 1 xfailed, 1 xpassed in 0.07s\n";
        let ran = |text: &str| crate::parse(crate::Parser::Pytest, text.as_bytes()).ran;
        assert_eq!(ran(list), Vec::<String>::new());
        assert_eq!(
            ran(&list.replace("3 passed", "2 passed")),
            ["test_a.py::test_ok", "test_a.py::test_p[1]", "test_a.py::test_p[a b - c]"]
        );
    }

    #[test]
    fn a_green_run_is_its_last_line() {
        check(
            "..                                               [100%]\n2 passed, 10 deselected in 0.01s\n",
            (2, 0, 0),
            &[],
            true,
        );
        check(
            "tests/test_a.py ..                               [100%]\n\n======================= 2 passed, 1 warning in 61.01s (0:01:01) =======================\n",
            (2, 0, 0),
            &[],
            true,
        );
        check("\n12 deselected in 0.01s\n", (0, 0, 0), &[], true);
        check("\nno tests ran in 0.00s\n", (0, 0, 0), &[], true);
    }

    const RED: &str = "\
.F.FFsxXFE.F                                                             [100%]
==================================== ERRORS ====================================
__________________________ ERROR at setup of test_err __________________________

    @pytest.fixture
>   def broken(): raise RuntimeError(\"fx\")
E   RuntimeError: fx

tests/test_a.py:17: RuntimeError
=================================== FAILURES ===================================
___________________________________ test_bad ___________________________________

    def test_bad():
        print(\"1 failed, 9 passed in 0.01s\")
>       assert 1 == 2, \"boom\"
E       AssertionError: boom

tests/test_a.py:5: AssertionError
----------------------------- Captured stdout call -----------------------------
1 failed, 9 passed in 0.01s
FAILED tests/x.py::fake - no
=========================== short test summary info ============================
FAILED tests/test_a.py::test_bad - AssertionError: boom
FAILED tests/test_a.py::test_p[2] - assert 2 == 1
FAILED tests/test_a.py::test_p[a b - c] - AssertionError: assert 'a b - c' == 1
FAILED tests/test_a.py::test_xs - [XPASS(strict)] 
FAILED tests/test_a.py::TestC::test_bad - ValueError
ERROR tests/test_a.py::test_err - RuntimeError: fx
5 failed, 3 passed, 1 skipped, 1 xfailed, 1 xpassed, 1 error in 0.02s
";
    const RED_NAMES: [&str; 6] = [
        "tests/test_a.py::TestC::test_bad",
        "tests/test_a.py::test_bad",
        "tests/test_a.py::test_err",
        "tests/test_a.py::test_p[2]",
        "tests/test_a.py::test_p[a b - c]",
        "tests/test_a.py::test_xs",
    ];

    #[test]
    fn failures_and_errors_are_named_and_what_tests_printed_is_not_believed() {
        check(RED, (4, 6, 2), &RED_NAMES, true);
    }

    #[test]
    fn a_list_that_does_not_match_its_totals_is_not_recognised() {
        let short = RED.replace("ERROR tests/test_a.py::test_err - RuntimeError: fx\n", "");
        let names: Vec<&str> =
            RED_NAMES.into_iter().filter(|name| !name.ends_with("test_err")).collect();
        check(&short, (4, 6, 2), &names, false);
        check("1 passed in 0.01s\n1 passed in 0.01s\n", (1, 0, 0), &[], false);
        check("1 failed in 0.01s\n", (0, 1, 0), &[], false);
    }

    #[test]
    fn a_module_that_cannot_be_imported_is_a_failure_with_its_path() {
        check(
            "=========================== short test summary info ============================\n\
             ERROR tests/test_b.py\n\
             !!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!\n\
             1 error in 0.20s\n",
            (0, 1, 0),
            &["tests/test_b.py"],
            true,
        );
    }

    #[test]
    fn every_failed_subtest_counts() {
        check(
            "=========================== short test summary info ============================\n\
             SUBFAILED(i=0) s/test_s.py::T::test_sub - AssertionError: 0 != 1\n\
             SUBFAILED(i=2) s/test_s.py::T::test_sub - AssertionError: 2 != 1\n\
             FAILED s/test_s.py::T::test_teardown - AssertionError: None\n\
             SUBFAILED[hi there] (i=0) s/test_s.py::test_fix - assert 0\n\
             FAILED s/test_s.py::test_fix - contains 1 failed subtest\n\
             ERROR s/test_s.py::T::test_teardown - ValueError: td\n\
             5 failed, 1 passed, 1 error, 2 subtests passed in 0.02s\n",
            (1, 6, 0),
            &[
                "(i=0) s/test_s.py::T::test_sub",
                "(i=2) s/test_s.py::T::test_sub",
                "[hi there] (i=0) s/test_s.py::test_fix",
                "s/test_s.py::T::test_teardown",
                "s/test_s.py::test_fix",
            ],
            true,
        );
    }

    #[test]
    fn a_run_that_never_ended_is_not_recognised() {
        let cut = &RED[..RED.rfind("5 failed").unwrap()];
        check(cut, (0, 0, 0), &[], false);
        check(
            "ERROR: file or directory not found: s\n\nno tests ran in 0.00s\n",
            (0, 0, 0),
            &[],
            true,
        );
    }
}
