//! The steps that run the project's own checks.

use std::path::Path;

use spore_gates::{Absence, GateResult, Restoration, Runner, Standing};
use spore_model::{CommitId, RunId, Ticket, TreeId};
use spore_pipeline::{Done, GateSummary};

use crate::base::checkouts::Checkouts;
use crate::checks::review::Review;
use crate::checks::runner::{Against, Check, Checked, GateRuns, expected_of_base_tests};
use crate::checks::words;
use crate::run::context::{RunContext, interrupted};
use crate::session::environment::gate_environment;
use crate::session::sandbox::Sandboxes;
use crate::{Progress, Result, Update};

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
        Ok(Done::Baseline(self.gate_summary(results, Vec::new())))
    }

    /// Checks a change: first that it leaves alone what decides how it is checked, then the
    /// change itself, and if it touched tests, once more with the base's own.
    pub(crate) fn check(&mut self, ticket: &Ticket, bounce: u32, tree: &TreeId) -> Result<Done> {
        let commit = self.bounce_commit(bounce)?;
        self.progress.update(&Update::Gates { what: format!("bounce {bounce}") });
        let parent = self.existing_bounce(bounce)?;
        let run = self.open_gates(ticket, parent, "gates")?;
        let review =
            Review::of(self.project.repository, self.run.settings.review(), &commit, tree)?;
        if !review.tampering.is_empty() {
            let refused = words::refusal(&review);
            for line in &refused.lines {
                self.progress.update(&Update::GateEnded { line: line.clone() });
            }
            return Ok(Done::Gates(refused));
        }
        let logs = self.files().gates(bounce);
        let place = CheckedChange { run, logs: &logs, commit: &commit, tree };
        let Some(results) = self.check_both_ways(ticket, bounce, &review, &place)? else {
            return Ok(interrupted());
        };
        self.write_results(&logs, &results)?;
        let notes = review.notes(self.run.settings.allow_test_changes);
        Ok(Done::Gates(self.gate_summary(results, notes)))
    }

    fn check_both_ways(
        &mut self,
        ticket: &Ticket,
        bounce: u32,
        review: &Review,
        place: &CheckedChange<'_>,
    ) -> Result<Option<Vec<GateResult>>> {
        let base_tree = self.project.repository.tree_of(&self.run.settings.base)?;
        let baseline =
            self.with_gates(|gates, _| gates.cached_baseline(&base_tree))?.unwrap_or_default();
        let restoration =
            review.restoration.as_ref().filter(|_| !self.run.settings.allow_test_changes);
        let absence = match restoration.is_some() || self.run.settings.allow_test_changes {
            true => Absence::IsAllowed,
            false => Absence::IsRed,
        };
        let against = Against::Base { baseline: &baseline, absence };
        let check = place.check(place.commit, place.tree, against);
        let Checked::Done(mut results) = self.with_gates(|gates, told| gates.run(&check, told))?
        else {
            return Ok(None);
        };
        let is_red = results.iter().any(|result| result.standing == Standing::Red);
        let Some(restoration) = restoration.filter(|_| !is_red) else { return Ok(Some(results)) };
        let Restoration { bring_back, leave_out, .. } = restoration;
        let mixed = self.with_base_files(place.tree, bring_back, leave_out)?;
        let expected = expected_of_base_tests(&baseline, &results);
        if mixed == base_tree {
            // Nothing but tests was touched: what those of the base say of it is known.
            for result in known_of_base_tests(&baseline, &expected) {
                self.progress.update(&Update::GateEnded { line: words::line(&result) });
                results.push(result);
            }
            return Ok(Some(results));
        }
        let message = format!("bounce {bounce} of run {} with the base's tests", self.run.id);
        let commit = self.commit_tree(&mixed, &message, ticket)?;
        let check = place.check(&commit, &mixed, Against::Restored { expected: &expected });
        match self.with_gates(|gates, told| gates.run(&check, told))? {
            Checked::Done(restored) => results.extend(restored),
            Checked::Interrupted => return Ok(None),
        }
        Ok(Some(results))
    }

    fn write_results(&self, logs: &Path, results: &[GateResult]) -> Result<()> {
        self.project.around.write_json(&logs.join("results.json"), &results)
    }

    /// Runs `act` with the gates and, apart from them, the progress.
    fn with_gates<T>(
        &mut self,
        act: impl FnOnce(&GateRuns<'_>, &mut dyn Progress) -> Result<T>,
    ) -> Result<T> {
        let checkouts = Checkouts {
            around: self.project.around,
            workspace: self.project.workspace,
            repository: self.project.repository,
            run: self.run.id,
            settings: self.run.settings.checkout(),
        };
        let gates = GateRuns {
            checkouts: &checkouts,
            gates: &self.run.settings.gates,
            journal: self.project.journal,
            sandboxes: Sandboxes {
                around: self.project.around,
                workspace: self.project.workspace,
                config: self.project.config,
                run: self.run.id,
            },
            enforcement: &self.run.enforcement,
            runner: Runner::new(
                spore_effects::session::Shim::new(self.project.around.exe.clone()),
                gate_environment(self.project.config, self.project.around),
                self.project.config.gates.log_cap_bytes,
                crate::session::backends::grace(self.project.config),
            )
            .striking(self.project.around.secrets()),
            cache_cap: self.project.config.gates.cache_cap_bytes,
        };
        act(&gates, self.progress)
    }

    fn gate_summary(&mut self, results: Vec<GateResult>, notes: Vec<String>) -> GateSummary {
        let room = usize::try_from(self.project.config.gates.evidence_bytes).unwrap_or(4096);
        let summary = words::summary(&results, notes, room);
        self.gate_results = results;
        summary
    }
}

/// What both runs on one change have in common.
struct CheckedChange<'a> {
    run: RunId,
    logs: &'a Path,
    commit: &'a CommitId,
    tree: &'a TreeId,
}

impl<'a> CheckedChange<'a> {
    fn check(&self, commit: &'a CommitId, tree: &'a TreeId, against: Against<'a>) -> Check<'a> {
        Check { session: self.run, commit, tree, logs: self.logs, against }
    }
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
