//! A race that this process works on: what all of its parts share.

use serde::{Deserialize, Serialize};
use serde_json::json;
use spore_config::Config;
use spore_git::Repository;
use spore_model::{CommitId, Outcome, Park, Run, RunId, RunState, SourceKind, TraceId, Usd};
use spore_store::{Journal, RunChange};

use crate::base::outbox::Events;
use crate::base::step::Steps;
use crate::base::totals;
use crate::run::request::Orchestrate;
use crate::session::nesting::Nesting;
use crate::{Result, Surroundings, Workspace};

/// A race as it is recorded with its run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct RaceSettings {
    pub(super) asked: Orchestrate,
    pub(super) base: CommitId,
    pub(super) best: bool,
    pub(super) budget: Usd,
    pub(super) racers: Vec<Racer>,
    /// The run that compares what holds, should there be several.
    pub(super) comparison: RunId,
    pub(super) nesting: Nesting,
}

/// One of them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Racer {
    pub(super) run: RunId,
    /// Its agent; that of any other run where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) backend: Option<String>,
}

/// A race that this process works on.
pub(super) struct Race<'a> {
    pub(super) around: &'a Surroundings,
    pub(super) workspace: &'a Workspace,
    pub(super) config: &'a Config,
    pub(super) repository: &'a Repository,
    pub(super) journal: &'a dyn Journal,
    pub(super) id: RunId,
    pub(super) trace: TraceId,
    pub(super) depth: u32,
    pub(super) settings: RaceSettings,
}

impl Race<'_> {
    pub(super) fn steps(&self) -> Steps<'_> {
        let Self { around, workspace, journal, .. } = *self;
        Steps { around, workspace, journal, run: self.id }
    }

    pub(super) fn events(&self) -> Events<'_> {
        Events { around: self.around, trace: self.trace.clone() }
    }

    /// Returns the racers' rows; one that has not begun has none.
    pub(super) fn rows(&self) -> Result<Vec<Run>> {
        let rows = self.settings.racers.iter().map(|racer| self.journal.run(racer.run));
        let rows = rows.collect::<std::result::Result<Vec<_>, _>>()?;
        Ok(rows.into_iter().flatten().collect())
    }

    pub(super) fn park(&self, outcome: Outcome, park: Park, reason: &str) -> Result<()> {
        let below = self.journal.children(self.id)?;
        let change = RunChange {
            state: Some(RunState::Parked),
            outcome: Some(outcome),
            park: Some(Some(park)),
            reason: Some(reason.to_owned()),
            ..totals::of_runs(below.iter())
        };
        let payload = json!({ "park": park, "reason": reason });
        let event = self.events().make(SourceKind::Runner, "race", "run.parked", self.id, payload);
        Ok(self.journal.update_run(self.id, &change, &[event])?)
    }

    /// Names a racer for people: by its agent, and its number.
    pub(super) fn name_of(&self, at: usize) -> String {
        let racer = self.settings.racers[at].backend.as_deref();
        format!("{} ({})", at + 1, racer.unwrap_or("usual agent"))
    }

    pub(super) fn place_of(&self, run: RunId) -> usize {
        self.settings.racers.iter().position(|racer| racer.run == run).unwrap_or_default()
    }
}
