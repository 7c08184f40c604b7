use super::*;

/// A result: `exit` and the tests that ran, a `!` in front of one that failed.
fn result(gate: &str, text: &str) -> GateResult {
    let (exit, words) = text.split_once(' ').unwrap_or((text, ""));
    let words: Vec<&str> = words.split_whitespace().collect();
    let ran: Vec<&str> = words.iter().map(|word| word.trim_start_matches('!')).collect();
    let failures: Vec<&str> = words.iter().filter_map(|word| word.strip_prefix('!')).collect();
    let value = serde_json::json!({
        "gate": gate, "command": gate, "tree": "0".repeat(40), "exit": exit.parse::<i32>().ok(),
        "passed": ran.len() - failures.len(), "failed": failures.len(), "skipped": 0,
        "failures": failures, "new_failures": [], "ran": ran, "recognised": true,
        "log": "/log", "log_bytes": 0, "duration_ms": 1, "standing": "green",
    });
    serde_json::from_value(value).unwrap()
}

/// Checks with a build of the exit code `build`, where there is one.
#[track_caller]
fn check(build: Option<i32>, change: &str, probe: &str, expected: Noticed) {
    let mut now = vec![result("test", change)];
    let mut without = vec![(GateKind::Test, result("test", probe))];
    if let Some(exit) = build {
        now.insert(0, result("build", "0"));
        without.insert(0, (GateKind::Build, result("build", &exit.to_string())));
    }
    assert_eq!(notice(&now, &without, false), expected, "{change} / {probe}");
}

#[test]
fn only_a_test_that_fails_sees_a_part() {
    use Noticed::{Seen, Unbuilt, Unseen};
    check(None, "0 a b", "1 a !b", Seen);
    check(None, "0 a b", "0 a b", Unseen);
    check(None, "0 a b", "0 a", Seen);
    check(None, "0 a b", "1", Unbuilt);
    check(None, "0 a b", "1 a !loader", Unbuilt);
    check(None, "0 a b", "- a", Unbuilt);
    check(Some(1), "0 a b", "0 a b", Unbuilt);
    check(Some(0), "0 a b", "1 a !b", Seen);
    check(None, "1 a !b", "1 a !b", Unseen);
    check(None, "1 a !b", "1 !a !b", Seen);
}

#[test]
fn a_check_that_names_no_test_is_believed_where_it_was_built() {
    check(None, "0", "1", Noticed::Unbuilt);
    check(Some(0), "0", "1", Noticed::Seen);
    check(Some(0), "0", "-", Noticed::Unbuilt);
    check(None, "0", "0", Noticed::Unseen);
}

#[test]
fn tests_that_go_with_a_part_do_not_see_it() {
    let now = [result("test", "0 a b")];
    let probe = [(GateKind::Test, result("test", "0 a"))];
    assert_eq!(notice(&now, &probe, true), Noticed::Unseen);
    assert_eq!(notice(&now, &probe, false), Noticed::Seen);
}

#[test]
fn what_is_not_seen_is_named() {
    let hunk = |line: u32, noticed| ProbedHunk {
        place: HunkPlace { path: "a.py".into(), line, lines: 2 },
        noticed,
    };
    let report = HunkReport {
        hunks: vec![
            hunk(1, Noticed::Seen),
            hunk(9, Noticed::Unseen),
            hunk(20, Noticed::Unbuilt),
            hunk(30, Noticed::NotTried),
        ],
    };
    assert_eq!(report.words().as_deref(), Some("1 of 4 hunks seen"));
    assert_eq!(
        report.lines(),
        [
            "not seen: no check notices when `a.py:9-10` is taken back: say why it is right",
            "not seen: without `a.py:20-21` nothing builds, which proves nothing",
            "not seen: hunks that were not tried in the time for it: 1",
        ]
    );
    assert!(!report.is_all_seen() && HunkReport::default().is_all_seen());
}
