//! The steps that run the project's own checks.

mod canaries;
mod flaky;
mod ground;
mod held_out;
mod mixed_trees;
mod new_tests;
mod probes;
mod riding;

use std::path::Path;

use spore_gates::{Absence, GateResult, Standing, TouchedFile};
use spore_model::{ProbeTime, Ticket, TreeId};
use spore_pipeline::{Done, GateSummary};
use spore_proof::{ChangeProof, HeldFile, HeldOutReport, HeldReason, Weighing};

use crate::checks::against::{Against, Checked, expected_of_base_tests};
use crate::checks::review::Review;
use crate::checks::words;
use crate::run::context::{RunContext, interrupted};
use crate::{Result, Update};

use canaries::{CanaryFindings, CanaryGround};
use ground::{CheckedChange, Proving};
use held_out::HeldOutAnswer;

use probes::Probed;
use riding::{KeptGround, RodeAlong};

impl RunContext<'_> {
    pub(crate) fn check_baseline(&mut self, ticket: &Ticket) -> Result<Done> {
        let base = self.run.settings.base.clone();
        let tree = self.project.repository.tree_of(&base)?;
        self.progress.update(&Update::Gates { what: "the base commit".to_owned() });
        let run = self.open_gates(ticket, self.run.id, "baseline")?;
        let logs = self.files().baseline();
        let checked = self
            .with_gates(|gates, progress| gates.baseline(run, (&base, &tree), &logs, progress))?;
        let Checked::Done(results) = checked else { return Ok(interrupted()) };
        self.write_results(&logs, &results)?;
        let known = self.with_gates(|gates, _| gates.cached_baseline(&tree))?.unwrap_or_default();
        let ground = CanaryGround { run, logs: &logs, commit: &base, tree: &tree };
        if !self.place_canaries(ticket, ground, &known)? {
            return Ok(interrupted());
        }
        Ok(Done::Baseline(self.gate_summary(results, Vec::new())))
    }

    /// Checks a change: first that it leaves alone what decides how it is checked, then the
    /// change itself, and then what that proves.
    pub(crate) fn check(&mut self, ticket: &Ticket, bounce: u32, tree: &TreeId) -> Result<Done> {
        let commit = self.bounce_commit(bounce)?;
        self.progress.update(&Update::Gates { what: format!("attempt {bounce}") });
        let parent = self.existing_bounce(bounce)?;
        let run = self.open_gates(ticket, parent, "gates")?;
        let base_tree = self.project.repository.tree_of(&self.run.settings.base)?;
        let baseline =
            self.with_gates(|gates, _| gates.cached_baseline(&base_tree))?.unwrap_or_default();
        let settings = self.run.settings.review();
        let review = Review::of(self.project.repository, settings, &baseline, &commit, tree)?;
        if !review.tampering.is_empty() {
            let refused = words::refusal(&review);
            for line in &refused.lines {
                self.progress.update(&Update::GateEnded { line: line.clone() });
            }
            return Ok(Done::Gates(refused));
        }
        let logs = self.files().gates(bounce);
        let place = CheckedChange { run, logs: &logs, commit: &commit, tree };
        let mut proving = Proving { base_tree, baseline, review: &review, looked_up: Vec::new() };
        let Some(ProvedChange { results, proof, held_out }) =
            self.prove(ticket, &mut proving, &place)?
        else {
            return Ok(interrupted());
        };
        self.write_results(&logs, &results)?;
        let mut notes = review.notes(self.run.settings.allow_test_changes);
        if let Some(proof) = &proof {
            self.project.around.write_json(&logs.join("proof.json"), proof)?;
            for line in proof.lines() {
                self.progress.update(&Update::GateEnded { line: line.clone() });
                notes.push(line);
            }
        }
        let summary = self.gate_summary(results, notes);
        if let Some(held_out) = held_out {
            return Ok(Done::Gates(self.rejected_by_tests(&logs, &held_out, summary)?));
        }
        Ok(Done::Gates(GateSummary { proof: proof.map(|proof| proof.summary()), ..summary }))
    }

    /// Runs the gates on the change as it is, on its product with everything else of the base, and
    /// on its tests without its product. The last are no results: they may well fail.
    fn prove(
        &mut self,
        ticket: &Ticket,
        proving: &mut Proving<'_>,
        place: &CheckedChange<'_>,
    ) -> Result<Option<ProvedChange>> {
        let allowed = self.run.settings.allow_test_changes;
        let sorted = &proving.review.sorted;
        let red = |results| Ok(Some(ProvedChange { results, proof: None, held_out: None }));
        // Where tests were touched, those of the base are run as well, and none of them may be missing.
        let absence = match allowed || sorted.touches_tests() {
            true => Absence::IsAllowed,
            false => Absence::IsRed,
        };
        let expected = proving.baseline.with_flaky(proving.baseline.results.clone());
        let rode = self.ride_along_alone(ticket, proving, place)?;
        let (mut results, mut canaries) = match rode {
            RodeAlong::Right(results, canaries) => (results, Some(canaries)),
            RodeAlong::Red(results) => (results, None),
            RodeAlong::Interrupted => return Ok(None),
            RodeAlong::Nothing => {
                let recorded = self.run.settings.probe != ProbeTime::Off;
                let against = Against::Base { baseline: &expected, absence, recorded };
                let check = place.check(place.commit, place.tree, against);
                let records = &mut proving.looked_up;
                let done =
                    self.with_gates(|gates, told| gates.run_recorded(&check, records, told))?;
                let Checked::Done(results) = done else { return Ok(None) };
                (results, None)
            }
        };
        if !self.excuse_flaky(proving, place, &mut results, absence)? {
            return Ok(None);
        }
        if self.run.settings.fix_red {
            for line in refuse_old_failures(&mut results) {
                self.progress.update(&Update::GateEnded { line });
            }
        }
        if is_red(&results) {
            return red(results);
        }
        let KeptCheck { results: kept, with_held, canaries: rode } = match allowed {
            true => KeptCheck { results: results.clone(), with_held: true, canaries: None },
            false => match self.check_kept(ticket, proving, place, &results)? {
                Some(kept) => kept,
                None => return Ok(None),
            },
        };
        if kept.iter().any(|result| result.restored) {
            results.extend(kept.iter().cloned());
        }
        if is_red(&results) {
            return red(results);
        }
        let canaries = match rode.or_else(|| canaries.take()) {
            Some(canaries) => canaries,
            None => match self.check_kept_canaries(ticket, proving, place)? {
                Some(canaries) => canaries,
                None => return Ok(None),
            },
        };
        for line in canaries.mark(&mut results) {
            self.progress.update(&Update::GateEnded { line });
        }
        if is_red(&results) {
            return red(results);
        }
        let held_out = match self.check_held_out(ticket, proving, place, &kept)? {
            HeldOutAnswer::Off => None,
            HeldOutAnswer::Given(report) if report.rejecting.is_empty() => Some(report),
            HeldOutAnswer::Given(report) => {
                return Ok(Some(ProvedChange { results, proof: None, held_out: Some(report) }));
            }
            HeldOutAnswer::Interrupted => return Ok(None),
        };
        let Some(new) = self.check_new_tests(ticket, proving, place, &results)? else {
            return Ok(None);
        };
        let proof = ChangeProof::weigh(Weighing {
            sorted,
            base: &proving.baseline.results,
            kept: &kept,
            with_held,
            recorded: proving.baseline.is_recorded(),
            tests_allowed: allowed,
            flaky: &proving.baseline.flaky,
            without_canary: &canaries.without(&proving.baseline),
            new,
        });
        let mut proof = match self.probe(ticket, proving, place, &results)? {
            Probed::Off => proof,
            Probed::Done(hunks) => proof.with_hunks(hunks),
            Probed::Interrupted => return Ok(None),
        };
        if let Some(held_out) = held_out {
            proof = proof.with_held_out(held_out);
        }
        Ok(Some(ProvedChange { results, proof: Some(proof), held_out: None }))
    }

    /// Asks the canaries on the tree with the base's own tests.
    fn check_kept_canaries(
        &mut self,
        ticket: &Ticket,
        proving: &Proving<'_>,
        place: &CheckedChange<'_>,
    ) -> Result<Option<CanaryFindings>> {
        let tests: Vec<&TouchedFile> = proving.review.sorted.tests.iter().collect();
        // Where a person allowed other tests, those that are asked may not be there.
        if self.run.settings.allow_test_changes {
            return Ok(Some(CanaryFindings::default()));
        }
        let tree = self.kept_tree(proving, place, &tests)?;
        let commit = match tree == *place.tree {
            true => place.commit.clone(),
            false => self.commit_for_checks(&tree, ticket)?,
        };
        let ground =
            CanaryGround { run: place.run, logs: place.logs, commit: &commit, tree: &tree };
        self.check_canaries(ticket, ground, &proving.base_tree, &proving.baseline)
    }

    /// Checks the change with the base's own tests. Where it is green and touches data that the
    /// checks read, once more with the base's data. What the checks go by is doubt enough by itself, and
    /// a change that is nothing but such data leaves nothing to check.
    fn check_kept(
        &mut self,
        ticket: &Ticket,
        proving: &mut Proving<'_>,
        place: &CheckedChange<'_>,
        results: &[GateResult],
    ) -> Result<Option<KeptCheck>> {
        let sorted = &proving.review.sorted;
        let tests: Vec<&TouchedFile> = sorted.tests.iter().collect();
        let with_tests = MixedCheck { held: &tests, with_data: false };
        let kept = self.check_with_base(ticket, proving, place, results, &with_tests)?;
        let Some((mut kept, canaries)) = kept else { return Ok(None) };
        if !self.excuse_flaky(proving, place, &mut kept, Absence::IsRed)? {
            return Ok(None);
        }
        let done = |with_held| KeptCheck { results: kept.clone(), with_held, canaries };
        if sorted.held.is_empty() || is_red(&kept) {
            return Ok(Some(done(false)));
        }
        let is_data = |held: &HeldFile| held.reason == HeldReason::SharedData;
        if sorted.product.is_empty() || !sorted.held.iter().all(is_data) {
            return Ok(Some(done(true)));
        }
        let all: Vec<&TouchedFile> = sorted.tests.iter().chain(&sorted.held_touched).collect();
        let with_data = MixedCheck { held: &all, with_data: true };
        let again = self.check_with_base(ticket, proving, place, results, &with_data)?;
        Ok(again.map(|(again, _)| done(is_red(&again))))
    }

    /// Checks the change with these files as the base has them, and tests among its code, too.
    fn check_with_base(
        &mut self,
        ticket: &Ticket,
        proving: &Proving<'_>,
        place: &CheckedChange<'_>,
        results: &[GateResult],
        asked: &MixedCheck<'_>,
    ) -> Result<Option<(Vec<GateResult>, Option<CanaryFindings>)>> {
        let mixed = self.kept_tree(proving, place, asked.held)?;
        if mixed == *place.tree {
            return Ok(Some((results.to_vec(), None)));
        }
        let expected = expected_of_base_tests(&proving.baseline.results, results);
        let expected = proving.baseline.with_flaky(expected);
        if mixed == proving.base_tree {
            // Nothing but tests was touched: what those of the base say of it is known.
            let known = known_of_base_tests(&proving.baseline.results, &expected);
            for result in &known {
                self.progress.update(&Update::GateEnded { line: words::line(result) });
            }
            return Ok(Some((known, None)));
        }
        let commit = self.commit_for_checks(&mixed, ticket)?;
        if !asked.with_data {
            let tree = &mixed;
            let kept = KeptGround { ticket, proving, place, own: results, commit: &commit, tree };
            match self.ride_along(kept, &expected)? {
                RodeAlong::Right(kept, canaries) => return Ok(Some((kept, Some(canaries)))),
                RodeAlong::Interrupted => return Ok(None),
                RodeAlong::Red(_) | RodeAlong::Nothing => {}
            }
        }
        let against = match asked.with_data {
            true => Against::HeldBack { expected: &expected },
            false => Against::Restored { expected: &expected },
        };
        let check = place.check(&commit, &mixed, against);
        Ok(match self.with_gates(|gates, told| gates.run(&check, told))? {
            Checked::Done(restored) => Some((restored, None)),
            Checked::Interrupted => None,
        })
    }

    fn write_results(&self, logs: &Path, results: &[GateResult]) -> Result<()> {
        self.project.around.write_json(&logs.join("results.json"), &results)
    }

    fn gate_summary(&mut self, results: Vec<GateResult>, notes: Vec<String>) -> GateSummary {
        let room = self.room_of("coder").evidence_bytes;
        let summary = words::summary(&results, notes, room);
        self.gate_results = results;
        summary
    }
}

/// Turns down what is red only as it was at the base, where mending that is the task; returns a
/// line for each.
fn refuse_old_failures(results: &mut [GateResult]) -> Vec<String> {
    let old = results.iter_mut().filter(|result| result.standing == Standing::OldRed);
    let refused = old.map(|result| {
        result.standing = Standing::Red;
        result.note = Some(format!("still failing: {}", result.failures.join(", ")));
        words::line(result)
    });
    refused.collect()
}

fn is_red(results: &[GateResult]) -> bool {
    results.iter().any(|result| result.standing == Standing::Red)
}

/// What came of a change: its checks, and what they prove where they are green. Tests that the coder
/// never saw are here where they reject it.
struct ProvedChange {
    results: Vec<GateResult>,
    proof: Option<ChangeProof>,
    held_out: Option<HeldOutReport>,
}

/// What the base's tests say of a change.
struct KeptCheck {
    results: Vec<GateResult>,
    /// Whether data that the checks read had to be the change's.
    with_held: bool,
    /// What canaries say of it, where they were among these tests.
    canaries: Option<CanaryFindings>,
}

/// Which files of a change are the base's in one run of the checks, and whether data is among them.
struct MixedCheck<'a> {
    held: &'a [&'a TouchedFile],
    with_data: bool,
}

/// Returns the base's own results, held to what a change's would be.
fn known_of_base_tests(baseline: &[GateResult], expected: &[GateResult]) -> Vec<GateResult> {
    let mut known = baseline.to_vec();
    for result in &mut known {
        result.restored = true;
        let expected = expected.iter().find(|one| one.gate == result.gate);
        spore_gates::judge(result, expected, Absence::IsRed);
    }
    known
}
