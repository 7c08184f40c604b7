//! What became of a task: of a run of it, of its work at the branch, and where it stands by that.

use serde::{Deserialize, Serialize};
use spore_model::{CommitId, Cost, Outcome, Park, RunId, Timestamp, TreeId, Usd};

/// What became of one run of a task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TaskResult {
    /// Which result of the loop it was, counted from 1.
    pub number: u32,
    pub run: RunId,
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was verified, made on `base`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<CommitId>,
    pub cost: Cost,
    pub duration_ms: u64,
    /// Spore or the machine fell short, and not the work: it says nothing about the tasks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub infrastructure: bool,
}

/// What became of verified work at the branch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "landing", rename_all = "snake_case")]
pub enum TaskLanding {
    /// It is the tip now.
    Landed { number: u32, commit: CommitId, tree: TreeId },
    /// It does not fit what landed before it, and goes back to its owner.
    Back { number: u32, evidence: String },
}

impl TaskLanding {
    pub fn number(&self) -> u32 {
        match self {
            Self::Landed { number, .. } | Self::Back { number, .. } => *number,
        }
    }

    /// Gives it its number: it has one when it is over.
    #[must_use]
    pub fn numbered(self, number: u32) -> Self {
        match self {
            Self::Landed { commit, tree, .. } => Self::Landed { number, commit, tree },
            Self::Back { evidence, .. } => Self::Back { number, evidence },
        }
    }
}

/// Where a task stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TaskStanding {
    /// It was verified before, or the person ticked it off.
    Settled,
    Waiting,
    Running,
    /// Its run waits for something. One that waits for budget goes on by itself where there is a
    /// time: only its part of it is spent.
    Parked {
        park: Park,
        until: Option<Timestamp>,
    },
    /// Verified, and not on the branch yet.
    Verified,
    Landing,
    Landed,
    /// Its run ended otherwise.
    FellShort(Outcome),
    /// A task that it comes after is not on the branch and never will be.
    Blocked,
}

/// A result that cost far more than those before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CostAnomaly {
    pub cost: Usd,
    pub mean: Usd,
}
