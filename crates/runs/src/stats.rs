//! Whether it helps: how many runs were verified, for how much, and what their context was worth.
//!
//! Pure: figures in, statistics out. Only tasks that are decided count, so that a run which is
//! still at work is neither a success nor a failure. A task counts the same whether it was asked for
//! by itself or stands in a list; what was paid counts once, with what was asked for.

use schemars::JsonSchema;
use std::collections::BTreeMap;

use serde::Serialize;
use spore_model::{Cost, RunKind, RunStatus, Usd};

use crate::figures::RunFigures;

#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct RunStats {
    /// All that were asked for, by status.
    pub runs: u32,
    pub by_status: BTreeMap<String, u32>,
    /// The tasks among them and in their lists and flows; a race is one, and verified where one of
    /// its racers has won.
    pub tasks: u32,
    pub tasks_by_status: BTreeMap<String, u32>,
    /// Tasks that were judged or given up after an attempt; a cancelled one was not decided by its work,
    /// and neither was one that found the checks red before it began.
    pub decided: u32,
    pub verified: u32,
    /// Of the decided ones.
    pub verified_rate: Option<f64>,
    /// Verified by the first attempt, of the verified ones.
    pub first_attempt_rate: Option<f64>,
    /// Of everything that was asked for.
    pub cost: Cost,
    /// What all decided tasks cost, also those in vain, for each verified one.
    pub cost_per_verified: Option<Cost>,
    /// Of the decided tasks.
    pub turns: Option<Spread>,
    pub bounces: Option<Spread>,
    pub duration_ms: Option<Spread>,
    pub cost_usd: Option<Spread>,
    pub context: Option<ContextStats>,
    /// Why tasks ended without being verified, the commonest first.
    pub reasons: Vec<ReasonCount>,
}

impl RunStats {
    /// Returns how many runs there are and how they stand, in words; and the same of the tasks where
    /// these are not the runs.
    pub fn counts(&self) -> Vec<(&'static str, String)> {
        let told = |all: u32, by_status: &BTreeMap<String, u32>| {
            let parts: Vec<String> =
                by_status.iter().map(|(status, runs)| format!("{runs} {status}")).collect();
            format!("{all}: {}", parts.join(", "))
        };
        let mut counts = Vec::new();
        if self.runs > 0 {
            counts.push(("runs", told(self.runs, &self.by_status)));
        }
        if self.tasks > 0 && self.tasks_by_status != self.by_status {
            counts.push(("tasks", told(self.tasks, &self.tasks_by_status)));
        }
        counts
    }
}

/// The middle and the ends of some figures.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Spread {
    pub least: f64,
    pub median: f64,
    pub mean: f64,
    pub most: f64,
}

/// Of the files that runs changed, how many their task files named, and at which place.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct ContextStats {
    /// Runs that changed a file which was there before, and whose task file named any.
    pub runs: u32,
    pub changed: u32,
    pub named: u32,
    pub hit_rate: f64,
    /// Runs all of whose changed files were named.
    pub complete: u32,
    pub median_rank: Option<f64>,
    /// Hits that were among the first this many.
    pub in_first_three: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct ReasonCount {
    pub reason: String,
    pub runs: u32,
}

/// More reasons than this are not told.
const REASONS: usize = 5;

pub fn stats_of(figures: &[RunFigures]) -> RunStats {
    let roots: Vec<&RunFigures> = figures.iter().filter(|run| run.is_root()).collect();
    let tasks: Vec<&RunFigures> = figures.iter().filter(|run| run.is_task()).collect();
    let decided: Vec<&RunFigures> = figures.iter().filter(|run| is_decided(run)).collect();
    let verified: Vec<&RunFigures> =
        decided.iter().copied().filter(|run| run.is_verified()).collect();
    // The attempts of a race are those of its racers.
    let tried = |run: &&&RunFigures| run.kind != RunKind::Race;
    let first = verified.iter().filter(tried).filter(|run| run.bounces == 1).count();
    let paid: Cost = decided.iter().map(|run| run.cost).sum();
    let spread = |of: fn(&RunFigures) -> f64| spread(decided.iter().map(|run| of(run)).collect());
    let attempts = decided.iter().filter(tried).map(|run| f64::from(run.bounces)).collect();
    RunStats {
        runs: count(roots.len()),
        by_status: counted(&roots, |run| run.status),
        tasks: count(tasks.len()),
        tasks_by_status: counted(&tasks, |run| match run.is_verified() {
            true => RunStatus::Verified,
            false => run.status,
        }),
        decided: count(decided.len()),
        verified: count(verified.len()),
        verified_rate: rate(verified.len(), decided.len()),
        first_attempt_rate: rate(first, verified.iter().filter(tried).count()),
        cost: roots.iter().map(|run| run.cost).sum(),
        cost_per_verified: i64::try_from(verified.len()).ok().filter(|n| *n > 0).map(|n| Cost {
            usd: Usd::from_nanos(paid.usd.as_nanos() / n),
            estimated: paid.estimated,
        }),
        turns: spread(|run| f64::from(run.turns)),
        bounces: self::spread(attempts),
        duration_ms: spread(|run| run.duration_ms as f64),
        cost_usd: spread(|run| run.cost.usd.as_dollars()),
        context: context_stats(figures),
        reasons: reasons(&decided),
    }
}

fn counted(
    figures: &[&RunFigures],
    status: impl Fn(&RunFigures) -> RunStatus,
) -> BTreeMap<String, u32> {
    let mut by_status: BTreeMap<String, u32> = BTreeMap::new();
    for run in figures {
        *by_status.entry(status(run).to_string()).or_default() += 1;
    }
    by_status
}

/// Returns whether a run is a task whose end was decided by its work.
pub(crate) fn is_decided(run: &RunFigures) -> bool {
    let ends = [
        RunStatus::Escalated,
        RunStatus::Failed,
        // It was verified, and a person took it back: that is no success.
        RunStatus::RolledBack,
    ];
    // Where no attempt was made, at a red base, nothing was decided by one.
    let was_tried = run.bounces > 0 || run.kind == RunKind::Race && run.turns > 0;
    run.is_task() && (run.is_verified() || was_tried && ends.contains(&run.status))
}

fn context_stats(figures: &[RunFigures]) -> Option<ContextStats> {
    let told: Vec<_> = figures
        .iter()
        .filter_map(|run| run.context.as_ref())
        .filter(|context| context.named > 0 && !context.changed.is_empty())
        .collect();
    let ranks: Vec<u32> = told.iter().flat_map(|context| context.ranks()).collect();
    let changed: usize = told.iter().map(|context| context.changed.len()).sum();
    let complete =
        told.iter().filter(|context| context.ranks().count() == context.changed.len()).count();
    Some(ContextStats {
        runs: count(told.len()),
        changed: count(changed),
        named: count(ranks.len()),
        hit_rate: rate(ranks.len(), changed)?,
        complete: count(complete),
        median_rank: spread(ranks.iter().map(|rank| f64::from(*rank)).collect())
            .map(|spread| spread.median),
        in_first_three: count(ranks.iter().filter(|rank| **rank <= 3).count()),
    })
}

fn reasons(decided: &[&RunFigures]) -> Vec<ReasonCount> {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for run in decided.iter().filter(|run| !run.is_verified()) {
        let reason = run.reason.as_deref().unwrap_or("no reason is on record");
        *counts.entry(spore_plain::line_within(reason, 100)).or_default() += 1;
    }
    let mut reasons: Vec<ReasonCount> =
        counts.into_iter().map(|(reason, runs)| ReasonCount { reason, runs }).collect();
    reasons.sort_by(|a, b| (b.runs, &a.reason).cmp(&(a.runs, &b.reason)));
    reasons.truncate(REASONS);
    reasons
}

pub(crate) fn spread(mut values: Vec<f64>) -> Option<Spread> {
    let half = values.len() / 2;
    let is_even = values.len().is_multiple_of(2);
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    let most = values.iter().copied().max_by(f64::total_cmp)?;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    // The rest need not be sorted, which is most of the work where there are thousands.
    let (below, middle, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    let median = match below.iter().copied().max_by(f64::total_cmp) {
        Some(before) if is_even => f64::midpoint(before, *middle),
        _ => *middle,
    };
    Some(Spread { least, median, mean, most })
}

fn rate(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
pub(crate) mod tests {
    use spore_model::{ContextUse, RunId, Timestamp};

    use super::*;

    pub(crate) fn run(number: u32, status: RunStatus, dollars: f64) -> RunFigures {
        RunFigures {
            id: RunId::from_parts(0, u128::from(number)),
            parent: None,
            kind: RunKind::Orchestrate,
            name: format!("task {number}"),
            status,
            started: Timestamp::from_millis(i64::from(number)),
            duration_ms: u64::from(number) * 1000,
            turns: number,
            bounces: 1,
            cost: Cost::exact(Usd::from_dollars(dollars).unwrap()),
            experiment: None,
            reason: Some("the checks were red".to_owned()),
            task: format!("task {number}"),
            context: None,
        }
    }

    /// A race as its row has it: its attempts are those of its racers, and no verdict is its own.
    pub(crate) fn raced(number: u32, status: RunStatus, dollars: f64) -> RunFigures {
        RunFigures { kind: RunKind::Race, bounces: 0, ..run(number, status, dollars) }
    }

    #[test]
    fn a_race_that_was_won_is_verified_and_one_that_none_won_is_not() {
        let won = raced(1, RunStatus::Finished, 2.0);
        let stats = stats_of(&[won.clone(), raced(2, RunStatus::Escalated, 1.0)]);
        assert_eq!((stats.decided, stats.verified), (2, 1));
        assert_eq!(stats.verified_rate, Some(0.5));
        assert_eq!(stats.cost_per_verified, Some(Cost::exact(Usd::from_dollars(3.0).unwrap())));
        assert_eq!(stats.tasks_by_status, [("escalated", 1), ("verified", 1)].map(owned).into());
        assert_eq!(stats.by_status, [("escalated", 1), ("finished", 1)].map(owned).into());
        assert_eq!(stats.first_attempt_rate, None);
        // A session on its own has finished, too, and is no task.
        let spawned = RunFigures { kind: RunKind::Spawn, ..won };
        assert_eq!(stats_of(&[spawned]).decided, 0);
    }

    fn owned((word, count): (&str, u32)) -> (String, u32) {
        (word.to_owned(), count)
    }

    #[test]
    fn what_was_paid_in_vain_is_in_the_price_of_a_verified_change() {
        let stats = stats_of(&[
            run(1, RunStatus::Verified, 1.0),
            run(2, RunStatus::Escalated, 2.5),
            run(3, RunStatus::Verified, 0.5),
            run(4, RunStatus::Running, 9.0),
            run(5, RunStatus::Cancelled, 7.0),
        ]);
        assert_eq!((stats.runs, stats.decided, stats.verified), (5, 3, 2));
        assert_eq!(stats.cost_per_verified, Some(Cost::exact(Usd::from_dollars(2.0).unwrap())));
        assert_eq!(stats.cost.usd, Usd::from_dollars(20.0).unwrap());
        assert_eq!(
            stats.turns.map(|turns| (turns.least, turns.median, turns.most)),
            Some((1.0, 2.0, 3.0))
        );
        assert_eq!(stats.reasons, [ReasonCount { reason: "the checks were red".into(), runs: 1 }]);
    }

    #[test]
    fn a_task_of_a_list_counts_as_one_and_is_paid_once() {
        let list = RunFigures { kind: RunKind::Loop, ..run(1, RunStatus::Partial, 3.0) };
        let of_list = |number, status, dollars| RunFigures {
            parent: Some(list.id),
            ..run(number, status, dollars)
        };
        let race = raced(5, RunStatus::Finished, 2.0);
        let stats = stats_of(&[
            list.clone(),
            of_list(2, RunStatus::Verified, 1.0),
            of_list(3, RunStatus::Escalated, 2.0),
            run(4, RunStatus::Verified, 0.5),
            race,
        ]);
        assert_eq!((stats.runs, stats.tasks, stats.decided, stats.verified), (3, 4, 4, 3));
        assert_eq!(stats.cost.usd, Usd::from_dollars(5.5).unwrap());
        assert_eq!(stats.first_attempt_rate, Some(1.0));
        let of = |word: &str| stats.tasks_by_status.get(word).copied();
        assert_eq!((of("verified"), of("escalated"), of("partial")), (Some(3), Some(1), None));
    }

    #[test]
    fn a_run_without_an_attempt_decides_nothing() {
        let red_base = |number| RunFigures { bounces: 0, ..run(number, RunStatus::Failed, 0.0) };
        let race = RunFigures { turns: 0, ..raced(3, RunStatus::Failed, 0.0) };
        let stats = stats_of(&[red_base(1), run(2, RunStatus::Verified, 1.0), race]);
        assert_eq!((stats.tasks, stats.decided, stats.verified_rate), (3, 1, Some(1.0)));
        let partial = stats_of(&[raced(4, RunStatus::Partial, 1.0)]);
        assert_eq!((partial.decided, partial.verified), (1, 1));
    }

    #[test]
    fn nothing_has_no_rates() {
        let stats = stats_of(&[]);
        assert_eq!(
            (stats.verified_rate, stats.cost_per_verified, stats.context),
            (None, None, None)
        );
        let none = stats_of(&[run(1, RunStatus::Failed, 1.0)]);
        assert_eq!((none.verified_rate, none.cost_per_verified), (Some(0.0), None));
    }

    #[test]
    fn a_hit_is_a_changed_file_that_was_named() {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let told = |named: &[&str], changed: &[&str]| RunFigures {
            context: Some(ContextUse::of(&words(named), words(changed))),
            ..run(1, RunStatus::Verified, 0.0)
        };
        let stats = stats_of(&[
            told(&["a", "b", "c", "d"], &["d", "x"]),
            told(&["a"], &["a"]),
            // Was told nothing, or made new files alone: no hit could be expected.
            told(&[], &["a"]),
            told(&["a"], &[]),
        ]);
        let context = stats.context.unwrap();
        assert_eq!((context.runs, context.changed, context.named, context.complete), (2, 3, 2, 1));
        assert_eq!((context.median_rank, context.in_first_three), (Some(2.5), 1));
    }
}
