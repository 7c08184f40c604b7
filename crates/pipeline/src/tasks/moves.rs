//! What goes into the machine of a loop and comes out of it: its rules, what it is told of the world,
//! what it says is to be done, and how it ends.

use serde::{Deserialize, Serialize};
use spore_model::{Outcome, Park, Timestamp, Usd};

/// What a loop is held to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LoopRules {
    /// For all tasks, over all restarts; none is no limit.
    pub budget: Option<Usd>,
    pub max_runs: Option<u32>,
    /// A person is asked after the first escalation.
    pub pause_on_escalation: bool,
    pub stop_on_failure: bool,
    /// This many escalations in a row are no accident.
    pub escalation_limit: u32,
    /// A result that costs more than this many times the mean of those before it is told.
    pub anomaly_factor: u32,
    /// From this many results on.
    pub anomaly_after: u32,
    /// How many tasks are worked on at once.
    pub parallel: u32,
    /// How long a place for a task stays empty after one.
    pub cooldown_ms: u64,
    /// How often a task may come back from its landing.
    pub max_returns: u32,
    /// The agent of tasks that name none.
    pub backend: String,
}

/// What the machine does not know by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoopView {
    pub now: Timestamp,
    /// What all tasks have cost, over all restarts.
    pub spent: Usd,
    /// Whether anything is left that no run has set aside.
    pub funded: bool,
    pub interrupted: bool,
}

/// What to do next.
#[derive(Clone, PartialEq, Debug)]
pub enum LoopMove {
    /// Start a task, or go on with its run that waits.
    Start {
        task: usize,
        attempt: u32,
    },
    /// Bring a verified task onto the branch.
    Land {
        task: usize,
        attempt: u32,
    },
    /// Nothing until something ends, or until then. `limited` is who is over its limit, where
    /// nothing else is going on.
    Wait {
        until: Option<Timestamp>,
        limited: Option<String>,
    },
    Stop(LoopStop),
}

/// Why nothing more is started.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopStop {
    Interrupted,
    Budget,
    MaxRuns,
    Escalations,
    PausedOnEscalation,
    Failure,
    /// The project's own checks are red before any task begins.
    RedBase,
    /// No layer absorbs it.
    DepthExceeded,
    /// Every task had its turn.
    Through,
}

/// How a loop ends or waits.
#[derive(Clone, PartialEq, Debug)]
pub struct LoopEnding {
    pub outcome: Outcome,
    /// What it waits for, where it can go on.
    pub park: Option<Park>,
    pub reason: String,
}
