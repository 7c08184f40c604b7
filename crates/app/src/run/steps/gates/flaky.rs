//! Runs the base once more where nothing but its own tests fail on a change: what does not say the
//! same there twice decides nothing.

use spore_gates::{Absence, Gate, GateKind, GateResult, Standing};

use super::ground::{CheckedChange, Proving};
use crate::checks::against::{Against, Checked};
use crate::checks::words;
use crate::run::context::RunContext;
use crate::{Result, Update};

impl RunContext<'_> {
    /// Takes failures of flaky tests for old ones. Returns whether the gates ran to their end.
    pub(super) fn excuse_flaky(
        &mut self,
        proving: &mut Proving<'_>,
        place: &CheckedChange<'_>,
        results: &mut [GateResult],
        absence: Absence,
    ) -> Result<bool> {
        let doubtful = spore_proof::doubtful_gates(&proving.baseline.results, results);
        if doubtful.is_empty() {
            return Ok(true);
        }
        let Some(again) = self.check_base_again(proving, place, &doubtful)? else {
            return Ok(false);
        };
        let found = spore_proof::flaky_tests(&proving.baseline.results, &again);
        let new: Vec<String> =
            found.into_iter().filter(|name| !proving.baseline.flaky.contains(name)).collect();
        if new.is_empty() {
            return Ok(true);
        }
        proving.baseline.flaky.extend(new);
        let (tree, known) = (proving.base_tree.clone(), proving.baseline.clone());
        self.with_gates(|gates, _| gates.cache_baseline(&tree, &known))?;
        let expected = known.with_flaky(known.results.clone());
        for result in results.iter_mut().filter(|one| one.standing == Standing::Red) {
            let base = expected.iter().find(|base| base.gate == result.gate);
            spore_gates::judge(result, base, absence);
            let line = format!("{} (the base was run once more)", words::line(result));
            self.progress.update(&Update::GateEnded { line });
        }
        Ok(true)
    }

    fn check_base_again(
        &mut self,
        proving: &Proving<'_>,
        place: &CheckedChange<'_>,
        doubtful: &[String],
    ) -> Result<Option<Vec<GateResult>>> {
        let is_needed = |gate: &&Gate| match gate.kind {
            GateKind::Build => true,
            GateKind::Test | GateKind::Lint => doubtful.contains(&gate.name),
        };
        let gates: Vec<Gate> = self.run.settings.gates.iter().filter(is_needed).cloned().collect();
        let base = self.run.settings.base.clone();
        let check = place.check(&base, &proving.base_tree, Against::BaseAgain);
        self.progress.update(&Update::Gates { what: "the base commit once more".to_owned() });
        Ok(match self.with_these_gates(&gates, |runs, told| runs.run(&check, told))? {
            Checked::Done(again) => Some(again),
            Checked::Interrupted => None,
        })
    }
}
