//! The words of the tree and of its history, in segments.
//!
//! The bytes are made and read by the `lexical` crate. Here they are kept: a segment is a head
//! and a list of postings for each of its terms, and every document is alive in one segment at
//! most, the one that was written last.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::reads::{ITEM, item};
use super::rows::{FileNo, StoredItem};
use super::{CodeIndex, Result, Writer};

/// What kind of documents a segment holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SegmentKind {
    /// Files, by their number.
    Code = 0,
    /// Commit messages, by the number of the commit.
    Commits = 1,
}

/// The number of a segment among those of its kind.
pub type SegmentNo = u32;

/// Which segments there are, and which documents live in them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Segments {
    /// Oldest first.
    pub heads: Vec<(SegmentNo, Vec<u8>)>,
    pub alive: HashMap<u32, SegmentNo>,
}

/// The postings of one term: of each segment that has it, the oldest first.
pub type TermLists = Vec<(SegmentNo, Vec<u8>)>;

impl Writer<'_> {
    /// Adds a segment. Its documents are dead in all others from now on.
    pub fn add_segment<'t>(
        &mut self,
        words: SegmentKind,
        head: &[u8],
        documents: &[u32],
        terms: impl Iterator<Item = (&'t str, Vec<u8>)>,
    ) -> Result<SegmentNo> {
        let sql = "SELECT coalesce(max(no), 0) + 1 FROM segments WHERE words = ?1";
        let no: SegmentNo = self.connection.query_row(sql, [words as i64], |row| row.get(0))?;
        let sql = "INSERT INTO segments VALUES (?1, ?2, ?3)";
        self.connection.execute(sql, params![words as i64, no, head])?;
        let sql = "INSERT OR REPLACE INTO segment_documents VALUES (?1, ?2, ?3)";
        let mut statement = self.connection.prepare_cached(sql)?;
        for document in documents {
            statement.execute(params![words as i64, document, no])?;
        }
        let sql = "INSERT INTO postings VALUES (?1, ?2, ?3, ?4)";
        let mut statement = self.connection.prepare_cached(sql)?;
        for (term, list) in terms {
            statement.execute(params![words as i64, term, no, list])?;
        }
        Ok(no)
    }

    /// Takes a document out of the words.
    pub fn remove_document(&mut self, words: SegmentKind, document: u32) -> Result<()> {
        let sql = "DELETE FROM segment_documents WHERE words = ?1 AND document = ?2";
        self.connection.prepare_cached(sql)?.execute(params![words as i64, document])?;
        Ok(())
    }

    /// Takes out all commit messages whose commit is gone.
    pub fn remove_documents_of_lost_commits(&mut self) -> Result<()> {
        let sql = "DELETE FROM segment_documents
                   WHERE words = ?1 AND document NOT IN (SELECT no FROM commits)";
        self.connection.execute(sql, [SegmentKind::Commits as i64])?;
        Ok(())
    }

    /// Removes segments whose documents live on in another one.
    pub fn remove_segments(&mut self, words: SegmentKind, numbers: &[SegmentNo]) -> Result<()> {
        for no in numbers {
            for sql in [
                "DELETE FROM postings WHERE words = ?1 AND segment = ?2",
                "DELETE FROM segments WHERE words = ?1 AND no = ?2",
            ] {
                self.connection.execute(sql, params![words as i64, no])?;
            }
        }
        Ok(())
    }

    /// Returns the segments as they are in this transaction.
    pub fn segments(&self, words: SegmentKind) -> Result<Segments> {
        Ok(segments(self.connection, words)?)
    }

    /// Hands every term that one of these segments has to `each`, by term.
    pub fn each_term(
        &self,
        words: SegmentKind,
        of: &[SegmentNo],
        mut each: impl FnMut(&str, TermLists) -> Result<()>,
    ) -> Result<()> {
        let sql =
            "SELECT term, segment, list FROM postings WHERE words = ?1 ORDER BY term, segment";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([words as i64])?;
        let mut term = String::new();
        let mut lists = TermLists::new();
        while let Some(row) = rows.next()? {
            let segment: SegmentNo = row.get(1)?;
            if !of.contains(&segment) {
                continue;
            }
            let found = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
            if found != term {
                if !lists.is_empty() {
                    each(&term, std::mem::take(&mut lists))?;
                }
                found.clone_into(&mut term);
            }
            lists.push((segment, row.get(2)?));
        }
        if lists.is_empty() { Ok(()) } else { each(&term, lists) }
    }

    /// Returns the numbers and messages of the commits that are in no segment yet.
    pub fn commits_without_words(&self) -> Result<Vec<(u32, String)>> {
        let sql = "SELECT no, message FROM commits WHERE no NOT IN
                   (SELECT document FROM segment_documents WHERE words = ?1) ORDER BY no";
        let mut statement = self.connection.prepare(sql)?;
        let found = statement
            .query_map([SegmentKind::Commits as i64], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        Ok(found)
    }
}

impl CodeIndex {
    pub fn segments(&self, words: SegmentKind) -> Result<Segments> {
        self.read(|connection| segments(connection, words))
    }

    /// Returns the item that a unit of a file's document stands for; unit 0 is the file itself.
    pub fn item_of_unit(&self, file: FileNo, unit: u32) -> Result<Option<StoredItem>> {
        let sql = format!("SELECT {ITEM} FROM nodes WHERE file = ?1 AND place = ?2");
        self.read(|connection| {
            connection.prepare_cached(&sql)?.query_row([file, unit], item).optional()
        })
    }

    /// Returns the postings of each of these terms; none for one that no document holds.
    pub fn postings(&self, words: SegmentKind, terms: &[&str]) -> Result<Vec<TermLists>> {
        let sql = "SELECT segment, list FROM postings WHERE words = ?1 AND term = ?2
                   ORDER BY segment";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let mut lists_of = |term: &&str| -> rusqlite::Result<TermLists> {
                let rows = statement
                    .query_map(params![words as i64, term], |row| Ok((row.get(0)?, row.get(1)?)))?;
                rows.collect()
            };
            terms.iter().map(&mut lists_of).collect()
        })
    }
}

fn segments(connection: &Connection, words: SegmentKind) -> rusqlite::Result<Segments> {
    let sql = "SELECT no, head FROM segments WHERE words = ?1 ORDER BY no";
    let heads = connection
        .prepare_cached(sql)?
        .query_map([words as i64], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let sql = "SELECT document, segment FROM segment_documents WHERE words = ?1";
    let alive = connection
        .prepare_cached(sql)?
        .query_map([words as i64], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Segments { heads, alive })
}
