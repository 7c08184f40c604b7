//! One run of a task: started, gone on with, or found ended.

use spore_model::{
    CommitId, Cost, Fault, Outcome, Park, RunId, RunKind, RunState, StepKey, Timestamp, Usd,
};
use spore_pipeline::{Done, LoopTask, TaskLanding, TaskResult};

use super::active::{ActiveLoop, TaskFunds};
use crate::base::step::recorded;
use crate::run::start::{Under, within};
use crate::{Error, Progress, Result};

/// A run of a task that is to be performed.
pub(crate) struct TaskRun {
    pub(crate) task: usize,
    pub(crate) child: RunId,
    pub(crate) base: CommitId,
    /// Why verified work on the task came back, where it did.
    pub(crate) evidence: Option<String>,
    pub(crate) funds: TaskFunds,
}

/// How a run of a task stopped.
pub(crate) enum TaskRest {
    Ended(TaskResult),
    Parked {
        park: Park,
        until: Option<Timestamp>,
        /// The agent that met a limit.
        limited: Option<String>,
        reason: String,
    },
    /// What it needs is not there: nothing is said about the work, and other tasks go on.
    Hindered {
        reason: String,
    },
}

/// Bytes of what a task is told when its work came back.
const MOST_EVIDENCE: usize = 8 * 1024;

impl ActiveLoop<'_> {
    /// Runs a task, goes on with its run, or tells how that ended.
    pub(crate) fn run_task(&self, run: &TaskRun, progress: &mut dyn Progress) -> Result<TaskRest> {
        let task = &self.settings.tasks[run.task];
        let mut asked =
            self.settings.terms.asked(task, words(task, run.evidence.as_deref()), &run.base);
        asked.budget = Some(run.funds.most);
        let under = Under {
            id: run.child,
            parent: self.root,
            trace: self.trace.clone(),
            depth: self.depth + 1,
            nesting: self.settings.nesting,
        };
        let ran = within(self.around, &asked, &under, progress);
        let spent = self.cost_of(run.child)?.saturating_sub(run.funds.gone);
        self.settle(run.funds.node, spent);
        match (ran, self.journal.run(run.child)?) {
            (ran, Some(child)) if child.state == RunState::Ended => {
                // From the record: what failed after the end of the run takes nothing from it.
                let commit = match recorded(self.journal, child.id, &StepKey::commit())? {
                    Some(Done::Committed { commit }) => Some(commit),
                    _ => None,
                };
                let outcome = child.outcome.unwrap_or(Outcome::Interrupted);
                let ended = child.ended.unwrap_or(child.started);
                Ok(TaskRest::Ended(TaskResult {
                    number: 0,
                    run: child.id,
                    outcome,
                    reason: child.reason.clone(),
                    commit: commit.filter(|_| outcome == Outcome::Success),
                    base: Some(run.base.clone()),
                    cost: Cost::from(child.cost),
                    duration_ms: u64::try_from(ended.since(child.started).as_millis())
                        .unwrap_or(u64::MAX),
                    infrastructure: ran.is_err() && outcome != Outcome::Success,
                }))
            }
            (Ok(report), _) => {
                let park = report.run.park.unwrap_or(Park::Interrupt);
                // Its part is spent, and not what it may cost: it goes on when there is more.
                let has_more = park == Park::Budget && run.funds.is_part && spent > Usd::ZERO;
                let told = report.next.and_then(|next| next.until);
                let until = if has_more { Some(self.now()) } else { told };
                let limited = self.limited_below(run.child, park)?;
                let reason = report.run.reason.unwrap_or_default();
                Ok(TaskRest::Parked { park, until, limited, reason })
            }
            // It could not begin, or not go on.
            (Err(error), _) => match hindrance(error) {
                Ok(reason) => Ok(TaskRest::Hindered { reason }),
                Err(error) => Err(error),
            },
        }
    }
}

impl ActiveLoop<'_> {
    /// Returns the agent of the newest session below a run that was stopped by a limit, where a
    /// limit is what the run waits for.
    pub(crate) fn limited_below(&self, run: RunId, park: Park) -> Result<Option<String>> {
        let mut newest = None;
        let mut below = if park == Park::Quota { vec![run] } else { Vec::new() };
        while let Some(parent) = below.pop() {
            for child in self.journal.children(parent)? {
                below.push(child.id);
                if child.kind == RunKind::Session && child.outcome == Some(Outcome::QuotaParked) {
                    newest = newest.max(Some((child.started, child.id, child.backend)));
                }
            }
        }
        Ok(newest.and_then(|(_, _, backend)| backend))
    }
}

/// Returns what hinders one task, or the error where it concerns all of them: the machine refuses,
/// or a layer above has to hear of it.
pub(crate) fn hindrance(error: Error) -> std::result::Result<String, Error> {
    let is_for_all = error.fault == Fault::Io
        || matches!(error.told_outcome(), Some(Outcome::DepthExceeded | Outcome::Interrupted));
    if is_for_all {
        return Err(error);
    }
    let hint = error.hint_text().map(|hint| format!(" ({hint})")).unwrap_or_default();
    Ok(format!("{error}{hint}"))
}

/// The task, and why work on it that was verified came back.
fn words(task: &LoopTask, evidence: Option<&str>) -> String {
    let Some(evidence) = evidence else { return task.text.clone() };
    format!(
        "{}\n\nThis was done and verified before, on an older state of the branch. It does not fit \
         what others have brought there since:\n\n{}\n\nDo it again on the files as they are now: \
         keep what is there, and let both work together.",
        task.text,
        spore_plain::cut(&spore_plain::block(evidence), MOST_EVIDENCE)
    )
}

/// Why a landing sent work back.
pub(crate) fn evidence_of(landing: Option<&TaskLanding>) -> Option<String> {
    match landing? {
        TaskLanding::Back { evidence, .. } => Some(evidence.clone()),
        TaskLanding::Landed { .. } => None,
    }
}
