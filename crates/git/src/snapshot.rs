//! From the files of a checkout to a tree.
//!
//! A snapshot is a function of the files on disk, the base commit and the exclusions; the
//! index only saves reading files that did not change. What is tracked is what the base
//! tracks: neither an earlier snapshot nor anything the agent staged, committed or deleted
//! in its `.git` counts.
//!
//! Two kinds of path keep what the base has, whatever is on disk: excluded ones, and
//! submodules, whose content a checkout does not have. A file that would need the place of
//! one of these is left out.

use std::collections::HashSet;

use spore_model::{CommitId, TreeId};

use crate::checkout::Checkout;
use crate::listing::{Name, TreeEntry, TreeListing, parents};
use crate::repository::tree_id;
use crate::survey::{Names, SurveyScope, SurveyedKind, survey};
use crate::{Exclusions, GitError};

impl Checkout {
    /// Stores the checkout's files, tracked or new and not ignored, and returns their tree.
    /// The objects are in the user's repository; a ref has to keep them.
    pub fn snapshot(&self, base: &CommitId, exclusions: &Exclusions) -> Result<TreeId, GitError> {
        let _lock = self.enter()?;
        self.recall_laid()?;
        let base = self.repository().listing(base)?;
        let kept = KeptPaths::of(&base, exclusions);
        let wanted = self.wanted(&base, &kept, exclusions)?;
        self.correct_index(&base, &kept, &wanted)?;
        self.store(&wanted)?;
        let answer = self.git("store a tree").args(["write-tree"]).run()?;
        tree_id("store a tree", &answer)
    }

    /// Returns whether no tracked file was touched since the checkout was laid out or reset; what
    /// is new does not count. Where this is false a snapshot tells whether that means anything.
    pub fn looks_untouched(&self) -> Result<bool, GitError> {
        let _lock = self.enter()?;
        self.recall_laid()?;
        let call = self.git("look for changes");
        let call = call.args(["diff-files", "--quiet", "--ignore-submodules=all"]);
        let answer = call.answer()?;
        match answer.code {
            0 => Ok(true),
            1 => Ok(false),
            _ => Err(call.failure(&answer)),
        }
    }

    /// Returns the files whose content on disk is to be stored.
    fn wanted(
        &self,
        base: &TreeListing,
        kept: &KeptPaths<'_>,
        exclusions: &Exclusions,
    ) -> Result<Names, GitError> {
        let skip = |name: &[u8], kind: SurveyedKind| match kind {
            SurveyedKind::Foreign => true,
            SurveyedKind::File => exclusions.excludes_file(name) || kept.blocks(name),
            SurveyedKind::Directory => {
                exclusions.excludes_directory(name) || kept.names.contains(name)
            }
        };
        let scope =
            SurveyScope { is_own: true, skip: &skip, ignored: &|names| self.ignored(names) };
        let found = survey(self.dir(), base, &scope)?;
        let tracked = found.tracked.into_iter().filter(|name| !kept.names.contains(&name[..]));
        Ok(tracked.chain(found.untracked).collect())
    }

    /// Takes out of the index what is not wanted, and puts back what the base keeps.
    fn correct_index(
        &self,
        base: &TreeListing,
        kept: &KeptPaths<'_>,
        wanted: &Names,
    ) -> Result<(), GitError> {
        let indexed = self.indexed()?;
        let mut lines = Vec::new();
        for (name, entry) in indexed.iter() {
            if !wanted.contains(name) && !kept.names.contains(name) {
                lines.extend(removal_line(entry, name));
            }
        }
        for (name, entry) in base.iter() {
            if kept.names.contains(name) && indexed.get(name) != Some(entry) {
                lines.extend(index_line(entry.mode, entry.object, name));
            }
        }
        if !lines.is_empty() {
            let call = self.git("correct the index").stdin(lines);
            call.args(["update-index", "-z", "--index-info"]).run()?;
        }
        Ok(())
    }

    fn store(&self, wanted: &Names) -> Result<(), GitError> {
        let mut names: Vec<&Name> = wanted.iter().collect();
        names.sort_unstable();
        let mut question = Vec::new();
        for name in names {
            question.extend_from_slice(name);
            question.push(0);
        }
        let call = self.git("store files").stdin(question);
        call.args(["update-index", "--add", "--remove", "-z", "--stdin"]).run()?;
        Ok(())
    }
}

/// Takes a path out of an index.
pub(crate) fn removal_line(entry: TreeEntry<'_>, name: &[u8]) -> Vec<u8> {
    index_line("0", &"0".repeat(entry.object.len()), name)
}

/// Sets what an index has at a path.
pub(crate) fn index_line(mode: &str, object: &str, name: &[u8]) -> Vec<u8> {
    let mut line = format!("{mode} {object}\t").into_bytes();
    line.extend_from_slice(name);
    line.push(0);
    line
}

/// The paths that stay as they are in the base.
struct KeptPaths<'a> {
    names: HashSet<&'a [u8]>,
    folders: HashSet<&'a [u8]>,
}

impl<'a> KeptPaths<'a> {
    fn of(base: &'a TreeListing, exclusions: &Exclusions) -> Self {
        let stays = base
            .iter()
            .filter(|(name, entry)| entry.is_submodule() || exclusions.excludes_file(name));
        let names: HashSet<&[u8]> = stays.map(|(name, _)| name).collect();
        let folders = names.iter().flat_map(|name| parents(name)).collect();
        Self { names, folders }
    }

    /// Returns whether a file here would take a kept path's place.
    fn blocks(&self, name: &[u8]) -> bool {
        self.names.contains(name)
            || self.folders.contains(name)
            || parents(name).any(|folder| self.names.contains(folder))
    }
}
