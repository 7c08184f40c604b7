//! The whole index as text, for telling two apart.
//!
//! Logical rows alone, by hashes and paths and sorted: no row numbers, no clocks, and nothing
//! that only remembers how the index came about (renames). An index that was changed step by
//! step must give the same text as one made at once.

use std::collections::HashMap;
use std::fmt::Write;

use rusqlite::Connection;

use super::rows::{NodeKey, NodeNo};
use super::{CodeIndex, CodeIndexError, kinds};

impl CodeIndex {
    pub fn dump(&self) -> Result<String, CodeIndexError> {
        self.read(|connection| {
            let mut lines = files(connection)?;
            lines.extend(nodes(connection)?);
            lines.extend(edges(connection)?);
            lines.extend(texts(
                connection,
                "SELECT 'skipped ' || path || ' ' || reason FROM skipped",
            )?);
            lines.extend(texts(
                connection,
                "SELECT 'commit ' || id || ' ' || time || ' ' || quote(message) FROM commits",
            )?);
            lines.extend(texts(
                connection,
                "SELECT 'touched ' || c.id || ' ' || f.path FROM commit_files f
                 JOIN commits c ON c.no = f.commit_no",
            )?);
            lines.extend(texts(
                connection,
                "SELECT 'renamed ' || c.id || ' ' || r.old || ' ' || r.new FROM commit_renames r
                 JOIN commits c ON c.no = r.commit_no",
            )?);
            lines.sort_unstable();
            Ok(lines.join("\n") + "\n")
        })
    }
}

fn texts(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

fn files(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    texts(
        connection,
        "SELECT 'file ' || f.path || ' ' || f.language || ' ' || coalesce(f.package, '-')
             || ' ' || f.import_name || ' ' || f.size || ' ' || hex(f.blob) || ' ' || f.lines
             || ' ' || f.marks || ' ' || f.syntax_errors || ' ' || hex(a.facts)
             || ' ' || hex(m.names)
         FROM files f JOIN facts a ON a.file = f.no JOIN mentions m ON m.file = f.no",
    )
}

fn keys(connection: &Connection) -> rusqlite::Result<HashMap<NodeNo, String>> {
    let mut statement = connection.prepare("SELECT no, id FROM nodes")?;
    statement
        .query_map([], |row| Ok((row.get(0)?, NodeKey(row.get(1)?).id().to_string())))?
        .collect()
}

fn nodes(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let keys = keys(connection)?;
    let name = |no: Option<NodeNo>| no.and_then(|no| keys.get(&no).cloned()).unwrap_or_default();
    let sql = "SELECT no, kind, file, place, parent, name, qualified,
                      first_line || '-' || last_line || ' ' || first_byte || '-' || end_byte
                      || ' ' || visibility || ' ' || hash || ' ' || quote(signature)
                      || ' ' || quote(doc) FROM nodes";
    connection
        .prepare(sql)?
        .query_map([], |row| {
            let mut line = format!("node {} ", name(row.get(0)?));
            let (kind, place): (String, i64) = (row.get(1)?, row.get(3)?);
            let (own, qualified): (String, String) = (row.get(5)?, row.get(6)?);
            let (file, parent) = (name(row.get(2)?), name(row.get(4)?));
            let rest: String = row.get(7)?;
            let _ = write!(line, "{kind} {file} {place} {parent} {own} {qualified} {rest}");
            Ok(line)
        })?
        .collect()
}

fn edges(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let keys = keys(connection)?;
    let name = |no: NodeNo| keys.get(&no).cloned().unwrap_or_else(|| "nothing".to_owned());
    let mut statement = connection.prepare("SELECT source, kind, target, confidence FROM edges")?;
    statement
        .query_map([], |row| {
            let kind = kinds::kind(row.get(1)?).map_or("unknown", spore_model::EdgeKind::as_str);
            let confidence: u32 = row.get(3)?;
            Ok(format!("edge {} {kind} {} {confidence}", name(row.get(0)?), name(row.get(2)?)))
        })?
        .collect()
}
