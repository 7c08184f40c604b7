//! What there is to say about an index that was brought up to date.

use std::time::Duration;

use serde::Serialize;
use spore_store::{CodeCounts, CodeIndex, CodeIndexError, Writer};

use crate::error::Result;
use crate::progress::{PhaseTime, millis};
use crate::write::WriteCounts;

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
    #[serde(rename = "stages")]
    pub phases: Vec<PhaseTime>,
    pub millis: u64,
    /// Files that changed since and were left for later; for callers that asked in a hurry.
    #[serde(skip)]
    pub behind: u64,
}

const COUNTS: &str = "counts";

impl IndexReport {
    pub(crate) fn of(index: &CodeIndex, done: &WriteCounts, unchanged: u64) -> Self {
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
    pub(crate) fn unchanged(index: &CodeIndex, unchanged: u64) -> Self {
        let index = index.path().display().to_string();
        Self { index, unchanged, ..Self::default() }
    }

    /// Adds what there is, for people to read. Counting takes longer than seeing that nothing
    /// changed, so the counts are kept until something does.
    pub fn count(&mut self, index: &CodeIndex) -> std::result::Result<(), CodeIndexError> {
        let kept = index.meta(COUNTS)?;
        if let Some(counts) = kept.and_then(|text| serde_json::from_str(&text).ok()) {
            self.counts = counts;
            return Ok(());
        }
        // In one transaction, so that no other process changes the index between the counting
        // and the note of it.
        self.counts = index.write(|writer| {
            let counts = writer.counts()?;
            writer.set_meta(COUNTS, &serde_json::to_string(&counts).unwrap_or_default())?;
            Ok::<_, CodeIndexError>(counts)
        })?;
        Ok(())
    }

    /// Drops the kept counts; every change of an index has to call it.
    pub(crate) fn forget_counts(writer: &mut Writer<'_>) -> Result<()> {
        Ok(writer.set_meta(COUNTS, "")?)
    }

    /// Sets how long all of it took.
    pub fn took(&mut self, time: Duration) {
        self.millis = millis(time);
    }
}
