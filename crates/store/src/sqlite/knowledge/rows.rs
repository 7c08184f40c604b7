//! Rows as nodes, edges and links.

use rusqlite::Row;
use serde::de::DeserializeOwned;
use serde_json::Value;
use spore_model::graph::{Direction, Link, NodeHead};
use spore_model::{Edge, Node, NodeId, Timestamp};

use super::super::rows::{Json, JsonWord};

/// The columns of [`node`], in its order.
pub(super) const NODE: &str = "node.id, node.class, node.kind, node.title, node.parent,
     node.created, node.updated, node.superseded_by, node.confidence, node.agent, node.run,
     node.metadata, node.content";

/// The columns of [`head`], in its order.
pub(super) const HEAD: &str = "id, class, kind, title, parent, updated, superseded_by IS NOT NULL";

/// The columns of [`edge`], in its order.
pub(super) const EDGE: &str = "edge.id, edge.source, edge.target, edge.kind, edge.confidence,
     edge.created, edge.superseded_by, edge.agent, edge.run, edge.reason, edge.metadata,
     edge.content";

fn word<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    Ok(row.get::<_, JsonWord<T>>(column)?.0)
}

fn word_if_any<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    Ok(row.get::<_, Option<JsonWord<T>>>(column)?.map(|word| word.0))
}

fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    row.get(column).map(Timestamp::from_millis)
}

pub(super) fn node(row: &Row<'_>) -> rusqlite::Result<Node> {
    Ok(Node {
        id: word(row, 0)?,
        class: word(row, 1)?,
        kind: row.get(2)?,
        title: row.get(3)?,
        parent: word_if_any(row, 4)?,
        created: time(row, 5)?,
        updated: time(row, 6)?,
        superseded_by: word_if_any(row, 7)?,
        confidence: row.get(8)?,
        agent: row.get(9)?,
        run: word_if_any(row, 10)?,
        metadata: row.get::<_, Json<Value>>(11)?.0,
        content: row.get(12)?,
    })
}

pub(super) fn head(row: &Row<'_>) -> rusqlite::Result<NodeHead> {
    Ok(NodeHead {
        id: word(row, 0)?,
        class: word(row, 1)?,
        kind: row.get(2)?,
        title: row.get(3)?,
        parent: word_if_any(row, 4)?,
        updated: time(row, 5)?,
        superseded: row.get(6)?,
    })
}

pub(super) fn edge(row: &Row<'_>) -> rusqlite::Result<Edge> {
    Ok(Edge {
        id: word(row, 0)?,
        source: word(row, 1)?,
        target: word(row, 2)?,
        kind: word(row, 3)?,
        confidence: row.get(4)?,
        created: time(row, 5)?,
        superseded_by: word_if_any(row, 6)?,
        agent: row.get(7)?,
        run: word_if_any(row, 8)?,
        reason: row.get(9)?,
        metadata: row.get::<_, Json<Value>>(10)?.0,
        content: row.get(11)?,
    })
}

/// Far end, kind, confidence, superseded, and whether `near` is the target.
pub(super) fn link(near: &NodeId, row: &Row<'_>) -> rusqlite::Result<Link> {
    Ok(Link {
        near: near.clone(),
        far: word(row, 0)?,
        kind: word(row, 1)?,
        confidence: row.get(2)?,
        superseded: row.get(3)?,
        direction: if row.get(4)? { Direction::In } else { Direction::Out },
    })
}
