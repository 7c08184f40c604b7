//! Reading rows.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row};
use serde::{Deserialize, Serialize};
use spore_model::EdgeKind;

use super::history::{self, CommitRow};
use super::kinds;
use super::rows::{FileMarks, FileNo, NodeKey, NodeNo, StoredFile, StoredItem, StoredVisibility};
use super::{CodeIndex, Result};

/// An item, seen as one of those that carry its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Namesake {
    pub no: NodeNo,
    pub file: FileNo,
    pub kind: String,
    pub qualified: String,
    pub visibility: StoredVisibility,
}

/// How much there is of everything.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CodeCounts {
    /// Files by language; plain text under `text`.
    pub files: BTreeMap<String, u64>,
    pub nodes: BTreeMap<String, u64>,
    pub edges: BTreeMap<String, u64>,
    /// Files that were left out, by reason.
    pub skipped: BTreeMap<String, u64>,
    pub files_with_syntax_errors: u64,
    pub generated: u64,
    pub vendored: u64,
    pub commits: u64,
}

impl CodeIndex {
    /// Returns all files, by path.
    pub fn files(&self) -> Result<Vec<StoredFile>> {
        let sql = format!("SELECT {FILE} FROM files ORDER BY path");
        self.read(|connection| connection.prepare(&sql)?.query_map([], file)?.collect())
    }

    /// Returns the file at a path from the root.
    pub fn file(&self, path: &str) -> Result<Option<StoredFile>> {
        let sql = format!("SELECT {FILE} FROM files WHERE path = ?1");
        self.read(|connection| connection.query_row(&sql, [path], file).optional())
    }

    /// Returns the items of a file, by place.
    pub fn items_of(&self, file: FileNo) -> Result<Vec<StoredItem>> {
        self.read(|connection| items_of(connection, file))
    }

    /// Returns the commits that were looked at with the files that each changed, newest first.
    pub fn commits(&self) -> Result<Vec<CommitRow>> {
        self.read(history::commits)
    }

    /// Returns the commits that changed a file, newest first.
    pub fn commits_of(&self, path: &str) -> Result<Vec<String>> {
        let sql = "SELECT c.id FROM commit_files f JOIN commits c ON c.no = f.commit_no
                   WHERE f.path = ?1 ORDER BY c.time DESC, c.id";
        self.read(|connection| {
            connection.prepare(sql)?.query_map([path], |row| row.get(0))?.collect()
        })
    }

    pub fn meta(&self, key: &str) -> Result<Option<String>> {
        let sql = "SELECT value FROM meta WHERE key = ?1";
        self.read(|connection| connection.query_row(sql, [key], |row| row.get(0)).optional())
    }

    /// Counts everything; the kinds of edges that follow from where things stand too.
    pub fn counts(&self) -> Result<CodeCounts> {
        self.read(counted)
    }
}

/// Counts everything.
pub(super) fn counted(connection: &Connection) -> rusqlite::Result<CodeCounts> {
    let grouped = |sql: &str| -> rusqlite::Result<BTreeMap<String, u64>> {
        let mut statement = connection.prepare(sql)?;
        statement.query_map([], |row| Ok((row.get(0)?, number(row, 1)?)))?.collect()
    };
    let one = |sql: &str| connection.query_row(sql, [], |row| number(row, 0));
    let mut counts = CodeCounts {
        files: grouped(
            "SELECT CASE language WHEN '' THEN 'text' ELSE language END, count(*)
             FROM files GROUP BY 1",
        )?,
        skipped: grouped("SELECT reason, count(*) FROM skipped GROUP BY 1")?,
        files_with_syntax_errors: one("SELECT count(*) FROM files WHERE syntax_errors > 0")?,
        generated: one("SELECT count(*) FROM files WHERE marks & 1")?,
        vendored: one("SELECT count(*) FROM files WHERE marks & 2")?,
        commits: one("SELECT count(*) FROM commits")?,
        ..CodeCounts::default()
    };
    count_standing(connection, &mut counts)?;
    count_kept(connection, &mut counts)?;
    counts.edges.retain(|_, count| *count > 0);
    Ok(counts)
}

/// Counts nodes, and the edges that follow from where they stand.
fn count_standing(connection: &Connection, counts: &mut CodeCounts) -> rusqlite::Result<()> {
    // Nodes are large, so they are looked through once.
    let sql = "SELECT kind, count(*), coalesce(sum(file <> no AND parent <> file), 0),
                      coalesce(sum(file <> no), 0), count(parent) FROM nodes GROUP BY 1";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut edges = |kind: EdgeKind, count: u64| {
        *counts.edges.entry(kind.to_string()).or_default() += count;
    };
    let mut items = 0;
    while let Some(row) = rows.next()? {
        counts.nodes.insert(row.get(0)?, number(row, 1)?);
        edges(EdgeKind::BelongsTo, number(row, 2)?);
        edges(EdgeKind::DefinedIn, number(row, 3)?);
        edges(EdgeKind::Contains, number(row, 4)?);
        items += number(row, 3)?;
    }
    let sql = "SELECT count(DISTINCT parent) FROM nodes WHERE place > 0";
    let parents = connection.query_row(sql, [], |row| number(row, 0))?;
    edges(EdgeKind::Sibling, items.saturating_sub(parents));
    let renames = connection.query_row("SELECT count(*) FROM renames", [], |row| number(row, 0))?;
    edges(EdgeKind::RenamedTo, renames);
    Ok(())
}

fn count_kept(connection: &Connection, counts: &mut CodeCounts) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("SELECT kind, count(*) FROM edges GROUP BY 1")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(kind) = kinds::kind(row.get(0)?) {
            counts.edges.insert(kind.to_string(), number(row, 1)?);
        }
    }
    Ok(())
}

const FILE: &str = "no, path, language, package, size, lines, marks, syntax_errors, blob";

fn file(row: &Row<'_>) -> rusqlite::Result<StoredFile> {
    Ok(StoredFile {
        no: row.get(0)?,
        path: row.get(1)?,
        language: row.get(2)?,
        package: row.get(3)?,
        size: number(row, 4)?,
        lines: row.get(5)?,
        marks: FileMarks::of(row.get(6)?),
        syntax_errors: row.get(7)?,
        blob: row.get(8)?,
    })
}

pub(super) fn file_by_no(
    connection: &Connection,
    no: FileNo,
) -> rusqlite::Result<Option<StoredFile>> {
    let sql = format!("SELECT {FILE} FROM files WHERE no = ?1");
    connection.prepare_cached(&sql)?.query_row([no], file).optional()
}

pub(super) const ITEM: &str = "no, id, kind, name, qualified, parent, first_line, last_line, \
                               first_byte, end_byte, signature, doc, visibility, hash";

pub(super) fn item(row: &Row<'_>) -> rusqlite::Result<StoredItem> {
    Ok(StoredItem {
        no: row.get(0)?,
        key: NodeKey(row.get(1)?),
        kind: row.get(2)?,
        name: row.get(3)?,
        qualified: row.get(4)?,
        parent: row.get::<_, Option<NodeNo>>(5)?.unwrap_or_default(),
        lines: (row.get(6)?, row.get(7)?),
        bytes: (row.get(8)?, row.get(9)?),
        signature: row.get(10)?,
        doc: row.get(11)?,
        visibility: StoredVisibility::of(row.get(12)?),
        hash: row.get::<_, i64>(13)?.cast_unsigned(),
    })
}

pub(super) fn items_of(connection: &Connection, file: FileNo) -> rusqlite::Result<Vec<StoredItem>> {
    let sql = format!("SELECT {ITEM} FROM nodes WHERE file = ?1 AND place > 0 ORDER BY place");
    connection.prepare_cached(&sql)?.query_map([file], item)?.collect()
}

pub(super) fn namesakes(connection: &Connection, name: &str) -> rusqlite::Result<Vec<Namesake>> {
    let sql = "SELECT n.no, n.file, n.kind, n.qualified, n.visibility
               FROM nodes n JOIN files f ON f.no = n.file
               WHERE n.name = ?1 AND n.place > 0 ORDER BY f.path, n.place";
    connection
        .prepare_cached(sql)?
        .query_map([name], |row| {
            Ok(Namesake {
                no: row.get(0)?,
                file: row.get(1)?,
                kind: row.get(2)?,
                qualified: row.get(3)?,
                visibility: StoredVisibility::of(row.get(4)?),
            })
        })?
        .collect()
}

fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)?.cast_unsigned())
}
