//! The refs Spore adds to the user's repository, and no others.

use std::path::PathBuf;

use spore_model::CommitId;

use crate::{GitError, Repository};

const OURS: [&str; 2] = ["refs/spore/", "refs/heads/spore/"];

impl Repository {
    /// Points one of Spore's refs at a commit. Doing it twice is doing it once. A branch that
    /// the user has checked out is not moved under them.
    pub fn set_ref(&self, name: &str, commit: &CommitId) -> Result<(), GitError> {
        if !OURS.iter().any(|ours| name.len() > ours.len() && name.starts_with(ours)) {
            return Err(GitError::ForeignRef { name: name.to_owned() });
        }
        if self.ref_target(name)?.as_ref() == Some(commit) {
            return Ok(());
        }
        if let Some(dir) = self.checked_out_in(name)? {
            return Err(GitError::CheckedOut { name: name.to_owned(), dir });
        }
        let call = self.git("set a ref").args(["update-ref", "--no-deref", "-m", "spore"]);
        call.args(["--", name, commit.as_str()]).run()?;
        Ok(())
    }

    /// Returns what a ref, given by its full name, points at.
    pub fn ref_target(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        let refs = self.refs_under(name)?;
        Ok(refs.into_iter().find(|(found, _)| found == name).map(|(_, commit)| commit))
    }

    /// Returns the refs below a prefix of whole parts, such as `refs/spore`, by name.
    pub fn refs_under(&self, prefix: &str) -> Result<Vec<(String, CommitId)>, GitError> {
        let answer = self
            .git("list refs")
            .args(["for-each-ref", "--format=%(objectname) %(refname)", "--", prefix])
            .run()?;
        let parse = |line: &str| {
            let (commit, name) = line.split_once(' ')?;
            Some((name.to_owned(), CommitId::new(commit).ok()?))
        };
        let read =
            |line| parse(line).ok_or_else(|| GitError::unreadable("list refs", line.as_bytes()));
        answer.text().lines().map(read).collect()
    }

    fn checked_out_in(&self, name: &str) -> Result<Option<PathBuf>, GitError> {
        let answer = self
            .git("look for checked out branches")
            .args(["for-each-ref", "--format=%(worktreepath)", "--", name])
            .run()?;
        Ok(Some(answer.text()).filter(|dir| !dir.is_empty()).map(PathBuf::from))
    }
}
