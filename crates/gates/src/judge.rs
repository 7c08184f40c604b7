//! What a gate's result is worth, next to the same gate at the base commit.

use std::collections::BTreeSet;
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

/// Sets the standing of `result`, its new failures and its note. Judging again, against the
/// same baseline or another, starts from nothing.
pub fn judge(result: &mut GateResult, baseline: Option<&GateResult>) {
    let old: BTreeSet<&str> =
        baseline.iter().flat_map(|base| &base.failures).map(String::as_str).collect();
    result.new_failures =
        result.failures.iter().filter(|name| !old.contains(name.as_str())).cloned().collect();
    (result.standing, result.note) = stand(result, baseline);
}

fn stand(result: &GateResult, baseline: Option<&GateResult>) -> (Standing, Option<String>) {
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
        judge(&mut judged, baseline.as_ref());
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
        judge(&mut unnamed, None);
        assert_eq!(unnamed.standing, Standing::Red);
    }

    #[test]
    fn only_failures_that_were_there_before_are_old() {
        check("101 4 a", "101 4 a", Standing::OldRed, &[], "");
        check("101 4 a", "101 3 a,b", Standing::OldRed, &[], "");
        check("101 3 a,b", "101 4 a", Standing::Red, &["b"], "");
        check("101 4 a", "0 5", Standing::Red, &["a"], "");
        check("101 4 a", "", Standing::Red, &["a"], "");
    }

    #[test]
    fn a_failure_that_nobody_could_read_is_never_old() {
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
}
