//! What a loop over a list of tasks has to say of its own.

use std::fmt;
use std::time::Duration;

use spore_model::{Cost, Park, RunId, Timestamp, Usd};
use spore_runs::time_in_words;

use super::words::{counted, first_line};

/// One thing worth telling of a loop. `Display` is the plain line.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
#[serde(tag = "update", rename_all = "snake_case")]
pub enum LoopUpdate {
    /// A list of tasks is being worked through.
    LoopStarted {
        run: RunId,
        settings: Box<LoopSummary>,
    },
    TaskStarted {
        task: String,
        title: String,
        attempt: u32,
    },
    /// A run of a task ended, and is not verified.
    TaskEnded {
        task: String,
        status: String,
        cost: Cost,
        reason: String,
    },
    TaskWaits {
        task: String,
        park: Park,
        until: Option<Timestamp>,
        reason: String,
    },
    TaskLanded {
        task: String,
        commit: String,
        branch: String,
        cost: Cost,
    },
    /// Verified work does not fit what landed before it.
    TaskBack {
        task: String,
        why: String,
    },
    /// It was verified under the name that the person gave it, in other words.
    TaskChanged {
        task: String,
    },
    /// The person wrote it anew while it is worked on: it is brought to its end as it was begun.
    TaskKept {
        task: String,
    },
    CostAnomaly {
        task: String,
        cost: Usd,
        mean: Usd,
    },
    /// Nothing can go on before an agent's limit is over.
    LoopWaits {
        backend: String,
        until: Timestamp,
    },
    /// How long an agent is over its limit yet. For those who look on; no line of its own.
    AgentLimited {
        backend: String,
        left_ms: u64,
    },
    /// How far a loop is. For those who look on; no line of its own.
    LoopTotals {
        verified: u32,
        running: u32,
        fell_short: u32,
        of: u32,
        cost: Usd,
        budget: Option<Usd>,
    },
}

/// What a loop is started with, for people.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct LoopSummary {
    pub source: String,
    pub tasks: u32,
    /// Verified before, or ticked off.
    pub settled: u32,
    pub budget: Option<Usd>,
    /// What earlier loops over the list cost.
    pub spent: Usd,
    pub max_runs: Option<u32>,
    pub parallel: u32,
    pub cooldown_ms: u64,
    pub backend: String,
    pub model: Option<String>,
    pub max_bounces: u32,
    pub summarize: bool,
    pub branch: String,
    pub start: String,
    pub apply: String,
    pub state_file: Option<String>,
}

impl fmt::Display for LoopSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", counted(self.tasks, "task"))?;
        if self.settled > 0 {
            write!(f, ", {} of them done before", self.settled)?;
        }
        match self.parallel {
            1 => write!(f, "; one at a time")?,
            several => write!(f, "; {several} at once")?,
        }
        if let Some(budget) = self.budget {
            write!(f, ", {budget} in all")?;
        }
        if self.spent > Usd::ZERO {
            write!(f, " of which {} are spent", self.spent)?;
        }
        if let Some(most) = self.max_runs {
            write!(f, ", {} at most", counted(most, "run"))?;
        }
        let model = self.model.as_deref().map(|model| format!(" {model}")).unwrap_or_default();
        let bounces = counted(self.max_bounces, "attempt");
        write!(f, ", {bounces} a task; {}{model}", self.backend)?;
        match self.cooldown_ms {
            0 => {}
            millis @ 1..1000 => write!(f, ", {millis} ms between tasks")?,
            millis => {
                let cooldown = time_in_words(Duration::from_millis(millis));
                write!(f, ", {cooldown} between tasks")?;
            }
        }
        if self.summarize {
            write!(f, ", summed up")?;
        }
        let start = &self.start[..12.min(self.start.len())];
        write!(f, "; onto {} from {start}, applied as {}", self.branch, self.apply)
    }
}

impl fmt::Display for LoopUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LoopStarted { run, settings } => write!(f, "Loop {}: {settings}.", run.short()),
            Self::TaskStarted { task, title, attempt: 1 } => write!(f, "[{task}] {title}"),
            Self::TaskStarted { task, title, .. } => write!(f, "[{task}] once more: {title}"),
            Self::TaskEnded { task, status, cost, reason } => {
                write!(f, "[{task}] {status} after {cost}: {}", first_line(reason))
            }
            Self::TaskWaits { task, park, until, reason } => {
                let what = match park {
                    Park::Budget => "budget",
                    Park::Quota => "quota",
                    Park::Human => "a person",
                    Park::Interrupt => "resume",
                };
                let until = until.map(|until| format!(" until {until}")).unwrap_or_default();
                write!(f, "[{task}] waits for {what}{until}: {}", first_line(reason))
            }
            Self::TaskLanded { task, commit, branch, cost } => {
                let commit = &commit[..12.min(commit.len())];
                write!(f, "[{task}] verified for {cost}: {commit} on {branch}")
            }
            Self::TaskBack { task, why } => write!(
                f,
                "[{task}] verified, but does not fit what landed before it: {}",
                first_line(why)
            ),
            Self::TaskChanged { task } => write!(
                f,
                "[{task}] was verified before, in other words: give it another id to have it done again"
            ),
            Self::TaskKept { task } => write!(
                f,
                "[{task}] was begun in other words and is brought to its end in those: give it another \
                 id to have the new ones done"
            ),
            Self::CostAnomaly { task, cost, mean } => {
                write!(f, "[{task}] cost {cost}, and those before it {mean} in the mean")
            }
            Self::LoopWaits { backend, until } => {
                write!(f, "{backend} is over its limit: the loop goes on by itself at {until}")
            }
            Self::AgentLimited { backend, left_ms } => {
                write!(f, "{backend} is over its limit for {} s", left_ms.div_ceil(1000))
            }
            Self::LoopTotals { verified, running, fell_short, of, cost, budget } => {
                write!(f, "{verified} of {} verified", counted(*of, "task"))?;
                if *running > 0 {
                    write!(f, " · {running} under way")?;
                }
                if *fell_short > 0 {
                    write!(f, " · {fell_short} fell short")?;
                }
                match budget {
                    Some(budget) => write!(f, " · {cost} of {budget}"),
                    None => write!(f, " · {cost}"),
                }
            }
        }
    }
}
