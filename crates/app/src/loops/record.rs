//! What the journal has of a loop: results of runs and landings, in the order in which they came.

use spore_model::{CommitId, RunId, StepKey};
use spore_pipeline::{LoopState, LoopStateRun, LoopTask, TaskLanding, TaskLoop, TaskResult};
use spore_store::Journal;

use super::settings::LoopSettings;
use crate::Result;
use crate::base::step::recorded;

/// One thing that happened to a task.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum TaskNews {
    Ended(TaskResult),
    Landed(TaskLanding),
}

impl TaskNews {
    fn number(&self) -> u32 {
        match self {
            Self::Ended(result) => result.number,
            Self::Landed(landing) => landing.number(),
        }
    }
}

/// All that happened, oldest first, each with the task's place in the list.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct LoopRecord {
    pub(crate) news: Vec<(usize, TaskNews)>,
}

impl LoopRecord {
    /// Reads it from the journal.
    pub(crate) fn read(journal: &dyn Journal, run: RunId, tasks: &[LoopTask]) -> Result<Self> {
        let mut news = Vec::new();
        for (at, task) in tasks.iter().enumerate() {
            for attempt in 1.. {
                let key = StepKey::task(&task.id, attempt);
                let Some(result) = recorded::<TaskResult>(journal, run, &key)? else { break };
                news.push((at, TaskNews::Ended(result)));
                let key = StepKey::task_landing(&task.id, attempt);
                let Some(landing) = recorded::<TaskLanding>(journal, run, &key)? else { break };
                news.push((at, TaskNews::Landed(landing)));
            }
        }
        news.sort_by_key(|(_, news)| news.number());
        Ok(Self { news })
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
            }
            if news.number() == settings.seen {
                machine.forgive();
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

    /// The newest result of a task.
    pub(crate) fn result(&self, task: usize) -> Option<&TaskResult> {
        self.news.iter().rev().find_map(|(at, news)| match news {
            TaskNews::Ended(result) if *at == task => Some(result),
            _ => None,
        })
    }

    /// The newest landing of a task.
    pub(crate) fn landing(&self, task: usize) -> Option<&TaskLanding> {
        self.news.iter().rev().find_map(|(at, news)| match news {
            TaskNews::Landed(landing) if *at == task => Some(landing),
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
            TaskNews::Landed(_) => None,
        })
    }

    /// Returns the loop as it is told beside its source, with what earlier ones left.
    pub(crate) fn state(&self, settings: &LoopSettings) -> LoopState {
        let mut state = settings.before.clone();
        state.source.clone_from(&settings.source);
        for (at, result) in self.results() {
            let task = &settings.tasks[at];
            state.total_cost += result.cost.usd;
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
            if matches!(news, TaskNews::Landed(TaskLanding::Landed { .. }))
                && !state.verified_ids.contains(&task.id)
            {
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
