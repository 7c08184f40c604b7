//! Everything that changes the graph, inside a transaction of the caller.

use rusqlite::{Connection, params};
use serde_json::Value;
use spore_model::{Edge, EdgeId, EdgeKind, Node, NodeId, RunId, Timestamp};

use super::super::failure::knowledge_error;
use super::super::rows::Json;
use super::reads;
use super::rows::{self, EDGE};
use crate::knowledge::{Added, KnowledgeError, RemovedNodes, Succession};

pub(super) fn add(
    connection: &Connection,
    nodes: &[Node],
    edges: &[Edge],
) -> rusqlite::Result<Added> {
    Ok(Added { nodes: add_nodes(connection, nodes)?, edges: add_edges(connection, edges)? })
}

fn add_nodes(connection: &Connection, nodes: &[Node]) -> rusqlite::Result<usize> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO node (id, class, kind, title, parent, created, updated, superseded_by,
             confidence, agent, run, metadata, content)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
         ON CONFLICT (id) DO NOTHING",
    )?;
    let mut added = 0;
    for node in nodes {
        added += insert.execute(params![
            node.id.as_str(),
            node.class.as_str(),
            node.kind,
            node.title,
            node.parent.as_ref().map(NodeId::as_str),
            node.created.as_millis(),
            node.updated.as_millis(),
            node.superseded_by.as_ref().map(NodeId::as_str),
            node.confidence,
            node.agent,
            node.run.as_ref().map(RunId::to_string),
            Json(&node.metadata),
            node.content,
        ])?;
    }
    Ok(added)
}

fn add_edges(connection: &Connection, edges: &[Edge]) -> rusqlite::Result<usize> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO edge (id, source, target, kind, confidence, created, superseded_by, agent,
             run, reason, metadata, content)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
         ON CONFLICT (id) DO NOTHING",
    )?;
    let mut added = 0;
    for edge in edges {
        added += insert.execute(params![
            edge.id.to_string(),
            edge.source.as_str(),
            edge.target.as_str(),
            edge.kind.as_str(),
            edge.confidence,
            edge.created.as_millis(),
            edge.superseded_by.as_ref().map(EdgeId::to_string),
            edge.agent,
            edge.run.as_ref().map(RunId::to_string),
            edge.reason,
            Json(&edge.metadata),
            edge.content,
        ])?;
    }
    Ok(added)
}

pub(super) fn supersede_node(
    connection: &Connection,
    old: &NodeId,
    new: &Node,
    edges: &[Edge],
) -> Result<Succession, KnowledgeError> {
    let known = reads::node(connection, old).map_err(knowledge_error)?;
    let known = known.ok_or_else(|| KnowledgeError::NoSuchNode { node: old.clone() })?;
    let taken = |old: &NodeId, by: &NodeId| KnowledgeError::Superseded {
        old: old.to_string(),
        by: by.to_string(),
    };
    if new.id == *old {
        return Err(taken(old, old));
    }
    if let Some(by) = known.superseded_by.as_ref().filter(|by| **by != new.id) {
        return Err(taken(old, by));
    }
    add(connection, std::slice::from_ref(new), edges).map_err(knowledge_error)?;
    let successor = reads::node(connection, &new.id).map_err(knowledge_error)?;
    if let Some(by) = successor.and_then(|node| node.superseded_by) {
        return Err(taken(&new.id, &by));
    }
    hand_over(connection, old, new).map_err(knowledge_error)
}

pub(super) fn succeed(
    connection: &Connection,
    nodes: &[Node],
    places: &[(NodeId, NodeId)],
) -> Result<Added, KnowledgeError> {
    let added = add(connection, nodes, &[]).map_err(knowledge_error)?;
    for (old, new) in places {
        let new = reads::node(connection, new)
            .map_err(knowledge_error)?
            .ok_or_else(|| KnowledgeError::NoSuchNode { node: new.clone() })?;
        supersede_node(connection, old, &new, &[])?;
    }
    Ok(added)
}

/// Marks the old node and gives its edges to the new one.
fn hand_over(connection: &Connection, old: &NodeId, new: &Node) -> rusqlite::Result<Succession> {
    let words = ["supersedes", new.id.as_str(), old.as_str()];
    let supersedes = Edge {
        confidence: Some(1.0),
        agent: new.agent.clone(),
        run: new.run,
        ..Edge::new(
            EdgeId::keyed(new.created, &words),
            new.id.clone(),
            old.clone(),
            EdgeKind::Supersedes,
            new.created,
        )
    };
    add_edges(connection, std::slice::from_ref(&supersedes))?;
    let sql = format!(
        "SELECT {EDGE} FROM edge WHERE source = ?1 AND superseded_by IS NULL
             AND kind <> 'supersedes'"
    );
    for original in reads::all(connection, &sql, [old.as_str()], rows::edge)? {
        let words = ["copied", new.id.as_str(), &original.id.to_string()];
        let copy = Edge {
            id: EdgeId::keyed(new.created, &words),
            source: new.id.clone(),
            // What the old node said about itself the new one says about itself.
            target: if original.target == *old { new.id.clone() } else { original.target },
            created: new.created,
            ..original
        };
        add_edges(connection, std::slice::from_ref(&copy))?;
        mark_edge(connection, original.id, copy.id)?;
    }
    connection
        .prepare_cached("UPDATE node SET superseded_by = ?2 WHERE id = ?1")?
        .execute([old.as_str(), new.id.as_str()])?;
    let sql = format!(
        "SELECT {EDGE} FROM edge JOIN edge AS original ON original.superseded_by = edge.id
         WHERE original.source = ?1 AND edge.source = ?2
         ORDER BY edge.created DESC, edge.id DESC"
    );
    let copied = reads::all(connection, &sql, [old.as_str(), new.id.as_str()], rows::edge)?;
    Ok(Succession { supersedes: supersedes.id, copied })
}

pub(super) fn supersede_edge(
    connection: &Connection,
    old: EdgeId,
    new: &Edge,
) -> Result<(), KnowledgeError> {
    let known = reads::edge(connection, old).map_err(knowledge_error)?;
    let known = known.ok_or(KnowledgeError::NoSuchEdge { edge: old })?;
    let taken = |old: EdgeId, by: EdgeId| {
        Err(KnowledgeError::Superseded { old: old.to_string(), by: by.to_string() })
    };
    if new.id == old {
        return taken(old, old);
    }
    match known.superseded_by {
        Some(by) if by == new.id => return Ok(()),
        Some(by) => return taken(old, by),
        None => {}
    }
    add_edges(connection, std::slice::from_ref(new)).map_err(knowledge_error)?;
    let successor = reads::edge(connection, new.id).map_err(knowledge_error)?;
    if let Some(by) = successor.and_then(|edge| edge.superseded_by) {
        return taken(new.id, by);
    }
    mark_edge(connection, old, new.id).map_err(knowledge_error)
}

fn mark_edge(connection: &Connection, old: EdgeId, by: EdgeId) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE edge SET superseded_by = ?2 WHERE id = ?1")?
        .execute([old.to_string(), by.to_string()])
        .map(|_| ())
}

pub(super) fn update_metadata(
    connection: &Connection,
    id: &NodeId,
    patch: &Value,
    now: Timestamp,
) -> Result<Value, KnowledgeError> {
    let node = reads::node(connection, id).map_err(knowledge_error)?;
    let node = node.ok_or_else(|| KnowledgeError::NoSuchNode { node: id.clone() })?;
    let mut metadata = node.metadata;
    merge(&mut metadata, patch);
    connection
        .prepare_cached("UPDATE node SET metadata = ?2, updated = ?3 WHERE id = ?1")
        .and_then(|mut update| {
            update.execute(params![id.as_str(), Json(&metadata), now.as_millis()])
        })
        .map_err(knowledge_error)?;
    Ok(metadata)
}

/// RFC 7396.
fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = Value::Object(serde_json::Map::new());
    }
    let Value::Object(fields) = value else { return };
    for (key, change) in patch {
        if change.is_null() {
            fields.remove(key);
        } else {
            merge(fields.entry(key).or_insert(Value::Null), change);
        }
    }
}

pub(super) fn remove(connection: &Connection, ids: &[NodeId]) -> rusqlite::Result<RemovedNodes> {
    let mut removed = RemovedNodes::default();
    let of_node = "edge.source = ?1 OR edge.target = ?1";
    let sql = format!("SELECT {EDGE} FROM edge WHERE {of_node} ORDER BY created, id");
    let deletion = format!("DELETE FROM edge WHERE {of_node}");
    for id in ids {
        let Some(node) = reads::node(connection, id)? else { continue };
        removed.edges.extend(reads::all(connection, &sql, [id.as_str()], rows::edge)?);
        connection.prepare_cached(&deletion)?.execute([id.as_str()])?;
        connection.prepare_cached("DELETE FROM node WHERE id = ?1")?.execute([id.as_str()])?;
        removed.nodes.push(node);
    }
    Ok(removed)
}
