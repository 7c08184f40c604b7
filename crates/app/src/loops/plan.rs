//! What a loop would do, found out before anything is paid.

use serde::Serialize;
use spore_config::Config;
use spore_git::Repository;
use spore_model::{CommitId, RunKind, RunState, Usd};
use spore_pipeline::{LoopState, LoopTask, SourceForm, estimate_complexity, overlap};
use spore_store::{Journal, RunQuery};

use super::earlier::{EarlierLoop, state_file};
use super::ground::LoopGround;
use super::record::{LoopRecord, spent_by};
use super::request::{LoopAsked, TaskSource};
use super::settings::{kind, rules};
use super::source::{head, read_list};
use crate::agents::ready;
use crate::knowledge::context::{ContextAsked, context};
use crate::{Result, Surroundings, Workspace};

/// A loop as it would be.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LoopPlan {
    pub source: String,
    pub form: SourceForm,
    pub base: CommitId,
    pub backend: String,
    pub budget: Option<Usd>,
    /// What earlier loops over the list cost.
    pub spent: Usd,
    pub max_runs: Option<u32>,
    pub parallel: u32,
    pub tasks: Vec<PlannedTask>,
}

/// One task of a loop that is not started.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PlannedTask {
    pub id: String,
    pub text: String,
    /// How large it looks by its words, from 0 to 10.
    pub complexity: u32,
    /// Verified before, or ticked off.
    pub done: bool,
    /// How many runs of tasks of that size there were, and what they cost in the mean.
    pub past_runs: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub past_cost: Option<Usd>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub touches: Vec<String>,
    /// What it touches is what its context ranks first, and not what the person said.
    pub guessed: bool,
    /// Tasks before it in the list that it would not run beside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub apart_from: Vec<String>,
}

/// Says what a loop would do, and does nothing. `look` looks up what tasks would touch.
pub fn plan_loop(around: &Surroundings, asked: &LoopAsked, look: bool) -> Result<LoopPlan> {
    let workspace = Workspace::find(around)?;
    let read = read_list(around, asked)?;
    let mut config = workspace.config(around, &[])?;
    if let Some(only) = ready::only(around, &config, asked.backend.as_deref()) {
        config.orchestrate.backend = only;
    }
    let repository = workspace.repository(around)?;
    let base = head(&repository, asked)?;
    let mut tasks = read.list.tasks.clone();
    if look {
        fill_touches(around, &config, &base, &mut tasks)?;
    }
    let (mut before, mut past) = (LoopState::default(), Vec::new());
    if workspace.database().exists() {
        let journal = workspace.journal(&config)?;
        past = past_costs(&journal)?;
        if !asked.reset {
            before = known_before(&journal, &repository, asked, (&read.source, &tasks, &base))?;
        }
    }
    let rules = rules(asked, &config);
    let planned = (0..tasks.len()).map(|at| planned(&tasks, &read.list.tasks, at, &before, &past));
    Ok(LoopPlan {
        form: read.list.form,
        base,
        backend: rules.backend,
        budget: rules.budget,
        spent: before.total_cost,
        max_runs: rules.max_runs,
        parallel: rules.parallel,
        tasks: planned.collect(),
        source: read.source,
    })
}

fn known_before(
    journal: &dyn Journal,
    repository: &Repository,
    asked: &LoopAsked,
    (source, tasks, head): (&str, &[LoopTask], &CommitId),
) -> Result<LoopState> {
    if asked.batch {
        return Ok(LoopState::default());
    }
    let earlier = EarlierLoop::find(journal, source, kind(asked.batch))?;
    let before = match &earlier {
        EarlierLoop::Open(open) => {
            let (run, settings) = open.as_ref();
            let record = LoopRecord::read(journal, run.id, &settings.tasks)?;
            return Ok(record.state(settings, spent_by(journal, run.id)?));
        }
        EarlierLoop::Over(past) => past.state.clone(),
        EarlierLoop::Never => match &asked.source {
            TaskSource::File(_) => state_file(std::path::Path::new(source))?.unwrap_or_default(),
            TaskSource::Text(_) => LoopState::default(),
        },
    };
    let ground = LoopGround::find(repository, &earlier, before, tasks, (head, String::new()))?;
    Ok(ground.before)
}

fn planned(
    tasks: &[LoopTask],
    written: &[LoopTask],
    at: usize,
    before: &LoopState,
    past: &[(u32, Usd)],
) -> PlannedTask {
    let task = &tasks[at];
    let complexity = estimate_complexity(&task.text);
    let alike: Vec<Usd> = past
        .iter()
        .filter(|(size, _)| size.abs_diff(complexity) <= 1)
        .map(|(_, cost)| *cost)
        .collect();
    let count = u32::try_from(alike.len()).unwrap_or(u32::MAX);
    let sum: Usd = alike.into_iter().sum();
    let apart = tasks[..at].iter().filter(|other| overlap(task, other));
    PlannedTask {
        id: task.id.clone(),
        text: task.text.clone(),
        complexity,
        done: task.ticked || before.has_verified(task),
        past_runs: count,
        past_cost: (count > 0).then(|| Usd::from_nanos(sum.as_nanos() / i64::from(count))),
        after: task.after.clone(),
        guessed: written[at].touches != task.touches,
        touches: task.touches.clone(),
        apart_from: apart.map(|other| other.id.clone()).collect(),
    }
}

/// Runs that are looked at for what tasks cost.
const MOST_PAST: u32 = 500;

/// What past runs cost, each with the size of its task.
fn past_costs(journal: &dyn Journal) -> Result<Vec<(u32, Usd)>> {
    let kind = Some(RunKind::Orchestrate);
    let query = RunQuery { kind, limit: Some(MOST_PAST), ..RunQuery::default() };
    let runs = journal.runs(&query)?;
    let ended = runs.into_iter().filter(|run| run.state == RunState::Ended);
    Ok(ended
        .filter(|run| run.cost.cost_usd > Usd::ZERO)
        .filter_map(|run| Some((estimate_complexity(run.task.as_deref()?), run.cost.cost_usd)))
        .collect())
}

/// Takes what a task will touch from what its context ranks first, where the person did not say.
pub(super) fn fill_touches(
    around: &Surroundings,
    config: &Config,
    base: &CommitId,
    tasks: &mut [LoopTask],
) -> Result<()> {
    let most = usize::try_from(config.task_loop.planned_files).unwrap_or(usize::MAX);
    for task in tasks.iter_mut().filter(|task| task.touches.is_empty() && !task.ticked) {
        let asked = ContextAsked {
            task: task.text.clone(),
            rev: Some(base.to_string()),
            role: "coder".to_owned(),
            max_tokens: None,
            seed_ranker: false,
            embed: false,
        };
        let found = context(around, &asked, &spore_indexer::Silent)?;
        task.touches = found.compiled.files.into_iter().take(most).map(|file| file.path).collect();
    }
    Ok(())
}
