//! The user's own files as they are now, as a tree: committed or not.
//!
//! Their index is neither read nor written: a scratch one is made from HEAD and thrown away.
//! It knows nothing about any file, so every file is read, and an edit that keeps a file's
//! size and time is seen like any other.

use std::path::Path;

use spore_effects::files::{create_private_dir, remove_all};
use spore_model::TreeId;

use crate::listing::Name;
use crate::repository::tree_id;
use crate::snapshot::removal_line;
use crate::survey::{SurveyScope, SurveyedKind, ignored, survey};
use crate::{Exclusions, GitError, Repository};

impl Repository {
    /// Stores the user's files, tracked or new and not ignored, and returns their tree. What
    /// is excluded stays as HEAD has it. `scratch` is a place for an index, outside the work
    /// tree. A ref has to keep the objects.
    pub fn present(&self, scratch: &Path, exclusions: &Exclusions) -> Result<TreeId, GitError> {
        if let Some(parent) = scratch.parent() {
            create_private_dir(parent).map_err(GitError::io(parent))?;
        }
        remove_all(scratch).map_err(GitError::io(scratch))?;
        self.make_work()?;
        let tree = self.store_present(scratch, exclusions);
        remove_all(scratch).map_err(GitError::io(scratch))?;
        tree
    }

    fn store_present(&self, scratch: &Path, exclusions: &Exclusions) -> Result<TreeId, GitError> {
        let git = |action| self.git_on(action, self.root(), scratch);
        let head = self.head()?;
        let base = self.listing(&head)?;
        git("read a commit").args(["read-tree", head.as_str()]).run()?;
        let skip = |name: &[u8], kind: SurveyedKind| match kind {
            SurveyedKind::Foreign => true,
            SurveyedKind::File => exclusions.excludes_file(name),
            SurveyedKind::Directory => exclusions.excludes_directory(name),
        };
        let ignored = |names: &[&Name]| ignored(git("check the ignore rules"), names);
        let found = survey(
            self.root(),
            &base,
            &SurveyScope { is_own: false, skip: &skip, ignored: &ignored },
        )?;
        let kept = |name: &[u8]| exclusions.excludes_file(name);
        let gone = base.iter().filter(|(name, entry)| {
            !entry.is_submodule() && !kept(name) && !found.tracked.contains(*name)
        });
        let lines: Vec<u8> = gone.flat_map(|(name, entry)| removal_line(entry, name)).collect();
        if !lines.is_empty() {
            let call = git("correct the index").stdin(lines);
            call.args(["update-index", "-z", "--index-info"]).run()?;
        }
        let there = found.tracked.iter().filter(|name| !kept(name));
        let mut names: Vec<&Name> = there.chain(&found.untracked).collect();
        names.sort_unstable();
        let question: Vec<u8> = names.iter().flat_map(|name| [&name[..], b"\0"].concat()).collect();
        let call = git("store files").stdin(question);
        call.args(["update-index", "--add", "-z", "--stdin"]).run()?;
        tree_id("store a tree", &git("store a tree").args(["write-tree"]).run()?)
    }
}
