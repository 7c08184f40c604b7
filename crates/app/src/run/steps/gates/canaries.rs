//! Canaries among the tests of a run: placed at its base, and asked for on every change.
//!
//! At the base they say which of them a runner that tells the truth reports, and are kept beside the
//! baseline. On a change the same tests are asked again, among the base's tests and with the
//! change's product, by another lot. An answer that is wrong is asked for once more: a test that
//! fails now and then is no attempt.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use spore_gates::{Gate, GateKind, GateResult, Standing};
use spore_git::TreeMixture;
use spore_model::{CommitId, RunId, Ticket, TreeId};
use spore_proof::{CanaryAnswerKind, CanaryEnding, CanaryTest, GateCanary, PlacedCanaries};

use crate::Result;
use crate::checks::against::{Against, Check, Checked};
use crate::checks::baseline::Baseline;
use crate::checks::words;
use crate::run::context::RunContext;

/// Files beyond this size are not read for tests.
const LARGEST_FILE: usize = 256 * 1024;
/// Tests of one gate are in no more files than this.
const MOST_FILES: usize = 8;
/// With a compiler every file costs more than its tests do.
const MOST_COMPILED_FILES: usize = 2;
/// So that more than one file has some.
const FIRST_IN_ONE_FILE: usize = 4;
/// Files that are looked at for tests.
const MOST_LOOKED_AT: usize = 200;

/// What a red gate says of it. The tests are not named: the next one could leave them alone.
const INTERFERES: &str = "a test that must fail did not, or one that must pass is not in the \
    report: the change interferes with how its tests are run";

/// Whose answer to canaries is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CanariesOf {
    Base,
    Change,
}

/// A tree to put canaries on.
#[derive(Clone, Copy)]
pub(super) struct CanaryGround<'a> {
    pub(super) run: RunId,
    pub(super) logs: &'a Path,
    pub(super) commit: &'a CommitId,
    pub(super) tree: &'a TreeId,
}

/// What one run with canaries said, a result for each gate, and how its copies are called.
pub(super) struct CanaryAnswer {
    pub(super) results: Vec<GateResult>,
    pub(super) suffix: String,
}

/// What canaries say of a change.
#[derive(Default)]
pub(super) struct CanaryFindings {
    /// Gates that tell the truth.
    pub(super) right: Vec<String>,
    /// Gates that do not.
    pub(super) wrong: Vec<String>,
}

impl CanaryFindings {
    /// Makes the results of gates red that do not tell the truth, and returns a line for each.
    pub(super) fn mark(&self, results: &mut [GateResult]) -> Vec<String> {
        let mut lines = Vec::new();
        for gate in &self.wrong {
            if let Some(result) = results.iter_mut().rev().find(|one| one.gate == *gate) {
                result.standing = Standing::Red;
                result.note = Some(INTERFERES.to_owned());
                lines.push(words::line(result));
            }
        }
        lines
    }

    /// Returns the gates with tests among which there is no canary.
    pub(super) fn without(&self, baseline: &Baseline) -> Vec<String> {
        let with_tests = baseline.results.iter().filter(|one| has_tests(one));
        let gates = with_tests.map(|one| one.gate.clone());
        gates.filter(|gate| !self.right.contains(gate)).collect()
    }
}

fn has_tests(result: &GateResult) -> bool {
    result.passed + result.failed > 0
}

impl RunContext<'_> {
    /// Places canaries among the tests of the base, unless that is known from an earlier run.
    /// Returns whether the gates ran to their end.
    pub(super) fn place_canaries(
        &mut self,
        ticket: &Ticket,
        ground: CanaryGround<'_>,
        baseline: &Baseline,
    ) -> Result<bool> {
        let is_green = baseline.results.iter().all(|one| one.standing == Standing::Green);
        let known = self.with_gates(|gates, _| gates.cached_canaries(ground.tree))?;
        // What could not be placed on a red base may be now: a tool may be there that was not.
        if known.is_some_and(|known| is_green || covers(&known, baseline)) {
            return Ok(true);
        }
        let mut placed: Vec<GateCanary> = Vec::new();
        for ending in [CanaryEnding::Inverted, CanaryEnding::Thrown] {
            let open: Vec<Gate> = self.open_test_gates(baseline, &placed);
            if open.is_empty() {
                break;
            }
            let nonce = self.project.around.ids.nonce();
            let mut chosen = Vec::new();
            for gate in &open {
                chosen.extend(self.choose(gate, baseline, &nonce, ending)?);
            }
            let gates = self.canary_gates(&chosen, baseline, CanariesOf::Base);
            let Some(answer) = self.run_with_canaries(ticket, ground, &chosen, &gates)? else {
                return Ok(false);
            };
            for canary in chosen {
                let of =
                    |all: &[GateResult]| all.iter().find(|one| one.gate == canary.gate).cloned();
                if let (Some(said), Some(base)) = (of(&answer.results), of(&baseline.results)) {
                    placed.extend(canary.placed(&said, &answer.suffix, &base));
                }
            }
        }
        self.with_gates(|gates, _| gates.cache_canaries(ground.tree, &placed))?;
        Ok(true)
    }

    /// Asks the canaries of the base on a tree with its tests and a change's product; nothing if that
    /// was interrupted.
    pub(super) fn check_canaries(
        &mut self,
        ticket: &Ticket,
        ground: CanaryGround<'_>,
        base_tree: &TreeId,
        baseline: &Baseline,
    ) -> Result<Option<CanaryFindings>> {
        let known = self.with_gates(|gates, _| gates.cached_canaries(base_tree))?;
        let mut open = known.unwrap_or_default();
        let mut findings = CanaryFindings::default();
        if ground.tree == base_tree {
            // Nothing of the product was touched: what they said there holds.
            findings.right = open.into_iter().map(|canary| canary.gate).collect();
            return Ok(Some(findings));
        }
        let mut wrong: Option<Vec<String>> = None;
        for _ in 0..2 {
            if open.is_empty() {
                break;
            }
            let gates = self.canary_gates(&open, baseline, CanariesOf::Change);
            let Some(answer) = self.run_with_canaries(ticket, ground, &open, &gates)? else {
                return Ok(None);
            };
            // A test that is not in the tree any more cannot be asked: that is doubt, not tampering.
            let answered: Vec<(String, CanaryAnswerKind)> = open
                .iter()
                .filter_map(|canary| {
                    let said = answer.results.iter().find(|one| one.gate == canary.gate)?;
                    Some((canary.gate.clone(), canary.answer(said, &answer.suffix)))
                })
                .collect();
            let is_right = |canary: &GateCanary| {
                answered.contains(&(canary.gate.clone(), CanaryAnswerKind::Right))
            };
            let (right, rest): (Vec<_>, Vec<_>) = open.into_iter().partition(is_right);
            findings.right.extend(right.into_iter().map(|canary| canary.gate));
            open = rest;
            let is_wrong = |gate: &String| {
                answered.contains(&(gate.clone(), CanaryAnswerKind::Wrong))
                    && wrong.as_ref().is_none_or(|before| before.contains(gate))
            };
            let now = open.iter().map(|canary| canary.gate.clone()).filter(is_wrong).collect();
            wrong = Some(now);
        }
        findings.wrong = wrong.unwrap_or_default();
        Ok(Some(findings))
    }

    /// Returns the gates whose tests are named and have no canary among them yet.
    fn open_test_gates(&self, baseline: &Baseline, placed: &[GateCanary]) -> Vec<Gate> {
        let names_tests = |gate: &&Gate| {
            gate.kind == GateKind::Test
                && baseline.results.iter().any(|one| one.gate == gate.name && !one.ran.is_empty())
                && !placed.iter().any(|one| one.gate == gate.name)
        };
        self.run.settings.gates.iter().filter(names_tests).cloned().collect()
    }

    /// Chooses tests of a gate by lot, from the files that it looked up.
    fn choose(
        &self,
        gate: &Gate,
        baseline: &Baseline,
        nonce: &str,
        ending: CanaryEnding,
    ) -> Result<Option<GateCanary>> {
        let base = &self.run.settings.base;
        let known = baseline.results.iter().find(|one| one.gate == gate.name);
        let ran: &[String] = known.map_or(&[], |one| &one.ran);
        let record = baseline.records.iter().find(|one| one.gate == gate.name);
        let record = record.map(|one| &one.recording).filter(|one| one.complete);
        let is_looked_up = |path: &String| {
            record.is_none_or(|record| record.read.contains(path) || record.seen.contains(path))
        };
        let is_below = |path: &String| {
            gate.dir.is_empty() || path.starts_with(&format!("{}/", gate.dir.trim_end_matches('/')))
        };
        let files = self.project.repository.list_files(base)?.into_iter().filter(|path| {
            spore_proof::may_hold_tests(gate.parser, path) && is_below(path) && is_looked_up(path)
        });
        let most = usize::try_from(self.project.config.gates.canary_tests).unwrap_or(usize::MAX);
        let most = if ending == CanaryEnding::Thrown { most.min(2) } else { most };
        // Each file has some before one has more.
        let (mut tests, mut more): (Vec<CanaryTest>, Vec<CanaryTest>) = (Vec::new(), Vec::new());
        let mut taken = 0;
        for path in spore_proof::shuffled(files.collect(), nonce).into_iter().take(MOST_LOOKED_AT) {
            let most_files = if path.ends_with(".rs") { MOST_COMPILED_FILES } else { MOST_FILES };
            if taken >= most_files || tests.len() >= most {
                break;
            }
            let Some(text) = self.text_at(base, &path)? else { continue };
            let mut found = spore_proof::suitable(&path, &text);
            // One that is skipped, or is not run at all, answers nothing.
            found.retain(|one| ran.iter().any(|name| name.contains(&one.name)));
            taken += usize::from(!found.is_empty());
            let places: Vec<String> = found.iter().map(|one| one.place.clone()).collect();
            let mut drawn = spore_proof::shuffled(places, nonce)
                .into_iter()
                .filter_map(|place| found.iter().find(|one| one.place == place).cloned());
            tests.extend(drawn.by_ref().take(FIRST_IN_ONE_FILE));
            more.extend(drawn.take(most));
        }
        tests.extend(more);
        tests.truncate(most);
        if tests.is_empty() {
            return Ok(None);
        }
        let (gate, copied) = (gate.name.clone(), tests.clone());
        let (red, green) = (Vec::new(), Vec::new());
        Ok(Some(GateCanary { gate, tests, ending, copied, red, green, exit: None }))
    }

    /// Runs these gates on a tree with canaries among its tests, but for those whose tests are not there;
    /// nothing if that was interrupted.
    pub(super) fn run_with_canaries(
        &mut self,
        ticket: &Ticket,
        ground: CanaryGround<'_>,
        canaries: &[GateCanary],
        gates: &[Gate],
    ) -> Result<Option<CanaryAnswer>> {
        let nothing = CanaryAnswer { results: Vec::new(), suffix: String::new() };
        let tests = canaries.iter().flat_map(|one| one.tests.iter().chain(&one.copied));
        let paths: Vec<&str> =
            tests.map(|test| test.path.as_str()).collect::<BTreeSet<_>>().into_iter().collect();
        let read = self.project.repository.read_files(ground.commit, &paths)?;
        let texts: BTreeMap<String, String> = paths
            .into_iter()
            .zip(read)
            .filter_map(|(path, bytes)| Some((path.to_owned(), as_text(bytes?)?)))
            .collect();
        let nonce = self.project.around.ids.nonce();
        // One gate's tests that are not there any more do not keep the others from being asked.
        let can_be_placed = |one: &&GateCanary| {
            spore_proof::place(std::slice::from_ref(*one), &texts, &nonce).is_some()
        };
        let canaries: Vec<GateCanary> = canaries.iter().filter(can_be_placed).cloned().collect();
        let has_canary = |gate: &&Gate| {
            gate.kind != GateKind::Test || canaries.iter().any(|one| one.gate == gate.name)
        };
        let gates: Vec<Gate> = gates.iter().filter(has_canary).cloned().collect();
        let placed = spore_proof::place(&canaries, &texts, &nonce);
        let has_tests = gates.iter().any(|gate| gate.kind == GateKind::Test);
        let Some(PlacedCanaries { texts, suffix }) = placed.filter(|_| has_tests) else {
            return Ok(Some(nothing));
        };
        let rewrite: Vec<(String, Vec<u8>)> =
            texts.into_iter().map(|(path, text)| (path, text.into_bytes())).collect();
        let mixture =
            TreeMixture { from: ground.commit, bring_back: &[], leave_out: &[], rewrite: &rewrite };
        let tree = self.mixed(ground.tree, &mixture)?;
        let commit = self.commit_for_checks(&tree, ticket)?;
        let check = Check {
            session: ground.run,
            commit: &commit,
            tree: &tree,
            logs: ground.logs,
            against: Against::Canaries,
        };
        Ok(match self.with_these_gates(&gates, |runs, told| runs.run(&check, told))? {
            Checked::Done(results) => Some(CanaryAnswer { results, suffix }),
            Checked::Interrupted => None,
        })
    }

    /// Returns the gates that a run with canaries needs: what installs and builds, and tests. Those of a
    /// runner that is not known are among them if they take no longer than is allowed.
    ///
    /// A base is trusted, so few of its tests will do. A product can see by the words of a command, by
    /// counting or by the time that few are asked for: on a change nothing is left out.
    fn canary_gates(
        &self,
        canaries: &[GateCanary],
        baseline: &Baseline,
        asked: CanariesOf,
    ) -> Vec<Gate> {
        let config = &self.project.config.gates;
        let with_canaries = |gate: &Gate| match gate.kind {
            GateKind::Lint => None,
            GateKind::Build => Some(gate.clone()),
            GateKind::Test => {
                let canary = canaries.iter().find(|one| one.gate == gate.name)?;
                let is_short = baseline.took_at_most(gate, config.canary_whole);
                let known_runner = match asked {
                    CanariesOf::Base if !is_short => canary.limited(gate),
                    _ => canary.whole(gate),
                };
                let is_bearable = baseline.took_at_most(gate, config.canary_full);
                known_runner.or_else(|| is_bearable.then(|| gate.clone()))
            }
        };
        self.run.settings.gates.iter().filter_map(with_canaries).collect()
    }

    /// Returns what a file says, if it is text and not too much of it.
    fn text_at(&self, commit: &CommitId, path: &str) -> Result<Option<String>> {
        Ok(self.project.repository.read_file(commit, path)?.and_then(as_text))
    }
}

fn as_text(bytes: Vec<u8>) -> Option<String> {
    (bytes.len() <= LARGEST_FILE).then(|| String::from_utf8(bytes).ok()).flatten()
}

/// Returns whether every gate with tests has canaries.
fn covers(canaries: &[GateCanary], baseline: &Baseline) -> bool {
    let mut with_tests = baseline.results.iter().filter(|one| has_tests(one));
    with_tests.all(|one| canaries.iter().any(|canary| canary.gate == one.gate))
}
