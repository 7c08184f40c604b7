//! Checkouts that no run needs any more, kept because the next one is mostly the same.
//!
//! Writing ten thousand files takes seconds; seeing that they are as they should be takes a
//! tenth of that. A spare is one directory, a work tree and Spore's index of it: it is taken and
//! given back by a rename, so two processes never have the same one, and whatever a kill leaves
//! lies at a place that is marked as begun and is cleared.
//!
//! A spare may have been another agent's, so nothing of that one's may stay. What the commit
//! does not have goes, ignored or not. Whether a file still is what was checked out is told by
//! the index of when it was, whatever it would be stored as; one that has a second name or an
//! odd mode is written again. Where the user's settings would write files otherwise by now, all
//! are.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

use spore_effects::files::{create_private_dir, remove_all, write_atomic};
use spore_effects::walk;
use spore_model::CommitId;

use crate::checkout::{Checkout, IgnoredFiles};
use crate::listing::{Name, TreeEntry, TreeListing, below, inside, parents};
use crate::rights::UsualRights;
use crate::{GitError, Repository};

/// How many are kept: a run has a coder's and a verifier's.
const MAX_SPARES: usize = 2;

impl Repository {
    /// Like [`Repository::checkout`], but a new one is made of a spare of this repository's, if
    /// there is one in `spares`.
    pub fn checkout_reusing(
        &self,
        spares: &Path,
        place: &Path,
        commit: &CommitId,
    ) -> Result<Checkout, GitError> {
        self.checkout_at(place, commit, Some(spares))
    }

    /// Removes all spares, and says how many there were.
    pub fn remove_spares(spares: &Path) -> Result<u32, GitError> {
        let mut removed = 0;
        let doomed = spares.join(format!("doomed-{}", std::process::id()));
        for number in 0..MAX_SPARES {
            remove_all(&doomed).map_err(GitError::io(&doomed))?;
            // Moved first, as a checkout that takes a spare does it: so only one process has it.
            if fs::rename(spares.join(number.to_string()), &doomed).is_ok() {
                removed += 1;
            }
        }
        remove_all(&doomed).map_err(GitError::io(&doomed))?;
        Ok(removed)
    }
}

impl Checkout {
    /// Gives up the checkout and keeps its files for another one, unless there are enough
    /// spares. The caller knows that nothing in it is worth keeping.
    pub fn retire(self, spares: &Path) -> Result<(), GitError> {
        let lock = self.lock()?;
        self.effect("retire", || {
            let state = self.beside("state");
            write_atomic(&state, b"begun\n").map_err(GitError::io(&state))?;
            // What cannot be kept is removed below: a spare is never worth an error.
            let _ = self.keep_as_spare(spares);
            self.clear(lock)
        })
    }

    fn keep_as_spare(&self, spares: &Path) -> io::Result<()> {
        create_private_dir(spares)?;
        if (0..MAX_SPARES).all(|number| spares.join(number.to_string()).exists()) {
            return Ok(());
        }
        let bundle = self.beside("spare");
        remove_all(&bundle)?;
        create_private_dir(&bundle)?;
        fs::rename(self.dir(), bundle.join("tree"))?;
        fs::rename(self.laid(), bundle.join("laid"))?;
        let shape = [self.repository().shape(), fs::read(self.rules())?].concat();
        fs::write(bundle.join("shape"), shape)?;
        remove_all(&bundle.join("tree/.git"))?;
        // A rename does not replace a directory that is not empty, so a place that another
        // process took first stays its own (<https://man7.org/linux/man-pages/man2/rename.2.html>).
        (0..MAX_SPARES)
            .map(|number| fs::rename(&bundle, spares.join(number.to_string())))
            .find(Result::is_ok)
            .unwrap_or(Ok(()))
    }

    /// Turns a spare into this checkout's files, as `commit` has them. Returns whether there
    /// was one that could be used; what was left of another is to be wiped.
    pub(crate) fn adopt_spare(&self, spares: &Path, commit: &CommitId) -> bool {
        let bundle = self.beside("spare");
        let taken = (0..MAX_SPARES)
            .any(|number| fs::rename(spares.join(number.to_string()), &bundle).is_ok());
        let Ok(rules) = self.rules_for(commit) else { return false };
        taken && self.unpack(&bundle, &rules).is_ok() && self.renew(commit).is_ok()
    }

    fn unpack(&self, bundle: &Path, rules: &[u8]) -> io::Result<()> {
        let tree = bundle.join("tree");
        // A link in its place would lead everything below to files outside of the spare.
        if !fs::symlink_metadata(&tree)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        fs::rename(tree, self.dir())?;
        let shape = [&self.repository().shape(), rules].concat();
        if fs::read(bundle.join("shape"))? == shape {
            fs::rename(bundle.join("laid"), self.laid())?;
            write_atomic(&self.rules(), rules)?;
        }
        remove_all(bundle)
    }

    fn renew(&self, commit: &CommitId) -> Result<(), GitError> {
        let scratch = self.beside("spare");
        let usual = UsualRights::learn(&scratch)?;
        if usual.is_shared() {
            // What an agent added to such rights cannot be told from what is meant to be there.
            return Err(GitError::Unusable { path: scratch });
        }
        self.recall_laid()?;
        let indexed = self.indexed()?;
        // One walk instead of two, while what is tracked is all that git has to change.
        straighten(&usual, self.dir(), &indexed)?;
        if indexed.iter().any(|(_, entry)| entry.is_submodule()) {
            return self.bring_to(commit, IgnoredFiles::Remove);
        }
        self.read_tree(commit)
    }
}

/// Removes what is not in the index, and what is not as a checkout makes it; puts directories
/// right.
fn straighten(usual: &UsualRights, root: &Path, indexed: &TreeListing) -> Result<(), GitError> {
    usual.put_root_right(root)?;
    let folders = walk(Name::new(), |folder| {
        let (mut holds_files, mut folders) = (false, Vec::new());
        let path = below(root, folder);
        for entry in fs::read_dir(&path).map_err(GitError::io(&path))? {
            let entry = entry.map_err(GitError::io(&path))?;
            let name = inside(folder, &entry.file_name());
            // Of the entry itself: no link is followed.
            let metadata = entry.metadata().map_err(GitError::io(&path))?;
            if metadata.is_dir() && indexed.has_folder(&name) {
                let path = entry.path();
                usual.put_right(&path, &metadata).map_err(GitError::io(&path))?;
                folders.push(name);
            } else if is_kept(usual, &metadata, indexed.get(&name)) {
                holds_files = true;
            } else {
                let path = entry.path();
                remove_all(&path).map_err(GitError::io(&path))?;
            }
        }
        Ok::<_, GitError>(((folder.clone(), holds_files), folders))
    })?;
    remove_empty(root, &folders);
    Ok(())
}

fn is_kept(usual: &UsualRights, found: &Metadata, tracked: Option<TreeEntry<'_>>) -> bool {
    let Some(tracked) = tracked else { return false };
    found.is_symlink()
        || (found.is_file() && usual.is_of(found, tracked))
        || (found.is_dir() && tracked.is_submodule())
}

/// Removes the directories with no file in or below them, of which each comes after the one it
/// is in: they would stay empty, and git makes those that it needs.
fn remove_empty(root: &Path, folders: &[(Name, bool)]) {
    let mut needed: HashSet<&[u8]> = HashSet::new();
    for (folder, holds_files) in folders.iter().rev() {
        if *holds_files || needed.contains(&folder[..]) {
            needed.extend(parents(folder).next());
        } else if !folder.is_empty() {
            let _ = fs::remove_dir(below(root, folder));
        }
    }
}
