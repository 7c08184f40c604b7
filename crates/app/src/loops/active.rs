//! What all parts of one loop stand on.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::Value;
use spore_config::Config;
use spore_git::Repository;
use spore_model::{
    Allowance, BudgetId, BudgetTree, Cost, Event, RunId, SourceKind, Timestamp, TraceId, Usd,
};
use spore_pipeline::LoopTask;
use spore_store::Journal;

use super::record::spent_by;
use super::settings::LoopSettings;
use crate::base::outbox::Events;
use crate::base::step::Steps;
use crate::{Result, Surroundings, Workspace};

/// One loop at work. Shared by the threads of its tasks.
pub(crate) struct ActiveLoop<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) workspace: &'a Workspace,
    pub(crate) config: &'a Config,
    pub(crate) journal: &'a dyn Journal,
    pub(crate) repository: &'a Repository,
    pub(crate) root: RunId,
    pub(crate) trace: TraceId,
    pub(crate) depth: u32,
    pub(crate) settings: &'a LoopSettings,
    pub(crate) budget: Mutex<BudgetTree>,
    /// When this process began, by both clocks.
    pub(crate) begun: (Timestamp, Instant),
}

/// What is set aside for a run of a task.
pub(crate) struct TaskFunds {
    pub(crate) node: BudgetId,
    /// What it may cost in all, with what it cost before.
    pub(crate) most: Usd,
    pub(crate) gone: Usd,
    /// It may cost more than that, and others are to have theirs first.
    pub(crate) is_part: bool,
}

/// What is set aside for the verifiers of a landing.
pub(crate) struct LandingFunds {
    node: Option<BudgetId>,
    /// What it may cost in all, with what it cost before.
    pub(crate) most: Usd,
    gone: Usd,
    is_part: bool,
}

impl ActiveLoop<'_> {
    pub(crate) fn steps(&self) -> Steps<'_> {
        let Self { around, workspace, journal, root, .. } = *self;
        Steps { around, workspace, journal, run: root }
    }

    /// The time by which the loop waits. It goes on even where a test holds the clock.
    pub(crate) fn now(&self) -> Timestamp {
        let passed = self.around.clock.monotonic().saturating_duration_since(self.begun.1);
        let millis = i64::try_from(passed.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(self.begun.0.as_millis().saturating_add(millis))
    }

    pub(crate) fn event(&self, kind: SourceKind, what: &str, payload: Value) -> Event {
        self.event_of(self.root, kind, what, payload)
    }

    /// The same about a run of a task.
    pub(crate) fn event_of(
        &self,
        run: RunId,
        kind: SourceKind,
        what: &str,
        payload: Value,
    ) -> Event {
        let events = Events { around: self.around, trace: self.trace.clone() };
        events.make(kind, "loop", what, run, payload)
    }

    pub(crate) fn budget(&self) -> MutexGuard<'_, BudgetTree> {
        self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What all children have cost so far, those that are under way too.
    pub(crate) fn spent(&self) -> Result<Usd> {
        spent_by(self.journal, self.root)
    }

    pub(crate) fn cost_of(&self, run: RunId) -> Result<Usd> {
        Ok(self.bills_of(run)?.usd)
    }

    /// Returns what was booked on a run, and whether any of it is an estimate.
    pub(crate) fn bills_of(&self, run: RunId) -> Result<Cost> {
        Ok(self.journal.ledger(run)?.iter().map(|entry| entry.cost).sum())
    }

    /// Sets aside what a run of a task may still cost: all that it may, or its part of what is left
    /// where that is to be shared by so many. `None` where nothing is left.
    pub(crate) fn fund(&self, task: &LoopTask, gone: Usd, sharers: usize) -> Option<TaskFunds> {
        let cap = self.settings.most_of(task, self.config.orchestrate.budget_usd);
        let mut budget = self.budget();
        let wanted = cap.saturating_sub(gone);
        let sharers = i64::try_from(sharers.max(1)).unwrap_or(i64::MAX);
        let part = |left: Usd| Usd::from_nanos((left.as_nanos() / sharers).max(1));
        let left = budget.left(BudgetTree::ROOT).usd;
        let share = left.map_or(wanted, |left| part(left).min(wanted));
        let allowance = Allowance { usd: Some(share), ..Allowance::default() };
        let node = budget.reserve(BudgetTree::ROOT, allowance).ok()?;
        Some(TaskFunds { node, most: gone + share, gone, is_part: share < wanted })
    }

    /// Sets aside what the verifiers of a landing may still cost: what a run may, or its part of what
    /// is left, so that a task that is started meanwhile has some. Of nothing it has nothing, and may
    /// land all the same: most landings ask no verifier.
    pub(crate) fn fund_landing(&self, gone: Usd, sharers: i64) -> LandingFunds {
        let usual = self.config.orchestrate.budget_usd;
        let mut budget = self.budget();
        let left = budget.left(BudgetTree::ROOT).usd;
        let part = |left: Usd| Usd::from_nanos(left.as_nanos() / sharers.max(1)).min(usual);
        let share = left.map_or(usual, part);
        let allowance = Allowance { usd: Some(share), ..Allowance::default() };
        let node = budget.reserve(BudgetTree::ROOT, allowance).ok();
        LandingFunds { node, most: gone + share, gone, is_part: share < usual }
    }

    /// Books what a landing has cost, and gives the rest back. Returns whether its part is spent and
    /// there may be more for it.
    pub(crate) fn settle_landing(&self, run: RunId, funds: &LandingFunds) -> Result<bool> {
        let spent = self.cost_of(run)?.saturating_sub(funds.gone);
        if let Some(node) = funds.node {
            self.settle(node, spent);
        }
        Ok(funds.is_part && spent > Usd::ZERO)
    }

    /// Whether anything is left to set aside.
    pub(crate) fn has_funds(&self) -> bool {
        self.budget().left(BudgetTree::ROOT).usd.is_none_or(|left| left > Usd::ZERO)
    }

    pub(crate) fn settle(&self, node: BudgetId, spent: Usd) {
        let spent = Allowance { usd: Some(spent), ..Allowance::default() };
        self.budget().settle(node, spent);
    }

    /// What people call a task while the loop runs.
    pub(crate) fn label(&self, task: usize) -> String {
        let known = &self.settings.tasks[task];
        if known.named { known.id.clone() } else { format!("#{}", task + 1) }
    }
}
