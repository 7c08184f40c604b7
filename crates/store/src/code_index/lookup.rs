//! What a person may have meant.

use rusqlite::{Connection, params};
use spore_model::NodeId;

use super::rows::NodeKey;
use super::{CodeIndex, CodeIndexError};

/// From how many characters on the beginning of an id names a node.
const MIN_PREFIX: usize = 6;
/// How many candidates are returned at most.
const MAX_FOUND: i64 = 50;

impl CodeIndex {
    /// Returns the nodes that a text names: by the beginning of an id, a path, `path:line`, a
    /// qualified name or, failing that, a bare name. One is an answer, several are a question;
    /// they come by path and place.
    pub fn find(&self, typed: &str) -> Result<Vec<NodeId>, CodeIndexError> {
        let typed = typed.trim();
        self.read(|connection| {
            for look in [by_id, by_path, by_line, by_qualified, by_name] {
                let found = look(connection, typed)?;
                if !found.is_empty() {
                    return Ok(found);
                }
            }
            Ok(Vec::new())
        })
    }
}

type FoundNodes = rusqlite::Result<Vec<NodeId>>;

fn by_id(connection: &Connection, typed: &str) -> FoundNodes {
    let is_hex = typed.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !(MIN_PREFIX..=32).contains(&typed.len()) || !is_hex {
        return Ok(Vec::new());
    }
    let typed = typed.to_ascii_lowercase();
    let bound = |fill: char| {
        let text: String = typed.chars().chain(std::iter::repeat(fill)).take(32).collect();
        NodeId::new(text).ok().and_then(|id| NodeKey::of(&id))
    };
    let (Some(low), Some(high)) = (bound('0'), bound('f')) else { return Ok(Vec::new()) };
    let sql = "SELECT id FROM nodes WHERE id BETWEEN ?1 AND ?2
               UNION SELECT old FROM renames WHERE old BETWEEN ?1 AND ?2 ORDER BY 1 LIMIT ?3";
    rows(connection, sql, params![low.0, high.0, MAX_FOUND])
}

fn by_path(connection: &Connection, typed: &str) -> FoundNodes {
    let path = typed.strip_prefix("./").unwrap_or(typed).trim_end_matches('/');
    let path = if path == "." { "" } else { path };
    // A file is looked up by its path; a directory by the last word of it.
    let sql = "SELECT n.id FROM nodes n JOIN files f ON f.no = n.no WHERE f.path = ?1
               UNION SELECT id FROM nodes WHERE name = ?2 AND qualified = ?1 AND file IS NULL
               LIMIT ?3";
    let name = path.rsplit('/').next().unwrap_or(path);
    rows(connection, sql, params![path, name, MAX_FOUND])
}

/// The innermost item at a line; the file itself where there is none.
fn by_line(connection: &Connection, typed: &str) -> FoundNodes {
    let Some((path, line)) = typed.rsplit_once(':') else { return Ok(Vec::new()) };
    let Ok(line) = line.parse::<u32>() else { return Ok(Vec::new()) };
    let path = path.strip_prefix("./").unwrap_or(path);
    let sql = "SELECT n.id FROM files f JOIN nodes n ON n.file = f.no
               WHERE f.path = ?1 AND ?2 <= f.lines
                 AND (n.no = f.no OR ?2 BETWEEN n.first_line AND n.last_line)
               ORDER BY n.no = f.no, n.last_line - n.first_line, n.place DESC LIMIT 1";
    rows(connection, sql, params![path, line])
}

fn by_qualified(connection: &Connection, typed: &str) -> FoundNodes {
    let typed = typed.replace('.', "::");
    let name = typed.rsplit("::").next().unwrap_or(&typed);
    if name.len() == typed.len() {
        return Ok(Vec::new());
    }
    let sql = "SELECT n.id FROM nodes n JOIN files f ON f.no = n.file
               WHERE n.name = ?1 AND n.qualified = ?2 ORDER BY f.path, n.place LIMIT ?3";
    rows(connection, sql, params![name, typed, MAX_FOUND])
}

fn by_name(connection: &Connection, typed: &str) -> FoundNodes {
    let sql = "SELECT n.id FROM nodes n LEFT JOIN files f ON f.no = n.file
               WHERE n.name = ?1 ORDER BY f.path, n.place LIMIT ?2";
    rows(connection, sql, params![typed, MAX_FOUND])
}

fn rows(connection: &Connection, sql: &str, params: &[&dyn rusqlite::ToSql]) -> FoundNodes {
    connection
        .prepare_cached(sql)?
        .query_map(params, |row| Ok(NodeKey(row.get(0)?).id()))?
        .collect()
}
