//! What a run taught, when the run is taken back: superseded, not removed.

use serde_json::json;
use spore_model::{Edge, EdgeId, EdgeKind, Node, NodeClass, NodeId, RunId, Timestamp};
use spore_store::{EdgeQuery, Knowledge, KnowledgeError, NodeQuery};

use super::plan::Undoing;
use crate::Result;

/// The kinds of a run's nodes that stay: that the task was asked for is still true, and so is
/// that it was taken back.
const STAY: [&str; 2] = ["task", KIND];
const KIND: &str = "rollback";

/// Returns what a run taught and nothing has superseded yet.
pub(super) fn taught(knowledge: &dyn Knowledge, run: RunId) -> Result<Vec<Node>> {
    let mut nodes = knowledge.list(&NodeQuery { run: Some(run), ..NodeQuery::default() })?;
    nodes.retain(|node| !STAY.contains(&node.kind.as_str()));
    nodes.sort_by(|one, two| one.id.cmp(&two.id));
    Ok(nodes)
}

impl Undoing<'_> {
    /// Puts one node, which says that the run was taken back, in the place of all that it
    /// taught. Its edges go first: a verdict's `supports` must not become the rollback's.
    pub(super) fn forget(&self, at: Timestamp) -> Result<()> {
        let nodes = taught(self.knowledge, self.run.id)?;
        if nodes.is_empty() {
            return Ok(());
        }
        let (marker, tracks) = self.marker(at);
        self.knowledge.add(std::slice::from_ref(&marker), std::slice::from_ref(&tracks))?;
        for node in &nodes {
            for edge in self.edges_of(node)? {
                unless_superseded(self.knowledge.supersede_edge(edge, &tracks))?;
            }
        }
        for node in &nodes {
            let taken = self.knowledge.supersede_node(&node.id, &marker, &[]);
            unless_superseded(taken.map(|_| ()))?;
        }
        Ok(())
    }

    /// The live edges of this run at a node.
    fn edges_of(&self, node: &Node) -> Result<Vec<EdgeId>> {
        let query =
            EdgeQuery { node: Some(node.id.clone()), not_superseded: true, ..EdgeQuery::default() };
        let edges = self.knowledge.edges(&query)?;
        let own = edges
            .iter()
            .filter(|edge| edge.run == Some(self.run.id) && edge.kind != EdgeKind::Supersedes);
        Ok(own.map(|edge| edge.id).collect())
    }

    fn marker(&self, at: Timestamp) -> (Node, Edge) {
        let run = self.run.id.to_string();
        let node =
            |words: &[&str]| NodeId::keyed(self.run.started, &[&[run.as_str()], words].concat());
        let (id, task) = (node(&[KIND]), node(&["task"]));
        let title = format!("Rolled back: {}", self.run.name);
        let marker = Node {
            run: Some(self.run.id),
            parent: Some(task.clone()),
            agent: Some("human".to_owned()),
            content: format!("A person took back what run {run} did."),
            metadata: json!({ "by": "human" }),
            ..Node::new(id.clone(), NodeClass::Meta, KIND, title, at)
        };
        let edge = EdgeId::keyed(self.run.started, &[run.as_str(), KIND, "tracks"]);
        let tracks = Edge {
            run: Some(self.run.id),
            agent: Some("human".to_owned()),
            confidence: Some(1.0),
            reason: Some("rolled back".to_owned()),
            ..Edge::new(edge, id, task, EdgeKind::Tracks, at)
        };
        (marker, tracks)
    }
}

/// A node or edge that another writer has replaced by now needs no taking back.
fn unless_superseded(
    done: std::result::Result<(), KnowledgeError>,
) -> std::result::Result<(), KnowledgeError> {
    match done {
        Err(KnowledgeError::Superseded { .. }) => Ok(()),
        other => other,
    }
}
