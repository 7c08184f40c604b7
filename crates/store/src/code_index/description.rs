//! Nodes and edges in the words of the graph.

use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::json;
use spore_model::graph::{Direction, Links, NodeClass, NodeHead};
use spore_model::{EdgeKind, Node, NodeId};

use super::rows::{FileMarks, NodeKey, StoredVisibility};
use super::{CodeIndex, Result, links};

/// An edge of a node with the head of its other end.
#[derive(Clone, PartialEq, Debug)]
pub struct CodeEdge {
    pub direction: Direction,
    pub kind: EdgeKind,
    pub confidence: f64,
    pub far: NodeHead,
}

impl CodeIndex {
    /// Returns a node; its content is the signature and the documentation.
    pub fn node(&self, id: &NodeId) -> Result<Option<Node>> {
        self.read(|connection| describe(connection, id))
    }

    /// Returns the edges of a node that are of one of these kinds, all if none is named: the
    /// surest first, then by name.
    pub fn edges_of(&self, id: &NodeId, only: &[EdgeKind]) -> Result<Vec<CodeEdge>> {
        let mut links = self.links(std::slice::from_ref(id))?;
        links.retain(|link| only.is_empty() || only.contains(&link.kind));
        let far: Vec<NodeId> = links.iter().map(|link| link.far.clone()).collect();
        let heads = self.heads(&far)?;
        let heads: std::collections::HashMap<&NodeId, &NodeHead> =
            heads.iter().map(|head| (&head.id, head)).collect();
        let mut edges: Vec<CodeEdge> = links
            .iter()
            .filter_map(|link| {
                Some(CodeEdge {
                    direction: link.direction,
                    kind: link.kind,
                    confidence: link.confidence.unwrap_or_default(),
                    far: (*heads.get(&link.far)?).clone(),
                })
            })
            .collect();
        edges.sort_by(|a, b| {
            (b.confidence.total_cmp(&a.confidence)).then_with(|| {
                (a.kind, a.direction, &a.far.title, &a.far.id).cmp(&(
                    b.kind,
                    b.direction,
                    &b.far.title,
                    &b.far.id,
                ))
            })
        });
        Ok(edges)
    }

    /// Returns what calls an item, the surest first.
    pub fn callers(&self, id: &NodeId) -> Result<Vec<CodeEdge>> {
        let calls = self.edges_of(id, &[EdgeKind::Calls])?;
        Ok(calls.into_iter().filter(|edge| edge.direction == Direction::In).collect())
    }

    /// Returns what an item calls, the surest first.
    pub fn callees(&self, id: &NodeId) -> Result<Vec<CodeEdge>> {
        let calls = self.edges_of(id, &[EdgeKind::Calls])?;
        Ok(calls.into_iter().filter(|edge| edge.direction == Direction::Out).collect())
    }
}

fn describe(connection: &Connection, id: &NodeId) -> rusqlite::Result<Option<Node>> {
    let (Some(head), Some(key)) = (links::head(connection, id)?, NodeKey::of(id)) else {
        return Ok(None);
    };
    let sql = "SELECT n.signature, n.doc, f.path, f.language, n.first_line, n.last_line,
                      n.visibility, f.marks, f.lines, n.first_byte, n.end_byte, f.blob, n.place
               FROM nodes n LEFT JOIN files f ON f.no = n.file WHERE n.id = ?1";
    let told = connection.prepare_cached(sql)?.query_row([key.0], telling).optional()?;
    let mut node = Node::new(head.id, NodeClass::Knowledge, head.kind, head.title, head.updated);
    node.parent = head.parent;
    node.confidence = Some(1.0);
    if let Some((content, metadata)) = told {
        node.content = content;
        node.metadata = metadata;
    }
    Ok(Some(node))
}

fn telling(row: &Row<'_>) -> rusqlite::Result<(String, serde_json::Value)> {
    let (signature, doc): (String, String) = (row.get(0)?, row.get(1)?);
    let parts: Vec<String> = [signature, doc].into_iter().filter(|part| !part.is_empty()).collect();
    let content = parts.join("\n\n");
    let Some(path) = row.get::<_, Option<String>>(2)? else {
        return Ok((content, serde_json::Value::Null));
    };
    let marks = FileMarks::of(row.get(7)?);
    let mut metadata = json!({ "path": path, "language": row.get::<_, String>(3)? });
    let mut note = |key: &str, value: serde_json::Value| metadata[key] = value;
    for (mark, name) in
        [(marks.generated, "generated"), (marks.vendored, "vendored"), (marks.test, "test")]
    {
        if mark {
            note(name, json!(true));
        }
    }
    if row.get::<_, i64>(12)? > 0 {
        note("first_line", json!(row.get::<_, u32>(4)?));
        note("last_line", json!(row.get::<_, u32>(5)?));
        note("visibility", json!(StoredVisibility::of(row.get(6)?).as_str()));
    } else {
        note("lines", json!(row.get::<_, u32>(8)?));
    }
    Ok((content, metadata))
}
