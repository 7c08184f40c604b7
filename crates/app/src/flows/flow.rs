//! What all layers of one flow stand on: its root, its budget, its place on disk.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use spore_compose::{CoordinatorPlan, OrchestratorPlan, PhasesWork, PlannedWork};
use spore_config::Config;
use spore_effects::files::Beneath;
use spore_model::{
    Allowance, BudgetId, BudgetTree, CommitId, Exhausted, Outcome, Run, RunId, RunKind, SourceKind,
    StepKey, Timestamp, TraceId, Usd,
};
use spore_store::Journal;

use super::branch::FlowBranch;
use crate::base::files::pretty;
use crate::base::outbox::Events;
use crate::base::step::{Steps, planned_run};
pub(crate) use crate::base::totals::spent;
use crate::session::broker::Broker;
use crate::session::nesting::Nesting;
use crate::{Result, Surroundings, Update, Workspace};

/// One flow at work. Shared by the threads of its phases.
pub(crate) struct ActiveFlow<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) workspace: &'a Workspace,
    pub(crate) config: &'a Config,
    pub(crate) journal: &'a dyn Journal,
    pub(crate) root: RunId,
    /// The run in whose ledger its sessions are booked: its own, unless a session started it.
    pub(crate) payer: RunId,
    pub(crate) trace: TraceId,
    pub(crate) nesting: Nesting,
    pub(crate) budget: Mutex<BudgetTree>,
    /// By how much the budget was raised since the flow began; phases' own caps follow.
    pub(crate) raised: Usd,
    /// One projection at a time; the lines of the live report that are known to be there.
    pub(crate) projecting: Mutex<BTreeSet<String>>,
    /// Serves the tools of its sessions.
    pub(crate) broker: Broker,
    /// What its parts build on each other on.
    pub(crate) branch: Option<FlowBranch>,
    /// Where its sessions work that have no checkout.
    pub(crate) own_dir: PathBuf,
    /// What people answered where it asked, oldest first.
    pub(crate) answers: Vec<PersonAnswer>,
    /// Where the call wants its files.
    pub(crate) session_dir: Option<PathBuf>,
    /// Reads a plan that a stage made.
    pub(crate) planner: &'a Planner<'a>,
    /// Reads the phases that a campaign's decomposer made.
    pub(crate) phase_planner: &'a PhasePlanner<'a>,
    /// Who leads its layers in agent mode.
    pub(crate) leader: LeaderChoice,
}

/// Who leads the layers of a flow that sessions lead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LeaderChoice {
    pub(crate) backend: String,
    pub(crate) model: Option<String>,
    pub(crate) scenario: Option<PathBuf>,
}

/// Reads phases that were made on the way, or says what is wrong with them.
pub(crate) type PhasePlanner<'a> =
    dyn Fn(&PhasesWork, String) -> Result<std::result::Result<CoordinatorPlan, String>> + Sync + 'a;

/// Reads a plan that a stage made, or says what is wrong with it.
pub(crate) type Planner<'a> = dyn Fn((&str, &PlannedWork), String) -> Result<std::result::Result<OrchestratorPlan, String>>
    + Sync
    + 'a;

/// What a person answered, and to whom: the session that asked, or the run that left a question.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct PersonAnswer {
    pub(crate) to: RunId,
    pub(crate) words: String,
    /// Whether the person said yes, and nothing else.
    #[serde(default)]
    pub(crate) approves: bool,
}

/// Where a layer stands in its flow.
#[derive(Clone, Debug)]
pub(crate) struct LayerPlace {
    /// The run of the layer. Planned by the layer above, so that doing it again finds it.
    pub(crate) run: RunId,
    pub(crate) parent: Option<RunId>,
    pub(crate) attempt: u32,
    /// What people and signals call it.
    pub(crate) name: String,
    /// Its files, below the root's directory.
    pub(crate) dir: PathBuf,
    pub(crate) depth: u32,
    pub(crate) budget: BudgetId,
}

/// How a layer ends, and what its signal points at, below the project's root.
pub(crate) struct LayerEnding<'a> {
    pub(crate) outcome: Outcome,
    pub(crate) reason: Option<&'a str>,
    pub(crate) points_at: Option<&'a str>,
}

impl ActiveFlow<'_> {
    pub(crate) fn blank(&self, run: RunId, kind: RunKind) -> Run {
        Run::begin(run, kind, "", self.now())
    }

    /// Reads a file where a flow without a branch works. Sessions write there and this process is
    /// in no sandbox, so a link anywhere on the way leads nowhere.
    pub(crate) fn own_file(&self, path: &str) -> Option<Vec<u8>> {
        Beneath::open(&self.own_dir).ok()?.read(Path::new(path), self.config.commit.max_bytes).ok()
    }

    /// The steps of a layer.
    pub(crate) fn steps(&self, place: &LayerPlace) -> Steps<'_> {
        let Self { around, workspace, journal, .. } = *self;
        Steps { around, workspace, journal, run: place.run }
    }

    /// Sets budget aside; of what is not named, all that is left.
    pub(crate) fn reserve(
        &self,
        parent: BudgetId,
        wanted: Option<Usd>,
    ) -> std::result::Result<BudgetId, Exhausted> {
        let mut budget = self.budget();
        let left = budget.left(parent).usd;
        let usd = match (wanted, left) {
            (Some(wanted), Some(left)) => Some(wanted.min(left)),
            (wanted, left) => wanted.or(left),
        };
        budget.reserve(parent, Allowance { usd, ..Allowance::default() })
    }

    pub(crate) fn settle(&self, node: BudgetId, spent: Usd) -> Usd {
        let spent = Allowance { usd: Some(spent), ..Allowance::default() };
        self.budget().settle(node, spent).usd
    }

    pub(crate) fn has_left(&self, node: BudgetId) -> bool {
        self.budget().left(node).usd.is_none_or(|left| left > Usd::ZERO)
    }

    pub(crate) fn budget(&self) -> MutexGuard<'_, BudgetTree> {
        self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.around.clock.now()
    }

    pub(crate) fn event(
        &self,
        kind: SourceKind,
        name: &str,
        what: &str,
        run: RunId,
        payload: Value,
    ) -> spore_model::Event {
        self.events().make(kind, name, what, run, payload)
    }

    /// Tells of one layer, by its word and how deep it is; of an end, with the time since `began`.
    pub(crate) fn told_layer(
        &self,
        (layer, depth): (&'static str, u32),
        stage: &str,
        status: String,
        detail: Option<String>,
        began: Option<Timestamp>,
    ) -> Update {
        let ts = self.now();
        Update::Layer {
            layer,
            stage: stage.to_owned(),
            status,
            detail,
            ts,
            trace_id: self.trace.clone(),
            depth,
            elapsed_ms: began.map(|began| {
                u64::try_from(ts.as_millis().saturating_sub(began.as_millis())).unwrap_or(0)
            }),
        }
    }

    pub(crate) fn events(&self) -> Events<'_> {
        Events { around: self.around, trace: self.trace.clone() }
    }

    /// The commit that the project is at; none in a place without git or without commits.
    pub(crate) fn head(&self) -> Option<CommitId> {
        self.workspace.project_repository().ok()?.head().ok()
    }

    /// Where all layers keep their files: the directory that the call names, else the run's own.
    pub(crate) fn dir(&self) -> PathBuf {
        self.session_dir.clone().unwrap_or_else(|| self.run_dir())
    }

    /// The run's own directory, in which transcripts and logs are looked for.
    pub(crate) fn run_dir(&self) -> PathBuf {
        self.workspace.run_files(self.root).dir().to_owned()
    }

    /// A file of the flow as seen from the project's root.
    pub(crate) fn path_of(&self, file: &Path) -> String {
        match &self.session_dir {
            Some(dir) => spore_plain::path(&dir.join(file)),
            None => format!(".spore/runs/{}/{}", self.root, spore_plain::path(file)),
        }
    }

    /// Writes a file of the flow, unless it is there just so.
    pub(crate) fn write(&self, path: &Path, content: &str) -> Result<()> {
        // A directory elsewhere is none of those whose files have keys struck out by themselves.
        let content = self.around.secrets().strike(content);
        self.around.write_if_changed(path, content.as_bytes())
    }

    pub(crate) fn write_json(&self, path: &Path, value: &impl Serialize) -> Result<()> {
        self.write(path, &pretty(value)?)
    }
}

impl ActiveFlow<'_> {
    /// What is left of the cap of a part, of which all its attempts and rounds take; nothing where it
    /// has none.
    pub(crate) fn left_of_cap(&self, place: &LayerPlace, cap: Option<Usd>) -> Result<Option<Usd>> {
        let Some(cap) = cap else { return Ok(None) };
        let own = self.runs_of_part(place)?;
        let gone: Usd = own.iter().map(|run| self.cost_of(*run)).sum::<Result<Usd>>()?;
        let left = (cap + self.raised).as_nanos().saturating_sub(gone.as_nanos());
        Ok(Some(Usd::from_nanos(left.max(0))))
    }

    /// All runs of the part that `place` is one run of: those that the steps of its own name planned.
    /// What a run is called says nothing: that is its task, and other parts may have the same.
    fn runs_of_part(&self, place: &LayerPlace) -> Result<Vec<RunId>> {
        let Some(parent) = place.parent else { return Ok(vec![place.run]) };
        let planned: Vec<(StepKey, RunId)> = self
            .journal
            .steps(parent)?
            .into_iter()
            .filter_map(|step| planned_run(&step).map(|run| (step.key, run)))
            .collect();
        Ok(own_runs(&planned, place.run))
    }

    /// Sets budget aside as [`Self::reserve`] does; none where nothing is wanted or left.
    pub(crate) fn set_aside(&self, parent: BudgetId, wanted: Option<Usd>) -> Option<BudgetId> {
        let is_spent = wanted.is_some_and(|wanted| wanted <= Usd::ZERO);
        if is_spent { None } else { self.reserve(parent, wanted).ok() }
    }

    /// What a run below it has cost so far; nothing while there is none.
    pub(crate) fn cost_of(&self, run: RunId) -> Result<Usd> {
        self.journal.run(run)?.map_or(Ok(Usd::ZERO), |run| spent(self.journal, &run))
    }
}

/// The runs of the part that `run` belongs to, by the keys of the steps that planned them.
fn own_runs(planned: &[(StepKey, RunId)], run: RunId) -> Vec<RunId> {
    let part = |key: &StepKey| {
        let key = key.to_string();
        let words: Vec<&str> = key.splitn(3, '/').take(2).collect();
        words.join("/")
    };
    let own = planned.iter().find(|(_, planned)| *planned == run).map(|(key, _)| part(key));
    let Some(own) = own else { return vec![run] };
    planned.iter().filter(|(key, _)| part(key) == own).map(|(_, run)| *run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_pays_for_its_own_attempts_and_rounds_and_for_no_other_part() {
        let run = |number| RunId::from_parts(1, number);
        let keys = ["stage/A/1", "stage/A/2", "stage/A/round-2/1", "stage/AB/1", "stage/B/1"];
        let planned: Vec<(StepKey, RunId)> = (1..)
            .zip(keys)
            .map(|(number, key)| (StepKey::new(key.to_owned()).unwrap(), run(number)))
            .collect();
        assert_eq!(own_runs(&planned, run(3)), [run(1), run(2), run(3)]);
        assert_eq!(own_runs(&planned, run(5)), [run(5)]);
        assert_eq!(own_runs(&planned, run(9)), [run(9)]);
    }
}
