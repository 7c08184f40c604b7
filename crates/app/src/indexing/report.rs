//! What there is to say about an index that was brought up to date.

use std::time::{Duration, Instant};

use serde::Serialize;
use spore_store::{CodeCounts, CodeIndex, CodeIndexError, Writer};

use super::Reporter;
use super::applying::Done;
use crate::Result;

/// The parts of the work.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Which files there are.
    Walk,
    /// Which of them changed.
    Compare,
    /// Reading, parsing, and writing what was read.
    Read,
    /// What names and imports mean.
    Resolve,
    /// Edges and look-ups.
    Write,
    /// What git knows of the past.
    History,
    /// Vectors, when all else is done.
    Embed,
}

impl Stage {
    /// Those that an index is made in; vectors come after.
    const ALL: [Self; 6] =
        [Self::Walk, Self::Compare, Self::Read, Self::Resolve, Self::Write, Self::History];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Walk => "walk",
            Self::Compare => "compare",
            Self::Read => "read",
            Self::Resolve => "resolve",
            Self::Write => "write",
            Self::History => "history",
            Self::Embed => "embed",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StageTime {
    pub stage: Stage,
    pub millis: u64,
}

/// How long each stage took.
#[derive(Default)]
pub(super) struct Stages([Duration; 7]);

impl Stages {
    pub(super) fn add(&mut self, stage: Stage, time: Duration) {
        self.0[stage as usize] += time;
    }

    /// Times one piece of work.
    pub(super) fn time<T>(&mut self, stage: Stage, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let done = work();
        self.add(stage, begun.elapsed());
        done
    }

    pub(super) fn times(&self) -> Vec<StageTime> {
        let time = |stage: Stage| StageTime { stage, millis: millis(self.0[stage as usize]) };
        Stage::ALL.into_iter().map(time).collect()
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// What was done, and what there is now.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct IndexReport {
    pub root: String,
    /// `work tree`, or the id of a tree.
    pub source: String,
    pub commit: Option<String>,
    pub index: String,
    pub added: u64,
    pub changed: u64,
    pub removed: u64,
    pub unchanged: u64,
    /// Unchanged files whose names were looked up again.
    pub resolved_again: u64,
    /// Files that no index is for.
    pub others: u64,
    #[serde(flatten)]
    pub counts: CodeCounts,
    pub stages: Vec<StageTime>,
    pub millis: u64,
    /// Files that changed since and were left for later; for those who asked in a hurry.
    #[serde(skip)]
    pub behind: u64,
}

const COUNTS: &str = "counts";

impl IndexReport {
    pub(super) fn of(index: &CodeIndex, done: &Done, unchanged: u64) -> Self {
        Self {
            index: index.path().display().to_string(),
            added: done.added,
            changed: done.changed,
            removed: done.removed,
            unchanged: unchanged + done.same,
            resolved_again: done.resolved_again,
            ..Self::default()
        }
    }

    /// Reports that nothing was to do.
    pub(super) fn unchanged(index: &CodeIndex, unchanged: u64) -> Self {
        let index = index.path().display().to_string();
        Self { index, unchanged, ..Self::default() }
    }

    /// Adds what there is, for people to read. Counting takes longer than seeing that nothing
    /// changed, so the counts are kept until something does.
    pub(super) fn count(&mut self, index: &CodeIndex) -> Result<()> {
        let kept = index.meta(COUNTS)?;
        if let Some(counts) = kept.and_then(|text| serde_json::from_str(&text).ok()) {
            self.counts = counts;
            return Ok(());
        }
        // Together, so that nobody changes the index between the counting and the note of it.
        self.counts = index.write(|writer| {
            let counts = writer.counts()?;
            writer.set_meta(COUNTS, &serde_json::to_string(&counts).unwrap_or_default())?;
            Ok::<_, CodeIndexError>(counts)
        })?;
        Ok(())
    }

    /// To be called by whoever changes an index.
    pub(super) fn forget_counts(writer: &mut Writer<'_>) -> Result<()> {
        Ok(writer.set_meta(COUNTS, "")?)
    }

    pub(super) fn took(&mut self, time: Duration) {
        self.millis = millis(time);
    }
}

/// For callers that do not listen.
pub struct Silent;

impl Reporter for Silent {
    fn progress(&self, _: Stage, _: u64, _: u64) {}

    fn note(&self, _: &str) {}
}
