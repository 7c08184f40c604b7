//! What tells one content from another: a hash a file, and from these one a directory.
//!
//! A file's hash is the id that git gives its content, so it can be compared with the code
//! index and with any commit. A directory's is made of the names, kinds and hashes of what is
//! in it. So an edit changes the hashes of the file, its directory and the directories above,
//! and of nothing else; that is the whole rule by which a summary goes stale.

use std::fmt;

use serde::{Serialize, Serializer};
use sha1::{Digest, Sha1};

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash([u8; 20]);

impl Hash {
    /// The id that git gives this content.
    pub fn of_content(content: &[u8]) -> Self {
        let mut hash = Sha1::new();
        hash.update(format!("blob {}\0", content.len()));
        hash.update(content);
        Self(hash.finalize().into())
    }

    /// For what is not read whole: all these parts, in this order.
    pub(crate) fn of_parts(what: &str, parts: &[&[u8]]) -> Self {
        let mut hash = Sha1::new();
        hash.update(what);
        for part in parts {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// The hash of a directory, from what is in it, by name.
    pub(crate) fn of_directory<'a>(children: impl Iterator<Item = Child<'a>>) -> Self {
        let mut hash = Sha1::new();
        hash.update("directory");
        for child in children {
            hash.update([child.tag]);
            hash.update(u64::try_from(child.name.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(child.name);
            hash.update(child.hash.0);
        }
        Self(hash.finalize().into())
    }
}

/// One name in a directory.
#[derive(Clone, Copy)]
pub(crate) struct Child<'a> {
    pub(crate) name: &'a [u8],
    /// What it is: a file that becomes a link is a change.
    pub(crate) tag: u8,
    pub(crate) hash: Hash,
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_has_the_id_that_git_gives_it() {
        // printf 'hello\n' | git hash-object --stdin
        let hash = Hash::of_content(b"hello\n").to_string();
        assert_eq!(hash, "ce013625030ba8dba906f756967f9e9ca394464a");
    }

    #[test]
    fn names_kinds_and_contents_all_count() {
        let (one, other) = (Hash::of_content(b"1"), Hash::of_content(b"2"));
        let of = |name: &str, tag: u8, hash: Hash| {
            Hash::of_directory([Child { name: name.as_bytes(), tag, hash }].into_iter())
        };
        let all =
            [of("a", b'f', one), of("b", b'f', one), of("a", b'l', one), of("a", b'f', other)];
        for (at, hash) in all.iter().enumerate() {
            assert!(!all[..at].contains(hash), "{at}");
        }
    }
}
