//! What the journal has of a loop: results of runs and landings, in the order in which they came.

use std::collections::{BTreeMap, BTreeSet};

use spore_model::{CommitId, RunId, StepKey, Usd};
use spore_pipeline::{LoopState, LoopStateRun, LoopTask, TaskLanding, TaskLoop, TaskResult};
use spore_store::Journal;

use super::settings::LoopSettings;
use crate::Result;
use crate::base::step::{begun_run, recorded};

/// One thing that happened to a task.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum TaskNews {
    Ended(TaskResult),
    Landed(TaskLanding),
    /// The person wrote it anew, after the result with this number.
    Edited(u32),
}

impl TaskNews {
    fn number(&self) -> u32 {
        match self {
            Self::Ended(result) => result.number,
            Self::Landed(landing) => landing.number(),
            Self::Edited(number) => *number,
        }
    }
}

/// Returns what everything below a loop has cost so far, what is under way and landings, too.
pub(crate) fn spent_by(journal: &dyn Journal, run: RunId) -> Result<Usd> {
    let mut spent = Usd::ZERO;
    for child in journal.children(run)? {
        spent += journal.ledger(child.id)?.iter().map(|entry| entry.cost.usd).sum();
    }
    Ok(spent)
}

/// All that happened, oldest first, each with the task's place in the list.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct LoopRecord {
    pub(crate) news: Vec<(usize, TaskNews)>,
    /// Tasks with a run whose result is not on record.
    pub(crate) under_way: BTreeSet<usize>,
    /// Why tasks wait that this process could not go on with.
    pub(crate) waits: BTreeMap<usize, String>,
}

impl LoopRecord {
    /// Reads it from the journal.
    pub(crate) fn read(journal: &dyn Journal, run: RunId, tasks: &[LoopTask]) -> Result<Self> {
        let (mut news, mut under_way) = (Vec::new(), BTreeSet::new());
        for (at, task) in tasks.iter().enumerate() {
            for edition in 0..=task.edition {
                if edition > 0 {
                    let last = news.last().map_or(0, |(_, news): &(usize, TaskNews)| news.number());
                    news.push((at, TaskNews::Edited(last)));
                }
                let id = task.key(edition);
                for attempt in 1.. {
                    let key = StepKey::task(&id, attempt);
                    let Some(result) = recorded::<TaskResult>(journal, run, &key)? else {
                        if edition == task.edition && begun_run(journal, run, &key)?.is_some() {
                            under_way.insert(at);
                        }
                        break;
                    };
                    news.push((at, TaskNews::Ended(result)));
                    let key = StepKey::task_landing(&id, attempt);
                    let Some(landing) = recorded::<TaskLanding>(journal, run, &key)? else { break };
                    news.push((at, TaskNews::Landed(landing)));
                }
            }
        }
        news.sort_by_key(|(_, news)| news.number());
        Ok(Self { news, under_way, waits: BTreeMap::new() })
    }

    /// Brings a machine to where the loop was.
    pub(crate) fn replay(
        &self,
        machine: &mut TaskLoop,
        settings: &LoopSettings,
        now: spore_model::Timestamp,
    ) {
        for (task, news) in &self.news {
            match news {
                TaskNews::Ended(result) => {
                    machine.begun(*task);
                    let _ = machine.ended(*task, result, now);
                }
                TaskNews::Landed(landing) => {
                    machine.landing(*task);
                    machine.landed(*task, landing);
                }
                TaskNews::Edited(_) => machine.edited(*task),
            }
            if news.number() == settings.seen {
                machine.forgive();
            }
        }
        for (at, task) in settings.tasks.iter().enumerate() {
            if task.removed && !self.under_way.contains(&at) {
                machine.taken_out(at);
            }
        }
    }

    /// The tip of the branch.
    pub(crate) fn tip(&self, settings: &LoopSettings) -> CommitId {
        let landed = self.news.iter().rev().find_map(|(_, news)| match news {
            TaskNews::Landed(TaskLanding::Landed { commit, .. }) => Some(commit.clone()),
            _ => None,
        });
        landed.unwrap_or_else(|| settings.start.clone())
    }

    /// What happened to a task since the person wrote it as it is, newest first.
    fn of_task(&self, task: usize) -> impl Iterator<Item = &TaskNews> {
        let own = self.news.iter().rev().filter(move |(at, _)| *at == task);
        own.map(|(_, news)| news).take_while(|news| !matches!(news, TaskNews::Edited(_)))
    }

    /// The newest result of a task.
    pub(crate) fn result(&self, task: usize) -> Option<&TaskResult> {
        self.of_task(task).find_map(|news| match news {
            TaskNews::Ended(result) => Some(result),
            _ => None,
        })
    }

    /// The newest landing of a task.
    pub(crate) fn landing(&self, task: usize) -> Option<&TaskLanding> {
        self.of_task(task).find_map(|news| match news {
            TaskNews::Landed(landing) => Some(landing),
            _ => None,
        })
    }

    /// How many things happened.
    pub(crate) fn last_number(&self) -> u32 {
        self.news.last().map_or(0, |(_, news)| news.number())
    }

    fn results(&self) -> impl Iterator<Item = (usize, &TaskResult)> {
        self.news.iter().filter_map(|(at, news)| match news {
            TaskNews::Ended(result) => Some((*at, result)),
            TaskNews::Landed(_) | TaskNews::Edited(_) => None,
        })
    }

    /// Returns the loop as it is told beside its source, with what earlier ones left; `spent` is all
    /// that this one has cost, what did not end and landings, too.
    pub(crate) fn state(&self, settings: &LoopSettings, spent: Usd) -> LoopState {
        let mut state = settings.before.clone();
        state.source.clone_from(&settings.source);
        state.total_cost += spent;
        for (at, result) in self.results() {
            let task = &settings.tasks[at];
            state.runs.push(LoopStateRun {
                task: task.text.clone(),
                id: task.id.clone(),
                status: status_word(result).to_owned(),
                cost: result.cost.usd,
                duration_ms: result.duration_ms,
                run: Some(result.run),
            });
        }
        for (at, news) in &self.news {
            let task = &settings.tasks[*at];
            let TaskNews::Landed(TaskLanding::Landed { commit, .. }) = news else { continue };
            state.commits.insert(task.id.clone(), commit.clone());
            if !state.verified_ids.contains(&task.id) {
                state.verified_ids.push(task.id.clone());
                state.verified_tasks.push(task.text.clone());
            }
        }
        state
    }
}

/// The word for how a run ended, from its outcome and nothing else.
pub(crate) fn status_word(result: &TaskResult) -> &'static str {
    use spore_model::Outcome;
    match result.outcome {
        Outcome::Success => "verified",
        Outcome::NeedsEscalation => "escalated",
        Outcome::Interrupted => "cancelled",
        _ => "failed",
    }
}
