//! Walking the graph: `callers`, `callees`, `nav_edges`, `query_edges`, `path_between`.

use std::collections::HashSet;

use spore_config::ToolConfig;
use spore_model::graph::Direction;
use spore_model::{EdgeKind, NodeId};
use spore_store::{CodeEdge, CodeIndex};

use super::Toolbox;
use super::hits::{one_line, place_of};
use super::page::ToolFindings;
use super::question::ToolRequest;
use crate::Result;
use crate::graph::{EdgeRow, EdgesAsked, PathsAsked};

/// The edges by which one piece of code relies on another.
pub(super) const RELIES: [EdgeKind; 6] = [
    EdgeKind::Calls,
    EdgeKind::UsesType,
    EdgeKind::Implements,
    EdgeKind::Extends,
    EdgeKind::Imports,
    EdgeKind::Tests,
];

/// A piece of code that a walk reached.
pub(super) struct ReachedCode {
    pub(super) id: NodeId,
    pub(super) kind: String,
    /// Over which edge, and how sure it is.
    pub(super) over: EdgeKind,
    pub(super) confidence: f64,
    pub(super) steps: u32,
}

impl Toolbox {
    pub(super) fn callers(
        &self,
        asked: &ToolRequest<'_>,
        limits: &ToolConfig,
    ) -> Result<ToolFindings> {
        self.neighbours(asked, limits, Direction::In)
    }

    pub(super) fn callees(
        &self,
        asked: &ToolRequest<'_>,
        limits: &ToolConfig,
    ) -> Result<ToolFindings> {
        self.neighbours(asked, limits, Direction::Out)
    }

    fn neighbours(
        &self,
        asked: &ToolRequest<'_>,
        limits: &ToolConfig,
        direction: Direction,
    ) -> Result<ToolFindings> {
        let (word, nothing) = match direction {
            Direction::In => ("uses", "Nothing in the project uses it."),
            Direction::Out => ("is used by", "It uses nothing in the project."),
        };
        let node = self.graph()?.0.find_node(asked.word("node"))?;
        let depth = asked.number("depth").unwrap_or(1);
        let heading = format!("What {word} {} [{}]:", one_line(&node.title), node.id.short());
        let (id, most) = (node.id, limits.reached);
        let (entries, note) = self.held_index.with(move |opened| {
            let reached = walk(opened.index, std::slice::from_ref(&id), direction, depth, most)?;
            let entries = reached.iter().map(|reached| reached.entry(opened.index));
            Ok((entries.collect::<Result<Vec<_>>>()?, opened.note()))
        })?;
        Ok(ToolFindings::new(heading, entries).or(nothing).note(note))
    }

    pub(super) fn nav_edges(
        &self,
        asked: &ToolRequest<'_>,
        limits: &ToolConfig,
    ) -> Result<ToolFindings> {
        let (graph, note) = self.graph()?;
        let direction = match asked.text("direction") {
            Some("in") => Some(Direction::In),
            Some("out") => Some(Direction::Out),
            _ => None,
        };
        let kinds = asked.list("edge_types");
        let (node, edges) = graph.edges_at(asked.word("node"), &kinds, direction, limits.edges)?;
        let heading = format!("Edges of {} [{}]:", one_line(&node.title), node.id.short());
        let entries = edges.iter().map(|row| edge_entry(row, Some(&node.id))).collect();
        Ok(ToolFindings::new(heading, entries).or("It has none of these.").note(note))
    }

    pub(super) fn query_edges(
        &self,
        asked: &ToolRequest<'_>,
        limits: &ToolConfig,
    ) -> Result<ToolFindings> {
        let flag = |name: &str| asked.arguments.get(name).and_then(serde_json::Value::as_bool);
        let query = EdgesAsked {
            kinds: asked.list("edge_types"),
            agent: asked.text("agent").map(str::to_owned),
            target_agent: asked.text("target_agent").map(str::to_owned),
            confidence_min: asked
                .arguments
                .get("confidence_min")
                .and_then(serde_json::Value::as_f64),
            since: asked.text("since").map(str::to_owned),
            not_superseded: flag("not_superseded").unwrap_or(false),
            limit: limits.edges,
            contents: false,
        };
        let edges = self.graph()?.0.query_edges(&query)?;
        let entries = edges.iter().map(|row| edge_entry(row, None)).collect();
        Ok(ToolFindings::new("Edges of what was learnt and judged, newest first:", entries)
            .or("There are none of these."))
    }

    pub(super) fn path_between(
        &self,
        asked: &ToolRequest<'_>,
        limits: &ToolConfig,
    ) -> Result<ToolFindings> {
        let question = PathsAsked {
            max_hops: asked.number("max_hops").unwrap_or(limits.max_hops),
            edge_types: asked.list("edge_types"),
            limit: limits.ways,
        };
        let (graph, note) = self.graph()?;
        let ways = graph.path_between(asked.word("from"), asked.word("to"), &question)?;
        let entries = ways.found.paths.iter().map(|path| {
            let steps: Vec<String> = path
                .steps
                .iter()
                .map(|step| {
                    let arrow = match step.direction {
                        Direction::Out => format!("-{}->", step.edge),
                        Direction::In => format!("<-{}-", step.edge),
                    };
                    format!("{arrow} {} [{}]", one_line(&step.title), step.node.short())
                })
                .collect();
            format!("{} hops: {} {}", path.hops, one_line(&ways.from.title), steps.join(" "))
        });
        let heading =
            format!("From {} to {}:", one_line(&ways.from.title), one_line(&ways.to.title));
        let more = (!ways.found.complete).then(|| "there may be other ways".to_owned());
        Ok(ToolFindings::new(heading, entries.collect())
            .or("No way of so few steps. Try more max_hops.")
            .note(note)
            .note(more))
    }
}

impl ReachedCode {
    pub(super) fn entry(&self, index: &CodeIndex) -> Result<String> {
        let place = place_of(index, &self.id)?;
        let steps = if self.steps > 1 { format!(", {} steps", self.steps) } else { String::new() };
        let sure = if self.confidence < 0.995 {
            format!(", {:.2} sure", self.confidence)
        } else {
            String::new()
        };
        Ok(format!("{} {place}  [{}]  ({}{steps}{sure})", self.kind, self.id.short(), self.over))
    }
}

/// Follows what code relies on, or what relies on it, breadth first, until `most` are reached.
pub(super) fn walk(
    index: &CodeIndex,
    from: &[NodeId],
    direction: Direction,
    depth: u32,
    most: u32,
) -> Result<Vec<ReachedCode>> {
    let mut seen: HashSet<NodeId> = from.iter().cloned().collect();
    let mut front: Vec<NodeId> = from.to_vec();
    let mut reached = Vec::new();
    for steps in 1..=depth {
        let mut next = Vec::new();
        for id in &front {
            let edges = index.edges_of(id, &RELIES)?;
            for edge in edges.into_iter().filter(|edge| edge.direction == direction) {
                if reached.len() >= most as usize || !seen.insert(edge.far.id.clone()) {
                    continue;
                }
                next.push(edge.far.id.clone());
                reached.push(ReachedCode::over(edge, steps));
            }
        }
        front = next;
    }
    Ok(reached)
}

impl ReachedCode {
    fn over(edge: CodeEdge, steps: u32) -> Self {
        Self {
            id: edge.far.id,
            kind: edge.far.kind,
            over: edge.kind,
            confidence: edge.confidence,
            steps,
        }
    }
}

/// An edge in a line; seen from one of its ends, or as a whole.
fn edge_entry(row: &EdgeRow, near: Option<&NodeId>) -> String {
    let edge = &row.edge;
    let name = |title: &Option<String>, id: &NodeId| {
        let title = title.as_deref().map(one_line).unwrap_or_default();
        format!("{title} [{}]", id.short())
    };
    let (source, target) =
        (name(&row.source_title, &edge.source), name(&row.target_title, &edge.target));
    let mut entry = match near {
        Some(near) if *near == edge.source => format!("-{}-> {target}", edge.kind),
        Some(_) => format!("<-{}- {source}", edge.kind),
        None => format!("{source} -{}-> {target}", edge.kind),
    };
    let sure = edge.confidence.map(|confidence| format!("{confidence:.2} sure"));
    let old = edge.superseded_by.map(|_| "superseded".to_owned());
    let facts: Vec<String> = sure.into_iter().chain(edge.agent.clone()).chain(old).collect();
    if !facts.is_empty() {
        entry.push_str(&format!("  ({})", facts.join(", ")));
    }
    if let Some(reason) = &edge.reason {
        entry.push_str(&format!("  {}", one_line(reason)));
    }
    entry
}
