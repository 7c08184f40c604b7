//! What documents are made of.

use spore_model::{CommitId, Timestamp, Verdict};

use crate::explain::tasks::TaskEnd;
use crate::figures::RunFigures;
use crate::report::RunReport;
use crate::spending::SpendingReport;
use crate::stats::RunStats;
use crate::timeline::RunTimeline;

/// All that a document about one run is made of.
#[derive(Clone, PartialEq, Debug)]
pub struct RunAccount {
    pub report: RunReport,
    pub timeline: RunTimeline,
    /// In the order of the attempts.
    pub changes: Vec<BounceChange>,
    pub logs: Vec<GateLog>,
    /// What came of a list or a race as a whole.
    pub whole: Option<WholeChange>,
    /// The tasks of a list, or the racers.
    pub tasks: Vec<TaskAccount>,
}

/// The change that a list brought onto its branch, or that a race's winner made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WholeChange {
    /// The commit that it leads to.
    pub commit: CommitId,
    /// As git writes it, without secrets.
    pub diff: String,
}

/// What became of one task of a list, or of one racer, and what the verifier said of it last.
#[derive(Clone, PartialEq, Debug)]
pub struct TaskAccount {
    pub end: TaskEnd,
    pub verdict: Option<Verdict>,
}

/// What one attempt handed in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BounceChange {
    pub bounce: u32,
    /// As git writes it, without secrets.
    pub diff: String,
}

/// What one check printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GateLog {
    /// Nothing for the base, before any attempt.
    pub bounce: Option<u32>,
    pub name: String,
    /// The first and the last of it, where it is long.
    pub text: String,
}

/// All that a document about a period is made of.
#[derive(Clone, PartialEq, Debug)]
pub struct PeriodAccount {
    pub since: Timestamp,
    pub until: Timestamp,
    /// Newest first.
    pub runs: Vec<RunFigures>,
    /// Only where [`Self::runs`] are all that there were.
    pub stats: RunStats,
    pub by_day: SpendingReport,
    pub by_model: SpendingReport,
    pub by_role: SpendingReport,
}
