//! The file of what was embedded: memory-mapped, keyed by a hash of the text.
//!
//! It is derived: if the file is lost, the texts are embedded again. Rows are only ever added, in
//! blocks of a fixed shape, and a row counts once the header says so. The header is written after
//! the rows are on disk, so a writer that dies leaves rows that do not count, and the next one
//! writes over them. Old rows go by [`Vectors::compact`], which writes a new file and renames it;
//! a reader keeps the old one until it asks again.
//!
//! Many may read while one writes. Which process writes is the caller's to settle, with a
//! lock beside the file.
//!
//! A number is 16 bits of a row's own scale, kept as two planes of 8: the search reads the
//! upper plane of all rows, and both planes of the few that may be among the best. So a scan
//! touches 384 bytes a row, the file has 788, and a score is right to about 1e-5.

mod layout;
mod scan;

use std::collections::HashMap;
use std::fs::{File, Metadata, OpenOptions};
use std::hash::{BuildHasherDefault, Hasher};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::Vector;
use crate::mapping::Mapping;
use layout::{BLOCK_ROWS, Quantised, VectorsHeader};

/// A text, by its hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key(pub u128);

impl Key {
    /// Returns the key of a text; equal texts have equal keys.
    pub fn of(text: &str) -> Self {
        let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let mut half = [0; 16];
        half.copy_from_slice(&digest[..16]);
        Self(u128::from_le_bytes(half))
    }
}

/// A row that is near to a query.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Near {
    pub row: u32,
    pub key: Key,
    /// The cosine of the angle between the two.
    pub score: f32,
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VectorsError {
    /// It is of another model or version, or no such file at all: remove it and embed again.
    #[error("{path} holds no vectors of this model: {what}", path = spore_plain::path(.path))]
    Foreign { path: PathBuf, what: String },
    #[error("cannot use {path}", path = spore_plain::path(.path))]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// An open file of vectors.
pub struct Vectors {
    path: PathBuf,
    file: File,
    map: Mapping,
    rows: u32,
    /// Which row a key has; made when first asked for, because a search never asks.
    places: Option<HashMap<Key, u32, BuildHasherDefault<KeyHasher>>>,
}

impl Vectors {
    /// Opens the file, or makes an empty one.
    pub fn open(path: &Path) -> Result<Self, VectorsError> {
        let failed = |source| VectorsError::Io { path: path.to_owned(), source };
        if !path.exists() {
            create(path).map_err(failed)?;
        }
        let writable = OpenOptions::new().read(true).write(true).open(path);
        // A search is useful on a file that it may not change.
        let file = writable.or_else(|_| File::open(path)).map_err(failed)?;
        let map = Mapping::of(&file).map_err(failed)?;
        let rows = read_rows(path, &map)?;
        Ok(Self { path: path.to_owned(), file, map, rows, places: None })
    }

    /// Removes a file that [`open`](Self::open) called foreign, and opens an empty one.
    pub fn start_over(path: &Path) -> Result<Self, VectorsError> {
        create(path).map_err(|source| VectorsError::Io { path: path.to_owned(), source })?;
        Self::open(path)
    }

    /// Returns how many rows there are.
    pub fn len(&self) -> usize {
        self.rows as usize
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Sees what another process has added since, or the file it was replaced by.
    pub fn refresh(&mut self) -> Result<(), VectorsError> {
        let number = |file: io::Result<Metadata>| file.map(|found| (found.dev(), found.ino())).ok();
        let replaced = number(std::fs::metadata(&self.path)) != number(self.file.metadata());
        // The mapping is shared, so it shows what the header says now.
        let rows = VectorsHeader::read(self.map.bytes()).map_or(0, |header| header.rows);
        if replaced || rows != self.rows {
            *self = Self::open(&self.path)?;
        }
        Ok(())
    }

    /// Returns the row of a text.
    pub fn row(&mut self, key: Key) -> Option<u32> {
        let (map, rows) = (&self.map, self.rows);
        let places = self.places.get_or_insert_with(|| {
            (0..rows).map(|row| (layout::key(map.bytes(), row), row)).collect()
        });
        places.get(&key).copied()
    }

    /// Returns whether a text was embedded already.
    pub fn contains(&mut self, key: Key) -> bool {
        self.row(key).is_some()
    }

    /// Returns the vector of a text.
    pub fn get(&mut self, key: Key) -> Option<Vector> {
        self.row(key).map(|row| self.vector(row))
    }

    /// Returns the key of a row.
    ///
    /// # Panics
    ///
    /// Where there is no such row.
    pub fn key(&self, row: u32) -> Key {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        layout::key(self.map.bytes(), row)
    }

    fn vector(&self, row: u32) -> Vector {
        layout::vector(self.map.bytes(), row)
    }

    /// Adds rows, on disk when this returns. Texts that are there already stay as they are.
    pub fn append(&mut self, new: &[(Key, Vector)]) -> Result<usize, VectorsError> {
        self.refresh()?;
        let mut fresh: Vec<&(Key, Vector)> = Vec::with_capacity(new.len());
        let mut seen = std::collections::HashSet::new();
        for entry in new {
            if !self.contains(entry.0) && seen.insert(entry.0) {
                fresh.push(entry);
            }
        }
        if fresh.is_empty() {
            return Ok(0);
        }
        let rows: Vec<(Key, Quantised)> =
            fresh.iter().map(|(key, vector)| (*key, Quantised::of(vector))).collect();
        self.write(&rows).map_err(|source| VectorsError::Io { path: self.path.clone(), source })?;
        Ok(rows.len())
    }

    fn write(&mut self, rows: &[(Key, Quantised)]) -> io::Result<()> {
        let room = u32::MAX - self.rows;
        let added = u32::try_from(rows.len()).ok().filter(|added| *added <= room);
        let added = added.ok_or_else(|| io::Error::other("a file holds at most 2^32 rows"))?;
        let total = self.rows + added;
        // A file that was cut short says it has more; what is added must not make that true.
        if VectorsHeader::read(self.map.bytes()).is_ok_and(|header| header.rows > self.rows) {
            self.count(self.rows)?;
        }
        let size = layout::file_size(total);
        if self.file.metadata()?.len() < size {
            self.file.set_len(size)?;
        }
        let mut rest = rows;
        let mut row = self.rows;
        while !rest.is_empty() {
            let in_block = BLOCK_ROWS - row % BLOCK_ROWS;
            let (some, after) = rest.split_at(rest.len().min(in_block as usize));
            for (offset, bytes) in layout::pieces(row, some) {
                self.file.write_all_at(&bytes, offset)?;
            }
            row += some.len() as u32;
            rest = after;
        }
        self.file.sync_data()?;
        self.count(total)?;
        self.map = Mapping::of(&self.file)?;
        if let Some(places) = &mut self.places {
            places.extend((self.rows..).zip(rows).map(|(row, (key, _))| (*key, row)));
        }
        self.rows = total;
        Ok(())
    }

    /// Makes this many rows count: one write of eight bytes, so that no reader sees half of it.
    fn count(&self, rows: u32) -> io::Result<()> {
        self.file.write_all_at(&u64::from(rows).to_le_bytes(), layout::ROWS_AT)?;
        self.file.sync_data()
    }

    /// Writes the rows that are still wanted to a new file and puts it in place of this one.
    /// Returns how many were dropped. Row numbers change.
    pub fn compact(&mut self, keep: impl Fn(Key) -> bool) -> Result<usize, VectorsError> {
        let kept: Vec<u32> =
            (0..self.rows).filter(|row| keep(layout::key(self.map.bytes(), *row))).collect();
        let dropped = self.len() - kept.len();
        if dropped == 0 {
            return Ok(0);
        }
        let scratch = self.path.with_extension(format!("{}.tmp", std::process::id()));
        let replaced = self.copy_to(&scratch, &kept).and_then(|()| {
            std::fs::rename(&scratch, &self.path)?;
            sync_parent(&self.path)
        });
        if let Err(source) = replaced {
            let _ = std::fs::remove_file(&scratch);
            return Err(VectorsError::Io { path: self.path.clone(), source });
        }
        self.refresh()?;
        Ok(dropped)
    }

    fn copy_to(&self, scratch: &Path, kept: &[u32]) -> io::Result<()> {
        create(scratch)?;
        let file = OpenOptions::new().read(true).write(true).open(scratch)?;
        let map = Mapping::of(&file)?;
        let mut copy = Self { path: scratch.to_owned(), file, map, rows: 0, places: None };
        for some in kept.chunks(BLOCK_ROWS as usize * 16) {
            let bytes = self.map.bytes();
            let rows =
                some.iter().map(|row| (layout::key(bytes, *row), Quantised::at(bytes, *row)));
            copy.write(&rows.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// Returns the `k` rows nearest to the query among those allowed, the nearest first.
    ///
    /// `allow` is only asked about rows that would be among the best.
    pub fn nearest(
        &self,
        query: &Vector,
        k: usize,
        threads: usize,
        allow: impl Fn(u32) -> bool + Sync,
    ) -> Vec<Near> {
        let bytes = self.map.bytes();
        let found = scan::nearest(bytes, self.rows, query, k, threads, allow);
        let near = |(row, score)| Near { row, key: layout::key(bytes, row), score };
        found.into_iter().map(near).collect()
    }
}

fn read_rows(path: &Path, map: &Mapping) -> Result<u32, VectorsError> {
    let header = VectorsHeader::read(map.bytes())
        .map_err(|what| VectorsError::Foreign { path: path.to_owned(), what })?;
    // A copy that was cut short has fewer rows than it says: whole blocks are whole.
    Ok(header.rows.min(layout::whole_rows(map.bytes().len() as u64)))
}

/// Puts an empty file in place, whole.
fn create(path: &Path) -> io::Result<()> {
    let scratch = path.with_extension(format!("{}.new", std::process::id()));
    std::fs::write(&scratch, VectorsHeader::with_rows(0).bytes())?;
    File::open(&scratch)?.sync_all()?;
    std::fs::rename(&scratch, path)?;
    sync_parent(path)
}

fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// Keys are hashes already.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for (into, byte) in (0..).zip(bytes) {
            self.0 ^= u64::from(*byte) << (into % 8 * 8);
        }
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }
}

#[cfg(test)]
mod tests;
