//! Canaries in a run of all the tests they are among: what it says of the tests, and of itself.
//!
//! A test that was given another end says nothing of the product under its own name, so its copy has to. Every
//! other test answers as it always does, in a process that cannot know which answers are asked for.

use std::collections::BTreeSet;

use spore_gates::{Gate, GateResult, Parser};

use super::{CanaryAnswerKind, GateCanary};
use crate::new_tests::is_same;

impl GateCanary {
    /// Returns the gate with all of its tests to run, whatever fails first. Nothing where its command is
    /// more than one program: what comes behind tests that fail would not be run.
    pub fn whole(&self, gate: &Gate) -> Option<Gate> {
        self.limited(gate)?;
        let command = &gate.command;
        let command = match gate.parser {
            Parser::Cargo if !command.contains("--no-fail-fast") => {
                command.replacen("cargo test", "cargo test --no-fail-fast", 1)
            }
            Parser::Pytest => format!("{command} --maxfail=0"),
            _ => command.clone(),
        };
        Some(Gate { command, ..gate.clone() })
    }

    /// Returns the result of such a run as it is without the canaries; nothing where they are not right, or
    /// where one of the tests that they are made of has no copy that passes.
    pub fn taken_out(&self, said: &GateResult, suffix: &str) -> Option<GateResult> {
        let copies: BTreeSet<String> =
            said.ran.iter().filter_map(|name| original(name, suffix)).collect();
        let is_whole = self.copied.len() == self.tests.len()
            && self.red.iter().all(|name| copies.iter().any(|copy| is_same(name, copy)))
            && said.exit == self.exit
            && said.exit != Some(0)
            && self.answer(said, suffix) == CanaryAnswerKind::Right;
        if !is_whole {
            return None;
        }
        Some(self.without_canaries(said, suffix))
    }

    /// Returns what a run says of the other tests, whatever its canaries are worth.
    #[must_use]
    pub fn without_canaries(&self, said: &GateResult, suffix: &str) -> GateResult {
        let is_of_base = |name: &&String| !name.contains(suffix);
        let ran: Vec<String> = said.ran.iter().filter(is_of_base).cloned().collect();
        let is_real = |name: &&String| !self.red.contains(name);
        // Of a test with another end its copy says what the product does.
        let copies = said.failures.iter().filter_map(|name| original(name, suffix));
        let others = said.failures.iter().filter(is_real).filter(is_of_base).cloned();
        let failures: Vec<String> =
            others.chain(copies).collect::<BTreeSet<_>>().into_iter().collect();
        let failed = u32::try_from(failures.len()).unwrap_or(u32::MAX);
        let passed = u32::try_from(ran.len()).unwrap_or(u32::MAX).saturating_sub(failed);
        let exit = if failures.is_empty() { Some(0) } else { said.exit };
        GateResult { exit, passed, failed, failures, ran, ..said.clone() }
    }
}

/// Returns what the test is called that this one is a copy of; nothing if it is none.
fn original(name: &str, suffix: &str) -> Option<String> {
    let without = |name: String, joint: &str| name.replace(&format!("{joint}{suffix}"), "");
    name.contains(suffix).then(|| ["_", " "].into_iter().fold(name.to_owned(), without))
}
