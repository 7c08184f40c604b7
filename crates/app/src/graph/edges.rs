//! Asking for edges.

use std::collections::HashSet;

use serde::Serialize;
use spore_model::graph::rank_for_context;
use spore_model::{Edge, EdgeId, Node, NodeId};
use spore_store::{EdgeQuery, Knowledge};

use super::typed::{confidence, edge_kinds};
use super::{EdgeRow, Graph, tidy};
use crate::Result;

/// Which edges to find, as typed.
#[derive(Clone, Debug, Default)]
pub struct EdgesAsked {
    pub kinds: Vec<String>,
    pub agent: Option<String>,
    pub target_agent: Option<String>,
    pub confidence_min: Option<f64>,
    pub since: Option<String>,
    pub not_superseded: bool,
    pub limit: u32,
    /// Whether the answer carries what the nodes at both ends say.
    pub contents: bool,
}

/// One edge and what is around it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ExplainedEdge {
    pub edge: Edge,
    /// `None` where another store holds the node.
    pub source_node: Option<Node>,
    pub target_node: Option<Node>,
    /// Nearest first, among equals newest first.
    pub adjacent_edges: Vec<AdjacentEdge>,
    /// Whether there are more than are shown.
    pub more_adjacent_edges: bool,
    /// All versions of the edge, oldest first; it alone where nothing replaced anything.
    pub supersession_chain: Vec<Edge>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AdjacentEdge {
    /// 1 for an edge of one of the two nodes, 2 for one of a neighbour.
    pub depth: u8,
    #[serde(flatten)]
    pub row: EdgeRow,
}

/// An edge and what it is worth to a reader of its node.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RankedEdge {
    pub rank: usize,
    pub score: f64,
    pub recency: f64,
    #[serde(flatten)]
    pub row: EdgeRow,
}

impl Graph<'_> {
    /// Finds edges, newest first.
    pub fn query_edges(&self, asked: &EdgesAsked) -> Result<Vec<EdgeRow>> {
        let query = EdgeQuery {
            kinds: edge_kinds(&asked.kinds)?,
            agent: asked.agent.clone(),
            target_agent: asked.target_agent.clone(),
            min_confidence: asked.confidence_min.map(confidence).transpose()?,
            since: self.since(asked.since.as_deref())?,
            not_superseded: asked.not_superseded,
            limit: Some(asked.limit),
            ..EdgeQuery::default()
        };
        let edges = self.knowledge.edges(&query)?;
        if asked.contents { self.rows_with_contents(edges) } else { self.rows(edges) }
    }

    /// Shows one edge with both ends, its versions and the edges around it.
    pub fn explain_edge(&self, typed: &str, depth: u8) -> Result<ExplainedEdge> {
        let edge = self.find_edge(typed)?;
        let most = self.limits.edges_around as usize;
        let mut adjacent = Adjacent::new(edge.id, most);
        let ends = [edge.source.clone(), edge.target.clone()];
        self.gather(&mut adjacent, 1, &ends)?;
        if depth > 1 {
            let neighbours: Vec<NodeId> =
                adjacent.far_ends().into_iter().filter(|node| !ends.contains(node)).collect();
            self.gather(&mut adjacent, 2, &neighbours)?;
        }
        let more = adjacent.found.len() > most;
        adjacent.found.truncate(most);
        let (depths, edges): (Vec<u8>, Vec<Edge>) = adjacent.found.into_iter().unzip();
        let rows = self.rows(edges)?;
        Ok(ExplainedEdge {
            source_node: self.node(&edge.source)?,
            target_node: self.node(&edge.target)?,
            adjacent_edges: depths
                .into_iter()
                .zip(rows)
                .map(|(depth, row)| AdjacentEdge { depth, row })
                .collect(),
            more_adjacent_edges: more,
            supersession_chain: self.knowledge.supersession_chain(edge.id)?,
            edge,
        })
    }

    /// Ranks the edges of a node by how much they tell.
    pub fn edges_for_context(
        &self,
        typed: &str,
        top: u32,
        not_superseded: bool,
    ) -> Result<Vec<RankedEdge>> {
        let node = self.find_node(typed)?;
        let code_edges = self.code_edges(&node.id)?;
        let query = EdgeQuery { node: Some(node.id), not_superseded, ..EdgeQuery::default() };
        let mut edges = self.knowledge.edges(&query)?;
        edges.extend(code_edges);
        let mut ranked = rank_for_context(edges);
        ranked.truncate(usize::try_from(top).unwrap_or(usize::MAX));
        let worth: Vec<(f64, f64)> =
            ranked.iter().map(|scored| (tidy(scored.score), tidy(scored.recency))).collect();
        let rows = self.rows(ranked.into_iter().map(|scored| scored.edge).collect())?;
        Ok((1..)
            .zip(worth)
            .zip(rows)
            .map(|((rank, (score, recency)), row)| RankedEdge { rank, score, recency, row })
            .collect())
    }

    fn node(&self, id: &NodeId) -> Result<Option<Node>> {
        match self.knowledge.node(id)? {
            Some(node) => Ok(Some(node)),
            None => self.code_node(id),
        }
    }

    /// Adds the edges of these nodes, until there is one more than is shown.
    fn gather(&self, adjacent: &mut Adjacent, depth: u8, nodes: &[NodeId]) -> Result<()> {
        let mut edges = Vec::new();
        for node in nodes {
            // Each could be the edge itself or known already, and still fill the answer.
            let limit =
                Some(u32::try_from(adjacent.seen.len() + adjacent.most + 1).unwrap_or(u32::MAX));
            let query = EdgeQuery { node: Some(node.clone()), limit, ..EdgeQuery::default() };
            edges.extend(self.knowledge.edges(&query)?);
        }
        edges.sort_by_key(|edge| std::cmp::Reverse((edge.created, edge.id)));
        adjacent.add(depth, edges);
        Ok(())
    }
}

/// Edges around one edge, each once.
struct Adjacent {
    seen: HashSet<EdgeId>,
    found: Vec<(u8, Edge)>,
    /// How many are shown. One more is kept, which says that there are more.
    most: usize,
}

impl Adjacent {
    fn new(center: EdgeId, most: usize) -> Self {
        Self { seen: HashSet::from([center]), found: Vec::new(), most }
    }

    fn add(&mut self, depth: u8, edges: Vec<Edge>) {
        for edge in edges {
            if self.found.len() <= self.most && self.seen.insert(edge.id) {
                self.found.push((depth, edge));
            }
        }
    }

    fn far_ends(&self) -> Vec<NodeId> {
        let edges: Vec<Edge> = self.found.iter().map(|(_, edge)| edge.clone()).collect();
        super::rows::ends(&edges)
    }
}
