//! Where the user stands: the branch they have checked out, and whether it may be moved.

use std::path::PathBuf;

use spore_model::CommitId;

use crate::repository::text;
use crate::{GitError, Repository};

/// What the user has checked out in one work tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HeadState {
    OnBranch(BranchTip),
    /// No branch is checked out.
    Detached,
    /// A branch without a commit.
    Unborn,
    /// Git waits there for the user to finish something.
    Busy {
        doing: &'static str,
    },
    /// Another work tree has the same branch checked out and would be left behind.
    Shared {
        branch: String,
        dir: PathBuf,
    },
}

/// A branch, by its full name, and the commit it is on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BranchTip {
    pub branch: String,
    pub tip: CommitId,
}

/// Files of a git directory that are there while something goes on.
const UNDER_WAY: [(&str, &str); 6] = [
    ("MERGE_HEAD", "merge"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("sequencer", "cherry-pick or revert"),
];

impl Repository {
    pub fn standing(&self) -> Result<HeadState, GitError> {
        let own = self.own_git_dir();
        let busy = UNDER_WAY.iter().find(|(file, _)| own.join(file).exists());
        if let Some((_, doing)) = busy {
            return Ok(HeadState::Busy { doing });
        }
        let call = self.at_home("read HEAD").args(["symbolic-ref", "--quiet", "HEAD"]);
        let answer = call.answer()?;
        let branch = match answer.code {
            0 => answer.text(),
            1 => return Ok(HeadState::Detached),
            _ => return Err(call.failure(&answer)),
        };
        let Some(tip) = self.ref_target(&branch)? else { return Ok(HeadState::Unborn) };
        let elsewhere = self.work_trees_on(&branch)?.into_iter().find(|dir| dir != self.root());
        Ok(match elsewhere {
            Some(dir) => HeadState::Shared { branch, dir },
            None => HeadState::OnBranch(BranchTip { branch, tip }),
        })
    }

    /// Returns the work trees that have this branch, given by its full name, checked out.
    pub fn work_trees_on(&self, branch: &str) -> Result<Vec<PathBuf>, GitError> {
        let action = "list the work trees";
        let answer = self.git(action).args(["worktree", "list", "--porcelain"]).run()?;
        let wanted = format!("branch {branch}");
        let mut found = Vec::new();
        let mut dir = None;
        for line in text(&answer.stdout).lines() {
            if let Some(path) = line.strip_prefix("worktree ") {
                dir = Some(PathBuf::from(path));
            } else if line == wanted {
                found.extend(dir.take());
            }
        }
        Ok(found)
    }
}
