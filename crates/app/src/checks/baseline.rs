//! The checks of a base, with which those of a change are compared.

use serde::{Deserialize, Serialize};
use spore_gates::{GateRecord, GateResult};

/// What the gates said of a base, and what they looked up there.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Baseline {
    pub(crate) results: Vec<GateResult>,
    pub(crate) records: Vec<GateRecord>,
}

impl Baseline {
    /// Returns whether everything that its gates looked up is on record.
    pub(crate) fn is_recorded(&self) -> bool {
        let of = |result: &GateResult| self.records.iter().find(|one| one.gate == result.gate);
        self.results.iter().all(|one| of(one).is_some_and(|record| record.recording.complete))
    }
}
