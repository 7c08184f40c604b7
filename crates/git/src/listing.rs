//! The files of a commit, as git lists them.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::GitError;

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

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TreeEntry<'a> {
    pub(crate) mode: &'a str,
    pub(crate) object: &'a str,
}

impl TreeEntry<'_> {
    /// Returns whether this is a commit of another repository: a submodule.
    pub(crate) fn is_submodule(self) -> bool {
        self.mode == "160000"
    }

    pub(crate) fn is_file(self) -> bool {
        self.mode.starts_with("100")
    }
}

/// The entries of a tree or of an index, by their paths.
///
/// They are kept as places in git's answer: a tree may have ten thousands, and a string for each
/// mode, id and path would cost more time than git takes to answer.
#[derive(Debug, Default)]
pub(crate) struct TreeListing {
    answer: Vec<u8>,
    /// In the order of their names, each of which is there once.
    records: Vec<EntryRecord>,
    /// Every directory that holds an entry, at any depth.
    folders: HashSet<Name>,
}

/// Where in the answer the parts of an entry are.
#[derive(Clone, Debug)]
struct EntryRecord {
    mode: Range<usize>,
    object: Range<usize>,
    name: Range<usize>,
}

impl TreeListing {
    /// Reads `ls-tree -z` (mode, type, object) or `ls-files -z --stage` (mode, object, stage).
    pub(crate) fn parse(action: &'static str, answer: Vec<u8>) -> Result<Self, GitError> {
        let mut records = Vec::new();
        let mut begin = 0;
        for record in answer.split(|byte| *byte == 0) {
            // Behind the last one there is nothing.
            if !record.is_empty() {
                let read = EntryRecord::parse(record, begin);
                records.push(read.ok_or_else(|| GitError::unreadable(action, record))?);
            }
            begin += record.len() + 1;
        }
        let name = |record: &EntryRecord| &answer[record.name.clone()];
        // Git's order is this one already. Of a path with several stages the last one counts.
        records.sort_by(|a, b| name(a).cmp(name(b)));
        records.dedup_by(|later, kept| {
            let same = name(later) == name(kept);
            if same {
                kept.clone_from(later);
            }
            same
        });
        let mut folders = HashSet::new();
        for record in &records {
            for folder in parents(name(record)) {
                if folders.contains(folder) {
                    break;
                }
                folders.insert(folder.to_vec());
            }
        }
        Ok(Self { answer, records, folders })
    }

    pub(crate) fn get(&self, name: &[u8]) -> Option<TreeEntry<'_>> {
        let found = self.records.binary_search_by(|record| self.name(record).cmp(name)).ok()?;
        Some(self.entry(&self.records[found]))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(crate) fn contains(&self, name: &[u8]) -> bool {
        self.get(name).is_some()
    }

    /// Returns whether something of this listing is in the directory `name`, at any depth.
    pub(crate) fn has_folder(&self, name: &[u8]) -> bool {
        self.folders.contains(name)
    }

    /// Returns the directories that something is in, at any depth.
    pub(crate) fn folders(&self) -> impl Iterator<Item = &[u8]> {
        self.folders.iter().map(Vec::as_slice)
    }

    /// Returns all entries, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], TreeEntry<'_>)> {
        self.records.iter().map(|record| (self.name(record), self.entry(record)))
    }

    fn name(&self, record: &EntryRecord) -> &[u8] {
        &self.answer[record.name.clone()]
    }

    fn entry(&self, record: &EntryRecord) -> TreeEntry<'_> {
        // `parse` has read both as text before it made the record.
        let text = |range: &Range<usize>| std::str::from_utf8(&self.answer[range.clone()]);
        TreeEntry {
            mode: text(&record.mode).unwrap_or_default(),
            object: text(&record.object).unwrap_or_default(),
        }
    }
}

impl EntryRecord {
    /// Reads one record, which begins at `begin` of the answer.
    fn parse(record: &[u8], begin: usize) -> Option<Self> {
        let tab = record.iter().position(|byte| *byte == b'\t')?;
        let head = std::str::from_utf8(&record[..tab]).ok()?;
        let mut words = head.split(' ');
        let (mode, second, third) = (words.next()?, words.next()?, words.next()?);
        let after_mode = begin + mode.len() + 1;
        let object = if second.len() >= 40 {
            after_mode..after_mode + second.len()
        } else {
            let after_kind = after_mode + second.len() + 1;
            after_kind..after_kind + third.len()
        };
        let name = begin + tab + 1..begin + record.len();
        Some(Self { mode: begin..begin + mode.len(), object, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "0123456789abcdef0123456789abcdef01234567";
    const B: &str = "89abcdef0123456789abcdef0123456789abcdef";

    fn listing(answer: &str) -> TreeListing {
        TreeListing::parse("list", answer.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn both_kinds_of_answers_are_read() {
        let tree = format!("100644 blob {A}\td/e/a b\x00160000 commit {B}\tlib\x00");
        let index = format!("100644 {A} 0\td/e/a b\x00160000 {B} 0\tlib\x00");
        for listing in [listing(&tree), listing(&index)] {
            let file = TreeEntry { mode: "100644", object: A };
            let submodule = TreeEntry { mode: "160000", object: B };
            assert!(listing.iter().eq([(&b"d/e/a b"[..], file), (b"lib", submodule)]));
            assert_eq!(listing.get(b"d/e/a b"), Some(file));
            assert_eq!(listing.get(b"d/e"), None);
            assert!(listing.has_folder(b"d") && listing.has_folder(b"d/e"));
            assert!(!listing.has_folder(b"lib") && !listing.has_folder(b""));
            assert!(file.is_file() && submodule.is_submodule());
        }
    }

    #[test]
    fn of_several_stages_the_last_one_counts_and_order_does_not() {
        let listing = listing(&format!(
            "100644 {A} 0\tz\x00100644 {A} 1\ta\x00100755 {B} 2\ta\x00100644 {B} 3\ta\x00"
        ));
        let entries: Vec<_> = listing.iter().collect();
        let last = TreeEntry { mode: "100644", object: B };
        assert_eq!(entries, [(&b"a"[..], last), (b"z", TreeEntry { mode: "100644", object: A })]);
    }

    #[test]
    fn what_cannot_be_read_is_said_to_be() {
        for answer in ["100644 blob\x00", "100644\ta\x00"] {
            assert!(TreeListing::parse("list", answer.as_bytes().to_vec()).is_err(), "{answer:?}");
        }
    }
}
