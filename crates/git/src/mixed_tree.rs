//! One tree with some of its files as they are in another.
//!
//! Works on an index of its own, at a place that the caller owns: no work tree is involved,
//! and nothing of the user's but the object store is written.

use std::path::Path;

use spore_effects::files::remove_all;
use spore_model::{CommitId, TreeId};

use crate::repository::tree_id;
use crate::snapshot::index_line;
use crate::{GitError, Repository};

impl Repository {
    /// Returns `tree` with the files `bring_back` as they are in `from`, and without the files
    /// `leave_out`. A file that `from` does not have is left as it is. `index` is a path where
    /// nothing is, and nothing is afterwards.
    pub fn mix(
        &self,
        tree: &TreeId,
        from: &CommitId,
        bring_back: &[String],
        leave_out: &[String],
        index: &Path,
    ) -> Result<TreeId, GitError> {
        self.make_work()?;
        let known = self.listing(from)?;
        let nothing = "0".repeat(tree.as_str().len());
        let mut lines = Vec::new();
        for name in leave_out {
            lines.extend(index_line("0", &nothing, name.as_bytes()));
        }
        for name in bring_back {
            if let Some(entry) = known.get(name.as_bytes()) {
                lines.extend(index_line(entry.mode, entry.object, name.as_bytes()));
            }
        }
        remove_all(index).map_err(GitError::io(index))?;
        let mixed = self.write_mixed(tree, lines, index);
        remove_all(index).map_err(GitError::io(index))?;
        mixed
    }

    fn write_mixed(&self, tree: &TreeId, lines: Vec<u8>, index: &Path) -> Result<TreeId, GitError> {
        let git = |action| self.git(action).env("GIT_INDEX_FILE", index);
        git("read a tree").args(["read-tree", tree.as_str()]).run()?;
        let call = git("mix two trees").stdin(lines);
        call.args(["update-index", "-z", "--index-info"]).run()?;
        let answer = git("store a tree").args(["write-tree"]).run()?;
        tree_id("store a tree", &answer)
    }
}
