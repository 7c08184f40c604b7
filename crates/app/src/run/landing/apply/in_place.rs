//! A verified change in the user's own files, without a commit on their branch.
//!
//! The one decision: in place is where the result ends up, not where the agent works. An agent
//! in the user's directory could write its `.git`, whose configuration names programs that git,
//! the user's and Spore's, would run; no sandbox that we have keeps it from that. So the agent
//! works in its checkout as always, and the verified change is then laid into files and index,
//! where `git diff --staged` shows it. The branch stays where it is.
//!
//! A tree with uncommitted files is refused beforehand: afterwards the user could not tell the
//! run's edits from their own.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use spore_git::{GitError, Repository};
use spore_model::{CommitId, Fault};

use super::{Site, listed};
use crate::base::error::bug;
use crate::{Error, Result};

/// Whether the change is in the user's files now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Laying {
    pub(crate) done: bool,
    /// One line for people.
    pub(crate) what: String,
}

/// What was laid, and where; written down before the first file is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Laid {
    pub(crate) commit: CommitId,
    /// The work tree; the project's own if it is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) root: Option<PathBuf>,
}

/// The name of the note that holds it.
const NOTE: &str = "in-place";

/// Refuses a work tree that has anything uncommitted, new files included.
pub(crate) fn refuse_dirty(repository: &Repository) -> Result<()> {
    let mut files = repository.uncommitted()?;
    // No change brings anything there, so what is in it cannot be confused with one.
    files.retain(|file| !file.starts_with(".spore/"));
    if files.is_empty() {
        return Ok(());
    }
    let message = format!("your work tree has uncommitted files: {}", listed(&files));
    Err(Error::new(Fault::BadInput, message)
        .hint("commit or stash them, or leave `--in-place` out: a branch needs no clean tree"))
}

/// Lays what `commit` changes against `base` into the user's files and index. Done again after
/// a crash it comes to the same end; refused, it changes nothing.
pub(crate) fn lay_down(site: &Site<'_>, base: &CommitId, commit: &CommitId) -> Result<Laying> {
    let repository = site.repository;
    site.set_ref(&site.own_ref("before"), base)?;
    if repository.head()? != *base {
        return Ok(not_laid("your branch has moved on since the run began"));
    }
    let note = site.note(NOTE);
    if note.exists() {
        site.mend_turn(repository, base, commit)?;
    } else {
        let obstacles = repository.obstacles(base, commit, &site.scratch())?;
        if !obstacles.is_empty() {
            let told: Vec<String> = obstacles.iter().map(ToString::to_string).collect();
            return Ok(not_laid(&listed(&told)));
        }
        let root = Some(repository.root().to_owned());
        let laid = serde_json::to_vec(&Laid { commit: commit.clone(), root }).map_err(bug)?;
        site.around.write_file(&note, &laid)?;
    }
    match repository.turn(base, commit) {
        Ok(()) => {
            let what = "in your files and staged: git diff --staged".to_owned();
            Ok(Laying { done: true, what })
        }
        Err(GitError::Failed { complaint, .. }) => {
            site.around.remove_file(&note)?;
            Ok(not_laid(&complaint))
        }
        Err(error) => Err(error.into()),
    }
}

impl Site<'_> {
    /// Returns what was laid into the user's files, if anything was.
    pub(crate) fn laid(&self) -> Result<Option<Laid>> {
        self.on_record(NOTE)
    }
}

fn not_laid(why: &str) -> Laying {
    Laying { done: false, what: format!("not laid into your files: {why}") }
}
