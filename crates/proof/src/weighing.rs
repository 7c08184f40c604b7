//! Sums up how far the checks of a change go.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use spore_gates::{GateResult, Standing};
use spore_model::{ProofLevel, ProofSummary};

use crate::held_out::HeldOutReport;
use crate::new_tests::{NewTests, is_same};
use crate::probes::HunkReport;
use crate::sorting::SortedChange;

/// Tests of the base that pass with the product of the change and nothing else of it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct KeptTests {
    /// How many of them passed at the base and pass now.
    pub passed: u32,
    /// Those that failed at the base and pass now.
    #[serde(default)]
    pub mended: u32,
    /// Whether every check with tests named each of them, at the base and now.
    pub named: bool,
}

/// What the checks of one change prove.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ChangeProof {
    pub level: ProofLevel,
    pub kept: KeptTests,
    #[serde(default)]
    pub new: NewTests,
    /// Whether the checks notice each part of the change; nothing where they were not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunks: Option<HunkReport>,
    /// What tests say that the coder never saw; nothing where there were to be none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<HeldOutReport>,
    /// Why it is not proved, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}

/// What a proof is made of. All checks in it are green.
pub struct Weighing<'a> {
    pub sorted: &'a SortedChange,
    /// The base as it was.
    pub base: &'a [GateResult],
    /// The product of the change with everything else of the base; the change itself where it is
    /// nothing but the product.
    pub kept: &'a [GateResult],
    /// Whether data that the checks read had to be the change's for them to be green.
    pub with_held: bool,
    /// Whether what the base's checks look up is on record.
    pub recorded: bool,
    /// Set where tests of the base were not run on the change: a person allowed it.
    pub tests_allowed: bool,
    /// Tests that are flaky at the base: they decide nothing.
    pub flaky: &'a [String],
    /// Checks whose tests have no canaries among them that were right.
    pub without_canary: &'a [String],
    pub new: NewTests,
}

impl ChangeProof {
    /// Weighs what was seen.
    pub fn weigh(seen: Weighing<'_>) -> Self {
        let kept = kept(seen.base, seen.kept, seen.flaky);
        let doubts = doubts(&seen, &kept);
        let level = if doubts.is_empty() { ProofLevel::Proved } else { ProofLevel::Checked };
        Self { level, kept, new: seen.new, hunks: None, held_out: None, doubts }
    }

    /// Adds whether the checks notice each part of the change. What is proved and has no part that
    /// may go unnoticed is seen.
    #[must_use]
    pub fn with_hunks(self, hunks: HunkReport) -> Self {
        let is_seen = self.level == ProofLevel::Proved && hunks.is_all_seen();
        let level = if is_seen { ProofLevel::Seen } else { self.level };
        Self { level, hunks: Some(hunks), ..self }
    }

    /// Adds what tests say that the coder never saw. What is seen and passes them is held out.
    #[must_use]
    pub fn with_held_out(self, held_out: HeldOutReport) -> Self {
        let is_held_out = self.level == ProofLevel::Seen && held_out.is_passed();
        let level = if is_held_out { ProofLevel::HeldOut } else { self.level };
        Self { level, held_out: Some(held_out), ..self }
    }

    /// Returns what a run keeps of it.
    pub fn summary(&self) -> ProofSummary {
        let mut doubts = self.doubts.clone();
        doubts.extend(self.hunks.iter().flat_map(HunkReport::doubts));
        doubts.extend(self.held_out.iter().flat_map(HeldOutReport::doubts));
        ProofSummary { level: self.level, line: self.trailer(), doubts }
    }

    /// Returns it in one line, for a commit: `proved, 41 kept, 3 new, 2 of 5 hunks seen`.
    pub fn trailer(&self) -> String {
        let mut text = self.level.to_string();
        if self.kept.passed > 0 {
            text.push_str(&format!(", {} kept", self.kept.passed));
        }
        if self.kept.mended > 0 {
            text.push_str(&format!(", {} fixed", self.kept.mended));
        }
        let (telling, silent) = (self.new.telling(), self.new.passed.len());
        if telling > 0 {
            text.push_str(&format!(", {telling} new"));
        }
        if silent > 0 {
            text.push_str(&format!(", {silent} new that pass without the change"));
        }
        if let Some(seen) = self.hunks.as_ref().and_then(HunkReport::words) {
            text.push_str(&format!(", {seen}"));
        }
        match self.held_out.as_ref().map_or(0, HeldOutReport::telling) {
            0 => {}
            telling => text.push_str(&format!(", {telling} held out")),
        }
        text
    }

    /// Returns what a reader should know, a line each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("proof: {}", self.trailer())];
        if !self.new.unbuilt.is_empty() {
            let count = self.new.unbuilt.len();
            lines.push(format!("note: {count} of the new tests do not build without the change"));
        }
        for name in self.new.passed.iter().take(5) {
            let name = spore_plain::code(name, 200);
            lines.push(format!(
                "note: the new test {name} passes without the change: it proves nothing"
            ));
        }
        lines.extend(self.doubts.iter().map(|doubt| format!("not proved: {doubt}")));
        lines.extend(self.hunks.iter().flat_map(HunkReport::lines));
        if let Some(held_out) = &self.held_out {
            lines.push(held_out.line());
            let doubts = held_out.doubts();
            lines.extend(doubts.iter().map(|doubt| format!("not held out: {doubt}")));
        }
        lines
    }
}

fn kept(base: &[GateResult], now: &[GateResult], flaky: &[String]) -> KeptTests {
    let mut kept = KeptTests { named: true, ..KeptTests::default() };
    let mut has_tests = false;
    for before in base.iter().filter(|before| before.passed + before.failed > 0) {
        let Some(now) = now.iter().find(|now| now.gate == before.gate) else {
            kept.named = false;
            continue;
        };
        has_tests = true;
        if before.ran.is_empty() || now.ran.is_empty() {
            kept.named = false;
            kept.passed += before.passed.min(now.passed);
            continue;
        }
        let fails = |result: &GateResult, name: &String| {
            result.failures.iter().any(|failed| is_same(failed, name))
        };
        let is_flaky = |name: &String| flaky.iter().any(|one| is_same(one, name));
        for name in before.ran.iter().filter(|name| now.ran.contains(name) && !fails(now, name)) {
            if is_flaky(name) {
                continue;
            }
            match fails(before, name) {
                true => kept.mended += 1,
                false => kept.passed += 1,
            }
        }
    }
    kept.named &= has_tests;
    kept
}

fn doubts(seen: &Weighing<'_>, kept: &KeptTests) -> Vec<String> {
    let mut doubts = Vec::new();
    for held in &seen.sorted.held {
        let is_settled = held.reason == crate::HeldReason::SharedData && !seen.with_held;
        if !is_settled {
            doubts.push(held.doubt());
        }
    }
    for path in &seen.sorted.unreadable {
        let path = spore_plain::code(path, 200);
        doubts.push(format!("tests among the code of {path} cannot be told from it"));
    }
    for path in &seen.sorted.examples {
        let path = spore_plain::code(path, 200);
        doubts.push(format!("examples in the documentation of {path} are not as they were"));
    }
    doubts.extend(seen.sorted.signs.iter().take(5).map(crate::ProductSign::doubt));
    if seen.tests_allowed && !seen.sorted.tests.is_empty() {
        doubts.push("tests were changed, as a person allowed".to_owned());
    }
    if !kept.named {
        doubts.push("no check names its tests, so one that is gone would not be missed".to_owned());
    }
    let is_flaky = |name: &String| seen.flaky.iter().any(|one| is_same(one, name));
    let red = || seen.kept.iter().filter(|result| result.standing != Standing::Green);
    if red().any(|result| !result.failures.iter().all(is_flaky)) {
        doubts.push("the checks fail as they did before the change".to_owned());
    }
    let failed: BTreeSet<&String> =
        red().flat_map(|result| &result.failures).filter(|name| is_flaky(name)).collect();
    for name in failed {
        let name = spore_plain::code(name, 200);
        doubts.push(format!(
            "{name} fails, and does so at the base now and then: it decides nothing"
        ));
    }
    let rewritten = seen.base.iter().chain(seen.kept).flat_map(|result| &result.rewritten);
    if let Some(path) = rewritten.min() {
        let path = spore_plain::code(path, 200);
        doubts.push(format!("the checks rewrite {path}, so they do not check the tree as it is"));
    }
    if !seen.recorded {
        doubts.push("what the checks read is not on record on this machine".to_owned());
    }
    for gate in seen.without_canary {
        let gate = spore_plain::code(gate, 200);
        doubts.push(format!("no canary among the tests of {gate} gave the right answer"));
    }
    doubts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(passed: u32, ran: &[&str]) -> GateResult {
        let result = serde_json::json!({
            "gate": "test", "command": "test", "tree": "0".repeat(40), "exit": 0,
            "passed": passed, "failed": 0, "skipped": 0, "failures": [], "new_failures": [],
            "ran": ran, "recognised": true, "log": "/log", "log_bytes": 0, "duration_ms": 1,
            "standing": "green",
        });
        serde_json::from_value(result).unwrap()
    }

    #[test]
    fn doubt_lowers_the_level_and_is_named() {
        let sorted = SortedChange::default();
        let (base, kept) = ([result(2, &["a", "b"])], [result(3, &["a", "b", "c"])]);
        let weigh = |sorted: &SortedChange, base: &[GateResult], recorded: bool| {
            ChangeProof::weigh(Weighing {
                sorted,
                base,
                kept: &kept,
                with_held: false,
                recorded,
                tests_allowed: false,
                flaky: &[],
                without_canary: &[],
                new: NewTests { failed: vec!["c".into()], ..NewTests::default() },
            })
        };
        let proof = weigh(&sorted, &base, true);
        assert_eq!(proof.trailer(), "proved, 2 kept, 1 new");
        let hunks = |noticed| HunkReport {
            hunks: vec![crate::ProbedHunk {
                place: crate::HunkPlace { path: "a.py".into(), line: 1, lines: 1 },
                noticed,
            }],
        };
        let seen = proof.clone().with_hunks(hunks(crate::Noticed::Seen));
        assert_eq!(seen.trailer(), "seen, 2 kept, 1 new, 1 of 1 hunks seen");
        let passed = HeldOutReport { red_before: vec!["h".into()], ..HeldOutReport::default() };
        let held_out = seen.clone().with_held_out(passed.clone());
        assert_eq!(held_out.trailer(), "held-out, 2 kept, 1 new, 1 of 1 hunks seen, 1 held out");
        // Each level includes those before it.
        assert_eq!(proof.clone().with_held_out(passed.clone()).level, ProofLevel::Proved);
        for not in [
            HeldOutReport { red_before: Vec::new(), ..passed.clone() },
            HeldOutReport { undecided: vec!["e".into()], ..passed.clone() },
            HeldOutReport { exposed: true, ..passed },
            HeldOutReport::without_tests("the tester wrote no test"),
        ] {
            let proof = seen.clone().with_held_out(not);
            assert_eq!((proof.level, proof.summary().doubts.len()), (ProofLevel::Seen, 1));
        }
        for not in [crate::Noticed::Unseen, crate::Noticed::Unbuilt, crate::Noticed::NotTried] {
            let proof = proof.clone().with_hunks(hunks(not));
            assert_eq!((proof.level, proof.summary().doubts.len()), (ProofLevel::Proved, 1));
        }
        let doubted = weigh(&sorted, &base, false).with_hunks(hunks(crate::Noticed::Seen));
        assert_eq!(doubted.level, ProofLevel::Checked);
        assert_eq!(weigh(&sorted, &base, false).level, ProofLevel::Checked);
        assert_eq!(weigh(&sorted, &[result(2, &[])], true).level, ProofLevel::Checked);
        let held =
            crate::HeldFile { path: "tox.ini".into(), reason: crate::HeldReason::DecidesChecks };
        let touched = SortedChange { held: vec![held], ..SortedChange::default() };
        let proof = weigh(&touched, &base, true);
        assert_eq!(
            proof.lines(),
            [
                "proof: checked, 2 kept, 1 new",
                "not proved: the change touches `tox.ini`, which the checks go by"
            ]
        );
    }
}
