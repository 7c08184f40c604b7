//! Canaries among the base's tests in the one run of these on the product of a change.
//!
//! The base's tests have to be run on it anyway. With canaries among them that run says at once what its tests say
//! and whether it tells the truth: the very process whose report is believed has them, so a product gains nothing
//! by being honest where few tests are asked for, in the first seconds, or the first time that it is called. What
//! fails in it ends the command with an error, so its exit code says nothing. That is asked of some tests
//! without canaries: where a change touches tests, of these as they were, and all others ran with the change
//! as it is; where it touches none, of a few that are drawn by lot, on the change as it is. Only a run that is
//! right in everything counts. After any other the tests are run plainly, and once more with canaries
//! among all of them, and those decide.

use std::collections::BTreeSet;

use spore_gates::{Absence, Gate, GateKind, GateResult, Parser, Standing, TouchKind, TouchedFile};
use spore_model::{CommitId, ProbeTime, Ticket, TreeId};
use spore_proof::{GateCanary, TestFileVersions};

use super::canaries::{CanaryFindings, CanaryGround};
use super::ground::{CheckedChange, Proving};
use crate::checks::against::{Against, Check, Checked};
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
    /// Tests fail, by themselves and without canaries as well: that is all there is to know.
    Red(Vec<GateResult>),
    Interrupted,
}

/// What a run of all tests with canaries among them is held to.
struct Ride<'a> {
    expected: &'a [GateResult],
    /// Whether the tests are the base's in the place of a change's.
    restored: bool,
}

enum Ridden {
    Right(Vec<GateResult>),
    /// Tests fail or are missing, or the canaries do not tell the truth.
    Wrong(Vec<GateResult>),
    Interrupted,
}

/// So many tests of a gate say how it ends where nothing fails.
const FEW: usize = 3;
/// More that fail than these are not asked by themselves.
const MOST_FAILING: usize = 50;

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
        match self.ride(kept, &canaries, &gates, Ride { expected, restored: true })? {
            Ridden::Right(results) => {
                self.tell(&results);
                let right = canaries.into_iter().map(|canary| canary.gate).collect();
                Ok(RodeAlong::Right(results, CanaryFindings { right, wrong: Vec::new() }))
            }
            Ridden::Wrong(_) => Ok(RodeAlong::Nothing),
            Ridden::Interrupted => Ok(RodeAlong::Interrupted),
        }
    }

    /// Runs the checks of a change that touches no test with canaries among its tests, and few tests without.
    /// Where all of that is short, or what the checks look up has to be on record, it is run plainly instead.
    pub(super) fn ride_along_alone(
        &mut self,
        ticket: &Ticket,
        proving: &Proving<'_>,
        place: &CheckedChange<'_>,
    ) -> Result<RodeAlong> {
        let settings = &self.run.settings;
        let is_long = |gate: &Gate| {
            gate.kind == GateKind::Test
                && !proving.baseline.took_at_most(gate, self.project.config.gates.canary_whole)
        };
        if settings.allow_test_changes
            || settings.fix_red
            || settings.probe != ProbeTime::Off
            || !settings.gates.iter().any(is_long)
            || *place.tree == proving.base_tree
        {
            return Ok(RodeAlong::Nothing);
        }
        let tests: Vec<&TouchedFile> = proving.review.sorted.tests.iter().collect();
        if self.kept_tree(proving, place, &tests)? != *place.tree {
            return Ok(RodeAlong::Nothing);
        }
        let known = self.with_gates(|gates, _| gates.cached_canaries(&proving.base_tree))?;
        let canaries = known.unwrap_or_default();
        let (commit, tree) = (place.commit, place.tree);
        let ground = KeptGround { ticket, proving, place, own: &[], commit, tree };
        let Some(gates) = self.whole_gates(ground, &canaries) else {
            return Ok(RodeAlong::Nothing);
        };
        let Some(few) = self.few_of(&canaries) else { return Ok(RodeAlong::Nothing) };
        let baseline = &proving.baseline.results;
        let check = place.check(commit, tree, Against::FewTests { baseline });
        let done = self.with_these_gates(&few, |runs, told| runs.run(&check, told))?;
        let Checked::Done(mut results) = done else { return Ok(RodeAlong::Interrupted) };
        let is_good = |one: &GateResult| one.exit == Some(0) && one.standing == Standing::Green;
        if !results.iter().all(is_good) {
            return Ok(RodeAlong::Nothing);
        }
        let ride = Ride { expected: baseline, restored: false };
        let ridden = match self.ride(ground, &canaries, &gates, ride)? {
            Ridden::Right(ridden) => ridden,
            Ridden::Wrong(ridden) => return self.failing_alone(ground, &ridden),
            Ridden::Interrupted => return Ok(RodeAlong::Interrupted),
        };
        let is_test = |result: &GateResult| canaries.iter().any(|one| one.gate == result.gate);
        for result in results.iter_mut().filter(|one| is_test(one)) {
            if let Some(ridden) = ridden.iter().find(|one| one.gate == result.gate) {
                *result = ridden.clone();
            }
        }
        self.tell(&results);
        let right = canaries.into_iter().map(|canary| canary.gate).collect();
        Ok(RodeAlong::Right(results, CanaryFindings { right, wrong: Vec::new() }))
    }

    /// Returns all gates, with few of their tests to run.
    fn few_of(&self, canaries: &[GateCanary]) -> Option<Vec<Gate>> {
        let nonce = self.project.around.ids.nonce();
        let gates = self.run.settings.gates.iter();
        gates
            .map(|gate| match gate.kind {
                GateKind::Test => {
                    let canary = canaries.iter().find(|one| one.gate == gate.name)?;
                    let names: Vec<&str> =
                        canary.tests.iter().map(|one| one.name.as_str()).collect();
                    let drawn = spore_proof::shuffled(names, &nonce).into_iter().take(FEW);
                    spore_proof::asked_alone(gate, &drawn.map(str::to_owned).collect())
                }
                GateKind::Build | GateKind::Lint => Some(gate.clone()),
            })
            .collect()
    }

    /// Runs what failed among canaries by itself and without them. What fails there as well is red, and what
    /// is told of it has no canary in it.
    fn failing_alone(
        &mut self,
        ground: KeptGround<'_>,
        ridden: &[GateResult],
    ) -> Result<RodeAlong> {
        let baseline = &ground.proving.baseline.results;
        let is_red = |name: &str| {
            let of = ridden.iter().find(|one| one.gate == name);
            of.filter(|one| !one.failures.is_empty() && one.failures.len() <= MOST_FAILING)
        };
        let gates: Option<Vec<Gate>> = self
            .run
            .settings
            .gates
            .iter()
            .filter(|gate| gate.kind != GateKind::Test || is_red(&gate.name).is_some())
            .map(|gate| match is_red(&gate.name) {
                Some(red) if gate.kind == GateKind::Test => {
                    spore_proof::asked_alone(gate, &spore_proof::written_names(&red.failures)?)
                }
                _ => Some(gate.clone()),
            })
            .collect();
        let gates = gates.filter(|gates| gates.iter().any(|gate| gate.kind == GateKind::Test));
        let Some(gates) = gates else { return Ok(RodeAlong::Nothing) };
        let check = ground.place.check(ground.commit, ground.tree, Against::FewTests { baseline });
        let done = self.with_these_gates(&gates, |runs, told| runs.run(&check, told))?;
        let Checked::Done(mut results) = done else { return Ok(RodeAlong::Interrupted) };
        let mut has_failed = false;
        for result in &mut results {
            let Some(red) = is_red(&result.gate) else { continue };
            let is_confirmed = red.failures.iter().any(|name| result.failures.contains(name));
            if !is_confirmed || !result.failures.iter().all(|name| red.failures.contains(name)) {
                return Ok(RodeAlong::Nothing);
            }
            has_failed = true;
            let command = self.command_of(&result.gate, &result.command);
            // All ran among the canaries; those that failed are what they are by themselves.
            let failed = u32::try_from(result.failures.len()).unwrap_or(u32::MAX);
            let passed = u32::try_from(red.ran.len()).unwrap_or(u32::MAX).saturating_sub(failed);
            let known =
                GateResult { command, ran: red.ran.clone(), passed, failed, ..result.clone() };
            *result = known;
            let expected = baseline.iter().find(|one| one.gate == result.gate);
            spore_gates::judge(result, expected, Absence::IsRed);
        }
        if !has_failed || !results.iter().any(|one| one.standing == Standing::Red) {
            return Ok(RodeAlong::Nothing);
        }
        self.tell(&results);
        Ok(RodeAlong::Red(results))
    }

    fn tell(&mut self, results: &[GateResult]) {
        for result in results {
            self.progress.update(&Update::GateEnded { line: words::line(result) });
        }
    }

    /// Runs these gates with canaries among their tests. What is said of them is without the canaries.
    fn ride(
        &mut self,
        kept: KeptGround<'_>,
        canaries: &[GateCanary],
        gates: &[Gate],
        ride: Ride<'_>,
    ) -> Result<Ridden> {
        let ground = CanaryGround {
            run: kept.place.run,
            logs: kept.place.logs,
            commit: kept.commit,
            tree: kept.tree,
        };
        let Some(answer) = self.run_with_canaries(kept.ticket, ground, canaries, gates)? else {
            return Ok(Ridden::Interrupted);
        };
        let (mut results, mut is_right) = (Vec::new(), true);
        for said in &answer.results {
            let canary = canaries.iter().find(|one| one.gate == said.gate);
            let (result, is_told) = match canary {
                Some(canary) => match canary.taken_out(said, &answer.suffix) {
                    Some(result) => (result, true),
                    None => (canary.without_canaries(said, &answer.suffix), false),
                },
                None => (said.clone(), true),
            };
            let tree = kept.tree.clone();
            let command = self.command_of(&result.gate, &result.command);
            let mut result = GateResult { tree, command, restored: ride.restored, ..result };
            let expected = ride.expected.iter().find(|one| one.gate == result.gate);
            spore_gates::judge(&mut result, expected, Absence::IsRed);
            is_right &= is_told && result.standing == Standing::Green;
            results.push(result);
        }
        // What installs may have had nothing to do; every check with tests has to have run.
        let has_run = |gate: &Gate| results.iter().any(|one| one.gate == gate.name);
        is_right &= gates.iter().all(|gate| gate.kind != GateKind::Test || has_run(gate));
        Ok(if is_right { Ridden::Right(results) } else { Ridden::Wrong(results) })
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
