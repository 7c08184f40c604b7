//! Tests that a change brings: whether they fail without it.
//!
//! A test that passes on the base's product proves nothing about the change. One that fails there
//! and passes with it does; that it fails because it does not even build there is counted apart,
//! because any name that is new to the product has that effect.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use spore_gates::GateResult;

/// What the tests of a change say on the base's product.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct NewTests {
    /// Fail there and pass with the change.
    pub failed: Vec<String>,
    /// Do not build or load there, and pass with the change.
    pub unbuilt: Vec<String>,
    /// Pass there as well.
    pub passed: Vec<String>,
}

impl NewTests {
    /// Returns how many of them prove something.
    pub fn telling(&self) -> usize {
        self.failed.len() + self.unbuilt.len()
    }
}

/// Compares the tests of the change with what they say on the base's product: `base` is the base as
/// it was, `change` the change as it is, `alone` the change's tests on the base's product.
pub fn compare(base: &[GateResult], change: &[GateResult], alone: &[GateResult]) -> NewTests {
    let mut found = NewTests::default();
    for now in change {
        let of_gate = |all: &[GateResult]| all.iter().find(|one| one.gate == now.gate).cloned();
        let Some(alone) = of_gate(alone) else { continue };
        let names = |result: &GateResult| result.ran.iter().cloned().collect::<BTreeSet<String>>();
        let before = of_gate(base).map(|base| names(&base)).unwrap_or_default();
        let (there, failed) = (names(&alone), &alone.failures);
        for name in names(now).into_iter().filter(|name| !now.failures.contains(name)) {
            match (there.contains(&name), failed.iter().any(|one| is_same(one, &name))) {
                (true, true) => found.failed.push(name),
                // It was there before, and the change altered it at the most.
                (true, false) if before.contains(&name) => {}
                (true, false) => found.passed.push(name),
                // What was there before does not run there because of the others.
                (false, _) if before.contains(&name) => {}
                (false, _) => found.unbuilt.push(name),
            }
        }
    }
    found
}

/// Returns whether a failure is of the test that ran. Runners spell the name of a failed test otherwise
/// at times: with its place before it, or, as Cargo does, with what runs its target again.
pub fn is_same(failed: &str, ran: &str) -> bool {
    failed == ran || failed.ends_with(ran) || ran.ends_with(failed) || is_of_cargo(failed, ran)
}

/// Returns whether `-p a --lib tests::works` is `a src/lib.rs tests::works`.
fn is_of_cargo(failed: &str, ran: &str) -> bool {
    let (mut rest, mut target, mut is_doc) = (failed, None, false);
    while let Some((flag, more)) = rest.split_once(' ').filter(|(flag, _)| flag.starts_with('-')) {
        rest = more;
        match flag {
            "--doc" => is_doc = true,
            "--lib" => {}
            _ => {
                let Some((name, more)) = more.split_once(' ') else { return false };
                // The name of the target, which follows, is worth more than that of its package.
                (target, rest) = (Some(name.replace('-', "_")), more);
            }
        }
    }
    let Some(place) = ran.strip_suffix(rest).filter(|_| rest != failed) else { return false };
    let Some((name, source)) = place.trim_end().split_once(' ') else { return false };
    let is_library = target.is_some() || !source.starts_with("tests/");
    let is_place = !source.contains(' ') && is_doc == (source == "doc");
    target.is_none_or(|target| target == name) && is_library && is_place
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A result whose tests are the words; a `!` in front of one that failed.
    fn result(words: &str) -> Vec<GateResult> {
        let ran: Vec<&str> =
            words.split_whitespace().map(|word| word.trim_start_matches('!')).collect();
        let failures: Vec<&str> =
            words.split_whitespace().filter_map(|word| word.strip_prefix('!')).collect();
        let result = serde_json::json!({
            "gate": "test", "command": "test", "tree": "0".repeat(40), "exit": 0,
            "passed": ran.len() - failures.len(), "failed": failures.len(), "skipped": 0,
            "failures": failures, "new_failures": [], "ran": ran, "recognised": true,
            "log": "/log", "log_bytes": 0, "duration_ms": 1, "standing": "green",
        });
        vec![serde_json::from_value(result).unwrap()]
    }

    #[track_caller]
    fn check(base: &str, change: &str, alone: &str, expected: [&str; 3]) {
        let found = compare(&result(base), &result(change), &result(alone));
        let said = [found.failed, found.unbuilt, found.passed].map(|names| names.join(" "));
        assert_eq!(said, expected.map(str::to_owned));
    }

    #[test]
    fn a_failure_of_cargo_is_the_test_that_ran() {
        for (failed, ran, expected) in [
            ("--lib tests::works", "demo src/lib.rs tests::works", true),
            ("-p demo --lib tests::works", "demo src/lib.rs tests::works", true),
            ("-p other --lib tests::works", "demo src/lib.rs tests::works", false),
            ("--test it-works a", "it_works tests/it-works.rs a", true),
            ("-p demo --test it a", "it tests/it.rs a", true),
            ("--test it a", "other tests/other.rs a", false),
            ("--lib a", "other tests/other.rs a", false),
            ("--doc src/lib.rs - f", "demo doc src/lib.rs - f", true),
            ("--lib f", "demo doc src/lib.rs - f", false),
            ("--lib tests::a", "demo src/lib.rs tests::b", false),
        ] {
            assert_eq!(is_same(failed, ran), expected, "{failed} / {ran}");
        }
    }

    #[test]
    fn a_test_proves_something_only_if_it_fails_without_the_change() {
        check("old", "old new", "old !new", ["new", "", ""]);
        check("old", "old new", "old", ["", "new", ""]);
        check("old", "old new", "", ["", "new", ""]);
        check("old", "old new", "old new", ["", "", "new"]);
        check("old", "old", "!old", ["old", "", ""]);
        check("old", "old", "old", ["", "", ""]);
        check("old", "old !new", "old !new", ["", "", ""]);
    }
}
