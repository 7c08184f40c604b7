//! Everything that is asked of the graph.

use std::collections::HashSet;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Params, Row, named_params, params_from_iter};
use spore_model::graph::{GraphSurvey, Link, NodeClass, NodeHead, PLACES};
use spore_model::{Edge, EdgeId, EdgeKind, Node, NodeId, Timestamp};

use super::super::rows::JsonWord;
use super::filter::NodeConditions;
use super::rows::{self, EDGE, HEAD, NODE};
use super::words;
use crate::knowledge::{
    Counts, EdgeCounts, EdgeQuery, GcQuery, KindCount, MAX_CANDIDATES, MIN_TYPED, NodeQuery,
};

/// How much more a word in the title counts than one in the content.
const TITLE_WEIGHT: f64 = 4.0;

const MILLIS_PER_DAY: i64 = 24 * 60 * 60 * 1000;

pub(super) fn all<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare_cached(sql)?.query_map(params, read)?.collect()
}

pub(super) fn node(connection: &Connection, id: &NodeId) -> rusqlite::Result<Option<Node>> {
    connection
        .prepare_cached(&format!("SELECT {NODE} FROM node WHERE id = ?1"))?
        .query_row([id.as_str()], rows::node)
        .optional()
}

pub(super) fn edge(connection: &Connection, id: EdgeId) -> rusqlite::Result<Option<Edge>> {
    connection
        .prepare_cached(&format!("SELECT {EDGE} FROM edge WHERE id = ?1"))?
        .query_row([id.to_string()], rows::edge)
        .optional()
}

pub(super) fn links(connection: &Connection, of: &[NodeId]) -> rusqlite::Result<Vec<Link>> {
    let mut select = connection.prepare_cached(
        "SELECT target, kind, confidence, superseded_by IS NOT NULL, 0
         FROM edge WHERE source = ?1
         UNION ALL
         SELECT source, kind, confidence, superseded_by IS NOT NULL, 1
         FROM edge WHERE target = ?1",
    )?;
    let mut links = Vec::new();
    for near in of {
        let mut found = select.query([near.as_str()])?;
        while let Some(row) = found.next()? {
            links.push(rows::link(near, row)?);
        }
    }
    Ok(links)
}

pub(super) fn heads(connection: &Connection, of: &[NodeId]) -> rusqlite::Result<Vec<NodeHead>> {
    let mut select =
        connection.prepare_cached(&format!("SELECT {HEAD} FROM node WHERE id = ?1"))?;
    let heads = of.iter().map(|id| select.query_row([id.as_str()], rows::head).optional());
    heads.filter_map(Result::transpose).collect()
}

pub(super) fn survey(connection: &Connection, survey: &mut GraphSurvey) -> rusqlite::Result<()> {
    let mut select = connection.prepare_cached(&format!("SELECT {HEAD} FROM node"))?;
    let mut found = select.query([])?;
    while let Some(row) = found.next()? {
        survey.add_node(rows::head(row)?);
    }
    let mut select = connection
        .prepare_cached("SELECT source, target, kind FROM edge WHERE superseded_by IS NULL")?;
    let mut found = select.query([])?;
    while let Some(row) = found.next()? {
        let JsonWord(source) = row.get::<_, JsonWord<NodeId>>(0)?;
        let JsonWord(target) = row.get::<_, JsonWord<NodeId>>(1)?;
        survey.add_edge(&source, &target, row.get::<_, JsonWord<EdgeKind>>(2)?.0);
    }
    Ok(())
}

pub(super) fn list(connection: &Connection, query: &NodeQuery) -> rusqlite::Result<Vec<Node>> {
    let filter = NodeConditions::nodes(query);
    let sql = format!(
        "SELECT {NODE} FROM node{} ORDER BY node.created DESC, node.id DESC LIMIT ? OFFSET ?",
        filter.clause()
    );
    let page = [query.limit.map_or(-1, i64::from), i64::from(query.offset)].map(Value::Integer);
    all(connection, &sql, params_from_iter(filter.values(page)), rows::node)
}

pub(super) fn search(
    connection: &Connection,
    words: &str,
    limit: u32,
    query: &NodeQuery,
) -> rusqlite::Result<Vec<(Node, f64)>> {
    let filter = NodeConditions::matching(words, query);
    // The hits are put in order before a single content is read.
    let sql = format!(
        "SELECT {NODE}, hit.score FROM (
             SELECT node.seq AS seq, node.id AS id, -bm25(node_text, {TITLE_WEIGHT:?}, 1.0) AS score
             FROM node_text JOIN node ON node.seq = node_text.rowid{}
             ORDER BY score DESC, node.id LIMIT ?) AS hit
         JOIN node ON node.seq = hit.seq ORDER BY hit.score DESC, hit.id",
        filter.clause()
    );
    let values = filter.values([Value::Integer(limit.into())]);
    all(connection, &sql, params_from_iter(values), |row| Ok((rows::node(row)?, row.get(13)?)))
}

pub(super) fn find_nodes(connection: &Connection, typed: &str) -> rusqlite::Result<Vec<Node>> {
    if let Ok(id) = NodeId::new(typed)
        && let Some(node) = node(connection, &id)?
    {
        return Ok(vec![node]);
    }
    let by_id = by_either_end(connection, "node", NODE, typed, rows::node)?;
    if !by_id.is_empty() {
        return Ok(by_id);
    }
    let sql = format!(
        "SELECT {NODE} FROM node WHERE title = ?1 AND superseded_by IS NULL
         ORDER BY created DESC, id DESC LIMIT {MAX_CANDIDATES}"
    );
    let by_title = all(connection, &sql, [typed], rows::node)?;
    let Some(words) = words::all_of(typed).filter(|_| by_title.is_empty()) else {
        return Ok(by_title);
    };
    let hits = search(connection, &words, MAX_CANDIDATES as u32, &NodeQuery::default())?;
    Ok(hits.into_iter().map(|(node, _)| node).collect())
}

pub(super) fn find_edges(connection: &Connection, typed: &str) -> rusqlite::Result<Vec<Edge>> {
    by_either_end(connection, "edge", EDGE, typed, rows::edge)
}

/// Reads every id, out of the index alone: a person types this, no loop does.
fn by_either_end<T>(
    connection: &Connection,
    table: &str,
    columns: &str,
    typed: &str,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    if typed.chars().count() < MIN_TYPED {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT {columns} FROM {table} WHERE id IN (
             SELECT id FROM {table}
             WHERE substr(id, 1, length(:upper)) IN (:upper, :lower)
                OR substr(id, -length(:upper)) IN (:upper, :lower))
         ORDER BY id LIMIT {MAX_CANDIDATES}"
    );
    let (upper, lower) = (typed.to_ascii_uppercase(), typed.to_ascii_lowercase());
    all(connection, &sql, named_params! { ":upper": upper, ":lower": lower }, read)
}

pub(super) fn region(
    connection: &Connection,
    root: &NodeId,
    max_depth: u32,
) -> rusqlite::Result<Vec<(Node, u32)>> {
    // Backwards, for the last one on the stack is the first to be taken off.
    let sql = format!("SELECT {NODE} FROM node WHERE parent = ?1 ORDER BY title DESC, id DESC");
    let below = |id: &NodeId, depth: u32| -> rusqlite::Result<Vec<(Node, u32)>> {
        if depth == max_depth {
            return Ok(Vec::new());
        }
        let nodes = all(connection, &sql, [id.as_str()], rows::node)?;
        Ok(nodes.into_iter().map(|node| (node, depth + 1)).collect())
    };
    let mut seen = HashSet::from([root.clone()]);
    let mut found: Vec<(Node, u32)> =
        node(connection, root)?.map(|node| (node, 0)).into_iter().collect();
    let mut stack = below(root, 0)?;
    while let Some((node, depth)) = stack.pop() {
        if seen.insert(node.id.clone()) {
            stack.extend(below(&node.id, depth)?);
            found.push((node, depth));
        }
    }
    Ok(found)
}

pub(super) fn edges(connection: &Connection, query: &EdgeQuery) -> rusqlite::Result<Vec<Edge>> {
    let filter = NodeConditions::edges(query);
    let sql = format!(
        "SELECT {EDGE} FROM edge{} ORDER BY edge.created DESC, edge.id DESC LIMIT ?",
        filter.clause()
    );
    let limit = Value::Integer(query.limit.map_or(-1, i64::from));
    all(connection, &sql, params_from_iter(filter.values([limit])), rows::edge)
}

pub(super) fn supersession_chain(
    connection: &Connection,
    id: EdgeId,
) -> rusqlite::Result<Vec<Edge>> {
    // A chain is walked forwards to its living end, and back from there to all beginnings.
    let sql = format!(
        "WITH RECURSIVE
             later (id) AS (
                 SELECT ?1 UNION
                 SELECT edge.superseded_by FROM edge JOIN later ON edge.id = later.id
                 WHERE edge.superseded_by IS NOT NULL),
             chain (id) AS (
                 SELECT id FROM later UNION
                 SELECT edge.id FROM edge JOIN chain ON edge.superseded_by = chain.id)
         SELECT {EDGE} FROM edge WHERE id IN (SELECT id FROM chain) ORDER BY created, id"
    );
    all(connection, &sql, [id.to_string()], rows::edge)
}

pub(super) fn garbage(connection: &Connection, query: &GcQuery) -> rusqlite::Result<Vec<Node>> {
    let filter = NodeConditions::garbage(query);
    let sql = format!("SELECT {NODE} FROM node{} ORDER BY node.created, node.id", filter.clause());
    all(connection, &sql, params_from_iter(filter.values([])), rows::node)
}

pub(super) fn counts(connection: &Connection, now: Timestamp) -> rusqlite::Result<Counts> {
    let sql = "SELECT class, kind, count(*) - count(superseded_by), count(superseded_by)
         FROM node GROUP BY class, kind";
    let mut nodes = all(connection, sql, [], |row| {
        let JsonWord(class) = row.get::<_, JsonWord<NodeClass>>(0)?;
        Ok(KindCount { class, kind: row.get(1)?, live: count(row, 2)?, superseded: count(row, 3)? })
    })?;
    nodes.sort_by(|a, b| (a.class, &a.kind).cmp(&(b.class, &b.kind)));
    let edges = edge_counts(connection, now.as_millis())?;
    let items = |count: &&KindCount| {
        count.class == NodeClass::Knowledge && !PLACES.contains(&count.kind.as_str())
    };
    Ok(Counts {
        knowledge_items: nodes.iter().filter(items).map(|count| count.live).sum(),
        summarized_items: summarized_items(connection)?,
        unresolved_contradictions: unresolved_contradictions(connection)?,
        nodes,
        edges,
    })
}

/// Each is counted in an index, none in the rows.
fn edge_counts(connection: &Connection, now: i64) -> rusqlite::Result<EdgeCounts> {
    let number = |sql: &str, params: &[i64]| {
        connection.query_row(sql, params_from_iter(params), |row| count(row, 0))
    };
    let since = "SELECT count(*) FROM edge WHERE created > ?1 AND created <= ?2";
    let superseded = "SELECT count(*) FROM edge WHERE superseded_by IS NOT NULL";
    let total = number("SELECT count(*) FROM edge", &[])?;
    Ok(EdgeCounts {
        last_24h: number(since, &[now - MILLIS_PER_DAY, now])?,
        last_7d: number(since, &[now - 7 * MILLIS_PER_DAY, now])?,
        total,
        live: total - number(superseded, &[])?,
    })
}

fn summarized_items(connection: &Connection) -> rusqlite::Result<u64> {
    let places = PLACES.map(|place| format!("'{place}'")).join(", ");
    let sql = format!(
        "SELECT count(DISTINCT item.id)
         FROM edge
         JOIN node AS summary ON summary.id = edge.source AND summary.superseded_by IS NULL
         JOIN node AS item ON item.id = edge.target AND item.superseded_by IS NULL
         WHERE edge.kind = 'summarizes' AND edge.superseded_by IS NULL
           AND item.class = 'knowledge' AND item.kind NOT IN ({places})"
    );
    connection.query_row(&sql, [], |row| count(row, 0))
}

fn unresolved_contradictions(connection: &Connection) -> rusqlite::Result<u64> {
    // An end that is not here is code, which is never superseded in this file.
    let sql = "SELECT count(*) FROM edge AS doubt
         WHERE doubt.kind = 'contradicts' AND doubt.superseded_by IS NULL
           AND NOT EXISTS (
               SELECT 1 FROM node WHERE id IN (doubt.source, doubt.target)
                 AND superseded_by IS NOT NULL)
           AND NOT EXISTS (
               SELECT 1 FROM edge AS answer
               WHERE answer.target IN (doubt.source, doubt.target)
                 AND answer.kind = 'resolves' AND answer.superseded_by IS NULL
                 AND answer.created >= doubt.created)";
    connection.query_row(sql, [], |row| count(row, 0))
}

fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)?.max(0).cast_unsigned())
}
