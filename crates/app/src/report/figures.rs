//! Many runs at once: what they cost, which had the most, how they went, and whether one way of
//! working differs from another.

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::Fault;
use spore_runs::{
    ExperimentComparison, RunFigures, RunFilter, RunTimeline, SpendingBy, SpendingReport, TopBy,
};
use spore_store::Journal;

use crate::base::outbox;
use crate::report::{LocalRuns, find_run, named_or_newest};
use crate::{Error, Result, Surroundings, Workspace};

/// Sums up what was paid.
pub fn sum_spending(
    around: &Surroundings,
    filter: &RunFilter,
    by: SpendingBy,
) -> Result<SpendingReport> {
    read(around, |journal, runs| {
        Ok(spore_runs::report_spending(journal, runs, filter, by, around.clock.now())?)
    })
}

/// Returns the runs with the most of something; as many as the filter's limit lets through.
pub fn top_runs(around: &Surroundings, filter: &RunFilter, by: TopBy) -> Result<Vec<RunFigures>> {
    let limit = usize::try_from(filter.limit).unwrap_or(usize::MAX);
    let figures = read(around, |journal, runs| {
        Ok(spore_runs::figures_of_runs(journal, runs, filter, around.clock.now())?)
    })?;
    Ok(spore_runs::top_runs(figures, by, limit))
}

/// Compares the tasks that both experiments worked on, alone or in lists.
pub fn compare_experiments(
    around: &Surroundings,
    filter: &RunFilter,
    labels: [&str; 2],
) -> Result<ExperimentComparison> {
    let [a, b] = labels;
    let figures = read(around, |journal, runs| {
        Ok(spore_runs::figures_with_tasks(journal, runs, filter, around.clock.now())?)
    })?;
    if labels[0] == labels[1] {
        let message = format!("both are {:?}: nothing can differ", labels[0]);
        return Err(Error::new(Fault::Usage, message)
            .hint("name two labels; `spore runs cost --by experiment` shows them"));
    }
    if figures.is_empty() {
        return Err(Error::new(Fault::BadInput, "there are no runs to compare").hint(
            "`spore orchestrate TASK --experiment LABEL` makes some; `spore runs list` shows all",
        ));
    }
    for label in labels {
        let has =
            |run: &RunFigures| run.experiment.as_deref().unwrap_or(spore_runs::UNLABELLED) == label;
        if !figures.iter().any(has) {
            let mut known: Vec<&str> =
                figures.iter().filter_map(|run| run.experiment.as_deref()).collect();
            known.sort_unstable();
            known.dedup();
            known.truncate(20);
            if figures.iter().any(|run| run.experiment.is_none()) {
                known.push(spore_runs::UNLABELLED);
            }
            return Err(Error::new(Fault::BadInput, format!("no run has the label {label:?}"))
                .hint(format!("there are: {}", known.join(", "))));
        }
    }
    Ok(spore_runs::compare_experiments(&figures, a, b))
}

/// Two runs side by side.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct RunComparison {
    pub a: RunFigures,
    pub b: RunFigures,
    /// Whether they worked on the same task.
    pub same_task: bool,
}

/// Puts two runs, named by any unique parts of their ids, beside each other.
pub fn compare_runs(around: &Surroundings, a: &str, b: &str) -> Result<RunComparison> {
    read(around, |journal, runs| {
        let one = |typed: &str| -> Result<RunFigures> {
            let run = find_run(journal, typed)?;
            let now = around.clock.now();
            let figures = spore_runs::figures_of_run(journal, runs, run.id, now)?;
            figures.ok_or_else(|| Error::new(Fault::BadInput, format!("there is no run {typed:?}")))
        };
        let (a, b) = (one(a)?, one(b)?);
        Ok(RunComparison { same_task: a.task == b.task, a, b })
    })
}

/// Returns what happened in one run, in its order; the newest if none is named.
pub fn run_timeline(around: &Surroundings, typed: Option<&str>) -> Result<RunTimeline> {
    read(around, |journal, runs| {
        let run = named_or_newest(journal, typed)?;
        spore_runs::timeline_of_run(journal, runs, run.id)?
            .ok_or_else(|| Error::new(Fault::BadInput, format!("there is no run {}", run.id)))
    })
}

/// Returns the id that a person means, for a filter.
pub fn run_named(around: &Surroundings, typed: &str) -> Result<spore_model::RunId> {
    read(around, |journal, _| Ok(find_run(journal, typed)?.id))
}

fn read<T>(
    around: &Surroundings,
    read: impl FnOnce(&dyn Journal, &LocalRuns<'_>) -> Result<T>,
) -> Result<T> {
    let workspace = Workspace::find_with_runs(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    outbox::catch_up(around, &workspace, &journal);
    read(&journal, &LocalRuns(&workspace))
}
