//! One transaction of changes.
//!
//! The order of calls is the caller's: rows first, then the edges that follow from them. What
//! is removed takes its edges along, in both directions.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, params};
use spore_model::EdgeKind;

use super::Result;
use super::history::{self, CommitRow, LoggedCommit};
use super::kinds::{self, CHANGED_WITH, IMPORTS, LAST_RESOLVED};
use super::known;
use super::reads::{self, CodeCounts, Namesake, counted};
use super::rows::{
    FileNo, FileRow, ItemRow, KnownFile, NodeKey, NodeNo, SkippedFile, StoredEdge, StoredItem,
};

/// What is done to the index in one transaction. The modules next to this one add methods for
/// what is kept beside the files: words, texts and history.
pub struct Writer<'c> {
    pub(super) connection: &'c Connection,
    next: NodeNo,
    /// Whether the row of known files says something else than the tables now.
    known_changed: bool,
}

impl<'c> Writer<'c> {
    pub(super) fn new(connection: &'c Connection) -> Result<Self> {
        let next =
            connection
                .query_row("SELECT coalesce(max(no), 0) + 1 FROM nodes", [], |row| row.get(0))?;
        Ok(Self { connection, next, known_changed: false })
    }

    /// Comes last in every transaction.
    pub(super) fn finish(self) -> Result<()> {
        if self.known_changed {
            known::keep(self.connection)?;
        }
        Ok(())
    }

    fn number(&mut self) -> NodeNo {
        let number = self.next;
        self.next += 1;
        number
    }

    /// Adds a directory; the root is the one without a parent.
    pub fn add_directory(
        &mut self,
        key: NodeKey,
        path: &str,
        parent: Option<NodeNo>,
    ) -> Result<NodeNo> {
        let no = self.number();
        let name = path.rsplit('/').next().unwrap_or(path);
        self.put_place(no, key, "directory", None, parent, name, path, "")?;
        Ok(no)
    }

    #[expect(clippy::too_many_arguments, reason = "the columns of a row")]
    fn put_place(
        &self,
        no: NodeNo,
        key: NodeKey,
        kind: &str,
        file: Option<FileNo>,
        parent: Option<NodeNo>,
        name: &str,
        path: &str,
        doc: &str,
    ) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO nodes VALUES
                   (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, 0, 0, 0, 0, '', ?8, 0, 0)";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.execute(params![no, key.0, kind, file, parent, name, path, doc])?;
        Ok(())
    }

    pub fn remove_directory(&mut self, no: NodeNo) -> Result<()> {
        self.remove_node(no)
    }

    /// Adds a file, or puts a new state of it in the place of the old one.
    pub fn put_file(
        &mut self,
        known: Option<FileNo>,
        parent: NodeNo,
        row: &FileRow,
    ) -> Result<FileNo> {
        self.known_changed = true;
        let no = known.unwrap_or_else(|| self.number());
        let name = row.path.rsplit('/').next().unwrap_or(&row.path);
        self.put_place(no, row.key, "file", Some(no), Some(parent), name, &row.path, &row.doc)?;
        let sql = "INSERT OR REPLACE INTO files VALUES
                   (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
        self.connection.prepare_cached(sql)?.execute(params![
            no,
            row.path,
            row.language,
            row.package,
            row.import_name,
            signed(row.stamp.size),
            row.stamp.mtime_ns,
            signed(row.stamp.inode),
            row.blob,
            row.lines,
            row.marks.number(),
            row.syntax_errors,
        ])?;
        let sql = "INSERT OR REPLACE INTO facts VALUES (?1, ?2)";
        self.connection.prepare_cached(sql)?.execute(params![no, row.facts])?;
        let names: Vec<u8> = row.mentions.iter().flat_map(|name| name.to_le_bytes()).collect();
        let sql = "INSERT OR REPLACE INTO mentions VALUES (?1, ?2)";
        self.connection.prepare_cached(sql)?.execute(params![no, names])?;
        Ok(no)
    }

    /// Notes that a file looks the same as before, whatever its clock says.
    pub fn restamp(&mut self, file: &KnownFile) -> Result<()> {
        self.known_changed = true;
        let sql = "UPDATE files SET size = ?2, mtime_ns = ?3, inode = ?4 WHERE no = ?1";
        self.connection.prepare_cached(sql)?.execute(params![
            file.no,
            signed(file.stamp.size),
            file.stamp.mtime_ns,
            signed(file.stamp.inode)
        ])?;
        Ok(())
    }

    /// Puts these items in the place of those that a file had; returns their numbers. Those
    /// whose hash lives on keep theirs. `old` is what the file had; nothing for a new one.
    pub fn put_items(
        &mut self,
        file: FileNo,
        old: &[StoredItem],
        rows: &[ItemRow],
    ) -> Result<Vec<NodeNo>> {
        let known: HashMap<NodeKey, NodeNo> = old.iter().map(|item| (item.key, item.no)).collect();
        let alive: HashSet<NodeKey> = rows.iter().map(|row| row.key).collect();
        for item in old.iter().filter(|item| !alive.contains(&item.key)) {
            self.remove_node(item.no)?;
        }
        let mut numbers = Vec::with_capacity(rows.len());
        for row in rows {
            let no = known.get(&row.key).copied().unwrap_or_else(|| self.number());
            numbers.push(no);
        }
        let sql = "INSERT OR REPLACE INTO nodes VALUES
                   (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";
        let mut statement = self.connection.prepare_cached(sql)?;
        for (place, (row, no)) in rows.iter().zip(&numbers).enumerate() {
            let parent =
                row.parent.and_then(|parent| numbers.get(parent as usize)).unwrap_or(&file);
            statement.execute(params![
                no,
                row.key.0,
                row.kind,
                file,
                // The file itself has place 0.
                signed(place as u64 + 1),
                parent,
                row.name,
                row.qualified,
                row.lines.0,
                row.lines.1,
                row.bytes.0,
                row.bytes.1,
                row.signature,
                row.doc,
                row.visibility as i64,
                row.hash.cast_signed(),
            ])?;
        }
        Ok(numbers)
    }

    /// Removes a file with all that is in it.
    pub fn remove_file(&mut self, no: FileNo) -> Result<()> {
        self.known_changed = true;
        for item in self.items_of(no)? {
            self.remove_node(item.no)?;
        }
        for sql in [
            "DELETE FROM files WHERE no = ?1",
            "DELETE FROM facts WHERE file = ?1",
            "DELETE FROM mentions WHERE file = ?1",
        ] {
            self.connection.prepare_cached(sql)?.execute([no])?;
        }
        self.remove_node(no)
    }

    fn remove_node(&mut self, no: NodeNo) -> Result<()> {
        for sql in [
            "DELETE FROM edges WHERE source = ?1",
            "DELETE FROM edges WHERE target = ?1",
            "DELETE FROM nodes WHERE no = ?1",
        ] {
            self.connection.prepare_cached(sql)?.execute([no])?;
        }
        Ok(())
    }

    pub fn put_skipped(&mut self, skipped: &SkippedFile) -> Result<()> {
        self.known_changed = true;
        let sql = "INSERT OR REPLACE INTO skipped VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        self.connection.prepare_cached(sql)?.execute(params![
            skipped.path,
            skipped.reason,
            signed(skipped.stamp.size),
            skipped.stamp.mtime_ns,
            signed(skipped.stamp.inode),
            skipped.blob
        ])?;
        Ok(())
    }

    pub fn remove_skipped(&mut self, path: &str) -> Result<()> {
        self.known_changed = true;
        self.connection.prepare_cached("DELETE FROM skipped WHERE path = ?1")?.execute([path])?;
        Ok(())
    }

    /// Drops what the names and imports of a file were taken to mean.
    pub fn drop_edges_of_file(&mut self, file: FileNo) -> Result<()> {
        let sql = "DELETE FROM edges WHERE kind <= ?2 AND source IN
                   (SELECT no FROM nodes WHERE file = ?1)";
        self.connection.prepare_cached(sql)?.execute(params![file, IMPORTS])?;
        Ok(())
    }

    /// Drops what the imports of a file were taken to mean.
    pub fn drop_imports_of_file(&mut self, file: FileNo) -> Result<()> {
        let sql = "DELETE FROM edges WHERE source = ?1 AND kind = ?2";
        self.connection.prepare_cached(sql)?.execute(params![file, IMPORTS])?;
        Ok(())
    }

    /// Drops every edge that says that a name means one of those that carry it.
    pub fn drop_edges_to_name(&mut self, name: &str) -> Result<()> {
        let sql = "SELECT no FROM nodes WHERE name = ?1 AND file IS NOT NULL";
        let mut statement = self.connection.prepare_cached(sql)?;
        let carriers: Vec<NodeNo> =
            statement.query_map([name], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        // Found by the look-up of targets, removed by key: SQLite would not choose so.
        let sql = "SELECT source, kind FROM edges WHERE target = ?1 AND kind <= ?2";
        let mut incoming = self.connection.prepare_cached(sql)?;
        let sql = "DELETE FROM edges WHERE source = ?1 AND kind = ?2 AND target = ?3";
        let mut delete = self.connection.prepare_cached(sql)?;
        for target in carriers {
            let edges: Vec<(NodeNo, i64)> = incoming
                .query_map(params![target, LAST_RESOLVED], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<_>>()?;
            for (source, kind) in edges {
                delete.execute(params![source, kind, target])?;
            }
        }
        Ok(())
    }

    /// Adds edges; of equal ones the surest counts. Kinds that are not kept are passed over.
    pub fn add_edges(&mut self, edges: &[StoredEdge]) -> Result<()> {
        let mut rows: Vec<(NodeNo, i64, NodeNo, u16)> = edges
            .iter()
            .filter_map(|edge| {
                Some((edge.source, kinds::number(edge.kind)?, edge.target, edge.confidence))
            })
            .collect();
        // In the order of the key each row goes behind the last one; the surest comes last.
        rows.sort_unstable();
        let sql = "INSERT OR REPLACE INTO edges VALUES (?1, ?2, ?3, ?4)";
        let mut statement = self.connection.prepare_cached(sql)?;
        for place in 0..rows.len() {
            let (source, kind, target, confidence) = rows[place];
            let next = rows.get(place + 1).map(|next| (next.0, next.1, next.2));
            if next != Some((source, kind, target)) {
                statement.execute(params![source, kind, target, confidence])?;
            }
        }
        Ok(())
    }

    /// Makes these the only edges between files that changed together.
    pub fn set_changed_with(&mut self, edges: &[StoredEdge]) -> Result<()> {
        let wanted: HashMap<(NodeNo, NodeNo), u16> =
            edges.iter().map(|edge| ((edge.source, edge.target), edge.confidence)).collect();
        let sql = "SELECT e.source, e.target, e.confidence FROM edges e
                   WHERE e.kind = ?1 AND e.source IN (SELECT no FROM files)";
        let mut statement = self.connection.prepare_cached(sql)?;
        let there: HashMap<(NodeNo, NodeNo), u16> = statement
            .query_map([CHANGED_WITH], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let sql = "DELETE FROM edges WHERE source = ?1 AND kind = ?2 AND target = ?3";
        let mut delete = self.connection.prepare_cached(sql)?;
        for (source, target) in there.keys().filter(|pair| !wanted.contains_key(pair)) {
            delete.execute(params![source, CHANGED_WITH, target])?;
        }
        let new: Vec<StoredEdge> = edges
            .iter()
            .filter(|edge| there.get(&(edge.source, edge.target)) != Some(&edge.confidence))
            .copied()
            .map(|edge| StoredEdge { kind: EdgeKind::ChangedWith, ..edge })
            .collect();
        self.add_edges(&new)
    }

    /// Notes that what had one id has another now.
    pub fn rename(&mut self, old: NodeKey, new: NodeKey, kind: &str, title: &str) -> Result<()> {
        let sql = "UPDATE renames SET new = ?2 WHERE new = ?1";
        self.connection.prepare_cached(sql)?.execute(params![old.0, new.0])?;
        let sql = "INSERT OR REPLACE INTO renames VALUES (?1, ?2, ?3, ?4)";
        self.connection.prepare_cached(sql)?.execute(params![old.0, new.0, kind, title])?;
        Ok(())
    }

    /// Forgets renames of ids that are alive, or to ids that are not.
    pub fn tidy_renames(&mut self) -> Result<()> {
        self.connection.execute(
            "DELETE FROM renames WHERE old IN (SELECT id FROM nodes)
             OR new NOT IN (SELECT id FROM nodes)",
            [],
        )?;
        Ok(())
    }

    pub fn set_meta(&mut self, key: &str, value: &str) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO meta VALUES (?1, ?2)";
        self.connection.prepare_cached(sql)?.execute([key, value])?;
        Ok(())
    }

    /// Counts everything, as this transaction has it.
    pub fn counts(&self) -> Result<CodeCounts> {
        Ok(counted(self.connection)?)
    }

    pub fn meta(&self, key: &str) -> Result<Option<String>> {
        let sql = "SELECT value FROM meta WHERE key = ?1";
        Ok(self.connection.query_row(sql, [key], |row| row.get(0)).optional()?)
    }

    /// Returns the ids of the commits that are here.
    pub fn commit_ids(&self) -> Result<HashSet<String>> {
        Ok(history::commit_ids(self.connection)?)
    }

    pub fn add_commits(&mut self, commits: &[LoggedCommit]) -> Result<()> {
        Ok(history::add(self.connection, commits)?)
    }

    /// Keeps these commits alone, in this order.
    pub fn keep_commits(&mut self, ids: &[String]) -> Result<()> {
        Ok(history::keep(self.connection, ids)?)
    }

    /// Returns all commits with their files, newest first.
    pub fn commits(&self) -> Result<Vec<CommitRow>> {
        Ok(history::commits(self.connection)?)
    }

    pub fn items_of(&self, file: FileNo) -> Result<Vec<StoredItem>> {
        Ok(reads::items_of(self.connection, file)?)
    }

    pub fn facts(&self, file: FileNo) -> Result<Vec<u8>> {
        let sql = "SELECT facts FROM facts WHERE file = ?1";
        Ok(self.connection.prepare_cached(sql)?.query_row([file], |row| row.get(0))?)
    }

    pub fn file(&self, no: FileNo) -> Result<Option<super::StoredFile>> {
        Ok(reads::file_by_no(self.connection, no)?)
    }

    /// Returns all directories with their numbers, by path.
    pub fn directories(&self) -> Result<HashMap<String, NodeNo>> {
        let sql = "SELECT qualified, no FROM nodes WHERE kind = 'directory' AND file IS NULL";
        let mut statement = self.connection.prepare(sql)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the numbers and paths of all files.
    pub fn paths(&self) -> Result<HashMap<String, FileNo>> {
        let mut statement = self.connection.prepare("SELECT path, no FROM files")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns those that carry a name, by path and place.
    pub fn namesakes(&self, name: &str) -> Result<Vec<Namesake>> {
        Ok(reads::namesakes(self.connection, name)?)
    }

    /// Returns the files that imports know by a name, by path.
    pub fn files_imported_as(&self, name: &str) -> Result<Vec<(FileNo, String)>> {
        let sql = "SELECT no, path FROM files WHERE import_name = ?1 ORDER BY path";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([name], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the files that mention one of these hashes, which are sorted.
    pub fn mentioning(&self, hashes: &[u32]) -> Result<Vec<FileNo>> {
        let mut statement = self.connection.prepare("SELECT file, names FROM mentions")?;
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let names = row.get_ref(1)?.as_blob().unwrap_or_default();
            if meet(names, hashes) {
                found.push(row.get(0)?);
            }
        }
        Ok(found)
    }
}

/// Returns whether two sorted lists have something in common.
fn meet(names: &[u8], hashes: &[u32]) -> bool {
    let mut hashes = hashes.iter().peekable();
    for name in names.chunks_exact(4) {
        let name = u32::from_le_bytes([name[0], name[1], name[2], name[3]]);
        while hashes.next_if(|hash| **hash < name).is_some() {}
        match hashes.peek() {
            None => return false,
            Some(hash) if **hash == name => return true,
            Some(_) => {}
        }
    }
    false
}

fn signed(number: u64) -> i64 {
    number.cast_signed()
}
