//! Nodes by where they stand: a file and the place in it. Place 0 is the file itself, and the
//! places of items are the numbers of their units among the words.

use rusqlite::{OptionalExtension, params};
use spore_model::EdgeKind;

use super::rows::{FileNo, NodeKey, NodeNo};
use super::{CodeIndex, Result, kinds};

/// A file, and a place in it.
pub type UnitSpot = (FileNo, u32);

/// As much of a node as it takes to weigh it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitRow {
    pub no: NodeNo,
    pub kind: String,
    pub name: String,
    /// The path, for a file.
    pub qualified: String,
}

/// What there is to show of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitDetails {
    pub key: NodeKey,
    /// Counted from 1, both included; 0 for a file.
    pub lines: (u32, u32),
    pub signature: String,
    pub doc: String,
}

impl CodeIndex {
    /// Returns the node at each of these places; none where there is nothing any more.
    pub fn units_at(&self, spots: &[UnitSpot]) -> Result<Vec<Option<UnitRow>>> {
        let sql =
            "SELECT no, kind, name, qualified FROM nodes WHERE file = ?1 AND place = ?2 LIMIT 1";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let mut unit_at = |(file, place): &UnitSpot| {
                let row = |row: &rusqlite::Row<'_>| {
                    Ok(UnitRow {
                        no: row.get(0)?,
                        kind: row.get(1)?,
                        name: row.get(2)?,
                        qualified: row.get(3)?,
                    })
                };
                statement.query_row(params![file, place], row).optional()
            };
            spots.iter().map(&mut unit_at).collect()
        })
    }

    /// Returns where each of these nodes stands.
    pub fn spots_of(&self, nodes: &[NodeNo]) -> Result<Vec<Option<UnitSpot>>> {
        let sql = "SELECT file, place FROM nodes WHERE no = ?1 AND file IS NOT NULL";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let mut spot_of = |node: &NodeNo| {
                statement.query_row([node], |row| Ok((row.get(0)?, row.get(1)?))).optional()
            };
            nodes.iter().map(&mut spot_of).collect()
        })
    }

    /// Returns what there is to show of each of these nodes.
    pub fn unit_details(&self, nodes: &[NodeNo]) -> Result<Vec<Option<UnitDetails>>> {
        let sql = "SELECT id, first_line, last_line, signature, doc FROM nodes WHERE no = ?1";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let mut details = |node: &NodeNo| {
                let row = |row: &rusqlite::Row<'_>| {
                    Ok(UnitDetails {
                        key: NodeKey(row.get(0)?),
                        lines: (row.get(1)?, row.get(2)?),
                        signature: row.get(3)?,
                        doc: row.get(4)?,
                    })
                };
                statement.query_row([node], row).optional()
            };
            nodes.iter().map(&mut details).collect()
        })
    }

    /// Counts the edges of these kinds that lead to each node, up to `most`.
    pub fn count_incoming(&self, nodes: &[NodeNo], of: &[EdgeKind], most: u32) -> Result<Vec<u32>> {
        let sql = "SELECT count(*) FROM
                   (SELECT 1 FROM edges WHERE target = ?1 AND kind = ?2 LIMIT ?3)";
        let of: Vec<i64> = of.iter().filter_map(|kind| kinds::number(*kind)).collect();
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let mut count = |node: &NodeNo| -> rusqlite::Result<u32> {
                let mut sum = 0_u32;
                for kind in &of {
                    let found: u32 =
                        statement.query_row(params![node, kind, most], |row| row.get(0))?;
                    sum = sum.saturating_add(found);
                }
                Ok(sum.min(most))
            };
            nodes.iter().map(&mut count).collect()
        })
    }
}
