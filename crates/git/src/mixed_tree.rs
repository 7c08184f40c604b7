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

/// What of a tree is otherwise.
#[derive(Clone, Copy, Debug)]
pub struct TreeMixture<'a> {
    pub from: &'a CommitId,
    /// Files that are as `from` has them; one that it does not have is left as it is.
    pub bring_back: &'a [String],
    pub leave_out: &'a [String],
    /// Files with a text of their own.
    pub rewrite: &'a [(String, Vec<u8>)],
}

impl Repository {
    /// Returns `tree` with some of its files otherwise. `index` is a path where nothing is, and
    /// nothing is afterwards.
    pub fn mix(
        &self,
        tree: &TreeId,
        mixture: &TreeMixture<'_>,
        index: &Path,
    ) -> Result<TreeId, GitError> {
        let TreeMixture { from, bring_back, leave_out, rewrite } = *mixture;
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
        for (name, text) in rewrite {
            // A file keeps its mode: whether it can be run is no part of its text.
            let mode = known.get(name.as_bytes()).map_or("100644", |entry| entry.mode);
            lines.extend(index_line(mode, &self.store_blob(text)?, name.as_bytes()));
        }
        remove_all(index).map_err(GitError::io(index))?;
        let mixed = self.write_mixed(tree, lines, index);
        remove_all(index).map_err(GitError::io(index))?;
        mixed
    }

    fn store_blob(&self, text: &[u8]) -> Result<String, GitError> {
        let call = self.git("store a file").stdin(text.to_vec());
        let answer = call.args(["hash-object", "-w", "--no-filters", "--stdin"]).run()?;
        Ok(answer.text().trim().to_owned())
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
