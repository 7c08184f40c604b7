//! Tests that were written before the coder began, and that the coder never saw.
//!
//! They were written from the task and the base alone, so the change cannot have been made to fit them.
//! No person vouches for them either: their writer may have misread the task or guessed at a name. So only
//! a test that runs and ends in a failed assertion speaks against a change. One that does not load, ends
//! in another error or is not understood decides nothing, and is said; because a product can bring
//! that about, too, the change is then not held out.

use serde::{Deserialize, Serialize};
use spore_gates::{GateResult, TouchKind};

use crate::new_tests::is_same;
use crate::sorting::SortedChange;

/// Returns the files of what a tester left, or why they cannot be used: they are new test files, and
/// there is nothing else.
pub fn held_out_files(left: &SortedChange) -> Result<Vec<String>, String> {
    let is_new = |how: &TouchKind| *how == TouchKind::Added;
    let others = left.product.iter().chain(&left.held_touched).map(|one| &one.path);
    let old = left.tests.iter().filter(|one| !is_new(&one.how)).map(|one| &one.path);
    if let Some(path) = others.chain(old).min() {
        let path = spore_plain::code(path, 200);
        return Err(format!("the tester touched {path}, which is no new test file"));
    }
    match left.tests.is_empty() {
        true => Err("the tester wrote no test".to_owned()),
        false => Ok(left.tests.iter().map(|one| one.path.clone()).collect()),
    }
}

/// The checks of one change with the held-out tests and without, and the same at its base.
pub struct HeldOutRuns<'a> {
    pub change: &'a [GateResult],
    pub change_with: &'a [GateResult],
    /// The base with them. It may well fail, or not build.
    pub base_with: &'a [GateResult],
}

/// A held-out test that speaks against a change.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RejectingTest {
    pub name: String,
    /// What its assertion says. All that the coder is told of it.
    pub message: String,
}

/// What the held-out tests say of a change.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct HeldOutReport {
    /// Fail at the base and pass with the change.
    pub red_before: Vec<String>,
    /// Do not load at the base and pass with the change.
    pub unbuilt_before: Vec<String>,
    /// Pass at both: they guard what was there, and prove nothing of what is new.
    pub guarding: Vec<String>,
    pub rejecting: Vec<RejectingTest>,
    /// Ended in an error that is no failed assertion, or did not load.
    pub undecided: Vec<String>,
    /// Why there is nothing to go by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nothing: Option<String>,
    /// Set where nothing kept the coder from reading them.
    #[serde(default)]
    pub exposed: bool,
}

impl HeldOutReport {
    /// Returns the report of tests that are not there.
    pub fn without_tests(why: &str) -> Self {
        Self { nothing: Some(why.to_owned()), ..Self::default() }
    }

    /// Adds what one file of them says by itself.
    pub fn join(&mut self, file: &str, said: Self) {
        if said.nothing.is_some() {
            self.undecided.push(file.to_owned());
        }
        self.red_before.extend(said.red_before);
        self.unbuilt_before.extend(said.unbuilt_before);
        self.guarding.extend(said.guarding);
        self.rejecting.extend(said.rejecting);
        self.undecided.extend(said.undecided);
    }

    /// Returns how many of them show something new.
    pub fn telling(&self) -> usize {
        self.red_before.len() + self.unbuilt_before.len()
    }

    /// Returns how many say something.
    fn decided(&self) -> usize {
        self.telling() + self.guarding.len() + self.rejecting.len()
    }

    /// Returns whether the change does what they ask for.
    pub fn is_passed(&self) -> bool {
        self.doubts().is_empty() && self.rejecting.is_empty()
    }

    /// Returns why they do not raise the level of a change that none of them rejects, a sentence each.
    /// Their names are left out: the coder may read this.
    pub fn doubts(&self) -> Vec<String> {
        if let Some(why) = &self.nothing {
            return vec![format!("there are no held-out tests to go by: {why}")];
        }
        let mut doubts = Vec::new();
        if !self.undecided.is_empty() {
            let count = self.undecided.len();
            doubts.push(format!(
                "held-out tests that do not load or end in an error, and so decide nothing: {count}"
            ));
        }
        if self.telling() == 0 {
            doubts.push("no held-out test fails without the change and passes with it".to_owned());
        }
        if self.exposed {
            doubts.push(
                "without a root of its own on this machine, the coder could have read the held-out tests"
                    .to_owned(),
            );
        }
        doubts
    }

    /// Returns how it went, in one line and without names.
    pub fn line(&self) -> String {
        if self.nothing.is_some() {
            return "held-out tests: none to go by".to_owned();
        }
        let count = self.rejecting.len();
        let all = self.decided() + self.undecided.len();
        if count > 0 {
            return format!("held-out tests: red, {count} of {all} fail");
        }
        format!(
            "held-out tests: {} fail without the change and pass with it, {} pass with both",
            self.telling(),
            self.guarding.len()
        )
    }
}

/// Reads what an assertion of the test of this name said, where a failed assertion ended it.
pub type AssertionOf<'a> = dyn Fn(&GateResult, &str) -> Option<String> + 'a;

/// Says what the held-out tests say of a change. The change itself is not red without them.
pub fn judge_held_out(runs: &HeldOutRuns<'_>, assertion: &AssertionOf<'_>) -> HeldOutReport {
    let mut report = HeldOutReport::default();
    let mut unread: Option<&str> = None;
    for with in runs.change_with {
        let of = |all: &'_ [GateResult]| all.iter().find(|one| one.gate == with.gate).cloned();
        let Some(without) = of(runs.change).filter(|one| one.passed + one.failed > 0) else {
            continue;
        };
        match unread_because(&without, with) {
            Some(why) => unread = Some(why),
            None => {
                let at_base = of(runs.base_with);
                weigh_gate(&without, with, at_base.as_ref(), assertion, &mut report);
            }
        }
    }
    if report.decided() + report.undecided.len() == 0 {
        report.nothing = Some(unread.unwrap_or("no check of the project runs them").to_owned());
    }
    report
}

/// Returns why a check with the held-out tests in it says nothing of them.
fn unread_because(without: &GateResult, with: &GateResult) -> Option<&'static str> {
    if with.exit.is_none() {
        return Some("the check with them did not end in its time");
    }
    if with.ran.is_empty() {
        return Some(match with.exit == without.exit {
            true => "the check does not name its tests",
            false => "they do not build or load, or what the check then says is not understood",
        });
    }
    let is_failed = |result: &GateResult, name: &str| {
        result.failures.iter().any(|failed| is_same(failed, name))
    };
    let disturbs = |name: &&String| {
        !with.ran.contains(name) || (is_failed(with, name) && !is_failed(without, name))
    };
    let is_disturbed = without.ran.iter().any(|name| disturbs(&name));
    is_disturbed.then_some("the project's own tests fail beside them")
}

fn weigh_gate(
    without: &GateResult,
    with: &GateResult,
    at_base: Option<&GateResult>,
    assertion: &AssertionOf<'_>,
    report: &mut HeldOutReport,
) {
    let own: Vec<&String> = with.ran.iter().filter(|name| !without.ran.contains(name)).collect();
    let failure_of = |result: &GateResult, name: &str| {
        result.failures.iter().find(|failed| is_same(failed, name)).cloned()
    };
    for name in &own {
        let Some(failed) = failure_of(with, name) else {
            let there = at_base.filter(|base| base.ran.contains(name));
            match there.map(|base| failure_of(base, name).is_some()) {
                Some(true) => report.red_before.push((*name).clone()),
                Some(false) => report.guarding.push((*name).clone()),
                None => report.unbuilt_before.push((*name).clone()),
            }
            continue;
        };
        match assertion(with, &failed) {
            Some(message) => report.rejecting.push(RejectingTest { name: failed, message }),
            None => report.undecided.push(failed),
        }
    }
    // What fails and is no test that ran is a file that did not load.
    let is_known = |failed: &&String| {
        with.ran.iter().any(|name| is_same(failed, name)) || without.failures.contains(failed)
    };
    report.undecided.extend(with.failures.iter().filter(|one| !is_known(one)).cloned());
}

#[cfg(test)]
mod tests {
    use super::*;
    use spore_gates::TouchedFile;

    /// A result whose tests are the words: a `!` in front of one that failed, a `?` of one that did not
    /// load. `-` for a check that ran out of time.
    fn result(words: &str) -> Vec<GateResult> {
        let plain = |word: &str| word.trim_start_matches('!').to_owned();
        let is_test = |word: &&str| !word.starts_with('?') && *word != "-";
        let ran: Vec<String> = words.split_whitespace().filter(is_test).map(plain).collect();
        let failures: Vec<&str> =
            words.split_whitespace().filter_map(|word| word.strip_prefix(['!', '?'])).collect();
        let exit = if words == "-" { None } else { Some(i32::from(!failures.is_empty())) };
        let failed = failures.len();
        let result = serde_json::json!({
            "gate": "test", "command": "test", "tree": "0".repeat(40), "exit": exit,
            "passed": ran.len(), "failed": failed, "skipped": 0, "failures": failures,
            "new_failures": [], "ran": ran, "recognised": true, "log": "/log", "log_bytes": 0,
            "duration_ms": 1, "standing": "green",
        });
        vec![serde_json::from_value(result).unwrap()]
    }

    /// Checks what is said of a change with one test of its own, `old`. Tests whose name has an `e` in it
    /// end in an error and not in an assertion.
    #[track_caller]
    fn check(with: &str, base_with: &str, expected: &str) {
        let runs = HeldOutRuns {
            change: &result("old"),
            change_with: &result(with),
            base_with: &result(base_with),
        };
        let assertion =
            |_: &GateResult, name: &str| (!name.contains('e')).then(|| "1 != 2".to_owned());
        let report = judge_held_out(&runs, &assertion);
        let passed = if report.is_passed() { "passed" } else { "" };
        let rejecting = report.rejecting.iter().map(|one| one.name.clone()).collect();
        let said = [
            ("red", report.red_before),
            ("unbuilt", report.unbuilt_before),
            ("guard", report.guarding),
            ("rejects", rejecting),
            ("undecided", report.undecided),
            ("nothing:", report.nothing.into_iter().collect()),
        ];
        let said = said.into_iter().filter(|(_, names)| !names.is_empty());
        let said: Vec<String> =
            said.map(|(what, names)| format!("{what} {}", names.join(" "))).collect();
        assert_eq!(format!("{} {passed}", said.join(", ")).trim(), expected);
    }

    #[test]
    fn only_a_failed_assertion_rejects_and_only_a_test_that_was_red_raises() {
        check("old a", "old !a", "red a passed");
        check("old a", "old", "unbuilt a passed");
        check("old a b", "old !a b", "red a, guard b passed");
        check("old a", "old a", "guard a");
        check("old !a", "old !a", "rejects a");
        check("old !error", "old !error", "undecided error");
        check("old a !error", "old !a !error", "red a, undecided error");
        check("old a ?file", "old !a", "red a, undecided file");
    }

    #[test]
    fn what_is_not_understood_decides_nothing() {
        let no_load =
            "nothing: they do not build or load, or what the check then says is not understood";
        check("?file", "", no_load);
        check("-", "", "nothing: the check with them did not end in its time");
        check("!old !a", "", "nothing: the project's own tests fail beside them");
        check("!a", "", "nothing: the project's own tests fail beside them");
        check("old", "old", "nothing: no check of the project runs them");
    }

    #[test]
    fn a_file_that_says_nothing_does_not_silence_the_others() {
        let mut report = HeldOutReport::default();
        report.join("a.py", HeldOutReport::without_tests("they do not load"));
        let red = HeldOutReport { red_before: vec!["b".into()], ..HeldOutReport::default() };
        report.join("b.py", red);
        assert_eq!((report.telling(), report.undecided.as_slice()), (1, &["a.py".to_owned()][..]));
        assert!(!report.is_passed());
        let rejecting = vec![RejectingTest { name: "c".into(), message: "1 != 2".into() }];
        report.join("c.py", HeldOutReport { rejecting, ..HeldOutReport::default() });
        assert_eq!(report.line(), "held-out tests: red, 1 of 3 fail");
    }

    #[test]
    fn a_tester_leaves_new_test_files_and_nothing_else() {
        let touched = |path: &str, how| TouchedFile { path: path.to_owned(), how };
        let tests = |how| SortedChange {
            tests: vec![touched("tests/test_b.py", how)],
            ..SortedChange::default()
        };
        assert_eq!(held_out_files(&tests(TouchKind::Added)), Ok(vec!["tests/test_b.py".into()]));
        for how in [TouchKind::Modified, TouchKind::Deleted] {
            assert!(held_out_files(&tests(how)).unwrap_err().contains("no new test file"));
        }
        let product = vec![touched("calc.py", TouchKind::Added)];
        let with_product = SortedChange { product, ..tests(TouchKind::Added) };
        assert!(held_out_files(&with_product).unwrap_err().contains("`calc.py`"));
        let held_touched = vec![touched("conftest.py", TouchKind::Added)];
        let with_held = SortedChange { held_touched, ..tests(TouchKind::Added) };
        assert!(held_out_files(&with_held).unwrap_err().contains("`conftest.py`"));
        assert!(held_out_files(&SortedChange::default()).unwrap_err().contains("no test"));
    }

    #[test]
    fn no_name_of_a_test_is_in_what_a_coder_may_read() {
        let report = HeldOutReport {
            red_before: vec!["zzz".into()],
            rejecting: vec![RejectingTest { name: "zzz".into(), message: "1 != 2".into() }],
            undecided: vec!["zzz".into()],
            exposed: true,
            ..HeldOutReport::default()
        };
        let said = format!("{}{}", report.line(), report.doubts().concat());
        assert!(!said.contains("zzz"), "{said}");
    }
}
