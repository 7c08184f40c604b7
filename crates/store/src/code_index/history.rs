//! The commits behind the tree, for rankings by what changed together.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, params};
use spore_model::Timestamp;

use super::rows::FileNo;

/// A commit to keep.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoggedCommit {
    pub id: String,
    pub time: Timestamp,
    pub message: String,
    pub files: Vec<String>,
    /// What files were called before and after.
    pub renames: Vec<(String, String)>,
}

/// A commit of the index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommitRow {
    pub id: String,
    pub time: Timestamp,
    pub message: String,
    /// As they are called now, where later commits renamed them. Sorted.
    pub files: Vec<String>,
}

pub(super) fn commit_ids(connection: &Connection) -> rusqlite::Result<HashSet<String>> {
    let mut statement = connection.prepare("SELECT id FROM commits")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

pub(super) fn add(connection: &Connection, commits: &[LoggedCommit]) -> rusqlite::Result<()> {
    let next: i64 =
        connection
            .query_row("SELECT coalesce(max(no), 0) + 1 FROM commits", [], |row| row.get(0))?;
    let mut commit = connection.prepare("INSERT INTO commits VALUES (?1, ?2, ?3, ?4)")?;
    let mut file = connection.prepare("INSERT OR IGNORE INTO commit_files VALUES (?1, ?2)")?;
    let mut rename =
        connection.prepare("INSERT OR IGNORE INTO commit_renames VALUES (?1, ?2, ?3)")?;
    for (no, row) in (next..).zip(commits) {
        commit.execute(params![no, row.id, row.time.as_millis(), row.message])?;
        for path in &row.files {
            file.execute(params![path, no])?;
        }
        for (old, new) in &row.renames {
            rename.execute(params![no, old, new])?;
        }
    }
    Ok(())
}

pub(super) fn keep(connection: &Connection, ids: &[String]) -> rusqlite::Result<()> {
    let wanted: HashSet<&str> = ids.iter().map(String::as_str).collect();
    let mut statement = connection.prepare("SELECT no, id FROM commits")?;
    let there: Vec<(i64, String)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (no, _) in there.iter().filter(|(_, id)| !wanted.contains(id.as_str())) {
        connection.execute("DELETE FROM commits WHERE no = ?1", [no])?;
        connection.execute("DELETE FROM commit_files WHERE commit_no = ?1", [no])?;
        connection.execute("DELETE FROM commit_renames WHERE commit_no = ?1", [no])?;
    }
    Ok(())
}

pub(super) fn commits(connection: &Connection) -> rusqlite::Result<Vec<CommitRow>> {
    let mut files = CommitFiles::read(connection)?;
    let sql = "SELECT no, id, time, message FROM commits ORDER BY time DESC, id";
    connection
        .prepare(sql)?
        .query_map([], |row| {
            Ok(CommitRow {
                files: files.of_next(row.get(0)?),
                id: row.get(1)?,
                time: Timestamp::from_millis(row.get(2)?),
                message: row.get(3)?,
            })
        })?
        .collect()
}

/// The files of all commits, under the names they have now. To be asked for the newest commit
/// first: what an older one touched may have been renamed since.
pub(super) struct CommitFiles {
    files: HashMap<i64, Vec<String>>,
    renames: HashMap<i64, Vec<(String, String)>>,
    there: HashMap<String, FileNo>,
    now: HashMap<String, String>,
}

impl CommitFiles {
    pub(super) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let mut touched = Self {
            files: HashMap::new(),
            renames: HashMap::new(),
            there: HashMap::new(),
            now: HashMap::new(),
        };
        let mut statement =
            connection.prepare_cached("SELECT commit_no, path FROM commit_files")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            touched.files.entry(row.get(0)?).or_default().push(row.get(1)?);
        }
        let mut statement =
            connection.prepare_cached("SELECT commit_no, old, new FROM commit_renames")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            touched.renames.entry(row.get(0)?).or_default().push((row.get(1)?, row.get(2)?));
        }
        let mut statement = connection.prepare_cached("SELECT path, no FROM files")?;
        touched.there = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        Ok(touched)
    }

    /// Returns the number of a file that is there.
    pub(super) fn number(&self, path: &str) -> Option<FileNo> {
        self.there.get(path).copied()
    }

    /// Returns the files of the next older commit.
    pub(super) fn of_next(&mut self, commit: i64) -> Vec<String> {
        let mut files = self.files.remove(&commit).unwrap_or_default();
        for path in &mut files {
            if let Some(now) = self.now.get(path) {
                path.clone_from(now);
            }
        }
        files.sort_unstable();
        files.dedup();
        for (old, new) in self.renames.remove(&commit).unwrap_or_default() {
            let now = self.now.get(&new).cloned().unwrap_or(new);
            // A file that has the old name today is another file.
            if !self.there.contains_key(&old) && self.there.contains_key(&now) {
                self.now.insert(old, now);
            }
        }
        files
    }
}

/// Returns when each file was last committed, as far as is known.
pub(super) fn last_changes(connection: &Connection) -> rusqlite::Result<HashMap<String, i64>> {
    let sql = "SELECT f.path, max(c.time) FROM commit_files f
               JOIN commits c ON c.no = f.commit_no GROUP BY f.path";
    connection.prepare(sql)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}
