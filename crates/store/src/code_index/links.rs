//! The index as a graph to walk.
//!
//! Edges that are kept are read; those that follow from where a node stands are made up on
//! the spot: its parent contains it, an item belongs to the item that holds it and is defined
//! in its file, and it is a sibling of the next ones of its parent.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};
use spore_model::graph::{Direction, GraphSurvey, Link, Links, NodeClass, NodeHead};
use spore_model::{EdgeKind, NodeId, Timestamp};

use super::rows::{NodeKey, NodeNo};
use super::{CodeIndex, CodeIndexError, history, kinds};

/// How many of the next ones of its parent an item is a sibling of.
const SIBLINGS: i64 = 1;

impl Links for CodeIndex {
    type Error = CodeIndexError;

    fn links(&self, of: &[NodeId]) -> Result<Vec<Link>, CodeIndexError> {
        self.read(|connection| {
            let mut links = Vec::new();
            for id in of.iter().filter(|id| id.is_hash()) {
                links_of(connection, id, &mut links)?;
            }
            Ok(links)
        })
    }

    fn heads(&self, of: &[NodeId]) -> Result<Vec<NodeHead>, CodeIndexError> {
        self.read(|connection| {
            let mut heads = Vec::new();
            for id in of.iter().filter(|id| id.is_hash()) {
                heads.extend(head(connection, id)?);
            }
            Ok(heads)
        })
    }

    fn survey(&self, survey: &mut GraphSurvey) -> Result<(), CodeIndexError> {
        self.read(|connection| pour(connection, survey))
    }
}

/// What a node's links follow from.
struct LinkedNode {
    no: NodeNo,
    kind: String,
    file: Option<NodeNo>,
    parent: Option<NodeNo>,
    place: i64,
}

impl LinkedNode {
    fn is_item(&self) -> bool {
        self.file.is_some_and(|file| file != self.no)
    }
}

fn standing(connection: &Connection, id: &NodeId) -> rusqlite::Result<Option<LinkedNode>> {
    let Some(key) = NodeKey::of(id) else { return Ok(None) };
    let sql = "SELECT no, kind, file, parent, place FROM nodes WHERE id = ?1";
    connection
        .prepare_cached(sql)?
        .query_row([key.0], |row| {
            Ok(LinkedNode {
                no: row.get(0)?,
                kind: row.get(1)?,
                file: row.get(2)?,
                parent: row.get(3)?,
                place: row.get(4)?,
            })
        })
        .optional()
}

/// Links of one node, as they are found.
struct FoundLinks<'a> {
    near: &'a NodeId,
    links: &'a mut Vec<Link>,
}

impl FoundLinks<'_> {
    fn add(&mut self, far: NodeKey, direction: Direction, kind: EdgeKind, confidence: f64) {
        self.links.push(Link {
            near: self.near.clone(),
            far: far.id(),
            direction,
            kind,
            confidence: Some(confidence),
            superseded: false,
        });
    }
}

fn links_of(connection: &Connection, near: &NodeId, links: &mut Vec<Link>) -> rusqlite::Result<()> {
    let mut found = FoundLinks { near, links };
    renames(connection, &mut found)?;
    let Some(node) = standing(connection, near)? else { return Ok(()) };
    kept(connection, &node, &mut found)?;
    above(connection, &node, &mut found)?;
    below(connection, &node, &mut found)?;
    siblings(connection, &node, &mut found)
}

fn kept(
    connection: &Connection,
    node: &LinkedNode,
    found: &mut FoundLinks<'_>,
) -> rusqlite::Result<()> {
    let both = [
        (
            Direction::Out,
            "SELECT n.id, e.kind, e.confidence FROM edges e JOIN nodes n ON n.no = e.target
             WHERE e.source = ?1",
        ),
        (
            Direction::In,
            "SELECT n.id, e.kind, e.confidence FROM edges e JOIN nodes n ON n.no = e.source
             WHERE e.target = ?1",
        ),
    ];
    for (direction, sql) in both {
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query([node.no])?;
        while let Some(row) = rows.next()? {
            if let Some(kind) = kinds::kind(row.get(1)?) {
                let confidence = f64::from(row.get::<_, u32>(2)?) / 1000.0;
                found.add(NodeKey(row.get(0)?), direction, kind, confidence);
            }
        }
    }
    Ok(())
}

fn above(
    connection: &Connection,
    node: &LinkedNode,
    found: &mut FoundLinks<'_>,
) -> rusqlite::Result<()> {
    if let Some(parent) = node.parent {
        let key = key_of(connection, parent)?;
        found.add(key, Direction::In, EdgeKind::Contains, 1.0);
        if node.is_item() && node.file != Some(parent) {
            found.add(key, Direction::Out, EdgeKind::BelongsTo, 1.0);
        }
    }
    if let Some(file) = node.file.filter(|file| *file != node.no) {
        found.add(key_of(connection, file)?, Direction::Out, EdgeKind::DefinedIn, 1.0);
    }
    Ok(())
}

fn below(
    connection: &Connection,
    node: &LinkedNode,
    found: &mut FoundLinks<'_>,
) -> rusqlite::Result<()> {
    for child in keys(connection, "SELECT id FROM nodes WHERE parent = ?1", node.no)? {
        found.add(child, Direction::Out, EdgeKind::Contains, 1.0);
        if node.is_item() {
            found.add(child, Direction::In, EdgeKind::BelongsTo, 1.0);
        }
    }
    if node.kind == "file" && node.file == Some(node.no) {
        let sql = "SELECT id FROM nodes WHERE file = ?1 AND place > 0";
        for item in keys(connection, sql, node.no)? {
            found.add(item, Direction::In, EdgeKind::DefinedIn, 1.0);
        }
    }
    Ok(())
}

fn siblings(
    connection: &Connection,
    node: &LinkedNode,
    found: &mut FoundLinks<'_>,
) -> rusqlite::Result<()> {
    let Some(parent) = node.parent.filter(|_| node.is_item()) else { return Ok(()) };
    let both = [
        (
            Direction::Out,
            "SELECT id FROM nodes WHERE parent = ?1 AND place > ?2 ORDER BY place LIMIT ?3",
        ),
        (
            Direction::In,
            "SELECT id FROM nodes WHERE parent = ?1 AND place < ?2 AND place > 0
             ORDER BY place DESC LIMIT ?3",
        ),
    ];
    for (direction, sql) in both {
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement
            .query_map(params![parent, node.place, SIBLINGS], |row| Ok(NodeKey(row.get(0)?)))?;
        for key in rows {
            found.add(key?, direction, EdgeKind::Sibling, 1.0);
        }
    }
    Ok(())
}

fn renames(connection: &Connection, found: &mut FoundLinks<'_>) -> rusqlite::Result<()> {
    let Some(key) = NodeKey::of(found.near) else { return Ok(()) };
    let both = [
        (Direction::Out, "SELECT new FROM renames WHERE old = ?1"),
        (Direction::In, "SELECT old FROM renames WHERE new = ?1"),
    ];
    for (direction, sql) in both {
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map([key.0], |row| Ok(NodeKey(row.get(0)?)))?;
        for far in rows {
            found.add(far?, direction, EdgeKind::RenamedTo, 1.0);
        }
    }
    Ok(())
}

fn key_of(connection: &Connection, no: NodeNo) -> rusqlite::Result<NodeKey> {
    let sql = "SELECT id FROM nodes WHERE no = ?1";
    connection.prepare_cached(sql)?.query_row([no], |row| Ok(NodeKey(row.get(0)?)))
}

fn keys(connection: &Connection, sql: &str, no: NodeNo) -> rusqlite::Result<Vec<NodeKey>> {
    connection.prepare_cached(sql)?.query_map([no], |row| Ok(NodeKey(row.get(0)?)))?.collect()
}

/// Returns a node's head; one that was renamed is still known by name.
pub(super) fn head(connection: &Connection, id: &NodeId) -> rusqlite::Result<Option<NodeHead>> {
    let Some(key) = NodeKey::of(id) else { return Ok(None) };
    let sql = "SELECT n.kind, n.qualified, p.id,
                      coalesce((SELECT max(c.time) FROM commit_files cf
                                JOIN commits c ON c.no = cf.commit_no WHERE cf.path = f.path),
                               f.mtime_ns / 1000000, 0)
               FROM nodes n LEFT JOIN nodes p ON p.no = n.parent
               LEFT JOIN files f ON f.no = n.file WHERE n.id = ?1";
    let alive = connection
        .prepare_cached(sql)?
        .query_row([key.0], |row| {
            let kind: String = row.get(0)?;
            Ok(NodeHead {
                id: id.clone(),
                class: NodeClass::Knowledge,
                title: title(&kind, row.get(1)?),
                kind,
                parent: row.get::<_, Option<[u8; 16]>>(2)?.map(|key| NodeKey(key).id()),
                updated: Timestamp::from_millis(row.get(3)?),
                superseded: false,
            })
        })
        .optional()?;
    if alive.is_some() {
        return Ok(alive);
    }
    let sql = "SELECT kind, title FROM renames WHERE old = ?1";
    connection
        .prepare_cached(sql)?
        .query_row([key.0], |row| {
            Ok(NodeHead {
                id: id.clone(),
                class: NodeClass::Knowledge,
                kind: row.get(0)?,
                title: row.get(1)?,
                parent: None,
                updated: Timestamp::from_millis(0),
                superseded: true,
            })
        })
        .optional()
}

/// What a node is called: the qualified name, the path, a dot for the root.
pub(super) fn title(kind: &str, qualified: String) -> String {
    if kind == "directory" && qualified.is_empty() { ".".to_owned() } else { qualified }
}

/// Returns for every node the newest time of what is below it: a directory has none of its own.
fn newest_below(
    parents: &HashMap<NodeNo, Option<NodeNo>>,
    times: impl Iterator<Item = (NodeNo, Timestamp)>,
) -> HashMap<NodeNo, Timestamp> {
    let mut newest: HashMap<NodeNo, Timestamp> = HashMap::new();
    for (no, time) in times {
        let mut above = parents.get(&no).copied().flatten();
        while let Some(no) = above {
            let known = newest.entry(no).or_insert(time);
            if *known > time {
                break;
            }
            *known = time;
            above = parents.get(&no).copied().flatten();
        }
    }
    newest
}

fn pour(connection: &Connection, survey: &mut GraphSurvey) -> rusqlite::Result<()> {
    let changes = history::last_changes(connection)?;
    let mut ids: HashMap<NodeNo, NodeId> = HashMap::new();
    let sql = "SELECT n.no, n.id, n.kind, n.qualified, n.parent, n.file, f.path,
                      f.mtime_ns / 1000000
               FROM nodes n LEFT JOIN files f ON f.no = n.file";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut standings = Vec::new();
    let mut heads = Vec::new();
    while let Some(row) = rows.next()? {
        let (no, id) = (row.get::<_, NodeNo>(0)?, NodeKey(row.get(1)?).id());
        let (parent, file): (Option<NodeNo>, Option<NodeNo>) = (row.get(4)?, row.get(5)?);
        let path: Option<String> = row.get(6)?;
        let committed = path.and_then(|path| changes.get(&path).copied());
        let updated = committed.or(row.get(7)?).unwrap_or_default();
        let kind: String = row.get(2)?;
        heads.push(NodeHead {
            id: id.clone(),
            class: NodeClass::Knowledge,
            title: title(&kind, row.get(3)?),
            kind,
            parent: None,
            updated: Timestamp::from_millis(updated),
            superseded: false,
        });
        standings.push((no, parent, file));
        ids.insert(no, id);
    }
    let parents = standings.iter().map(|(no, parent, _)| (*no, *parent)).collect();
    let times = standings.iter().zip(&heads).map(|((no, ..), head)| (*no, head.updated));
    let newest = newest_below(&parents, times);
    for (mut head, (no, parent, file)) in heads.into_iter().zip(standings) {
        if file.is_none() {
            head.updated = newest.get(&no).copied().unwrap_or(head.updated);
        }
        let own = head.id.clone();
        head.parent = parent.and_then(|parent| ids.get(&parent).cloned());
        if let Some(parent) = &head.parent {
            survey.add_edge(parent, &own, EdgeKind::Contains);
        }
        let is_item = file.is_some_and(|file| file != no);
        if let (true, Some(file)) = (is_item, file.and_then(|file| ids.get(&file))) {
            survey.add_edge(&own, file, EdgeKind::DefinedIn);
        }
        survey.add_node(head);
    }
    let mut statement = connection.prepare("SELECT source, kind, target FROM edges")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let ends = (ids.get(&row.get::<_, NodeNo>(0)?), ids.get(&row.get::<_, NodeNo>(2)?));
        if let ((Some(source), Some(target)), Some(kind)) = (ends, kinds::kind(row.get(1)?)) {
            survey.add_edge(source, target, kind);
        }
    }
    Ok(())
}
