//! Runs the tests that a change brings on the base's product, and those alone where their runner can be told so.
//! What comes of it is said of a change and decides nothing, so a runner that asks few tests is good enough.

use std::collections::BTreeSet;

use spore_gates::{Gate, GateKind, GateResult, TouchKind};
use spore_git::TreeMixture;
use spore_model::{CommitId, Ticket};
use spore_proof::{NewTests, TestFileVersions};

use super::ground::{CheckedChange, Proving};
use crate::Result;
use crate::checks::against::{Against, Check, Checked};
use crate::run::context::RunContext;

/// The gates of one run of new tests, and what is asked of those that do not run all of them.
pub(super) struct NewTestGates {
    gates: Vec<Gate>,
    asked: Vec<(String, BTreeSet<String>)>,
}

impl NewTestGates {
    /// All tests of all gates.
    pub(super) fn all(gates: &[Gate]) -> Self {
        Self { gates: gates.to_vec(), asked: Vec::new() }
    }

    /// Returns what is asked, in words that differ where it does.
    pub(super) fn words(&self) -> String {
        self.gates.iter().map(|gate| format!("{}: {}\n", gate.name, gate.command)).collect()
    }
}

impl RunContext<'_> {
    pub(super) fn check_new_tests(
        &mut self,
        ticket: &Ticket,
        proving: &Proving<'_>,
        place: &CheckedChange<'_>,
        results: &[GateResult],
    ) -> Result<Option<NewTests>> {
        let sorted = &proving.review.sorted;
        if !sorted.brings_tests() {
            return Ok(Some(NewTests::default()));
        }
        let brought = sorted.tests.iter().filter(|one| one.how != TouchKind::Deleted);
        let bring_back: Vec<String> = brought.map(|one| one.path.clone()).collect();
        let base = self.run.settings.base.clone();
        let rewrite = self.exchanged(proving, &base, place.commit)?;
        let mixture = TreeMixture {
            from: place.commit,
            bring_back: &bring_back,
            leave_out: &[],
            rewrite: &rewrite,
        };
        let alone = self.mixed(&proving.base_tree, &mixture)?;
        let own: Vec<GateResult> =
            results.iter().filter(|result| !result.restored).cloned().collect();
        let baseline = &proving.baseline.results;
        if alone == *place.tree {
            return Ok(Some(spore_proof::compare(baseline, &own, &own)));
        }
        let commit = self.commit_for_checks(&alone, ticket)?;
        let check = place.check(&commit, &alone, Against::WithoutChange);
        let files: Vec<String> = bring_back.iter().chain(&sorted.inline).cloned().collect();
        let commits = [place.commit, &base];
        let asked = self.new_test_gates(commits, &files, &own, baseline)?;
        let alone = self.run_new_tests(&check, &asked)?;
        Ok(alone.map(|alone| spore_proof::compare(baseline, &own, &alone)))
    }

    /// Returns the gates for the tests in these files, as the first commit has them and the second has not.
    /// They are in `with` and not in `without`.
    pub(super) fn new_test_gates(
        &self,
        commits: [&CommitId; 2],
        files: &[String],
        with: &[GateResult],
        without: &[GateResult],
    ) -> Result<NewTestGates> {
        let versions = self.versions(commits, files)?;
        let mut all = NewTestGates { gates: Vec::new(), asked: Vec::new() };
        for gate in &self.run.settings.gates {
            let of = |all: &[GateResult]| all.iter().find(|one| one.gate == gate.name).cloned();
            let known = match (gate.kind, of(with), of(without)) {
                (GateKind::Test, Some(with), Some(without)) => {
                    spore_proof::new_names(&versions, &with, &without).map(|names| (names, with))
                }
                _ => None,
            };
            let Some((names, with)) = known else {
                all.gates.push(gate.clone());
                continue;
            };
            // Those of other gates, or none at all: there is nothing to ask.
            let is_one = |ran: &String| names.iter().any(|name| ran.contains(name.as_str()));
            if !with.ran.iter().any(is_one) {
                continue;
            }
            match spore_proof::asked_alone(gate, &names) {
                Some(asked) => {
                    all.gates.push(asked);
                    all.asked.push((gate.name.clone(), names));
                }
                None => all.gates.push(gate.clone()),
            }
        }
        Ok(all)
    }

    /// Returns both versions of files: what the first commit has, and what the second has in its place.
    pub(super) fn versions(
        &self,
        [commit, other]: [&CommitId; 2],
        files: &[String],
    ) -> Result<Vec<TestFileVersions>> {
        let paths: Vec<&str> = files.iter().map(String::as_str).collect();
        let own = self.project.repository.read_files(commit, &paths)?;
        let others = self.project.repository.read_files(other, &paths)?;
        let text = |bytes: Option<Vec<u8>>| {
            String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
        };
        let both = own.into_iter().zip(others);
        let versions = files.iter().zip(both).map(|(path, (own, other))| TestFileVersions {
            path: path.clone(),
            text: text(own),
            other: text(other),
        });
        Ok(versions.collect())
    }

    /// Runs them; as a whole where one said nothing at all of what it was asked and ended well, as one does
    /// that was not understood. Nothing if that was interrupted.
    pub(super) fn run_new_tests(
        &mut self,
        check: &Check<'_>,
        asked: &NewTestGates,
    ) -> Result<Option<Vec<GateResult>>> {
        /// What runners end with where they found no test.
        const NOTHING_RAN: [Option<i32>; 2] = [Some(0), Some(5)];
        if !asked.gates.iter().any(|gate| gate.kind == GateKind::Test) {
            return Ok(Some(Vec::new()));
        }
        let checked = self.with_these_gates(&asked.gates, |runs, told| runs.run(check, told))?;
        let Checked::Done(results) = checked else { return Ok(None) };
        let is_silent = |(gate, names): &(String, BTreeSet<String>)| {
            results.iter().any(|one| {
                let is_asked = |ran: &String| names.iter().any(|name| ran.contains(name.as_str()));
                one.gate == *gate
                    && NOTHING_RAN.contains(&one.exit)
                    && !one.ran.iter().any(is_asked)
            })
        };
        if !asked.asked.iter().any(is_silent) {
            return Ok(Some(results));
        }
        Ok(match self.with_gates(|gates, told| gates.run(check, told))? {
            Checked::Done(results) => Some(results),
            Checked::Interrupted => None,
        })
    }
}
