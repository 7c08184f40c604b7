//! Earlier loops over the same list, and what is left of them.

use std::path::Path;

use spore_git::Repository;
use spore_model::{CommitId, Fault, Run, RunKind};
use spore_pipeline::LoopState;
use spore_store::{Journal, RunQuery};

use super::projection::state_beside;
use super::record::{LoopRecord, spent_by};
use super::settings::{LoopSettings, loop_settings};
use crate::base::files::read_text;
use crate::base::run_refs;
use crate::{Error, Result};

/// An earlier loop over the list.
pub(crate) enum EarlierLoop {
    /// There is none.
    Never,
    /// One that is not over: it is gone on with.
    Open(Box<(Run, LoopSettings)>),
    /// The newest one, which is over.
    Over(Box<LoopSettings>, LoopState),
}

impl EarlierLoop {
    /// Finds the newest loop over `source`.
    pub(crate) fn find(journal: &dyn Journal, source: &str, kind: RunKind) -> Result<Self> {
        let query = RunQuery { roots_only: true, kind: Some(kind), ..RunQuery::default() };
        for run in journal.runs(&query)? {
            // One of another version is none of ours.
            let Ok(settings) = loop_settings(&run) else { continue };
            if settings.source != source {
                continue;
            }
            if run.is_open() {
                return Ok(Self::Open(Box::new((run, settings))));
            }
            // Everything in a batch is done once more.
            if kind == RunKind::Batch {
                return Ok(Self::Never);
            }
            let record = LoopRecord::read(journal, run.id, &settings.tasks)?;
            let state = record.state(&settings, spent_by(journal, run.id)?);
            let state = LoopState { created_at: state.created_at.or(Some(run.started)), ..state };
            return Ok(Self::Over(Box::new(settings), state));
        }
        Ok(Self::Never)
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

/// Where a loop begins.
pub(crate) struct LoopGround {
    /// What the branch as a whole began from.
    pub(crate) base: CommitId,
    pub(crate) start: CommitId,
    pub(crate) branch: String,
}

impl LoopGround {
    /// Goes on with the branch of an earlier loop that is not in `head` yet, where there is one.
    pub(crate) fn after(
        repository: &Repository,
        earlier: &LoopSettings,
        head: &CommitId,
    ) -> Result<Option<Self>> {
        let tip = repository.ref_target(&run_refs::branch_ref(&earlier.branch))?;
        match tip {
            Some(tip) if !repository.is_ancestor(&tip, head)? => Ok(Some(Self {
                base: earlier.base.clone(),
                start: tip,
                branch: earlier.branch.clone(),
            })),
            _ => Ok(None),
        }
    }
}
