//! The checks of a base, with which those of a change are compared.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use spore_gates::{Gate, GateRecord, GateResult};

/// What the gates said of a base, and what they looked up there.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Baseline {
    pub(crate) results: Vec<GateResult>,
    pub(crate) records: Vec<GateRecord>,
    /// Tests that did not say the same in two runs of this very tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) flaky: Vec<String>,
}

impl Baseline {
    /// Returns results of the base as those that a change is held to: what is flaky there counts as
    /// failed before.
    pub(crate) fn with_flaky(&self, mut results: Vec<GateResult>) -> Vec<GateResult> {
        for result in &mut results {
            let is_own = |name: &&String| {
                result.ran.iter().any(|ran| spore_proof::is_same(name, ran))
                    && !result.failures.contains(name)
            };
            let own: Vec<String> = self.flaky.iter().filter(is_own).cloned().collect();
            if !own.is_empty() {
                result.exit = result.exit.filter(|code| *code != 0).or(Some(1));
                result.failures.extend(own);
            }
        }
        results
    }

    /// Returns whether a gate took no longer than this at the base.
    pub(crate) fn took_at_most(&self, gate: &Gate, most: Duration) -> bool {
        let known = self.results.iter().find(|one| one.gate == gate.name);
        known.is_some_and(|one| Duration::from_millis(one.duration_ms) <= most)
    }

    /// Returns whether everything that its gates looked up is on record.
    pub(crate) fn is_recorded(&self) -> bool {
        let of = |result: &GateResult| self.records.iter().find(|one| one.gate == result.gate);
        self.results.iter().all(|one| of(one).is_some_and(|record| record.recording.complete))
    }
}
