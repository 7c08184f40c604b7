//! A commit as a mail that `git am` takes.

use spore_model::CommitId;

use crate::{GitError, Repository};

impl Repository {
    /// Returns the commit's change against its first parent with its message: renames, modes
    /// and binary files included. Whatever the user's settings are, it is the same bytes.
    pub fn mail(&self, commit: &CommitId) -> Result<Vec<u8>, GitError> {
        self.formatted(&["-1", commit.as_str()])
    }

    /// The same for every commit that `tip` has and `base` has not, oldest first.
    pub fn mails(&self, base: &CommitId, tip: &CommitId) -> Result<Vec<u8>, GitError> {
        self.formatted(&[&format!("{base}..{tip}")])
    }

    fn formatted(&self, commits: &[&str]) -> Result<Vec<u8>, GitError> {
        let call = self
            .git("write a patch")
            .set(&["diff.noprefix=false", "diff.mnemonicPrefix=false", "core.quotePath=true"])
            .set(&["diff.suppressBlankEmpty=false", "format.pretty=email", "mailmap.blob="])
            .set(&["diff.orderFile=/dev/null", "diff.algorithm=default", "log.mailmap=false"])
            .args(["format-patch", "--stdout", "--binary", "--full-index", "-M"])
            .args(["--no-signature", "--no-attach", "--no-thread", "--no-base", "--no-notes"])
            .args(["--no-to", "--no-cc", "--no-add-header", "--no-from", "--zero-commit"])
            .args(["--subject-prefix=PATCH", "--no-numbered", "--no-signoff", "--unified=3"])
            .args(["--src-prefix=a/", "--dst-prefix=b/", "--inter-hunk-context=0"])
            .args(["--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none"])
            .args(commits.iter().copied())
            .args(["--"]);
        Ok(call.run()?.stdout)
    }
}
