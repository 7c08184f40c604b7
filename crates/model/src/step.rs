//! A step of a run: what a crash may do to its effect, and what the record says of it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{EventId, StepKey, Timestamp};

/// What may happen to an effect when the process dies between its intent and its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// A commit, ref, row, file or event: doing it again with the same key changes nothing.
    Keyed,
    /// May run again, under a higher attempt number; only the newest attempt's result counts.
    Fenced,
    /// Costs money: may happen again after a crash, and every time is booked.
    Paid,
}

/// A step that has begun and has no result: which attempt this is, and what exactly was meant
/// to be done when it was first begun. Doing it again must do that very thing.
#[derive(Clone, PartialEq, Debug)]
pub struct Ticket {
    pub attempt: u32,
    pub intent: Value,
}

impl Ticket {
    /// Returns what the first attempt planned under `name`: an id of a row it opens, a time.
    pub fn planned<T: DeserializeOwned>(&self, name: &str) -> Result<T, serde_json::Error> {
        T::deserialize(&self.intent[name])
    }

    /// Returns when the step was first begun. Commits and nodes carry this time, so that a
    /// step that is done again makes the same ones.
    pub fn time(&self) -> Result<Timestamp, serde_json::Error> {
        self.planned("at")
    }
}

/// What the record says about a step that a run comes to.
#[derive(Clone, PartialEq, Debug)]
pub enum Begun<T> {
    /// It has to be done, and may have been tried before.
    Do(Ticket),
    /// It has been done; this is its result.
    Done(T),
}

/// The keys of all steps: a look-up of a result and its record cannot differ. Those of the
/// layers of a flow are made by the machines in `spore_compose`.
impl StepKey {
    pub fn prepare() -> Self {
        Self::of("prepare")
    }

    pub fn baseline() -> Self {
        Self::of("baseline")
    }

    pub fn tester() -> Self {
        Self::of("tester")
    }

    pub fn coder(bounce: u32) -> Self {
        Self::of(format!("coder/{bounce}"))
    }

    pub fn snapshot(bounce: u32) -> Self {
        Self::of(format!("snapshot/{bounce}"))
    }

    /// Verified work, brought onto another commit.
    pub fn rebase() -> Self {
        Self::of("rebase")
    }

    pub fn gates(bounce: u32) -> Self {
        Self::of(format!("gates/{bounce}"))
    }

    /// `attempt` counts restarts of a verifier that broke down; the first is 1.
    pub fn verifier(bounce: u32, attempt: u32) -> Self {
        Self::of(match attempt {
            1 => format!("verifier/{bounce}"),
            _ => format!("verifier/{bounce}/{attempt}"),
        })
    }

    pub fn close(bounce: u32) -> Self {
        Self::of(format!("close/{bounce}"))
    }

    pub fn commit() -> Self {
        Self::of("commit")
    }

    pub fn apply() -> Self {
        Self::of("apply")
    }

    pub fn escalate() -> Self {
        Self::of("escalate")
    }

    pub fn summarize() -> Self {
        Self::of("summarize")
    }

    pub fn solo() -> Self {
        Self::of("solo")
    }

    /// The last step of a run of any kind.
    pub fn finish() -> Self {
        Self::of("finish")
    }

    pub fn rollback() -> Self {
        Self::of("rollback")
    }

    /// The one session of a spawn or an exec.
    pub fn session() -> Self {
        Self::of("session")
    }

    /// What the session of an exec asked in an attempt.
    pub fn question(attempt: u32) -> Self {
        Self::of(format!("ask/{attempt}"))
    }

    /// A person's look at a version of a campaign's plan.
    pub fn review(revision: u32) -> Self {
        Self::of(format!("review/{revision}"))
    }

    /// A run of a task in a list; `attempt` counts how often verified work on it came back.
    pub fn task(id: &str, attempt: u32) -> Self {
        Self::of(format!("task/{id}/{attempt}"))
    }

    /// What became of it at the branch.
    pub fn task_landing(id: &str, attempt: u32) -> Self {
        Self::of(format!("land/{id}/{attempt}"))
    }

    /// The tip and the run that a later turn of that landing is planned with.
    pub fn landing_turn(id: &str, attempt: u32, turn: u32) -> Self {
        Self::of(format!("land/{id}/{attempt}/turn/{turn}"))
    }

    /// A correction that `events collect` found, by the event that tells of it.
    pub fn correction(event: EventId) -> Self {
        Self::of(format!("correction/{event}"))
    }

    /// What a model's pass says about one directory, by a digest of its path and of what it holds.
    pub fn directory(digest: &str) -> Self {
        Self::of(format!("directory/{digest}"))
    }

    /// What a model's pass says about a whole tree, or a large part of one, by a digest of what it was
    /// asked.
    pub fn short_pass(word: &'static str, digest: &str) -> Self {
        Self::of(format!("{word}/{digest}"))
    }

    /// One of several of the same kind, such as a batch of cases that a judge is asked about.
    pub fn numbered(word: &'static str, number: u32) -> Self {
        Self::of(format!("{word}/{number}"))
    }

    /// A step of a run whose steps are single words, such as a pass over memory.
    pub fn named(word: &'static str) -> Self {
        Self::of(word)
    }

    #[expect(clippy::expect_used, reason = "words and numbers are graphic ASCII, and short")]
    fn of(text: impl Into<String>) -> Self {
        Self::new(text.into()).expect("a step's name is a key")
    }
}
