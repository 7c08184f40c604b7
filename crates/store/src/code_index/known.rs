//! What it takes to see which files changed, in one row.
//!
//! An update that finds nothing changed reads this and little else. As thousands of rows it took
//! longer to read than the tree takes to walk. The row repeats what the tables `files` and
//! `skipped` say: they are what counts, and every transaction that touches one of them writes
//! the row anew.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::rows::{FileNo, FileStamp, KnownFile};
use super::{CodeIndex, CodeIndexError};

/// All files that were read or left out, in no particular order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KnownTree {
    /// All paths, one behind the other.
    paths: String,
    blobs: Vec<u8>,
    /// Languages and reasons.
    words: Vec<String>,
    entries: Vec<KnownEntry>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct KnownEntry {
    /// Zero for a file that was left out.
    no: FileNo,
    stamp: FileStamp,
    word: u16,
    /// Where path and blob end; they begin where those of the entry before end.
    path_end: u32,
    blob_end: u32,
}

/// One file of a [`KnownTree`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KnownTreeFile<'k> {
    pub path: &'k str,
    pub stamp: FileStamp,
    /// The id that git gives its content.
    pub blob: &'k [u8],
    pub state: KnownState<'k>,
}

/// What became of a file when it was looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KnownState<'k> {
    Read { no: FileNo, language: &'k str },
    LeftOut { reason: &'k str },
}

impl KnownTreeFile<'_> {
    /// Returns it as a file that was read; nothing if it was left out.
    pub fn to_file(&self) -> Option<KnownFile> {
        let KnownState::Read { no, language } = self.state else { return None };
        let (path, language) = (self.path.to_owned(), language.to_owned());
        Some(KnownFile { no, path, language, stamp: self.stamp, blob: self.blob.to_vec() })
    }
}

impl KnownTree {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the file at a place.
    pub fn get(&self, place: usize) -> Option<KnownTreeFile<'_>> {
        let entry = self.entries.get(place)?;
        let before = place.checked_sub(1).and_then(|before| self.entries.get(before));
        let (path, blob) = before.map_or((0, 0), |before| (before.path_end, before.blob_end));
        let word = self.words.get(usize::from(entry.word))?.as_str();
        Some(KnownTreeFile {
            path: self.paths.get(path as usize..entry.path_end as usize)?,
            stamp: entry.stamp,
            blob: self.blobs.get(blob as usize..entry.blob_end as usize)?,
            state: match entry.no {
                0 => KnownState::LeftOut { reason: word },
                no => KnownState::Read { no, language: word },
            },
        })
    }

    /// Returns all files, by place.
    pub fn iter(&self) -> impl Iterator<Item = KnownTreeFile<'_>> {
        (0..self.len()).filter_map(|place| self.get(place))
    }

    fn push(&mut self, no: FileNo, path: &str, word: &str, stamp: FileStamp, blob: &[u8]) {
        let word = match self.words.iter().position(|known| known == word) {
            Some(place) => place,
            None => {
                self.words.push(word.to_owned());
                self.words.len() - 1
            }
        };
        self.paths.push_str(path);
        self.blobs.extend_from_slice(blob);
        self.entries.push(KnownEntry {
            no,
            stamp,
            word: u16::try_from(word).unwrap_or(u16::MAX),
            path_end: short(self.paths.len()),
            blob_end: short(self.blobs.len()),
        });
    }
}

impl FromIterator<KnownFile> for KnownTree {
    fn from_iter<I: IntoIterator<Item = KnownFile>>(files: I) -> Self {
        let mut tree = Self::default();
        for file in files {
            tree.push(file.no, &file.path, &file.language, file.stamp, &file.blob);
        }
        tree
    }
}

impl CodeIndex {
    /// Returns all files as it takes to see which changed.
    pub fn known_tree(&self) -> Result<KnownTree, CodeIndexError> {
        let read = |row: &Row<'_>| {
            decode(row.get_ref(0)?.as_blob().unwrap_or_default()).ok_or_else(|| {
                let why = "the list of known files cannot be read".into();
                rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, why)
            })
        };
        let sql = "SELECT bytes FROM known";
        let found = self.read(|connection| connection.query_row(sql, [], read).optional())?;
        // Without a row nothing was ever written.
        Ok(found.unwrap_or_default())
    }
}

/// Writes the row that says what `files` and `skipped` say.
pub(super) fn keep(connection: &Connection) -> rusqlite::Result<()> {
    let bytes = encode(&gather(connection)?);
    let sql = "INSERT OR REPLACE INTO known VALUES (1, ?1)";
    connection.prepare_cached(sql)?.execute(params![bytes])?;
    Ok(())
}

pub(super) fn gather(connection: &Connection) -> rusqlite::Result<KnownTree> {
    let mut tree = KnownTree::default();
    for sql in [
        "SELECT path, language, size, mtime_ns, inode, blob, no FROM files ORDER BY no",
        "SELECT path, reason, size, mtime_ns, inode, blob, 0 FROM skipped ORDER BY path",
    ] {
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let blob = row.get_ref(5)?.as_blob().unwrap_or_default();
            tree.push(row.get(6)?, text(row, 0)?, text(row, 1)?, stamp(row)?, blob);
        }
    }
    Ok(tree)
}

fn text<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<&'r str> {
    Ok(row.get_ref(column)?.as_str().unwrap_or_default())
}

fn stamp(row: &Row<'_>) -> rusqlite::Result<FileStamp> {
    Ok(FileStamp {
        size: row.get::<_, i64>(2)?.cast_unsigned(),
        mtime_ns: row.get(3)?,
        inode: row.get::<_, i64>(4)?.cast_unsigned(),
    })
}

/// Counts, words, entries of one width, then all paths and all blobs.
fn encode(tree: &KnownTree) -> Vec<u8> {
    let size = 16 + tree.entries.len() * ENTRY + tree.paths.len() + tree.blobs.len();
    let mut bytes = Vec::with_capacity(size + tree.words.len() * 24);
    for count in [tree.words.len(), tree.entries.len(), tree.paths.len(), tree.blobs.len()] {
        bytes.extend(short(count).to_le_bytes());
    }
    for word in &tree.words {
        bytes.extend(short(word.len()).to_le_bytes());
        bytes.extend(word.as_bytes());
    }
    for entry in &tree.entries {
        bytes.extend(entry.no.to_le_bytes());
        bytes.extend(entry.stamp.size.to_le_bytes());
        bytes.extend(entry.stamp.mtime_ns.to_le_bytes());
        bytes.extend(entry.stamp.inode.to_le_bytes());
        bytes.extend(entry.word.to_le_bytes());
        bytes.extend(entry.path_end.to_le_bytes());
        bytes.extend(entry.blob_end.to_le_bytes());
    }
    bytes.extend(tree.paths.as_bytes());
    bytes.extend(&tree.blobs);
    bytes
}

/// How many bytes an entry takes.
const ENTRY: usize = 38;

/// Returns what was encoded, `None` for bytes that [`encode`] did not write.
fn decode(bytes: &[u8]) -> Option<KnownTree> {
    let mut rest = bytes;
    let [words, entries, paths, blobs] =
        [number(&mut rest)?, number(&mut rest)?, number(&mut rest)?, number(&mut rest)?];
    let mut tree = KnownTree::default();
    for _ in 0..words {
        let length = number(&mut rest)? as usize;
        tree.words.push(std::str::from_utf8(part(&mut rest, length)?).ok()?.to_owned());
    }
    let table = part(&mut rest, (entries as usize).checked_mul(ENTRY)?)?;
    tree.entries = table.chunks_exact(ENTRY).map(entry).collect::<Option<_>>()?;
    tree.paths = std::str::from_utf8(part(&mut rest, paths as usize)?).ok()?.to_owned();
    tree.blobs = part(&mut rest, blobs as usize)?.to_vec();
    rest.is_empty().then_some(tree)
}

fn entry(mut bytes: &[u8]) -> Option<KnownEntry> {
    let rest = &mut bytes;
    Some(KnownEntry {
        no: number(rest)?,
        stamp: FileStamp {
            size: u64::from_le_bytes(array(rest)?),
            mtime_ns: i64::from_le_bytes(array(rest)?),
            inode: u64::from_le_bytes(array(rest)?),
        },
        word: u16::from_le_bytes(array(rest)?),
        path_end: number(rest)?,
        blob_end: number(rest)?,
    })
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    array(rest).map(u32::from_le_bytes)
}

fn array<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    part(rest, N)?.try_into().ok()
}

fn part<'b>(rest: &mut &'b [u8], length: usize) -> Option<&'b [u8]> {
    let (part, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(part)
}

/// All paths of a tree together are far below four gigabytes.
fn short(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tree() -> impl Strategy<Value = KnownTree> {
        let file = ("[a-zä/.]{0,12}", "rust|go|", any::<(u64, i64, u64)>(), 0..9_usize, 0..3_u32);
        proptest::collection::vec(file, 0..20).prop_map(|files| {
            let mut tree = KnownTree::default();
            for (path, word, (size, mtime_ns, inode), blob, no) in files {
                tree.push(no, &path, &word, FileStamp { size, mtime_ns, inode }, &vec![7; blob]);
            }
            tree
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_what_is_read(tree in tree()) {
            prop_assert_eq!(decode(&encode(&tree)), Some(tree.clone()));
            prop_assert_eq!(tree.iter().count(), tree.len());
        }

        #[test]
        fn damaged_bytes_are_told_and_never_fail(
            tree in tree(), cut in 0..400_usize, at in 0..400_usize, byte in any::<u8>()
        ) {
            let mut bytes = encode(&tree);
            if let Some(there) = bytes.get_mut(at) {
                *there = byte;
            }
            if let Some(tree) = decode(&bytes) {
                tree.iter().for_each(drop);
            }
            bytes.truncate(cut);
            prop_assert!(cut >= encode(&tree).len() || decode(&bytes).is_none());
        }
    }
}
