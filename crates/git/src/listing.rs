//! The files of a commit, as git lists them.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use crate::GitError;
use crate::command::records;

/// A path below the root of a work tree, with `/` between its parts: bytes, for a file's
/// name need not be text.
pub(crate) type Name = Vec<u8>;

/// Joins a name onto the directory it is relative to.
pub(crate) fn below(root: &Path, name: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    root.join(std::ffi::OsStr::from_bytes(name))
}

/// Returns the name of what is called `base` in a directory, itself a name.
pub(crate) fn inside(folder: &[u8], base: &std::ffi::OsStr) -> Name {
    use std::os::unix::ffi::OsStrExt;
    let separator: &[u8] = if folder.is_empty() { b"" } else { b"/" };
    [folder, separator, base.as_bytes()].concat()
}

/// Returns the directories above `name`, the nearest first, without the root.
pub(crate) fn parents(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = name;
    std::iter::from_fn(move || {
        let slash = rest.iter().rposition(|byte| *byte == b'/')?;
        rest = &rest[..slash];
        Some(rest)
    })
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) mode: String,
    pub(crate) object: String,
}

impl Entry {
    /// Returns whether this is a commit of another repository: a submodule.
    pub(crate) fn is_submodule(&self) -> bool {
        self.mode == "160000"
    }

    pub(crate) fn is_file(&self) -> bool {
        self.mode.starts_with("100")
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Listing {
    pub(crate) entries: BTreeMap<Name, Entry>,
    /// Every directory that holds an entry, at any depth.
    pub(crate) folders: HashSet<Name>,
}

impl Listing {
    /// Reads `ls-tree -z` (mode, type, object) or `ls-files -z --stage` (mode, object, stage).
    pub(crate) fn parse(action: &'static str, answer: &[u8]) -> Result<Self, GitError> {
        let mut listing = Self::default();
        for record in records(answer) {
            let (entry, name) =
                parse_record(record).ok_or_else(|| GitError::unreadable(action, record))?;
            for folder in parents(&name) {
                if !listing.folders.insert(folder.to_vec()) {
                    break;
                }
            }
            listing.entries.insert(name, entry);
        }
        Ok(listing)
    }
}

fn parse_record(record: &[u8]) -> Option<(Entry, Name)> {
    let tab = record.iter().position(|byte| *byte == b'\t')?;
    let head = std::str::from_utf8(&record[..tab]).ok()?;
    let mut words = head.split(' ');
    let (mode, second, third) = (words.next()?, words.next()?, words.next()?);
    let object = if second.len() >= 40 { second } else { third };
    let entry = Entry { mode: mode.to_owned(), object: object.to_owned() };
    Some((entry, record[tab + 1..].to_vec()))
}
