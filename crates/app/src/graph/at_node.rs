//! All edges at one node.

use spore_model::Node;
use spore_model::graph::Direction;
use spore_store::{EdgeQuery, Knowledge};

use super::typed::edge_kinds;
use super::{EdgeRow, Graph};
use crate::Result;

impl Graph<'_> {
    /// Returns a node with its edges of these types, those of any type if none is named, and
    /// of one direction if one is: what was learnt first, newest first, then what the code
    /// says, surest first.
    pub(crate) fn edges_at(
        &self,
        typed: &str,
        kinds: &[String],
        direction: Option<Direction>,
        limit: u32,
    ) -> Result<(Node, Vec<EdgeRow>)> {
        let kinds = edge_kinds(kinds)?;
        let node = self.find_node(typed)?;
        let query = EdgeQuery {
            node: Some(node.id.clone()),
            kinds: kinds.clone(),
            limit: Some(limit),
            ..EdgeQuery::default()
        };
        let mut edges = self.knowledge.edges(&query)?;
        edges.extend(self.code_edges(&node.id)?);
        edges.retain(|edge| kinds.is_empty() || kinds.contains(&edge.kind));
        edges.retain(|edge| match direction {
            Some(Direction::Out) => edge.source == node.id,
            Some(Direction::In) => edge.target == node.id,
            None => true,
        });
        edges.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok((node, self.rows(edges)?))
    }
}
