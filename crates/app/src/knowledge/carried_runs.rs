//! How runs ended that were told a line or a lesson. Carried is not helped.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use spore_memory::lines::LineHash;
use spore_model::{RunKind, RunStatus};
use spore_store::{Journal, RunQuery};

use crate::knowledge::carried::told_lines;
use crate::{Result, Workspace};

/// Runs that were told a line, and how they ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct CarriedRuns {
    pub runs: u32,
    pub verified: u32,
    pub fell_short: u32,
}

/// How many of the newest runs are looked at for what they carried.
const NEWEST_RUNS: u32 = 1_000;

/// Counts, for each line and lesson, the newest runs that were told it, by how they ended. A run
/// that was given up or taken back says nothing.
pub(crate) fn carried_runs(
    workspace: &Workspace,
    journal: &dyn Journal,
) -> Result<BTreeMap<LineHash, CarriedRuns>> {
    let query = RunQuery {
        kind: Some(RunKind::Orchestrate),
        limit: Some(NEWEST_RUNS),
        ..RunQuery::default()
    };
    let mut all: BTreeMap<LineHash, CarriedRuns> = BTreeMap::new();
    for run in journal.runs(&query)? {
        let verified = match run.status(false) {
            RunStatus::Verified => true,
            RunStatus::Rejected | RunStatus::Escalated | RunStatus::Failed => false,
            _ => continue,
        };
        let told: BTreeSet<LineHash> = told_lines(workspace, run.id).carried.into_iter().collect();
        for hash in told {
            let counts = all.entry(hash).or_default();
            counts.runs += 1;
            counts.verified += u32::from(verified);
            counts.fell_short += u32::from(!verified);
        }
    }
    Ok(all)
}
