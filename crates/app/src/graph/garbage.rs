//! Removing what nothing needs any more.
//!
//! Telling is the default; removing is asked for, and what goes is on disk in
//! `.spore/exports/` before it goes. Both say the same thing in the same shape.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::json;
use spore_effects::files;
use spore_model::{Fault, Node, NodeId, Timestamp};
use spore_store::{Cause, GcQuery, Knowledge, RemovedNodes};

use super::Graph;
use crate::{Error, Result};

const MILLIS_PER_DAY: i64 = 24 * 60 * 60 * 1000;

#[derive(Clone, Debug)]
pub struct GarbageAsked {
    /// Only what is older.
    pub days: u32,
    /// Remove it, and do not just tell.
    pub apply: bool,
    /// Lessons and summaries too.
    pub force: bool,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Garbage {
    /// Whether the nodes are gone now.
    pub applied: bool,
    pub count: usize,
    /// Oldest first.
    pub nodes: Vec<GarbageRow>,
    /// Where a copy of them is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub export: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GarbageRow {
    pub id: NodeId,
    pub kind: String,
    pub title: String,
    pub created: Timestamp,
}

impl From<Node> for GarbageRow {
    fn from(node: Node) -> Self {
        Self { id: node.id, kind: node.kind, title: node.title, created: node.created }
    }
}

impl Graph<'_> {
    /// Finds old operational nodes that nothing is connected to, and removes them if asked.
    pub fn gc(&self, asked: &GarbageAsked) -> Result<Garbage> {
        let now = self.around.clock.now();
        let oldest = now.as_millis() - i64::from(asked.days) * MILLIS_PER_DAY;
        let query =
            GcQuery { force: asked.force, ..GcQuery::older_than(Timestamp::from_millis(oldest)) };
        let found = self.knowledge.garbage(&query)?;
        let mut export = None;
        if asked.apply && !found.is_empty() {
            let ids: Vec<NodeId> = found.iter().map(|node| node.id.clone()).collect();
            export = Some(self.remove(&ids, now)?);
        }
        Ok(Garbage {
            applied: asked.apply,
            count: found.len(),
            nodes: found.into_iter().map(GarbageRow::from).collect(),
            export,
        })
    }

    /// Removes nodes and returns where their copy is.
    fn remove(&self, ids: &[NodeId], now: Timestamp) -> Result<String> {
        let (path, name) = self.export_file(now)?;
        self.knowledge.remove(ids, &mut |removed| {
            files::write_atomic(&path, &lines(removed)?).map_err(Cause::from)
        })?;
        Ok(name)
    }

    /// Names a file that is not there yet.
    fn export_file(&self, now: Timestamp) -> Result<(PathBuf, String)> {
        let dir = self.workspace.spore_dir().join("exports");
        std::fs::create_dir_all(&dir).map_err(|source| {
            Error::io(format!("cannot create {}", spore_plain::path(&dir)), source)
        })?;
        let time: String = now.to_string().chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        let names = (1..1000).map(|number| {
            if number == 1 {
                format!("gc-{time}.jsonl")
            } else {
                format!("gc-{time}-{number}.jsonl")
            }
        });
        names
            .map(|name| (dir.join(&name), format!(".spore/exports/{name}")))
            .find(|(path, _)| !path.exists())
            .ok_or_else(|| Error::new(Fault::BadInput, "there are too many exports of this moment"))
    }
}

/// One JSON document a line: first the nodes, then the edges.
fn lines(removed: &RemovedNodes) -> std::result::Result<Vec<u8>, Cause> {
    let nodes = removed.nodes.iter().map(|node| json!({ "node": node }));
    let edges = removed.edges.iter().map(|edge| json!({ "edge": edge }));
    let mut text = Vec::new();
    for line in nodes.chain(edges) {
        serde_json::to_writer(&mut text, &line)?;
        text.push(b'\n');
    }
    Ok(text)
}
