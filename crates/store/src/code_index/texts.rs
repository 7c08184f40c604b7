//! Which text says what a node means, by the hash of the text.
//!
//! The caller decides what the text is and keeps what belongs to its hash, such as a vector.
//! Nodes with equal texts share a hash; a text that did not change keeps it, so nothing that was
//! worked out for it has to be worked out again.

use std::collections::HashMap;

use rusqlite::params;

use super::rows::{FileMarks, FileNo, NodeNo};
use super::{CodeIndex, Result, Writer};

/// A node that has a text, with what tells how much the text is wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextOf {
    pub hash: u128,
    pub node: NodeNo,
    pub kind: String,
    pub marks: FileMarks,
}

/// What the text of a node is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextParts {
    /// Empty for a file.
    pub qualified: String,
    pub signature: String,
    pub doc: String,
    pub path: String,
}

impl Writer<'_> {
    pub fn put_text(&mut self, node: NodeNo, hash: u128) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO texts VALUES (?1, ?2)";
        self.connection.prepare_cached(sql)?.execute(params![node, hash.to_le_bytes()])?;
        Ok(())
    }

    /// Forgets the texts of a file and of what is in it, before its nodes are changed.
    pub fn forget_texts(&mut self, file: FileNo) -> Result<()> {
        let sql = "DELETE FROM texts WHERE node IN (SELECT no FROM nodes WHERE file = ?1)";
        self.connection.prepare_cached(sql)?.execute([file])?;
        Ok(())
    }
}

impl CodeIndex {
    /// Returns all nodes that have a text, in the order of their numbers.
    pub fn texts(&self) -> Result<Vec<TextOf>> {
        let sql = "SELECT t.hash, t.node, n.kind, f.marks FROM texts t
                   JOIN nodes n ON n.no = t.node JOIN files f ON f.no = n.file ORDER BY t.node";
        self.read(|connection| {
            let mut statement = connection.prepare(sql)?;
            let rows = statement.query_map([], |row| {
                Ok(TextOf {
                    hash: u128::from_le_bytes(row.get(0)?),
                    node: row.get(1)?,
                    kind: row.get(2)?,
                    marks: FileMarks::of(row.get(3)?),
                })
            })?;
            rows.collect()
        })
    }

    /// Returns what the texts of these nodes are made of, for those that are still there.
    pub fn text_parts(&self, nodes: &[NodeNo]) -> Result<HashMap<NodeNo, TextParts>> {
        let sql = "SELECT CASE n.place WHEN 0 THEN '' ELSE n.qualified END, n.signature, n.doc,
                          f.path
                   FROM nodes n JOIN files f ON f.no = n.file WHERE n.no = ?1";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let mut found = HashMap::with_capacity(nodes.len());
            for node in nodes {
                let mut rows = statement.query([node])?;
                if let Some(row) = rows.next()? {
                    let parts = TextParts {
                        qualified: row.get(0)?,
                        signature: row.get(1)?,
                        doc: row.get(2)?,
                        path: row.get(3)?,
                    };
                    found.insert(*node, parts);
                }
            }
            Ok(found)
        })
    }

    /// Returns the nodes that each of these texts stands for; none where it is a text of the
    /// past.
    pub fn nodes_of_texts(&self, hashes: &[u128]) -> Result<Vec<Vec<NodeNo>>> {
        let sql = "SELECT node FROM texts WHERE hash = ?1 ORDER BY node";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let mut nodes_of = |hash: &u128| -> rusqlite::Result<Vec<NodeNo>> {
                statement.query_map([hash.to_le_bytes()], |row| row.get(0))?.collect()
            };
            hashes.iter().map(&mut nodes_of).collect()
        })
    }
}
