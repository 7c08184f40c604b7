//! The part of an index that follows from git's history.

use spore_git::Repository;
use spore_model::{CommitId, Timestamp};
use spore_store::Writer;

use crate::cochange;
use crate::error::{IndexerError, Result};
use crate::indexer::Indexer;
use crate::progress::{IndexPhase, PhaseTimes};

/// The key in the index's meta under which it is noted which past its edges follow from.
pub(crate) const PAST: &str = "past";

/// Says what of its past a repository does not have, where that makes an index poorer.
fn missing(repository: &Repository) -> Option<&'static str> {
    let missing = repository.missing_history();
    match (missing.is_shallow, missing.is_partial) {
        (false, false) => None,
        (true, _) => Some(
            "This clone is shallow: files are ranked without the history it lacks. `git fetch \
             --unshallow` brings it.",
        ),
        (false, true) => Some(
            "This is a partial clone: of its history only renames of unchanged files are known. \
             `git fetch --refetch --no-filter` brings the rest.",
        ),
    }
}

impl Indexer<'_> {
    pub(crate) fn write_history(
        &self,
        writer: &mut Writer<'_>,
        head: Option<&CommitId>,
        files_changed: bool,
        times: &mut PhaseTimes,
    ) -> Result<()> {
        let past = self.past_of(head);
        let moved = writer.meta(PAST)?.as_deref() != Some(&past);
        if !moved && !files_changed {
            return Ok(());
        }
        let begun = self.clock.monotonic();
        self.reporter.progress(IndexPhase::History, 0, 0);
        let repository: Option<(Repository, &CommitId)> =
            head.map(|head| Ok::<_, IndexerError>(((self.project)()?, head))).transpose()?;
        if moved && let Some(note) = repository.as_ref().and_then(|(found, _)| missing(found)) {
            self.reporter.note(note);
        }
        if moved {
            cochange::refresh(writer, repository.as_ref(), self.settings.history)?;
        }
        let time = repository.map(|(repository, head)| repository.commit_time(head));
        let time: Option<Timestamp> = time.transpose()?;
        cochange::connect(writer, time, self.settings)?;
        writer.set_meta(PAST, &past)?;
        times.add(IndexPhase::History, begun.elapsed());
        Ok(())
    }

    /// What the edges between files that changed together follow from, in one line.
    pub(crate) fn past_of(&self, head: Option<&CommitId>) -> String {
        let settings = self.settings;
        format!(
            "{} {} {} {} {} {}",
            head.map_or("none", CommitId::as_str),
            settings.history,
            settings.max_commit_files,
            settings.half_life.as_secs(),
            settings.companions,
            settings.least_together
        )
    }
}
