//! What a gate's result is worth, next to the same gate at the base commit.
//!
//! A change can make a gate green by taking tests away. So where both reports name every test
//! that ran, each one of the base must be among those of now; where they only count, there
//! must not be fewer. A test that is skipped now is one that does not run. One that moved to
//! another place under its own name is still there: what it says now is for the verifier to
//! read, like any test that was edited in its place.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use spore_model::TreeId;

/// Where a gate stands after it ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Green,
    /// Red, but every failure was there before the change.
    OldRed,
    Red,
}

/// Whether tests may be missing that ran at the base.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Absence {
    IsRed,
    /// A person allowed it, or another run on the same change looks at it.
    IsAllowed,
}

/// One gate, run once, on one tree.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GateResult {
    pub gate: String,
    pub command: String,
    pub tree: TreeId,
    /// The exit code; nothing if the gate ran out of time and was ended.
    pub exit: Option<i32>,
    pub passed: u32,
    pub failed: u32,
    pub skipped: u32,
    /// Names of failed tests, sorted, each once.
    pub failures: Vec<String>,
    /// Those of them that the baseline does not have.
    pub new_failures: Vec<String>,
    /// Names of all tests that ran; see [`crate::TestReport`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ran: Vec<String>,
    /// Those of the baseline that did not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Tracked files that were touched while it ran, but for those that it is meant to write. What
    /// it said is then not of the tree it names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewritten: Vec<String>,
    /// Whether the tests were those of the base, put back over the change's own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restored: bool,
    /// Whether the output was understood whole; see [`crate::TestReport`].
    pub recognised: bool,
    pub log: PathBuf,
    pub log_bytes: u64,
    pub duration_ms: u64,
    pub standing: Standing,
    /// What a reader of the standing should know beyond the numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl GateResult {
    fn ended_red(&self) -> bool {
        self.exit.is_some_and(|code| code != 0)
    }
}

/// Sets the standing of `result`, its new failures, what it is missing and its note. Judging
/// again, against the same baseline or another, starts from nothing.
pub fn judge(result: &mut GateResult, baseline: Option<&GateResult>, absence: Absence) {
    let old: BTreeSet<&str> =
        baseline.iter().flat_map(|base| &base.failures).map(String::as_str).collect();
    result.new_failures =
        result.failures.iter().filter(|name| !old.contains(name.as_str())).cloned().collect();
    result.missing = baseline.map(|base| missing(result, base)).unwrap_or_default();
    (result.standing, result.note) = stand(result, baseline, absence);
}

/// Returns the tests of the base that did not run and did not move.
fn missing(result: &GateResult, baseline: &GateResult) -> Vec<String> {
    if result.ran.is_empty() || baseline.ran.is_empty() {
        return Vec::new();
    }
    let named = |one: &GateResult| -> BTreeMap<String, String> {
        one.ran.iter().map(|name| (without_addresses(name), name.clone())).collect()
    };
    let (now, before) = (named(result), named(baseline));
    let gone = before.iter().filter(|(name, _)| !now.contains_key(*name));
    let came = now.keys().filter(|name| !before.contains_key(*name));
    let mut moved_here: Vec<&str> = came.map(|name| own_name(name)).collect();
    let stayed_away = |(name, _): &(&String, &String)| {
        let at = moved_here.iter().position(|own| *own == own_name(name));
        at.map(|at| moved_here.swap_remove(at)).is_none()
    };
    gone.filter(stayed_away).map(|(_, name)| name.clone()).collect()
}

/// Returns a name without what differs from one run to the next: where an object lay in memory
/// is no part of the name that its author chose.
fn without_addresses(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find("0x") {
        let (before, address) = rest.split_at(at + 2);
        plain.push_str(before);
        rest = address.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    plain + rest
}

/// Returns a test's name without the place it is in.
fn own_name(name: &str) -> &str {
    let name = name.split_once(" (").map_or(name, |(name, _)| name);
    let parts = [" › ", " > ", "::", " "];
    let separator = parts.into_iter().find(|separator| name.contains(separator));
    separator.and_then(|separator| name.rsplit(separator).next()).unwrap_or(name)
}

/// Returns why the tests that ran are not all that ran at the base.
fn absent(result: &GateResult, baseline: &GateResult) -> Option<String> {
    if let [first, others @ ..] = result.missing.as_slice() {
        let more = match others.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        return Some(format!("a test that ran at the base no longer does: {first}{more}"));
    }
    let unnamed = result.ran.is_empty() || baseline.ran.is_empty();
    let count = |one: &GateResult| u64::from(one.passed) + u64::from(one.failed);
    let (before, now) = (count(baseline), count(result));
    let readable = result.recognised && baseline.recognised;
    (unnamed && readable && now < before)
        .then(|| format!("fewer tests: {before} ran at the base, {now} do now"))
}

/// Returns which tracked files the gate touched that it leaves alone at the base: what it says is
/// then of other files than those that would be committed.
fn rewrote(result: &GateResult, baseline: &GateResult) -> Option<String> {
    let mut new = result.rewritten.iter().filter(|name| !baseline.rewritten.contains(name));
    let first = new.next()?;
    let more = match new.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "tracked files were rewritten while it ran, so it did not check the tree as it is: {}{more}",
        spore_plain::line_within(first, 200)
    ))
}

fn stand(
    result: &GateResult,
    baseline: Option<&GateResult>,
    absence: Absence,
) -> (Standing, Option<String>) {
    let red = |note: &str| (Standing::Red, Some(note.to_owned()));
    let Some(exit) = result.exit else {
        return red("the command ran out of time and was ended");
    };
    if let Some(baseline) = baseline.filter(|base| base.passed > 0)
        && result.passed == 0
    {
        let before = baseline.passed;
        return red(&format!(
            "tests disappeared: {before} passed before the change, none does now"
        ));
    }
    if absence == Absence::IsRed
        && let Some(why) = baseline.and_then(|base| absent(result, base))
    {
        return red(&why);
    }
    if let Some(why) = baseline.and_then(|base| rewrote(result, base)) {
        return red(&why);
    }
    if exit == 0 && (result.failed > 0 || !result.failures.is_empty()) {
        return red("the command says success, but its report has failures");
    }
    if exit == 0 && !result.recognised && baseline.is_some_and(|base| base.recognised) {
        // A test binary that exits with success in the middle looks like this.
        return red(
            "the report was readable before the change and is not now: not every test may have run",
        );
    }
    if exit == 0 {
        return (Standing::Green, None);
    }
    let is_old = baseline.is_some_and(|base| {
        result.recognised
            && base.recognised
            && base.ended_red()
            && !result.failures.is_empty()
            && result.new_failures.is_empty()
    });
    if is_old { (Standing::OldRed, None) } else { (Standing::Red, None) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a result as `exit passed failure,failure`; `-` for out of time, a `?` in front
    /// for output that was not recognised.
    fn result(text: &str) -> GateResult {
        let recognised = !text.starts_with('?');
        let mut words = text.trim_start_matches('?').split(' ');
        let exit = words.next().unwrap().parse().ok();
        let passed = words.next().unwrap().parse().unwrap();
        let failures: Vec<String> =
            words.next().unwrap_or("").split_terminator(',').map(str::to_owned).collect();
        GateResult {
            gate: "cargo-test".into(),
            command: "cargo test".into(),
            tree: TreeId::new("0".repeat(40)).unwrap(),
            exit,
            passed,
            failed: u32::try_from(failures.len()).unwrap(),
            skipped: 0,
            failures,
            new_failures: vec!["stale".into()],
            ran: Vec::new(),
            missing: vec!["stale".into()],
            rewritten: Vec::new(),
            restored: false,
            recognised,
            log: PathBuf::from("gate.log"),
            log_bytes: 0,
            duration_ms: 0,
            standing: Standing::Red,
            note: Some("stale".into()),
        }
    }

    #[track_caller]
    fn check(now: &str, before: &str, standing: Standing, new: &[&str], note: &str) {
        let mut judged = result(now);
        let baseline = (!before.is_empty()).then(|| result(before));
        judge(&mut judged, baseline.as_ref(), Absence::IsRed);
        assert_eq!(judged.standing, standing, "{now} after {before}");
        assert_eq!(judged.new_failures, new, "{now} after {before}");
        let said = judged.note.unwrap_or_default();
        assert!(said.contains(note) && said.is_empty() == note.is_empty(), "{said}");
    }

    #[test]
    fn success_without_a_failure_is_green() {
        check("0 5", "", Standing::Green, &[], "");
        check("0 5", "0 5", Standing::Green, &[], "");
        check("0 5", "101 4 a", Standing::Green, &[], "");
        check("?0 0", "", Standing::Green, &[], "");
        check("?0 0", "?0 0", Standing::Green, &[], "");
    }

    #[test]
    fn success_with_a_counted_failure_is_a_lie() {
        check("0 5 a", "", Standing::Red, &["a"], "says success");
        check("0 5 a", "101 5 a", Standing::Red, &[], "says success");
        let mut unnamed = result("0 5");
        unnamed.failed = 1;
        judge(&mut unnamed, None, Absence::IsRed);
        assert_eq!(unnamed.standing, Standing::Red);
    }

    #[test]
    fn only_failures_that_were_there_before_are_old() {
        check("101 4 a", "101 4 a", Standing::OldRed, &[], "");
        check("101 5 a", "101 3 a,b", Standing::OldRed, &[], "");
        check("101 3 a,b", "101 4 a", Standing::Red, &["b"], "");
        check("101 4 a", "0 5", Standing::Red, &["a"], "");
        check("101 4 a", "", Standing::Red, &["a"], "");
    }

    #[test]
    fn a_failure_in_an_unreadable_report_is_never_old() {
        check("?101 4 a", "101 4 a", Standing::Red, &[], "");
        check("101 4 a", "?101 4 a", Standing::Red, &[], "");
        check("101 4", "101 4", Standing::Red, &[], "");
        check("101 4 a", "- 4 a", Standing::Red, &[], "");
        check("101 4 a", "0 4 a", Standing::Red, &[], "");
    }

    #[test]
    fn a_gate_out_of_time_is_red_whatever_it_was_before() {
        check("- 5", "- 5", Standing::Red, &[], "out of time");
        check("- 5 a", "101 5 a", Standing::Red, &[], "out of time");
    }

    #[test]
    fn tests_that_disappeared_are_red() {
        check("0 0", "0 5", Standing::Red, &[], "tests disappeared: 5 passed");
        check("?0 0", "0 5", Standing::Red, &[], "tests disappeared");
        check("101 0 a", "101 5 a", Standing::Red, &[], "tests disappeared");
        check("0 0", "0 0", Standing::Green, &[], "");
    }

    #[test]
    fn a_report_that_can_no_longer_be_read_is_red() {
        check("?0 4", "0 5", Standing::Red, &[], "not every test may have run");
    }

    /// The same with the names of what ran.
    #[track_caller]
    fn check_names(now: &[&str], before: &[&str], absence: Absence, missing: &[&str]) {
        let named = |names: &[&str]| {
            let mut one = result(&format!("0 {}", names.len()));
            one.ran = names.iter().map(|&name| name.to_owned()).collect();
            one
        };
        let mut judged = named(now);
        judge(&mut judged, Some(&named(before)), absence);
        assert_eq!(judged.missing, missing);
        let red = !missing.is_empty() && absence == Absence::IsRed;
        assert_eq!(judged.standing == Standing::Red, red, "{:?}", judged.note);
    }

    #[test]
    fn a_test_that_is_gone_is_missed_by_its_name() {
        let before = ["a src/lib.rs tests::one", "a src/lib.rs tests::two"];
        let renamed = ["a src/lib.rs tests::one", "a src/lib.rs tests::three"];
        check_names(&renamed, &before, Absence::IsRed, &before[1..]);
        check_names(&before[..1], &before, Absence::IsRed, &before[1..]);
        check_names(&before[..1], &before, Absence::IsAllowed, &before[1..]);
        check_names(&before, &before[..1], Absence::IsRed, &[]);
    }

    #[test]
    fn a_test_that_moved_is_not_missed() {
        for (before, now) in [
            ("a src/lib.rs tests::one", "a src/lib.rs other::tests::one"),
            ("tests/test_a.py::test_p[1]", "tests/unit/test_a.py::test_p[1]"),
            ("test_a (m.T.test_a)", "test_a (n.T.test_a)"),
            ("demo.SumTest adds", "demo.math.SumTest adds"),
            ("a.test.ts > sum > adds", "b.test.ts > sum > adds"),
            ("a.test.js › sum › adds well", "b.test.js › adds well"),
        ] {
            check_names(&[now, "x"], &[before, "x"], Absence::IsRed, &[]);
        }
        let (here, there) =
            ("t.py::test_p[<A object at 0x7f0a>]", "t.py::test_p[<A object at 0x55b1>]");
        check_names(&[here], &[there], Absence::IsRed, &[]);
        // One that comes takes the place of one that goes, not of two.
        check_names(&["m y::t"], &["m a::t", "m b::t"], Absence::IsRed, &["m b::t"]);
    }

    #[test]
    fn where_tests_have_no_names_there_must_not_be_fewer() {
        check("0 4", "0 5", Standing::Red, &[], "fewer tests: 5 ran at the base, 4 do now");
        check("0 6", "0 5", Standing::Green, &[], "");
    }

    proptest::proptest! {
        #[test]
        fn no_change_of_the_report_makes_a_failed_command_green(
            exit in proptest::option::of(-1_i32..3),
            passed in 0_u32..5,
            failures in proptest::collection::vec("[a-c]", 0..3),
            ran in proptest::collection::vec("[a-e]", 0..4),
            recognised: bool,
            old in proptest::collection::vec("[a-c]", 0..3),
            old_exit in proptest::option::of(0_i32..3),
        ) {
            let mut base = result(&format!("0 3 {}", old.join(",")));
            base.exit = old_exit;
            let mut now = result(&format!("0 {passed} {}", failures.join(",")));
            (now.exit, now.ran, now.recognised) = (exit, ran, recognised);
            for baseline in [None, Some(&base)] {
                for absence in [Absence::IsRed, Absence::IsAllowed] {
                    judge(&mut now, baseline, absence);
                    if now.standing == Standing::Green {
                        assert_eq!(now.exit, Some(0));
                        assert!(now.failures.is_empty());
                    }
                    let new = now.new_failures.iter().all(|name| !base.failures.contains(name));
                    assert!(baseline.is_none() || new);
                    assert!(now.standing != Standing::OldRed || now.new_failures.is_empty());
                }
            }
        }
    }

    #[test]
    fn a_gate_that_rewrites_the_tree_is_red_unless_it_does_so_at_the_base() {
        let mut base = result("0 3");
        let mut now = result("0 3");
        now.rewritten = vec!["Cargo.lock".into(), "src/lib.rs".into()];
        judge(&mut now, None, Absence::IsRed);
        assert_eq!(now.standing, Standing::Green);
        judge(&mut now, Some(&base), Absence::IsRed);
        assert_eq!(now.standing, Standing::Red);
        assert!(now.note.as_deref().unwrap().ends_with("Cargo.lock and 1 more"), "{:?}", now.note);
        base.rewritten = vec!["Cargo.lock".into()];
        judge(&mut now, Some(&base), Absence::IsRed);
        assert!(now.note.as_deref().unwrap().ends_with("as it is: src/lib.rs"), "{:?}", now.note);
        base.rewritten = now.rewritten.clone();
        judge(&mut now, Some(&base), Absence::IsRed);
        assert_eq!(now.standing, Standing::Green);
    }
}
