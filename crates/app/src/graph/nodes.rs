//! Asking for nodes.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;
use spore_model::graph::{Links, NodeHead};
use spore_model::{EdgeKind, Node, NodeClass, NodeId, Timestamp};
use spore_store::{EdgeQuery, Knowledge};

use super::typed::node_class;
use super::{EdgeRow, Graph};
use crate::Result;

/// How deep a tree of regions is followed.
const MAX_DEPTH: u32 = 64;

/// A node with its edges.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NodeView {
    #[serde(flatten)]
    pub node: Node,
    /// Newest first.
    pub edges: Vec<EdgeRow>,
    /// Whether there are more than are shown.
    pub more_edges: bool,
}

/// What a node says.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Content {
    pub id: NodeId,
    pub title: String,
    pub class: NodeClass,
    pub kind: String,
    pub content: String,
    pub metadata: Value,
}

/// What of a region to list, as typed.
#[derive(Clone, Debug)]
pub struct RegionAsked {
    pub class: Option<String>,
    pub items_only: bool,
    pub limit: u32,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RegionRow {
    pub id: NodeId,
    pub title: String,
    /// 1 for what is right below the region's node.
    pub depth: u32,
    pub is_item: bool,
    pub class: NodeClass,
    pub kind: String,
}

/// Whether summaries keep up with what they are about.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Freshness {
    pub id: NodeId,
    pub title: String,
    pub updated: Timestamp,
    /// What the node summarizes.
    pub targets: Vec<SummaryEnd>,
    /// What summarizes the node.
    pub summaries: Vec<SummaryEnd>,
}

/// The other end of a summary's edge.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SummaryEnd {
    pub id: NodeId,
    pub title: String,
    pub updated: Timestamp,
    /// Whether the summary, on whichever end, is older than what it is about.
    pub stale: bool,
}

impl Graph<'_> {
    /// Shows a node with its edges.
    pub fn show(&self, typed: &str) -> Result<NodeView> {
        let node = self.find_node(typed)?;
        let most = self.limits.edges_of_node;
        let limit = Some(most.saturating_add(1));
        let query = EdgeQuery { node: Some(node.id.clone()), limit, ..EdgeQuery::default() };
        let mut edges = self.knowledge.edges(&query)?;
        edges.extend(self.code_edges(&node.id)?);
        let more_edges = edges.len() > most as usize;
        edges.truncate(most as usize);
        Ok(NodeView { edges: self.rows(edges)?, node, more_edges })
    }

    /// Reads what a node says.
    pub fn read_content(&self, typed: &str) -> Result<Content> {
        let mut node = self.find_node(typed)?;
        if let Some(text) = self.code_text(&node).filter(|_| node.id.is_hash()) {
            node.content = text;
        }
        Ok(Content {
            id: node.id,
            title: node.title,
            class: node.class,
            kind: node.kind,
            content: node.content,
            metadata: node.metadata,
        })
    }

    /// Lists what is in force below a node, each place before what it holds.
    pub fn list_region(&self, typed: &str, asked: &RegionAsked) -> Result<Vec<RegionRow>> {
        let class = asked.class.as_deref().map(node_class).transpose()?;
        let root = self.find_node(typed)?;
        let mut below = self.knowledge.region(&root.id, MAX_DEPTH)?;
        below.extend(self.code_region(&root.id, MAX_DEPTH)?);
        Ok(below
            .into_iter()
            .filter(|(node, depth)| *depth > 0 && node.superseded_by.is_none())
            .filter(|(node, _)| class.is_none_or(|class| node.class == class))
            .filter(|(node, _)| node.is_item() || !asked.items_only)
            .take(usize::try_from(asked.limit).unwrap_or(usize::MAX))
            .map(|(node, depth)| RegionRow {
                is_item: node.is_item(),
                id: node.id,
                title: node.title,
                depth,
                class: node.class,
                kind: node.kind,
            })
            .collect())
    }

    /// Compares the age of summaries with that of what they are about.
    pub fn check_freshness(&self, typed: &str) -> Result<Freshness> {
        let node = self.find_node(typed)?;
        let of = |query: EdgeQuery| EdgeQuery {
            kinds: vec![EdgeKind::Summarizes],
            not_superseded: true,
            ..query
        };
        let outgoing = of(EdgeQuery { source: Some(node.id.clone()), ..EdgeQuery::default() });
        let incoming = of(EdgeQuery { target: Some(node.id.clone()), ..EdgeQuery::default() });
        let targets = self.knowledge.edges(&outgoing)?.into_iter().map(|edge| edge.target);
        let summaries = self.knowledge.edges(&incoming)?.into_iter().map(|edge| edge.source);
        Ok(Freshness {
            targets: self.kin(targets, |target| node.updated < target.updated)?,
            summaries: self.kin(summaries, |summary| summary.updated < node.updated)?,
            id: node.id,
            title: node.title,
            updated: node.updated,
        })
    }

    /// Returns those of these nodes that are in force, each once and in the same order.
    fn kin(
        &self,
        ids: impl Iterator<Item = NodeId>,
        stale: impl Fn(&NodeHead) -> bool,
    ) -> Result<Vec<SummaryEnd>> {
        let ids: Vec<NodeId> = ids.collect();
        let heads = self.heads(&ids)?.into_iter();
        let mut heads: HashMap<NodeId, NodeHead> =
            heads.map(|head| (head.id.clone(), head)).collect();
        Ok(ids
            .iter()
            .filter_map(|id| heads.remove(id))
            .filter(|head| !head.superseded)
            .map(|head| SummaryEnd {
                stale: stale(&head),
                id: head.id,
                title: head.title,
                updated: head.updated,
            })
            .collect())
    }
}
