//! The integration branch of a flow: every part starts from what those before it left there.
//!
//! The journal says what is on the branch; the ref follows it. So a process that was killed in
//! between leaves a ref that is behind, and the next one brings it on. A ref that is nowhere on the
//! way was moved by another process, and is left alone.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use spore_compose::WorkLine;
use spore_git::Repository;
use spore_model::{CommitId, Fault, RunId};
use spore_runs::Apply;

use crate::base::run_refs;
use crate::{Error, Result, Workspace};

/// Where a flow works. It is part of its record.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "snake_case")]
pub(crate) enum FlowSite {
    /// In the project itself: checks by themselves, and flows of earlier versions.
    #[default]
    Project,
    /// In the directory of the session that started it, as a part of that session's work.
    Session {
        dir: PathBuf,
        /// The run that pays for that session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        payer: Option<RunId>,
    },
    /// On a branch of its own, in checkouts of it.
    Branch {
        /// What the branch begins from.
        base: CommitId,
        /// Its name, as people type it.
        branch: String,
        /// What becomes of it at the end.
        apply: Apply,
    },
}

impl FlowSite {
    /// Plans the branch of a new flow.
    pub(crate) fn branch(run: RunId, base: CommitId, apply: Apply) -> Self {
        Self::Branch { base, branch: format!("spore/flow/{}", run.short()), apply }
    }

    /// The run that pays for the session that started the flow.
    pub(crate) fn payer(&self) -> Option<RunId> {
        match self {
            Self::Session { payer, .. } => *payer,
            Self::Project | Self::Branch { .. } => None,
        }
    }

    pub(crate) fn base(&self) -> Option<&CommitId> {
        match self {
            Self::Branch { base, .. } => Some(base),
            Self::Project | Self::Session { .. } => None,
        }
    }

    /// The name of the branch.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Branch { branch, .. } => Some(branch),
            Self::Project | Self::Session { .. } => None,
        }
    }
}

/// A flow's branch, while the flow is at work.
pub(crate) struct FlowBranch {
    pub(crate) repository: Repository,
    pub(crate) base: CommitId,
    pub(crate) name: String,
    pub(crate) apply: Apply,
    /// Every commit that the branch was at, as far as is on record.
    way: Mutex<Vec<CommitId>>,
    /// Held by the phase that lands.
    queue: Mutex<()>,
}

impl FlowBranch {
    /// Finds the branch of a flow; none where it works in a directory.
    pub(crate) fn of(workspace: &Workspace, site: &FlowSite) -> Result<Option<Self>> {
        let FlowSite::Branch { base, branch, apply } = site else { return Ok(None) };
        Ok(Some(Self {
            repository: workspace.project_repository()?,
            base: base.clone(),
            name: branch.clone(),
            apply: *apply,
            way: Mutex::new(vec![base.clone()]),
            queue: Mutex::new(()),
        }))
    }

    pub(crate) fn tip(&self) -> CommitId {
        self.way().last().unwrap_or(&self.base).clone()
    }

    /// What is on the branch beside its base.
    pub(crate) fn line(&self) -> Option<WorkLine> {
        let (base, tip) = (self.base.clone(), self.tip());
        (base != tip).then_some(WorkLine { base, tip })
    }

    /// Waits for the turn of a phase that lands.
    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of what is on record as being on the branch.
    pub(crate) fn record(&self, tip: &CommitId) {
        let mut way = self.way();
        if way.last() != Some(tip) {
            way.push(tip.clone());
        }
    }

    /// Moves the ref to where the branch is by its record.
    pub(crate) fn follow(&self) -> Result<()> {
        let (name, way) = (run_refs::branch_ref(&self.name), self.way().clone());
        let Some(tip) = way.last() else { return Ok(()) };
        match self.repository.ref_target(&name)? {
            Some(there) if there == *tip => return Ok(()),
            Some(there) if !way.contains(&there) => {
                let branch = &self.name;
                let message = format!("the branch {branch} was moved while the flow worked on it");
                return Err(Error::new(Fault::BadInput, message).hint(format!(
                    "keep what is there under another name, then bring it back: git branch -f \
                     {branch} {tip}"
                )));
            }
            None if *tip == self.base => return Ok(()),
            _ => {}
        }
        Ok(self.repository.set_ref(&name, tip)?)
    }

    fn way(&self) -> MutexGuard<'_, Vec<CommitId>> {
        self.way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
