//! Earlier loops over the same list, and what is left of them.

use std::path::Path;

use spore_model::{CommitId, Fault, Run, RunId, RunKind, RunMark};
use spore_pipeline::LoopState;
use spore_store::{Journal, RunQuery};

use super::projection::state_beside;
use super::record::{LoopRecord, spent_by};
use super::settings::{LoopSettings, loop_settings};
use crate::base::files::read_text;
use crate::{Error, Result};

/// An earlier loop over the list.
pub(crate) enum EarlierLoop {
    /// There is none.
    Never,
    /// One that is not over: it is gone on with.
    Open(Box<(Run, LoopSettings)>),
    /// The newest one, which is over.
    Over(Box<PastLoop>),
}

/// A loop that is over, and those before it.
pub(crate) struct PastLoop {
    pub(crate) run: RunId,
    pub(crate) settings: LoopSettings,
    pub(crate) state: LoopState,
    /// Its tip.
    pub(crate) tip: CommitId,
    /// A person took back what it merged.
    pub(crate) is_taken_back: bool,
    /// What was merged and taken back of it and of earlier ones: from where to where.
    pub(crate) taken_back: Vec<(CommitId, CommitId)>,
}

impl EarlierLoop {
    /// Finds the newest loop over `source`.
    pub(crate) fn find(journal: &dyn Journal, source: &str, kind: RunKind) -> Result<Self> {
        let query = RunQuery { roots_only: true, kind: Some(kind), ..RunQuery::default() };
        let mut past: Option<PastLoop> = None;
        for run in journal.runs(&query)? {
            let is_taken_back = run.mark == Some(RunMark::RolledBack);
            if past.is_some() && !is_taken_back {
                continue;
            }
            // One of another version is none of ours.
            let Ok(settings) = loop_settings(&run) else { continue };
            if settings.source != source {
                continue;
            }
            if run.is_open() && past.is_none() {
                return Ok(Self::Open(Box::new((run, settings))));
            }
            // Everything in a batch is done once more.
            if kind == RunKind::Batch {
                return Ok(Self::Never);
            }
            let record = LoopRecord::read(journal, run.id, &settings.tasks)?;
            let tip = record.tip(&settings);
            let range = is_taken_back.then(|| (settings.base.clone(), tip.clone()));
            if let Some(past) = &mut past {
                past.taken_back.extend(range);
                continue;
            }
            let state = record.state(&settings, spent_by(journal, run.id)?);
            let state = LoopState { created_at: state.created_at.or(Some(run.started)), ..state };
            let taken_back = range.into_iter().collect();
            past = Some(PastLoop { run: run.id, settings, state, tip, is_taken_back, taken_back });
        }
        Ok(past.map_or(Self::Never, |past| Self::Over(Box::new(past))))
    }
}

/// Reads the projection that another repository, or another program, left beside a list.
pub(crate) fn state_file(source: &Path) -> Result<Option<LoopState>> {
    let path = state_beside(source)?;
    let Some(text) = read_text(&path)? else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|source| {
        let message = format!("{} is no state of a loop", spore_plain::path(&path));
        Error::new(Fault::BadInput, message)
            .because(source)
            .hint("move it away, or begin anew with `--reset`")
    })
}
