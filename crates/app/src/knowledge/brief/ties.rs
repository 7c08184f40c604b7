//! Whether two changes touch each other, by the code's graph.

use spore_context::impact;
use spore_model::CommitId;

use super::{Briefing, IndexerNotes};
use crate::Result;

impl Briefing<'_> {
    /// Returns those of the files `ours` that use or are used by one of `theirs`, before `at` was
    /// made on `onto` or after; `None` where the code is not indexed, and the graph cannot tell.
    pub(crate) fn ties(
        &self,
        onto: &CommitId,
        at: &CommitId,
        ours: &[String],
        theirs: &[String],
    ) -> Result<Option<Vec<(String, String)>>> {
        let heard = IndexerNotes::default();
        if self.is_first() && !self.is_small(onto, &heard)? {
            return Ok(None);
        }
        let before = self.index(onto, &heard)?;
        let mut tied = impact::ties(&before, ours, theirs)?;
        tied.extend(impact::ties(&self.change(onto, at, &heard)?, ours, theirs)?);
        tied.sort_unstable();
        tied.dedup();
        Ok(Some(tied))
    }
}
