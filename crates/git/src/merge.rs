//! Two lines of work made one, as a tree and nothing else: no file, index or ref is touched.
//!
//! The attributes that say how files merge are those of the user's own side, and no program
//! runs: what a merge driver of theirs would have merged counts as a conflict.

use spore_model::{CommitId, TreeId};

use crate::command::records;
use crate::repository::text;
use crate::settings::GitSettings;
use crate::{GitError, Repository};

/// What came of a merge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Merged {
    Clean(TreeId),
    /// These files were changed on both sides; the tree has them with both, marked.
    Conflicts {
        files: Vec<String>,
        tree: TreeId,
    },
}

impl Repository {
    /// Returns whether all of `old` is in `new`.
    pub fn is_ancestor(&self, old: &CommitId, new: &CommitId) -> Result<bool, GitError> {
        let call = self.git("compare two commits");
        let call = call.args(["merge-base", "--is-ancestor", old.as_str(), new.as_str()]);
        let answer = call.answer()?;
        match answer.code {
            0 => Ok(true),
            1 => Ok(false),
            _ => Err(call.failure(&answer)),
        }
    }

    /// Returns the newest commit that two have below them, `None` if there is none.
    pub fn merge_base(
        &self,
        one: &CommitId,
        other: &CommitId,
    ) -> Result<Option<CommitId>, GitError> {
        let action = "compare two commits";
        let call = self.git(action).args(["merge-base", one.as_str(), other.as_str()]);
        let answer = call.answer()?;
        match answer.code {
            0 => {
                let told = String::from_utf8_lossy(&answer.stdout);
                let first = told.lines().next().and_then(|line| CommitId::new(line).ok());
                first.map(Some).ok_or_else(|| GitError::unreadable(action, &answer.stdout))
            }
            1 => Ok(None),
            _ => Err(call.failure(&answer)),
        }
    }

    /// Returns whether a commit has more than one parent.
    pub fn is_merge(&self, commit: &CommitId) -> bool {
        self.resolve(&format!("{commit}^2")).is_ok()
    }

    /// Merges what `theirs` has and `ours` has not.
    pub fn merge(&self, ours: &CommitId, theirs: &CommitId) -> Result<Merged, GitError> {
        self.merge_tree(&[], ours, theirs)
    }

    /// Brings the difference from `before` to `after` into `ours`.
    pub fn transplant(
        &self,
        before: &CommitId,
        after: &CommitId,
        ours: &CommitId,
    ) -> Result<Merged, GitError> {
        self.merge_tree(&[format!("--merge-base={before}")], ours, after)
    }

    fn merge_tree(
        &self,
        options: &[String],
        ours: &CommitId,
        theirs: &CommitId,
    ) -> Result<Merged, GitError> {
        let action = "merge";
        self.make_work()?;
        // Asked now, not known from before: a driver is a program.
        let settings = GitSettings::read(self.git("read the configuration"))?;
        let call = self
            .git(action)
            .set(&["merge.renormalize=false"])
            .args(["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"])
            .args(options)
            .args([ours.as_str(), theirs.as_str()])
            .env("GIT_ATTR_SOURCE", ours.as_str())
            .without_merge_drivers(&settings.merge_drivers());
        let answer = call.answer()?;
        match answer.code {
            0 | 1 => {}
            129 => return Err(GitError::TooOld { action, needs: "2.40" }),
            _ => return Err(call.failure(&answer)),
        }
        let mut parts = records(&answer.stdout).map(text);
        let tree = parts.next().and_then(|tree| TreeId::new(tree.trim()).ok());
        let tree = tree.ok_or_else(|| GitError::unreadable(action, &answer.stdout))?;
        if answer.code == 0 {
            return Ok(Merged::Clean(tree));
        }
        let mut files: Vec<String> = parts.collect();
        files.sort_unstable();
        files.dedup();
        Ok(Merged::Conflicts { files, tree })
    }
}
