//! A session on record: its row and its first events when it opens, its bill, its end and its
//! last event when it is over. The same for every kind of session.

use serde_json::{Value, json};
use spore_agent::SessionReport;
use spore_model::{
    Cost, Event, LedgerEntry, Outcome, Run, RunCost, RunId, RunKind, RunState, SessionNotes,
    SourceKind, Timestamp, TraceId, Usage,
};
use spore_store::{Journal, RunChange, StepEntry};

use crate::Result;
use crate::base::outbox::Events;
use crate::session::plan::SessionPlan;
use crate::session::watch::ToolsUsed;

/// Puts a session on record as running, with the events that tell about it.
pub(crate) fn open(journal: &dyn Journal, events: &Events<'_>, plan: &SessionPlan) -> Result<()> {
    let now = events.around.clock.now();
    let run = row(plan, &events.trace, now);
    let told = opening(events, plan);
    Ok(journal.amend_step(plan.row.run, &plan.row.key, plan.row.attempt, &[run], &told)?)
}

fn row(plan: &SessionPlan, trace: &TraceId, now: Timestamp) -> Run {
    Run {
        parent: Some(plan.row.parent),
        trace: trace.clone(),
        attempt: plan.row.attempt,
        depth: plan.row.depth,
        role: Some(plan.role.clone()),
        backend: Some(plan.choice.backend.clone()),
        model: plan.choice.model.clone(),
        experiment: plan.row.experiment.clone(),
        ..Run::begin(plan.row.id, RunKind::Session, plan.role.as_str(), now)
    }
}

fn opening(events: &Events<'_>, plan: &SessionPlan) -> Vec<Event> {
    let mut payload = json!({
        "role": plan.role,
        "bounce": plan.row.bounce,
        "backend": plan.choice.backend,
        "depth": plan.nesting.depth,
    });
    if plan.name != plan.role {
        payload["name"] = json!(plan.name);
    }
    let notes = plan.confinement.notes();
    if !notes.is_empty() {
        payload["sandbox"] = json!({ "notes": notes });
    }
    let mut told = vec![event(events, &plan.role, "session.started", plan.row.id, payload)];
    if let Some(brief) = &plan.brief {
        let payload = json!({ "role": plan.role, "carried": brief.carried });
        told.push(event(events, &plan.role, "context.compiled", plan.row.id, payload));
    }
    told
}

/// Tells on whose behalf a session's event is: always its role.
pub(crate) fn event(
    events: &Events<'_>,
    role: &str,
    what: &str,
    session: RunId,
    payload: Value,
) -> Event {
    events.make(SourceKind::Runner, role, what, session, payload)
}

/// A session that is over, as the journal keeps it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SessionBooking {
    pub(crate) session: RunId,
    /// The run in whose ledger it is booked.
    pub(crate) root: RunId,
    pub(crate) role: String,
    pub(crate) backend: String,
    /// The model that the agent reported, else the one it was asked to use.
    pub(crate) model: Option<String>,
    pub(crate) outcome: Outcome,
    pub(crate) reason: Option<String>,
    pub(crate) turns: u32,
    pub(crate) usage: Usage,
    pub(crate) cost: Cost,
    pub(crate) notes: SessionNotes,
    pub(crate) duration_ms: Option<u64>,
}

impl SessionBooking {
    pub(crate) fn of(
        plan: &SessionPlan,
        report: &SessionReport,
        cost: Cost,
        tools: &ToolsUsed,
    ) -> Self {
        Self {
            session: plan.row.id,
            root: plan.row.root,
            role: plan.role.clone(),
            backend: plan.choice.backend.clone(),
            model: report.model.clone().or_else(|| plan.choice.model.clone()),
            outcome: report.outcome,
            reason: report.reason.clone(),
            turns: report.turns,
            usage: report.usage,
            cost,
            notes: SessionNotes {
                refused: tools.refused.clone(),
                resets_at: report.resets_at,
                failure: report.settled_failure(),
                used: tools.by_tool(),
            },
            duration_ms: u64::try_from(report.duration.as_millis()).ok(),
        }
    }

    /// Adds the session to the result of the step that it was the effect of.
    pub(crate) fn enter(&self, events: &Events<'_>, entry: &mut StepEntry) {
        entry.runs.push((self.session, self.change(entry.now)));
        entry.ledger.push(self.bill(entry.now));
        let mut payload = json!({
            "role": self.role,
            "outcome": self.outcome,
            "turns": self.turns,
            "usage": self.usage,
            "cost": self.cost,
        });
        if !self.notes.refused.is_empty() {
            payload["refused"] = json!(self.notes.refused);
        }
        if let Some(failure) = self.notes.failure {
            payload["failure"] = json!(failure);
        }
        entry.events.push(event(events, &self.role, "session.finished", self.session, payload));
    }

    /// Books a session whose step has no result, because it will be run again. `outcome` is
    /// what the session was judged to be.
    pub(crate) fn book_stopped(
        &self,
        journal: &dyn Journal,
        events: &Events<'_>,
        outcome: Outcome,
    ) -> Result<LedgerEntry> {
        let now = events.around.clock.now();
        let bill = self.bill(now);
        journal.book(&bill)?;
        let payload = json!({ "role": self.role, "outcome": outcome });
        let event = event(events, &self.role, "session.stopped", self.session, payload);
        journal.update_run(self.session, &self.change(now), &[event])?;
        Ok(bill)
    }

    fn bill(&self, now: Timestamp) -> LedgerEntry {
        LedgerEntry {
            session: self.session,
            root: self.root,
            role: self.role.clone(),
            backend: self.backend.clone(),
            model: self.model.clone(),
            turns: self.turns,
            usage: self.usage,
            cost: self.cost,
            interrupted: false,
            duration_ms: self.duration_ms,
            failure: self.notes.failure,
            booked: now,
        }
    }

    fn change(&self, now: Timestamp) -> RunChange {
        RunChange {
            state: Some(RunState::Ended),
            outcome: Some(self.outcome),
            reason: self.reason.clone(),
            ended: Some(now),
            turns: Some(self.turns),
            tokens: Some(self.usage),
            cost: Some(RunCost::from(self.cost)),
            settings: (!self.notes.is_empty())
                .then(|| serde_json::to_value(&self.notes).unwrap_or_default()),
            ..RunChange::default()
        }
    }
}
