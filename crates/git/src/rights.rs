//! The mode and the rights of a newly made directory, and the repair of directories that have
//! others.
//!
//! An agent or a gate can take its rights off a directory, or give it a list of rights that
//! whatever is made in it inherits; what git writes there later would not be what it writes
//! elsewhere.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use spore_effects::files::remove_all;

use crate::GitError;
use crate::listing::{TreeEntry, below, parents};

/// The lists of rights that a directory can have beside its mode: its own, and the one for what
/// is made in it (<https://man7.org/linux/man-pages/man5/acl.5.html>).
const LISTS: [&str; 2] = ["system.posix_acl_access", "system.posix_acl_default"];

pub(crate) struct UsualRights {
    directory: u32,
    /// Whether even a new directory has such a list: then the user has set it up that way.
    is_shared: bool,
}

impl UsualRights {
    /// Makes a directory to see its mode, because a process cannot ask for its umask without
    /// changing it (<https://man7.org/linux/man-pages/man2/umask.2.html>).
    pub(crate) fn learn(scratch: &Path) -> Result<Self, GitError> {
        let learn = || {
            remove_all(scratch)?;
            fs::create_dir(scratch)?;
            let directory = fs::symlink_metadata(scratch)?.mode() & 0o7777;
            let is_shared =
                LISTS.iter().any(|list| matches!(xattr::get(scratch, list), Ok(Some(_))));
            fs::remove_dir(scratch)?;
            Ok(Self { directory, is_shared })
        };
        learn().map_err(GitError::io(scratch))
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Returns whether a file has the rights that it was checked out with, and one name.
    pub(crate) fn is_of(&self, file: &Metadata, tracked: TreeEntry<'_>) -> bool {
        let runs = self.directory & 0o777;
        let proper = if tracked.mode == "100755" { runs } else { runs & 0o666 };
        file.nlink() == 1 && file.mode() & 0o7777 == proper
    }

    /// Gives a directory the rights that it was made with.
    pub(crate) fn put_right(&self, path: &Path, directory: &Metadata) -> io::Result<()> {
        let had_list = self.remove_lists(path);
        // Where a list goes, the mode says something else.
        if had_list || directory.mode() & 0o7777 != self.directory {
            fs::set_permissions(path, Permissions::from_mode(self.directory))?;
        }
        Ok(())
    }

    /// Makes the top of a checkout private, as it was made.
    pub(crate) fn put_root_right(&self, root: &Path) -> Result<(), GitError> {
        self.remove_lists(root);
        fs::set_permissions(root, Permissions::from_mode(0o700)).map_err(GitError::io(root))
    }

    /// Removes both lists of rights. Returns whether there was one that new directories lack.
    fn remove_lists(&self, path: &Path) -> bool {
        let removed = LISTS.iter().filter(|list| xattr::remove(path, list).is_ok());
        !self.is_shared && removed.count() > 0
    }

    /// Does so with those of these directories that are there. A link in the place of one may lead
    /// out of the checkout, so nothing behind it is looked at.
    pub(crate) fn put_folders_right<'a>(
        &self,
        root: &Path,
        folders: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), GitError> {
        self.put_root_right(root)?;
        // In this order each comes after the one it is in.
        let folders: BTreeSet<&[u8]> = folders.collect();
        let mut real: HashSet<&[u8]> = HashSet::new();
        for folder in folders {
            if parents(folder).next().is_some_and(|above| !real.contains(above)) {
                continue;
            }
            let path = below(root, folder);
            if let Ok(metadata) = fs::symlink_metadata(&path)
                && metadata.is_dir()
            {
                self.put_right(&path, &metadata).map_err(GitError::io(&path))?;
                real.insert(folder);
            }
        }
        Ok(())
    }
}
