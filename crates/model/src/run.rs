//! The run: everything that takes time is one, and they form a tree.

use schemars::JsonSchema;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{CommitId, Cost, Outcome, RunId, Timestamp, TraceId, TreeId, Usage};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// A whole task: context, bounces, verdict, commit.
    Orchestrate,
    /// One role's session in a checkout of its own; no verifier judges it.
    Solo,
    /// One coder → gates → verifier round.
    Bounce,
    /// One agent session.
    Session,
    /// One agent session on its own, asked for by a person, a script or another agent.
    Spawn,
    /// The project's own commands on one tree.
    Gates,
    /// L1 of a flow: one action of an executor on one target.
    Exec,
    /// L2 of a flow: an orchestrator's stages, in order.
    Stage,
    /// L3 of a flow: a coordinator's phases.
    Phase,
    /// L4 of a flow: research, a plan, phases, healing and an evaluation.
    Campaign,
    /// Cycles of the project's checks, graded.
    Sentinel,
    /// Verified work on a branch that moved on: the two together, checked anew.
    Merge,
    /// One task, several coders at once.
    Race,
    /// A directory looked at, and what is known about it brought up to date.
    Investigate,
    /// A pass of memory: scan, crystallize, update or undo.
    Memory,
    /// A list of tasks worked through onto one branch, and gone on with when the list changes.
    Loop,
    /// The same once.
    Batch,
}

impl RunKind {
    pub const ALL: [Self; 17] = [
        Self::Orchestrate,
        Self::Solo,
        Self::Bounce,
        Self::Session,
        Self::Spawn,
        Self::Gates,
        Self::Exec,
        Self::Stage,
        Self::Phase,
        Self::Campaign,
        Self::Sentinel,
        Self::Merge,
        Self::Race,
        Self::Investigate,
        Self::Memory,
        Self::Loop,
        Self::Batch,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Orchestrate => "orchestrate",
            Self::Solo => "solo",
            Self::Bounce => "bounce",
            Self::Session => "session",
            Self::Spawn => "spawn",
            Self::Gates => "gates",
            Self::Exec => "exec",
            Self::Stage => "stage",
            Self::Phase => "phase",
            Self::Campaign => "campaign",
            Self::Sentinel => "sentinel",
            Self::Merge => "merge",
            Self::Race => "race",
            Self::Investigate => "investigate",
            Self::Memory => "memory",
            Self::Loop => "loop",
            Self::Batch => "batch",
        }
    }

    /// Returns whether success of such a run is a verdict on a tree. Only these may be called
    /// verified; an agent session that ended well has merely finished.
    const fn is_judged(self) -> bool {
        matches!(self, Self::Orchestrate | Self::Bounce)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    Queued,
    Running,
    /// Stopped on purpose, able to go on.
    Parked,
    Ended,
}

/// What a parked run waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Park {
    Budget,
    Quota,
    Human,
    /// Ctrl-C, or a process that died: `resume` is all it takes.
    Interrupt,
}

/// What a person did to a run after the fact.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunMark {
    Cancelled,
    RolledBack,
}

/// One row of the run tree.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    pub id: RunId,
    pub parent: Option<RunId>,
    pub trace: TraceId,
    pub kind: RunKind,
    pub name: String,
    pub task: Option<String>,
    pub attempt: u32,
    pub depth: u32,
    pub role: Option<String>,
    pub backend: Option<String>,
    pub model: Option<String>,
    pub state: RunState,
    pub outcome: Option<Outcome>,
    pub park: Option<Park>,
    pub mark: Option<RunMark>,
    /// One sentence for people: why it ended or waits.
    pub reason: Option<String>,
    pub base_commit: Option<CommitId>,
    pub tree_hash: Option<TreeId>,
    pub started: Timestamp,
    pub ended: Option<Timestamp>,
    pub turns: u32,
    pub tokens: Usage,
    #[serde(flatten)]
    pub cost: RunCost,
    pub experiment: Option<String>,
    /// What the run was started with, as its kind understands it; resume needs all of it.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub settings: serde_json::Value,
}

/// A run's cost under the names that the run record has for it.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct RunCost {
    pub cost_usd: crate::Usd,
    pub cost_estimated: bool,
}

impl From<Cost> for RunCost {
    fn from(cost: Cost) -> Self {
        Self { cost_usd: cost.usd, cost_estimated: cost.estimated }
    }
}

impl From<RunCost> for Cost {
    fn from(cost: RunCost) -> Self {
        Self { usd: cost.cost_usd, estimated: cost.cost_estimated }
    }
}

/// The word people read for a run. Derived, never stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum RunStatus {
    #[serde(rename = "queued")]
    Queued,
    #[serde(rename = "running")]
    Running,
    #[serde(rename = "parked:budget")]
    ParkedBudget,
    #[serde(rename = "parked:quota")]
    ParkedQuota,
    #[serde(rename = "parked:human")]
    ParkedHuman,
    #[serde(rename = "interrupted")]
    Interrupted,
    #[serde(rename = "verified")]
    Verified,
    /// Ended well, but its kind carries no verdict: a session, a gate.
    #[serde(rename = "finished")]
    Finished,
    #[serde(rename = "rejected")]
    Rejected,
    #[serde(rename = "escalated")]
    Escalated,
    /// Some of its parts ended well and others did not: a list of tasks, a flow.
    #[serde(rename = "partial")]
    Partial,
    #[serde(rename = "failed")]
    Failed,
    #[serde(rename = "cancelled")]
    Cancelled,
    #[serde(rename = "rolled-back")]
    RolledBack,
}

impl RunStatus {
    pub const ALL: [Self; 14] = [
        Self::Queued,
        Self::Running,
        Self::ParkedBudget,
        Self::ParkedQuota,
        Self::ParkedHuman,
        Self::Interrupted,
        Self::Verified,
        Self::Finished,
        Self::Rejected,
        Self::Escalated,
        Self::Partial,
        Self::Failed,
        Self::Cancelled,
        Self::RolledBack,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::ParkedBudget => "parked:budget",
            Self::ParkedQuota => "parked:quota",
            Self::ParkedHuman => "parked:human",
            Self::Interrupted => "interrupted",
            Self::Verified => "verified",
            Self::Finished => "finished",
            Self::Rejected => "rejected",
            Self::Escalated => "escalated",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::RolledBack => "rolled-back",
        }
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Run {
    /// A run that begins now, at the root of its own tree; the rest is for the caller to fill
    /// in.
    pub fn begin(id: RunId, kind: RunKind, name: impl Into<String>, started: Timestamp) -> Self {
        Self {
            id,
            parent: None,
            trace: id.into(),
            kind,
            name: name.into(),
            task: None,
            attempt: 1,
            depth: 0,
            role: None,
            backend: None,
            model: None,
            state: RunState::Running,
            outcome: None,
            park: None,
            mark: None,
            reason: None,
            base_commit: None,
            tree_hash: None,
            started,
            ended: None,
            turns: 0,
            tokens: Usage::default(),
            cost: RunCost::default(),
            experiment: None,
            settings: serde_json::Value::Null,
        }
    }

    /// Returns the run's status. `alive` is whether a process is working on it now: a run
    /// whose process was killed still says `Running` in its row.
    pub fn status(&self, alive: bool) -> RunStatus {
        self.standing().status(alive)
    }

    /// Returns whether `resume` can do anything with the run.
    pub fn is_open(&self) -> bool {
        self.standing().is_open()
    }

    pub fn standing(&self) -> RunStanding {
        let Self { kind, mark, state, park, outcome, .. } = *self;
        RunStanding { kind, mark, state, park, outcome }
    }
}

/// All of a run that its status is derived from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunStanding {
    pub kind: RunKind,
    pub mark: Option<RunMark>,
    pub state: RunState,
    pub park: Option<Park>,
    pub outcome: Option<Outcome>,
}

impl RunStanding {
    /// As [`Run::status`].
    pub fn status(self, alive: bool) -> RunStatus {
        match (self.mark, self.state) {
            (Some(RunMark::Cancelled), _) => RunStatus::Cancelled,
            (Some(RunMark::RolledBack), _) => RunStatus::RolledBack,
            (None, RunState::Queued) => RunStatus::Queued,
            (None, RunState::Running) if alive => RunStatus::Running,
            (None, RunState::Running) => RunStatus::Interrupted,
            (None, RunState::Parked) => match self.park {
                Some(Park::Budget) => RunStatus::ParkedBudget,
                Some(Park::Quota) => RunStatus::ParkedQuota,
                Some(Park::Human) => RunStatus::ParkedHuman,
                Some(Park::Interrupt) | None => RunStatus::Interrupted,
            },
            (None, RunState::Ended) => self.ended_status(),
        }
    }

    fn ended_status(self) -> RunStatus {
        match self.outcome {
            Some(Outcome::Success) if self.kind.is_judged() => RunStatus::Verified,
            Some(Outcome::Success) => RunStatus::Finished,
            Some(Outcome::Failure | Outcome::NeedsRefinement) if self.kind == RunKind::Bounce => {
                RunStatus::Rejected
            }
            Some(Outcome::NeedsEscalation) => RunStatus::Escalated,
            // A session that ended half-way failed, and its failure says in which way.
            Some(Outcome::Partial) if self.kind != RunKind::Session => RunStatus::Partial,
            Some(Outcome::Interrupted) => RunStatus::Interrupted,
            _ => RunStatus::Failed,
        }
    }

    /// As [`Run::is_open`].
    pub fn is_open(self) -> bool {
        self.mark.is_none() && self.state != RunState::Ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(kind: RunKind, state: RunState, outcome: Option<Outcome>) -> Run {
        let begun = Run::begin(RunId::from_parts(0, 1), kind, "", Timestamp::from_millis(0));
        Run { state, outcome, ..begun }
    }

    #[test]
    fn only_a_judged_run_is_ever_called_verified() {
        for kind in RunKind::ALL {
            let status = run(kind, RunState::Ended, Some(Outcome::Success)).status(false);
            let judged = matches!(kind, RunKind::Orchestrate | RunKind::Bounce);
            assert_eq!(status == RunStatus::Verified, judged, "{kind:?}");
        }
    }

    #[test]
    fn no_end_but_success_is_verified() {
        for outcome in Outcome::ALL {
            let status = run(RunKind::Orchestrate, RunState::Ended, Some(outcome)).status(false);
            assert_eq!(status == RunStatus::Verified, outcome == Outcome::Success, "{outcome:?}");
        }
    }

    #[test]
    fn a_running_row_without_a_process_is_interrupted() {
        let run = run(RunKind::Orchestrate, RunState::Running, None);
        assert_eq!(run.status(true), RunStatus::Running);
        assert_eq!(run.status(false), RunStatus::Interrupted);
        assert!(run.is_open());
    }

    #[test]
    fn a_persons_mark_outweighs_the_outcome() {
        let mut run = run(RunKind::Orchestrate, RunState::Ended, Some(Outcome::Success));
        run.mark = Some(RunMark::RolledBack);
        assert_eq!(run.status(false), RunStatus::RolledBack);
        assert!(!run.is_open());
    }

    #[test]
    fn a_run_record_is_flat_and_its_numbers_are_numbers() {
        let mut run = run(RunKind::Session, RunState::Ended, Some(Outcome::Success));
        run.cost = Cost::estimated(crate::Usd::from_nanos(1_500_000_000)).into();
        let json = serde_json::to_value(&run).unwrap();
        assert_eq!(json["cost_usd"], 1.5);
        assert_eq!(json["cost_estimated"], true);
        assert_eq!(serde_json::from_value::<Run>(json).unwrap(), run);
    }
}
