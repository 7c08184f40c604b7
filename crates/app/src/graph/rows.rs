//! Edges as rows: each with the names of its ends, from whichever store holds them.

use std::collections::HashMap;

use spore_model::graph::Links;
use spore_model::{Edge, Node, NodeId};
use spore_store::Knowledge;

use super::{EdgeRow, Graph};
use crate::Result;

impl Graph<'_> {
    pub(super) fn rows(&self, edges: Vec<Edge>) -> Result<Vec<EdgeRow>> {
        let titles = self.titles(&edges)?;
        let row = |edge: Edge| EdgeRow {
            source_title: titles.get(&edge.source).cloned(),
            target_title: titles.get(&edge.target).cloned(),
            source_content: None,
            target_content: None,
            edge,
        };
        Ok(edges.into_iter().map(row).collect())
    }

    pub(super) fn rows_with_contents(&self, edges: Vec<Edge>) -> Result<Vec<EdgeRow>> {
        let ids = ends(&edges);
        let mut ends = self.knowledge.nodes(&ids)?;
        for id in &ids {
            ends.extend(self.code_node(id)?);
        }
        let ends: HashMap<&NodeId, &Node> = ends.iter().map(|node| (&node.id, node)).collect();
        let title = |id: &NodeId| ends.get(id).map(|node| node.title.clone());
        let content = |id: &NodeId| ends.get(id).map(|node| node.content.clone());
        let row = |edge: Edge| EdgeRow {
            source_title: title(&edge.source),
            target_title: title(&edge.target),
            source_content: content(&edge.source),
            target_content: content(&edge.target),
            edge,
        };
        Ok(edges.into_iter().map(row).collect())
    }

    pub(super) fn titles(&self, edges: &[Edge]) -> Result<HashMap<NodeId, String>> {
        let heads = self.heads(&ends(edges))?;
        Ok(heads.into_iter().map(|head| (head.id, head.title)).collect())
    }
}

/// Both ends of all these edges, each once.
pub(super) fn ends(edges: &[Edge]) -> Vec<NodeId> {
    let mut ends: Vec<NodeId> =
        edges.iter().flat_map(|edge| [&edge.source, &edge.target]).cloned().collect();
    ends.sort_unstable();
    ends.dedup();
    ends
}
