//! Tests that do not always say the same.
//!
//! Only the base's own tree can show that a test is flaky: a change that could would excuse its own
//! failures. So where nothing but tests of the base fail on a change, the base is run once more, and
//! those that differ there between two runs decide nothing. The change is not run once more: a test
//! that was steady and fails now and then on the change is the change's fault.

use spore_gates::{GateResult, Standing};

use crate::new_tests::is_same;

/// Returns the gates that are red for nothing but tests that passed at the base; nothing where one is red
/// for another reason, which no second run would excuse.
pub fn doubtful_gates(base: &[GateResult], change: &[GateResult]) -> Vec<String> {
    let mut gates = Vec::new();
    for red in change.iter().filter(|one| one.standing == Standing::Red) {
        let base = base.iter().find(|base| base.gate == red.gate);
        let passed_before = |failed: &String| {
            let ran = base.is_some_and(|base| base.ran.iter().any(|name| is_same(failed, name)));
            ran && base.is_some_and(|base| !base.failures.contains(failed))
        };
        // What else makes a gate red leaves a note.
        let by_tests = red.note.is_none() && red.recognised && !red.new_failures.is_empty();
        if !by_tests || !red.new_failures.iter().all(passed_before) {
            return Vec::new();
        }
        gates.push(red.gate.clone());
    }
    gates
}

/// Returns the tests that failed in one of two runs of the same tree and passed in the other, as the
/// run names them in which they failed.
pub fn flaky_tests(base: &[GateResult], again: &[GateResult]) -> Vec<String> {
    let mut flaky = Vec::new();
    for first in base {
        let Some(second) = again.iter().find(|one| one.gate == first.gate) else { continue };
        if !first.recognised || !second.recognised {
            continue;
        }
        for (failing, other) in [(first, second), (second, first)] {
            let passes = |failed: &&String| {
                other.ran.iter().any(|name| is_same(failed, name))
                    && !other.failures.iter().any(|one| is_same(one, failed))
            };
            flaky.extend(failing.failures.iter().filter(passes).cloned());
        }
    }
    flaky.sort_unstable();
    flaky.dedup();
    flaky
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A result whose tests are the words; a `!` in front of one that failed.
    fn result(words: &str, standing: &str) -> Vec<GateResult> {
        let ran: Vec<&str> =
            words.split_whitespace().map(|word| word.trim_start_matches('!')).collect();
        let failures: Vec<&str> =
            words.split_whitespace().filter_map(|word| word.strip_prefix('!')).collect();
        let result = serde_json::json!({
            "gate": "test", "command": "test", "tree": "0".repeat(40), "exit": 1,
            "passed": 1, "failed": failures.len(), "skipped": 0, "failures": failures,
            "new_failures": failures, "ran": ran, "recognised": true, "log": "/log",
            "log_bytes": 0, "duration_ms": 1, "standing": standing,
        });
        vec![serde_json::from_value(result).unwrap()]
    }

    #[test]
    fn only_tests_that_passed_at_the_base_are_worth_a_second_look() {
        let base = result("a b", "green");
        let doubtful = |change: &[GateResult]| doubtful_gates(&base, change).len();
        assert_eq!(doubtful(&result("!a b", "red")), 1);
        assert_eq!(doubtful(&result("a b", "green")), 0);
        assert_eq!(doubtful(&result("a b !new", "red")), 0);
        assert_eq!(doubtful(&result("!a b !new", "red")), 0);
        let mut noted = result("!a b", "red");
        noted[0].note = Some("tracked files were rewritten".into());
        assert_eq!(doubtful(&noted), 0);
        let mut unread = result("!a b", "red");
        unread[0].recognised = false;
        assert_eq!(doubtful(&unread), 0);
    }

    #[test]
    fn what_differs_between_two_runs_of_one_tree_is_flaky() {
        let flaky = |first: &str, second: &str| {
            flaky_tests(&result(first, "green"), &result(second, "green")).join(" ")
        };
        assert_eq!(flaky("a b", "!a b"), "a");
        assert_eq!(flaky("!a b", "a !b"), "a b");
        assert_eq!(flaky("a b", "a b"), "");
        assert_eq!(flaky("!a b", "!a b"), "");
        // A test that did not run at all has said nothing.
        assert_eq!(flaky("!a b", "b"), "");
    }
}
