use super::*;

fn tree() -> TreeId {
    TreeId::new("0".repeat(40)).unwrap()
}

/// Reads `test=3` (blocking), `lint~2` (a warning) and `build` (passed).
fn checks(text: &str) -> Vec<CheckResult> {
    text.split_whitespace()
        .map(|word| {
            let at = word.find(['=', '~']).unwrap_or(word.len());
            let errors: u32 = word.get(at + 1..).and_then(|text| text.parse().ok()).unwrap_or(0);
            let warns = word[at..].starts_with('~');
            CheckResult {
                name: word[..at].to_owned(),
                tool: format!("run {}", &word[..at]),
                passed: errors == 0,
                errors,
                severity: if warns { Severity::Warning } else { Severity::Blocking },
                exit_code: Some(i32::from(errors > 0)),
                failing: Vec::new(),
                note: None,
                output: String::new(),
                log: format!("sentinel/cycle-1/{}.log", &word[..at]),
            }
        })
        .collect()
}

#[track_caller]
fn check(most: u32, cycles: &str, expected: &str) {
    check_stuck(most, 2, cycles, expected);
}

/// Plays cycles, separated by commas, and tells what the machine says after the last.
#[track_caller]
fn check_stuck(most: u32, stuck: u32, cycles: &str, expected: &str) {
    let mut machine = Sentinel::new(most, stuck);
    let mut told = format!("{:?}", machine.start());
    for (index, cycle) in cycles.split(',').enumerate() {
        let number = u32::try_from(index).unwrap() + 1;
        let found = Verification::grade(number, tree(), checks(cycle), machine.last());
        let grade = found.overall;
        told = match machine.checked(found) {
            SentinelNext::Do(SentinelStep::Finish { ending }) => {
                format!("{grade} {} {}", ending.outcome.exit_code(), ending.reason)
            }
            SentinelNext::Mend { reason, .. } => format!("{grade} mend: {reason}"),
            other => format!("{other:?}"),
        };
    }
    assert_eq!(told, expected);
}

#[test]
fn the_stop_rules_are_those_of_the_seed() {
    check(3, "build test lint", "PASS 0 every check passed");
    check(3, "build test lint~2", "WARN 0 only warnings are left");
    check(3, "build test=3", "FAIL mend: cycle 1 of 3: 3 blocking");
    check(3, "test=3,test=2,test", "PASS 0 every check passed");
    check(3, "test=3,test=2,test=1", "FAIL 10 1 blocking after cycle 3, the last");
    check(3, "test=3,test=2,lint~1", "WARN 0 only warnings are left");
    check(3, "test=3,test=3", "FAIL mend: cycle 2 of 3: 3 blocking");
    check(3, "test=3,test=3,test=4", "FAIL 11 4 blocking, and 2 cycles in a row were no better");
    check(
        5,
        "test=5,test=5,test=4,test=4,test=4",
        "FAIL 11 4 blocking, and 2 cycles in a row were no better",
    );
    check(1, "test=1", "FAIL 10 1 blocking after cycle 1, the last");
}

#[test]
fn how_long_it_may_be_stuck_is_for_the_caller_to_say() {
    check_stuck(5, 1, "test=3,test=3", "FAIL 11 3 blocking, and the last cycle was no better");
    check_stuck(5, 3, "test=3,test=3,test=4", "FAIL mend: cycle 3 of 5: 4 blocking");
    check_stuck(
        5,
        3,
        "test=3,test=3,test=4,test=4",
        "FAIL 11 4 blocking, and 3 cycles in a row were no better",
    );
}

#[test]
fn a_cycle_is_compared_with_the_one_before() {
    let first = Verification::grade(1, tree(), checks("build=1 test=2 lint~1"), None);
    let second = Verification::grade(2, tree(), checks("build test=2 lint~1 docs=1"), Some(&first));
    assert_eq!(
        second.compared,
        Some(CycleComparison {
            with_cycle: 1,
            blocking_before: 3,
            improved: false,
            mended: vec!["build".into()],
            broken: vec!["docs".into()],
        })
    );
    insta::assert_snapshot!(second.audit());
    insta::assert_snapshot!(
        "the_fix_list",
        serde_json::to_string_pretty(&second.fix_list()).unwrap()
    );
    insta::assert_snapshot!(
        "the_verification_results",
        serde_json::to_string_pretty(&second).unwrap()
    );
}
