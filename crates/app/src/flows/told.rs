//! What a flow tells at its end.

use serde::{Deserialize, Serialize};
use spore_compose::Parked;
use spore_model::{CommitId, Cost, Outcome, RunId, RunKind, RunStatus, TraceId};
use spore_runs::{Applied, NextStep, PartRow};

use super::branch::FlowBranch;
use super::flow::ActiveFlow;
use super::questions::{FlowQuestion, open_questions};
use super::requests::Planned;
use crate::Result;
use crate::base::error::bug;
use crate::report;

/// What came of a flow, whatever its layer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FlowReport {
    pub run: RunId,
    pub kind: RunKind,
    pub name: String,
    pub status: RunStatus,
    pub outcome: Outcome,
    pub exit_code: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub trace_id: TraceId,
    pub cost: Cost,
    /// Manifests, signals and transcripts.
    pub directory: String,
    /// Where its work is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<CommitId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// What became of the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<Applied>,
    /// Every run below it that made a commit or was to make one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<FlowChild>,
    /// What its parts ask that has no answer yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<FlowQuestion>,
    /// What a person does now, where it waits for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<NextStep>,
    /// What the layer hands upwards: an exec's result, a stage manifest, a coordinator's.
    #[serde(flatten)]
    pub told: serde_json::Value,
}

/// One run below a flow.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FlowChild {
    pub run: RunId,
    pub kind: RunKind,
    pub name: String,
    pub attempt: u32,
    pub status: RunStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// The ref that keeps what it made, where that was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolled_back: Option<String>,
}

/// How a flow ended or parked, and what its layer has to say.
pub(crate) struct FlowRest {
    pub(crate) outcome: Outcome,
    pub(crate) parked: Option<Parked>,
    pub(crate) told: serde_json::Value,
}

/// Tells what a flow would do. Nothing of it is on record.
pub(crate) fn dry(planned: &Planned, run: RunId, trace_id: TraceId) -> Result<FlowReport> {
    let plan = serde_json::to_value(planned).map_err(bug)?;
    Ok(FlowReport {
        run,
        kind: planned.kind(),
        name: planned.words().0,
        status: RunStatus::Queued,
        outcome: Outcome::Success,
        exit_code: Outcome::Success.exit_code(),
        reason: None,
        trace_id,
        cost: Cost::default(),
        directory: String::new(),
        branch: None,
        base: None,
        commit: None,
        applied: None,
        children: Vec::new(),
        questions: Vec::new(),
        next: None,
        told: serde_json::json!({ "dry_run": true, "plan": plan }),
    })
}

/// Reports on a flow, from its record.
pub(crate) fn report(ground: &ActiveFlow<'_>, rest: FlowRest) -> Result<FlowReport> {
    let report = report::report(ground.workspace, ground.journal, ground.root)?;
    let parts = report.parts.iter().filter(|part| part.kind != RunKind::Session);
    let child = |part: &PartRow| FlowChild {
        run: part.id,
        kind: part.kind,
        name: part.name.clone(),
        attempt: part.attempt,
        status: part.status,
        commit: part.commit.clone(),
        rolled_back: part.rolled_back.clone(),
    };
    let line = ground.branch.as_ref().and_then(FlowBranch::line);
    Ok(FlowReport {
        branch: line.as_ref().and(report.branch.clone()),
        base: report.run.base_commit.clone(),
        commit: line.map(|line| line.tip),
        applied: report.applied.clone(),
        children: parts.map(child).collect(),
        run: ground.root,
        kind: report.run.kind,
        name: report.run.name.clone(),
        status: report.status,
        outcome: rest.outcome,
        exit_code: rest.outcome.exit_code(),
        reason: report.run.reason.clone(),
        trace_id: report.run.trace.clone(),
        cost: report.cost,
        directory: match &ground.session_dir {
            Some(dir) => spore_plain::path(dir),
            None => report.directory,
        },
        questions: open_questions(ground.journal, &report.run, &ground.answers)?,
        next: report.next,
        told: rest.told,
    })
}
