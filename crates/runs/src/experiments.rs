//! Two experiments over the same tasks, and two runs, side by side. Pure.
//!
//! Tasks that both experiments worked on are pairs; what differs between tasks is the same on both
//! sides and drops out. A task that was run several times counts once, with the mean of its runs.
//! Only runs that are decided count.

use schemars::JsonSchema;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::bootstrap::{Difference, LEAST_PAIRS, difference, pairs_needed};
use crate::figures::RunFigures;
use crate::stats::is_decided;

/// Stands for the runs without a label.
pub const UNLABELLED: &str = "unlabelled";

#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct ExperimentComparison {
    pub a: String,
    pub b: String,
    /// How many tasks both worked on.
    pub pairs: usize,
    /// Fewer pairs than this tell nothing.
    pub least_pairs: usize,
    /// How many decided runs of each had no counterpart.
    pub only_a: usize,
    pub only_b: usize,
    pub measures: Vec<MeasuredDifference>,
    pub tasks: Vec<TaskPair>,
}

/// What a comparison may conclude from one measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Conclusiveness {
    TooFewPairs,
    /// The interval holds zero.
    NoDifferenceSeen,
    BMore,
    BLess,
}

#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct MeasuredDifference {
    pub measure: String,
    pub mean_a: f64,
    pub mean_b: f64,
    /// B less A; nothing where there are too few pairs for an interval.
    pub difference: Option<Difference>,
    pub finding: Conclusiveness,
    /// About how many pairs would tell a difference like this one, where these do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs_needed: Option<u32>,
}

/// One task, and the means of its runs on each side.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct TaskPair {
    pub task: String,
    pub a: TaskMeans,
    pub b: TaskMeans,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, JsonSchema)]
pub struct TaskMeans {
    pub runs: u32,
    pub cost_usd: f64,
    pub turns: f64,
    pub duration_s: f64,
    pub verified: f64,
}

type Measure = (&'static str, fn(&TaskMeans) -> f64);

const MEASURES: [Measure; 4] = [
    ("cost_usd", |means| means.cost_usd),
    ("turns", |means| means.turns),
    ("duration_s", |means| means.duration_s),
    ("verified_rate", |means| means.verified),
];

/// Compares the runs labelled `a` with those labelled `b`.
pub fn compare_experiments(figures: &[RunFigures], a: &str, b: &str) -> ExperimentComparison {
    let (of_a, mut of_b) = (by_task(figures, a), by_task(figures, b));
    let mut tasks = Vec::new();
    let mut only_a = 0;
    for (task, runs) in of_a {
        match of_b.remove(&task) {
            Some(others) => tasks.push(TaskPair {
                task: spore_plain::line_within(&task, 100),
                a: means(&runs),
                b: means(&others),
            }),
            None => only_a += runs.len(),
        }
    }
    ExperimentComparison {
        a: a.to_owned(),
        b: b.to_owned(),
        pairs: tasks.len(),
        least_pairs: LEAST_PAIRS,
        only_a,
        only_b: of_b.values().map(Vec::len).sum(),
        measures: MEASURES.iter().map(|measure| measured(measure, &tasks)).collect(),
        tasks,
    }
}

fn by_task<'f>(figures: &'f [RunFigures], label: &str) -> BTreeMap<String, Vec<&'f RunFigures>> {
    let mut tasks: BTreeMap<String, Vec<&RunFigures>> = BTreeMap::new();
    let labelled = |run: &&RunFigures| run.experiment.as_deref().unwrap_or(UNLABELLED) == label;
    for run in figures.iter().filter(|run| is_decided(run)).filter(labelled) {
        let words: Vec<&str> = run.task.split_whitespace().collect();
        tasks.entry(words.join(" ")).or_default().push(run);
    }
    tasks
}

fn means(runs: &[&RunFigures]) -> TaskMeans {
    let mean = |of: fn(&RunFigures) -> f64| {
        runs.iter().map(|run| of(run)).sum::<f64>() / runs.len() as f64
    };
    TaskMeans {
        runs: u32::try_from(runs.len()).unwrap_or(u32::MAX),
        cost_usd: mean(|run| run.cost.usd.as_dollars()),
        turns: mean(|run| f64::from(run.turns)),
        duration_s: mean(|run| run.duration_ms as f64 / 1000.0),
        verified: mean(|run| if run.is_verified() { 1.0 } else { 0.0 }),
    }
}

fn measured((measure, of): &Measure, tasks: &[TaskPair]) -> MeasuredDifference {
    let mean = |values: Vec<f64>| match values.len() {
        0 => 0.0,
        n => values.iter().sum::<f64>() / n as f64,
    };
    let pairs: Vec<f64> = tasks.iter().map(|task| of(&task.b) - of(&task.a)).collect();
    let found = difference(&pairs).filter(|_| pairs.len() >= LEAST_PAIRS);
    let finding = match found {
        None => Conclusiveness::TooFewPairs,
        Some(found) if found.low > 0.0 => Conclusiveness::BMore,
        Some(found) if found.high < 0.0 => Conclusiveness::BLess,
        Some(_) => Conclusiveness::NoDifferenceSeen,
    };
    let in_doubt = finding == Conclusiveness::NoDifferenceSeen;
    MeasuredDifference {
        measure: (*measure).to_owned(),
        mean_a: mean(tasks.iter().map(|task| of(&task.a)).collect()),
        mean_b: mean(tasks.iter().map(|task| of(&task.b)).collect()),
        difference: found,
        finding,
        pairs_needed: in_doubt.then(|| pairs_needed(&pairs)).flatten(),
    }
}

#[cfg(test)]
mod tests {
    use spore_model::RunStatus;

    use super::*;
    use crate::stats::tests::{raced, run};

    fn labelled(number: u32, task: u32, label: Option<&str>, dollars: f64) -> RunFigures {
        RunFigures {
            experiment: label.map(str::to_owned),
            task: format!("task  {task}\n"),
            ..run(number, RunStatus::Verified, dollars)
        }
    }

    fn made(tasks: u32, effect: f64) -> Vec<RunFigures> {
        let pair = |task: u32| {
            let base = 2.0 + f64::from(task * 37 % 11) / 10.0;
            let luck = f64::from(task * 53 % 7) / 100.0 - 0.03;
            [
                labelled(task, task, Some("no-context"), base),
                labelled(task, task, None, base + effect + luck),
            ]
        };
        (1..=tasks).flat_map(pair).collect()
    }

    #[track_caller]
    fn check(tasks: u32, effect: f64, expected: Conclusiveness) {
        let compared = compare_experiments(&made(tasks, effect), "no-context", UNLABELLED);
        assert_eq!(compared.pairs, tasks as usize);
        let cost = &compared.measures[0];
        assert_eq!((cost.measure.as_str(), cost.finding), ("cost_usd", expected), "{cost:?}");
        assert_eq!(cost.difference.is_some(), expected != Conclusiveness::TooFewPairs);
    }

    #[test]
    fn an_effect_is_told_from_none_and_from_too_little_to_tell() {
        check(30, -0.3, Conclusiveness::BLess);
        check(30, 0.3, Conclusiveness::BMore);
        check(28, 0.0, Conclusiveness::NoDifferenceSeen);
        check(9, -0.3, Conclusiveness::TooFewPairs);
        check(0, 0.0, Conclusiveness::TooFewPairs);
    }

    #[test]
    fn a_race_that_was_won_is_a_verified_task_of_its_label() {
        let of_label = |label: &str, run: RunFigures| RunFigures {
            experiment: Some(label.to_owned()),
            task: "task".to_owned(),
            ..run
        };
        let runs = [
            of_label("a", run(1, RunStatus::Escalated, 1.0)),
            of_label("b", raced(2, RunStatus::Finished, 1.0)),
        ];
        let compared = compare_experiments(&runs, "a", "b");
        let [task] = compared.tasks.as_slice() else { panic!("{compared:?}") };
        assert_eq!((task.a.verified, task.b.verified), (0.0, 1.0));
    }

    #[test]
    fn a_task_counts_once_and_one_without_a_counterpart_does_not() {
        let runs = [
            labelled(1, 1, Some("a"), 1.0),
            labelled(2, 1, Some("a"), 3.0),
            labelled(3, 1, Some("b"), 5.0),
            labelled(4, 2, Some("b"), 9.0),
            RunFigures { status: RunStatus::Running, ..labelled(5, 2, Some("a"), 9.0) },
        ];
        let compared = compare_experiments(&runs, "a", "b");
        assert_eq!((compared.pairs, compared.only_a, compared.only_b), (1, 0, 1));
        assert_eq!((compared.tasks[0].a.runs, compared.tasks[0].a.cost_usd), (2, 2.0));
        assert_eq!(compared.measures[0].mean_b, 5.0);
    }
}
