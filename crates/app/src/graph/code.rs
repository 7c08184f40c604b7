//! The code half of the graph, where the project has an index of it.
//!
//! Code nodes and knowledge live in different stores; the answers show them as one graph.
//! An edge between two pieces of code has no id of its own in the index. It gets one from
//! what it says, so that the same edge has the same id in every answer.

use std::path::Path;

use spore_model::graph::{Direction, GraphSurvey, Link, Links, NodeHead};
use spore_model::{Edge, EdgeId, Node, NodeId, Timestamp};
use spore_store::CodeEdge;

use super::Graph;
use crate::{Error, Result};

/// Who says what the index says.
const AGENT: &str = "spore:index";

impl Links for Graph<'_> {
    type Error = Error;

    fn links(&self, of: &[NodeId]) -> Result<Vec<Link>> {
        let mut links = self.knowledge.links(of)?;
        if let Some(code) = &self.code {
            links.extend(code.links(of)?);
        }
        Ok(links)
    }

    fn heads(&self, of: &[NodeId]) -> Result<Vec<NodeHead>> {
        let mut heads = self.knowledge.heads(of)?;
        if let Some(code) = &self.code {
            // A hash is code, and code is in no other store.
            heads.extend(code.heads(of)?);
        }
        Ok(heads)
    }

    fn survey(&self, survey: &mut GraphSurvey) -> Result<()> {
        self.knowledge.survey(survey)?;
        match &self.code {
            Some(code) => Ok(code.survey(survey)?),
            None => Ok(()),
        }
    }
}

impl Graph<'_> {
    /// Returns the code that `typed` names: by part of its id, its path, `path:line` or its
    /// name.
    pub(super) fn find_code(&self, typed: &str) -> Result<Vec<Node>> {
        let Some(code) = &self.code else { return Ok(Vec::new()) };
        let mut nodes = Vec::new();
        for id in code.find(typed)? {
            nodes.extend(code.node(&id)?);
        }
        Ok(nodes)
    }

    pub(super) fn code_node(&self, id: &NodeId) -> Result<Option<Node>> {
        match &self.code {
            Some(code) if id.is_hash() => Ok(code.node(id)?),
            _ => Ok(None),
        }
    }

    /// Returns the edges that the index has at a node, the surest first.
    pub(super) fn code_edges(&self, id: &NodeId) -> Result<Vec<Edge>> {
        match &self.code {
            Some(code) if id.is_hash() => {
                let edges = code.edges_of(id, &[])?;
                Ok(edges.iter().map(|edge| edge_of(id, edge)).collect())
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Returns what a piece of code holds, with its depth, each before what is in it.
    pub(super) fn code_region(&self, root: &NodeId, max_depth: u32) -> Result<Vec<(Node, u32)>> {
        let Some(code) = self.code.as_ref().filter(|_| root.is_hash()) else {
            return Ok(Vec::new());
        };
        let mut region = Vec::new();
        let mut rest = vec![(root.clone(), 0)];
        while let Some((id, depth)) = rest.pop() {
            region.extend(code.node(&id)?.map(|node| (node, depth)));
            if depth < max_depth {
                let mut below = code.edges_of(&id, &[spore_model::EdgeKind::Contains])?;
                below.retain(|edge| edge.direction == Direction::Out);
                rest.extend(below.into_iter().rev().map(|edge| (edge.far.id, depth + 1)));
            }
        }
        Ok(region)
    }

    /// Returns the text of a piece of code as the file has it now, if it still is what was
    /// indexed.
    pub(super) fn code_text(&self, node: &Node) -> Option<String> {
        let path = node.metadata.get("path")?.as_str()?;
        let file = self.workspace.root().join(Path::new(path));
        let text = std::fs::read_to_string(file).ok()?;
        let line =
            |key: &str| node.metadata.get(key)?.as_u64().and_then(|n| usize::try_from(n).ok());
        let Some((first, last)) = line("first_line").zip(line("last_line")) else {
            return Some(text);
        };
        let lines: Vec<&str> = text.lines().skip(first.saturating_sub(1)).collect();
        let part = lines.get(..(last + 1).saturating_sub(first))?.join("\n");
        Some(part)
    }
}

fn edge_of(near: &NodeId, edge: &CodeEdge) -> Edge {
    let far = edge.far.id.clone();
    let (source, target) = match edge.direction {
        Direction::Out => (near.clone(), far),
        Direction::In => (far, near.clone()),
    };
    let words = [source.as_str(), edge.kind.as_str(), target.as_str()];
    let id = EdgeId::keyed(Timestamp::from_millis(0), &words);
    Edge {
        confidence: Some(edge.confidence),
        agent: Some(AGENT.to_owned()),
        ..Edge::new(id, source, target, edge.kind, edge.far.updated)
    }
}
