//! Canaries among the base's tests in the one run of these on a change that touches tests.
//!
//! The base's tests have to be run on the product of such a change anyway. With canaries among them that run says
//! at once what its tests say and whether it tells the truth, and of a runner that runs everything. What fails
//! in it ends the command with an error, so its exit code says nothing: that the tests which the change touched
//! pass as they were, and end well, is asked of these alone and without canaries, and all others ran with the
//! change as it is. Only a run that is right in everything counts. After any other the base's tests are run
//! plainly and canaries by themselves, and those decide.

use std::collections::BTreeSet;

use spore_gates::{Absence, Gate, GateKind, GateResult, Parser, Standing, TouchKind};
use spore_model::{CommitId, Ticket, TreeId};
use spore_proof::{GateCanary, TestFileVersions};

use super::canaries::{CanaryFindings, CanaryGround};
use super::ground::{CheckedChange, Proving};
use crate::checks::runner::{Against, Check, Checked};
use crate::checks::words;
use crate::run::context::RunContext;
use crate::{Result, Update};

/// The base's tests on the product of a change.
#[derive(Clone, Copy)]
pub(super) struct KeptGround<'a> {
    pub(super) ticket: &'a Ticket,
    pub(super) proving: &'a Proving<'a>,
    pub(super) place: &'a CheckedChange<'a>,
    /// What the checks say of the change as it is.
    pub(super) own: &'a [GateResult],
    pub(super) commit: &'a CommitId,
    pub(super) tree: &'a TreeId,
}

/// What came of one run for both.
pub(super) enum RodeAlong {
    /// Nothing that counts.
    Nothing,
    Right(Vec<GateResult>, CanaryFindings),
    Interrupted,
}

impl RunContext<'_> {
    pub(super) fn ride_along(
        &mut self,
        kept: KeptGround<'_>,
        expected: &[GateResult],
    ) -> Result<RodeAlong> {
        let known = self.with_gates(|gates, _| gates.cached_canaries(&kept.proving.base_tree))?;
        let canaries = known.unwrap_or_default();
        let Some(gates) = self.whole_gates(kept, &canaries) else { return Ok(RodeAlong::Nothing) };
        match self.touched_tests_hold(kept, &canaries)? {
            Some(true) => {}
            Some(false) => return Ok(RodeAlong::Nothing),
            None => return Ok(RodeAlong::Interrupted),
        }
        let ground = CanaryGround {
            run: kept.place.run,
            logs: kept.place.logs,
            commit: kept.commit,
            tree: kept.tree,
        };
        let Some(answer) = self.run_with_canaries(kept.ticket, ground, &canaries, &gates)? else {
            return Ok(RodeAlong::Interrupted);
        };
        let mut results = Vec::new();
        for said in &answer.results {
            let canary = canaries.iter().find(|one| one.gate == said.gate);
            let result = match canary {
                Some(canary) => canary.taken_out(said, &answer.suffix),
                None => Some(said.clone()),
            };
            let Some(result) = result else { return Ok(RodeAlong::Nothing) };
            let tree = kept.tree.clone();
            let command = self.command_of(&result.gate, &result.command);
            let mut result = GateResult { tree, command, restored: true, ..result };
            let expected = expected.iter().find(|one| one.gate == result.gate);
            spore_gates::judge(&mut result, expected, Absence::IsRed);
            if result.standing != Standing::Green {
                return Ok(RodeAlong::Nothing);
            }
            results.push(result);
        }
        // What installs may have had nothing to do; every check with tests has to have run.
        let has_run = |gate: &Gate| results.iter().any(|one| one.gate == gate.name);
        if !gates.iter().all(|gate| gate.kind != GateKind::Test || has_run(gate)) {
            return Ok(RodeAlong::Nothing);
        }
        for result in &results {
            self.progress.update(&Update::GateEnded { line: words::line(result) });
        }
        let right = canaries.into_iter().map(|canary| canary.gate).collect();
        Ok(RodeAlong::Right(results, CanaryFindings { right, wrong: Vec::new() }))
    }

    fn command_of(&self, gate: &str, otherwise: &str) -> String {
        let known = self.run.settings.gates.iter().find(|one| one.name == gate);
        known.map_or_else(|| otherwise.to_owned(), |one| one.command.clone())
    }

    /// Returns the gates of a whole run with canaries; nothing where a check has none, where something failed
    /// before, or where the change touches more of the tests than tests.
    fn whole_gates(&self, kept: KeptGround<'_>, canaries: &[GateCanary]) -> Option<Vec<Gate>> {
        let baseline = &kept.proving.baseline;
        let is_good = |one: &GateResult| one.exit == Some(0) && one.standing == Standing::Green;
        let is_settled = baseline.flaky.is_empty()
            && baseline.results.iter().all(is_good)
            && kept.own.iter().all(is_good);
        if !is_settled || canaries.is_empty() {
            return None;
        }
        let gates = self.run.settings.gates.iter().filter(|gate| gate.kind != GateKind::Lint);
        gates
            .map(|gate| match gate.kind {
                GateKind::Test => canaries.iter().find(|one| one.gate == gate.name)?.whole(gate),
                GateKind::Build | GateKind::Lint => Some(gate.clone()),
            })
            .collect()
    }

    /// Returns whether the tests that the change touched pass as they were at the base, run by themselves and
    /// without canaries, and all others ran on the change as it is; nothing if that was interrupted.
    fn touched_tests_hold(
        &mut self,
        kept: KeptGround<'_>,
        canaries: &[GateCanary],
    ) -> Result<Option<bool>> {
        let Some(files) = self.touched_files(kept)? else { return Ok(Some(false)) };
        let (mut gates, mut names_of) = (Vec::new(), Vec::new());
        for gate in self.run.settings.gates.clone() {
            let base = kept.proving.baseline.results.iter().find(|one| one.gate == gate.name);
            let (Some(base), GateKind::Test) = (base, gate.kind) else {
                gates.extend((gate.kind == GateKind::Build).then_some(gate));
                continue;
            };
            // With a compiler few tests cost as much as all; its report names what ended badly.
            if gate.parser == Parser::Cargo || !canaries.iter().any(|one| one.gate == gate.name) {
                continue;
            }
            let Some(altered) = spore_proof::altered_tests(&files, &base.ran) else {
                return Ok(Some(false));
            };
            let is_run = |name: &String| base.ran.iter().any(|ran| ran.contains(name.as_str()));
            let names: BTreeSet<String> = altered.into_iter().filter(is_run).collect();
            if !names.is_empty() {
                let Some(asked) = spore_proof::asked_alone(&gate, &names) else {
                    return Ok(Some(false));
                };
                gates.push(asked);
            }
            names_of.push((base.clone(), names));
        }
        let results = match names_of.iter().any(|(_, names)| !names.is_empty()) {
            true => {
                let check = Check {
                    session: kept.place.run,
                    commit: kept.commit,
                    tree: kept.tree,
                    logs: kept.place.logs,
                    against: Against::TouchedTests,
                };
                match self.with_these_gates(&gates, |runs, told| runs.run(&check, told))? {
                    Checked::Done(results) => results,
                    Checked::Interrupted => return Ok(None),
                }
            }
            false => Vec::new(),
        };
        let is_good = |one: &GateResult| one.exit == Some(0) && one.failures.is_empty();
        let ran = |all: &[GateResult], gate: &str, name: &String| {
            all.iter().any(|one| one.gate == gate && one.recognised && one.ran.contains(name))
        };
        let holds = |(base, names): &(GateResult, BTreeSet<String>)| {
            base.ran.iter().all(|name| {
                let is_asked = names.iter().any(|asked| name.contains(asked.as_str()));
                ran(if is_asked { results.as_slice() } else { kept.own }, &base.gate, name)
            })
        };
        Ok(Some(results.iter().all(is_good) && names_of.iter().all(holds)))
    }

    /// Returns the files of tests that the change touched, as they were at the base; nothing where one of them
    /// is something else than tests.
    fn touched_files(&self, kept: KeptGround<'_>) -> Result<Option<Vec<TestFileVersions>>> {
        let sorted = &kept.proving.review.sorted;
        let touched = sorted.tests.iter().filter(|one| one.how != TouchKind::Added);
        let paths: Vec<String> = touched.map(|one| one.path.clone()).collect();
        let commits = [&self.run.settings.base, kept.place.commit];
        let files = self.versions(commits, &paths)?;
        let is_more = |file: &TestFileVersions| {
            let name = file.path.rsplit('/').next().unwrap_or(&file.path);
            name == "conftest.py" || spore_proof::suitable(&file.path, &file.text).is_empty()
        };
        Ok((!files.iter().any(is_more)).then_some(files))
    }
}
