//! Figures of runs put together: by label, by hour, and what context saved in attempts.
//!
//! Pure: figures in, sums out.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::{Cost, Timestamp};

use crate::experiments::UNLABELLED;
use crate::figures::RunFigures;
use crate::stats::is_decided;

/// The label of runs whose sessions were told nothing beside the task.
const NO_CONTEXT: &str = "no-context";

/// The runs of one label.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct ExperimentSum {
    pub label: String,
    pub runs: u32,
    pub decided: u32,
    pub verified: u32,
    pub cost: Cost,
}

/// Sums runs up by their label, the label of most runs first.
pub fn sums_by_experiment(figures: &[RunFigures]) -> Vec<ExperimentSum> {
    let mut sums: BTreeMap<&str, ExperimentSum> = BTreeMap::new();
    for run in figures {
        let label = run.experiment.as_deref().unwrap_or(UNLABELLED);
        let sum = sums.entry(label).or_insert_with(|| ExperimentSum {
            label: label.to_owned(),
            runs: 0,
            decided: 0,
            verified: 0,
            cost: Cost::default(),
        });
        sum.decided += u32::from(is_decided(run));
        sum.verified += u32::from(is_decided(run) && run.is_verified());
        if run.is_root() {
            sum.runs += 1;
            sum.cost = [sum.cost, run.cost].into_iter().sum();
        }
    }
    let mut sums: Vec<ExperimentSum> = sums.into_values().collect();
    sums.sort_by(|a, b| (b.runs, &a.label).cmp(&(a.runs, &b.label)));
    sums
}

/// Returns what runs cost by the hour of `from`'s day in which they began, in US dollars.
pub fn dollars_by_hour(figures: &[RunFigures], from: Timestamp) -> [f64; 24] {
    let mut hours = [0.0; 24];
    for run in figures.iter().filter(|run| run.is_root()) {
        let after = run.started.as_millis() - from.as_millis();
        let hour = usize::try_from(after / 3_600_000).ok().filter(|_| after >= 0);
        if let Some(slot) = hour.and_then(|hour| hours.get_mut(hour)) {
            *slot += run.cost.usd.as_dollars();
        }
    }
    hours
}

/// What context saved, by tasks that were also worked on without any.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
pub struct BouncesSaved {
    /// Tasks that were verified both ways.
    pub tasks: u32,
    /// Attempts of a task without context, on average over the tasks.
    pub without: f64,
    pub with: f64,
    /// All tasks together; below zero where context cost attempts.
    pub saved: f64,
}

/// Compares the attempts of tasks that were verified with and without context; nothing where no
/// task was.
pub fn bounces_saved(figures: &[RunFigures]) -> Option<BouncesSaved> {
    let mut tasks: BTreeMap<&str, [Vec<u32>; 2]> = BTreeMap::new();
    // The attempts of a race are those of its racers, made side by side and not after each other.
    let counts = |run: &&RunFigures| is_decided(run) && run.is_verified() && run.bounces > 0;
    for run in figures.iter().filter(counts) {
        let with = usize::from(run.experiment.as_deref() != Some(NO_CONTEXT));
        tasks.entry(&run.task).or_default()[with].push(run.bounces);
    }
    let mean = |counts: &[u32]| -> f64 {
        counts.iter().map(|count| f64::from(*count)).sum::<f64>() / counts.len() as f64
    };
    let pairs: Vec<(f64, f64)> = tasks
        .values()
        .filter(|[without, with]| !without.is_empty() && !with.is_empty())
        .map(|[without, with]| (mean(without), mean(with)))
        .collect();
    let n = pairs.len() as f64;
    let (without, with) =
        pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    (!pairs.is_empty()).then(|| BouncesSaved {
        tasks: u32::try_from(pairs.len()).unwrap_or(u32::MAX),
        without: without / n,
        with: with / n,
        saved: without - with,
    })
}

#[cfg(test)]
mod tests {
    use spore_model::RunStatus;

    use super::*;
    use crate::stats::tests::{raced, run};

    fn labelled(label: Option<&str>, task: &str, bounces: u32) -> RunFigures {
        RunFigures {
            experiment: label.map(str::to_owned),
            task: task.to_owned(),
            bounces,
            ..run(1, RunStatus::Verified, 1.0)
        }
    }

    #[test]
    fn attempts_are_compared_over_tasks_that_were_verified_both_ways() {
        let figures = [
            labelled(Some(NO_CONTEXT), "a", 3),
            labelled(None, "a", 1),
            labelled(None, "a", 2),
            labelled(Some(NO_CONTEXT), "b", 1),
            labelled(None, "c", 9),
        ];
        let saved = bounces_saved(&figures).unwrap();
        assert_eq!((saved.tasks, saved.without, saved.with, saved.saved), (1, 3.0, 1.5, 1.5));
        assert_eq!(bounces_saved(&figures[1..3]), None);
        let won = RunFigures { task: "b".to_owned(), ..raced(2, RunStatus::Finished, 1.0) };
        let with_race = [figures.to_vec(), vec![won]].concat();
        assert_eq!(bounces_saved(&with_race), Some(saved), "a race has no attempts of its own");
    }

    #[test]
    fn labels_and_hours_are_summed_up() {
        let hour = 3_600_000;
        let at = |run: RunFigures, millis: i64| RunFigures {
            started: Timestamp::from_millis(millis),
            ..run
        };
        let figures = [
            at(labelled(Some("x"), "a", 1), hour),
            at(labelled(None, "b", 1), hour + 1),
            at(RunFigures { status: RunStatus::Failed, ..labelled(None, "c", 1) }, -1),
            at(
                RunFigures {
                    experiment: Some("r".to_owned()),
                    ..raced(3, RunStatus::Finished, 0.0)
                },
                -1,
            ),
        ];
        let hours = dollars_by_hour(&figures, Timestamp::from_millis(0));
        assert_eq!((hours[0], hours[1], hours.iter().sum::<f64>()), (0.0, 2.0, 2.0));
        let sums = sums_by_experiment(&figures);
        let told: Vec<_> =
            sums.iter().map(|sum| (&*sum.label, sum.runs, sum.decided, sum.verified)).collect();
        assert_eq!(told, [(UNLABELLED, 2, 2, 1), ("r", 1, 1, 1), ("x", 1, 1, 1)]);
    }
}
