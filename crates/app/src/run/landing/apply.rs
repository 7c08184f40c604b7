//! What becomes of verified work: a branch, a merge, a patch, or nothing but a ref.
//!
//! Whatever was asked for, `refs/spore/<run>/result` keeps the commit, so that nothing that
//! follows can lose it. Every effect is keyed: done again after a crash it finds itself done
//! and changes nothing.
//!
//! The one decision: work that cannot be brought where it was asked to be is verified all the
//! same. A merge with conflicts, or with files of the user's in its way, touches nothing, says
//! what to do next, and leaves the work on the run's own branch; the command then ends with
//! 12, partial: what was asked for is there, and not where it was asked to be.
//!
//! Not done here: judging the work, making its commit, and undoing any of this (`rollback`).

mod account;
mod in_place;
mod landing;
mod message;
#[cfg(test)]
pub(crate) mod tests;

use std::path::PathBuf;

use spore_git::Repository;
use spore_model::{CommitId, Fault, Outcome, Park, RunId};
use spore_pipeline::Done;
use spore_runs::{Applied, Apply};

use crate::base::error::bug;
use crate::base::run_files::RunFiles;
use crate::base::run_refs;
use crate::{Error, Result, Surroundings, Workspace};

pub(crate) use in_place::{Laid, lay_down, refuse_dirty};
pub(crate) use landing::{Landing, LandingEnd, MOST_MERGES, Refused, listed};
pub(crate) use message::{
    CommitJudge, CommitStory, RebasedStory, commit_message, joining_message, rebased_message,
    revert_message,
};

/// What came of verified work where it was to be applied.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ApplyEnd {
    Over(Applied),
    /// It has to be asked for again.
    Waits {
        park: Park,
        reason: String,
    },
}

/// Returns what is on record of a change that was applied.
pub(crate) fn applied_of(done: Done) -> Result<Applied> {
    match done {
        Done::Applied { record } => serde_json::from_value(record).map_err(bug),
        _ => Err(Error::new(Fault::Bug, "the step that applies has another's result")),
    }
}

/// Returns what a run is called that waits for this.
pub(crate) const fn outcome_of(park: Park) -> Outcome {
    match park {
        Park::Quota => Outcome::QuotaParked,
        Park::Interrupt => Outcome::Interrupted,
        Park::Budget | Park::Human => Outcome::NeedsHuman,
    }
}

/// What came of verified work on the commit that a branch moved on to.
pub(crate) enum Brought {
    /// This commit on top of it was checked.
    Onto(CommitId),
    /// It does not land there, for this reason.
    Not(String),
    Waits {
        park: Park,
        reason: String,
    },
}

/// Brings the work onto the commit that the branch is at by now, and checks the two together.
pub(crate) type Bring<'a> = &'a mut dyn FnMut(&CommitId) -> Result<Brought>;

/// Brings the verified `commit`, made on `base`, where the person asked for it.
pub(crate) fn apply(
    site: &Site<'_>,
    base: &CommitId,
    commit: &CommitId,
    how: Apply,
    bring: Bring<'_>,
) -> Result<ApplyEnd> {
    site.set_ref(&site.result_ref(), commit)?;
    Ok(ApplyEnd::Over(match how {
        Apply::None => site.kept(commit),
        Apply::Patch => site.write_patch(base, commit)?,
        Apply::Branch => {
            site.set_ref(&site.branch_ref(), commit)?;
            site.on_branch(commit)
        }
        Apply::Merge => {
            site.set_ref(&site.branch_ref(), commit)?;
            return site.merge(base, commit, bring);
        }
    }))
}

/// Where a run's work is applied, and where that is undone.
pub(crate) struct Site<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) workspace: &'a Workspace,
    pub(crate) repository: &'a Repository,
    pub(crate) run: RunId,
    /// The run's own branch, as people type it.
    pub(crate) branch: String,
}

impl Site<'_> {
    fn kept(&self, commit: &CommitId) -> Applied {
        Applied {
            how: Apply::None,
            done: true,
            what: format!("kept as {}", self.result_ref()),
            next: Some(format!("git show {}", short(commit))),
            branch: None,
            commit: Some(commit.clone()),
            path: None,
        }
    }

    fn on_branch(&self, commit: &CommitId) -> Applied {
        let branch = self.branch.clone();
        Applied {
            how: Apply::Branch,
            done: true,
            what: format!("on branch {branch}"),
            next: Some(format!("git merge {branch}")),
            branch: Some(branch),
            commit: Some(commit.clone()),
            path: None,
        }
    }

    fn write_patch(&self, base: &CommitId, commit: &CommitId) -> Result<Applied> {
        let mail = self.repository.mails(base, commit)?;
        self.around.write_exact_file(&self.files().patch(), &mail)?;
        let path = PathBuf::from(format!(".spore/runs/{}/result.patch", self.run));
        // `git am` takes the end of a line for the mail's unless told otherwise.
        let keep = if mail.contains(&b'\r') { " --keep-cr" } else { "" };
        Ok(Applied {
            how: Apply::Patch,
            done: true,
            what: format!("a patch: {}", spore_plain::path(&path)),
            next: Some(format!("git am{keep} {}", spore_plain::path(&path))),
            branch: None,
            commit: Some(commit.clone()),
            path: Some(path),
        })
    }

    pub(crate) fn result_ref(&self) -> String {
        self.own_ref("result")
    }

    pub(crate) fn branch_ref(&self) -> String {
        run_refs::branch_ref(&self.branch)
    }

    pub(crate) fn own_ref(&self, rest: &str) -> String {
        run_refs::own(self.run, rest)
    }

    pub(crate) fn set_ref(&self, name: &str, commit: &CommitId) -> Result<()> {
        Ok(self.repository.set_ref(name, commit)?)
    }

    pub(crate) fn files(&self) -> RunFiles {
        self.workspace.run_files(self.run)
    }
}

pub(crate) fn short(commit: &CommitId) -> &str {
    &commit.as_str()[..12]
}

/// The part of a branch's full name that people type.
pub(crate) fn short_branch(name: &str) -> &str {
    name.strip_prefix("refs/heads/").unwrap_or(name)
}
