//! One index on its way to one tree: changed in place, or made beside and put there.

use spore_effects::Effect;
use spore_model::{CommitId, Timestamp};
use spore_store::{CodeIndex, CodeIndexOpenError};

use crate::error::{IndexerError, Result};
use crate::history::PAST;
use crate::indexer::Indexer;
use crate::place::IndexFile;
use crate::plan::IndexPlan;
use crate::progress::{IndexPhase, PhaseTimes};
use crate::report::IndexReport;
use crate::settings::thread_count;
use crate::sink::FileSink;
use crate::texts::TextSink;
use crate::words::WordSink;
use crate::write::{FileContents, TreeWriter, WriteCounts};

/// Raised when the same files give other rows than before: every index is made anew then.
pub(crate) const READER: &str = "2";

/// A file that was written in the last moments before it was read may be written again
/// without looking different.
const RACY_NS: i64 = 50_000_000;

/// What an index is brought to, and from what.
pub(crate) struct TreeUpdate<'a> {
    pub(crate) place: &'a IndexFile,
    pub(crate) contents: FileContents<'a>,
    pub(crate) plan: IndexPlan,
    /// Files that no index is for.
    pub(crate) others: u64,
    pub(crate) head: Option<CommitId>,
    pub(crate) existing: Option<CodeIndex>,
    /// An index that is there and behind by more files than this is used as it is.
    pub(crate) most: Option<u64>,
}

impl Indexer<'_> {
    pub(crate) fn perform(
        &self,
        update: TreeUpdate<'_>,
        mut times: PhaseTimes,
    ) -> Result<(CodeIndex, IndexReport)> {
        let TreeUpdate { place, contents, plan, others, head, existing, most } = update;
        let unchanged = plan.unchanged;
        if let (Some(most), Some(index)) = (most, &existing)
            && (plan.is_empty() || plan.files() > most)
        {
            let mut report = IndexReport::unchanged(index, unchanged);
            report.behind = plan.files();
            return match existing {
                Some(index) => Ok((index, report)),
                None => Ok((self.reopen(place)?, report)),
            };
        }
        if let Some(index) = &existing
            && plan.is_empty()
            && !place.is_scratch(index)
            && index.meta(PAST)? == Some(self.past_of(head.as_ref()))
        {
            let mut report = IndexReport::unchanged(index, unchanged);
            report.others = others;
            report.phases = times.times();
            return match existing {
                Some(index) => Ok((index, report)),
                None => Ok((self.reopen(place)?, report)),
            };
        }
        let fresh = existing.is_none();
        let index = match existing {
            Some(index) => index,
            None => place.create()?,
        };
        let (words, texts) = (WordSink::default(), TextSink::default());
        let sinks: [&dyn FileSink; 2] = [&words, &texts];
        let tree_writer = self.tree_writer(contents, &sinks, fresh);
        let counts = self.change(&tree_writer, &index, plan, head.as_ref(), &mut times)?;
        let index = self.settle(place, index, fresh, &mut times)?;
        let mut report = IndexReport::of(&index, &counts, unchanged);
        report.others = others;
        report.commit = head.map(|head| head.to_string());
        report.phases = times.times();
        Ok((index, report))
    }

    /// Writes a plan into an index so that only this process sees it, while it is open.
    pub(crate) fn write_draft(
        &self,
        index: CodeIndex,
        contents: FileContents<'_>,
        plan: IndexPlan,
    ) -> Result<CodeIndex> {
        let (words, texts) = (WordSink::default(), TextSink::default());
        let sinks: [&dyn FileSink; 2] = [&words, &texts];
        let tree_writer = self.tree_writer(contents, &sinks, false);
        index.draft(|writer| {
            tree_writer.apply(writer, plan, &mut PhaseTimes::default())?;
            sinks.iter().try_for_each(|sink| sink.finish(writer))
        })
    }

    fn tree_writer<'e>(
        &'e self,
        contents: FileContents<'e>,
        sinks: &'e [&'e dyn FileSink],
        fresh: bool,
    ) -> TreeWriter<'e> {
        TreeWriter {
            contents,
            threads: thread_count(self.settings.threads),
            max_file_bytes: self.settings.max_file_bytes,
            trusted_before_ns: nanoseconds(self.clock.now()) - RACY_NS,
            sinks,
            reporter: self.reporter,
            clock: self.clock,
            fresh,
        }
    }

    fn change(
        &self,
        tree_writer: &TreeWriter<'_>,
        index: &CodeIndex,
        plan: IndexPlan,
        head: Option<&CommitId>,
        times: &mut PhaseTimes,
    ) -> Result<WriteCounts> {
        self.probe.around(Effect::Row, "index", || {
            index.write(|writer| {
                let counts = tree_writer.apply(writer, plan, times)?;
                let files_changed = tree_writer.fresh || counts.files_changed;
                self.write_history(writer, head, files_changed, times)?;
                tree_writer.sinks.iter().try_for_each(|sink| sink.finish(writer))?;
                writer.set_meta("reader", READER)?;
                IndexReport::forget_counts(writer)?;
                Ok(counts)
            })
        })
    }

    /// Puts what was made beside into its place.
    fn settle(
        &self,
        place: &IndexFile,
        index: CodeIndex,
        fresh: bool,
        times: &mut PhaseTimes,
    ) -> Result<CodeIndex> {
        if !fresh && !place.is_scratch(&index) {
            return Ok(index);
        }
        let begun = self.clock.monotonic();
        self.reporter.progress(IndexPhase::Write, 0, 0);
        index.add_lookups()?;
        index.finish()?;
        let patience = self.settings.busy_timeout;
        self.probe.around(Effect::File, "index", || place.install(patience))?;
        times.add(IndexPhase::Write, begun.elapsed());
        self.reopen(place)
    }

    fn reopen(&self, place: &IndexFile) -> Result<CodeIndex> {
        match CodeIndex::open(&place.file, self.settings.busy_timeout) {
            Ok(index) => Ok(index),
            Err(CodeIndexOpenError::Failed(error)) => Err(error.into()),
            Err(error) => Err(IndexerError::Replaced(error)),
        }
    }
}

fn nanoseconds(time: Timestamp) -> i64 {
    time.as_millis().saturating_mul(1_000_000)
}
