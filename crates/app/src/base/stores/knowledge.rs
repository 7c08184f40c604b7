//! What a project knows, whose writes are effects by construction.

use serde_json::Value;
use spore_effects::{Effect, Probe};
use spore_model::graph::{GraphSurvey, Link, Links, NodeHead};
use spore_model::{Edge, EdgeId, Node, NodeId, Timestamp};
use spore_store::{
    Added, Cause, Counts, EdgeQuery, GcQuery, Knowledge, KnowledgeError, NodeQuery, RemovedNodes,
    Succession,
};

use super::struck;
use crate::base::credentials::Credentials;

type Answer<T> = std::result::Result<T, KnowledgeError>;

/// Knowledge that names each of its writes to the probe.
pub(crate) struct ProjectKnowledge {
    store: Box<dyn Knowledge>,
    probe: Probe,
    credentials: Credentials,
}

impl ProjectKnowledge {
    pub(super) fn new(store: Box<dyn Knowledge>, probe: Probe, credentials: Credentials) -> Self {
        Self { store, probe, credentials }
    }

    fn row<T>(&self, deed: &str, kind: &str, act: impl FnOnce() -> T) -> T {
        if self.probe.is_armed() {
            self.probe.around(Effect::Row, &format!("{deed} {kind}"), act)
        } else {
            act()
        }
    }
}

impl Links for ProjectKnowledge {
    type Error = KnowledgeError;

    fn links(&self, of: &[NodeId]) -> Answer<Vec<Link>> {
        self.store.links(of)
    }

    fn heads(&self, of: &[NodeId]) -> Answer<Vec<NodeHead>> {
        self.store.heads(of)
    }

    fn survey(&self, survey: &mut GraphSurvey) -> Answer<()> {
        self.store.survey(survey)
    }
}

impl Knowledge for ProjectKnowledge {
    fn add(&self, nodes: &[Node], edges: &[Edge]) -> Answer<Added> {
        let edge = edges.first().map_or("nothing", |edge| edge.kind.as_str());
        let kind = nodes.first().map_or(edge, |node| node.kind.as_str());
        let secrets = &self.credentials.known();
        let (nodes, edges) = (struck::nodes(secrets, nodes), struck::edges(secrets, edges));
        self.row("know", kind, || self.store.add(&nodes, &edges))
    }

    fn node(&self, id: &NodeId) -> Answer<Option<Node>> {
        self.store.node(id)
    }

    fn nodes(&self, ids: &[NodeId]) -> Answer<Vec<Node>> {
        self.store.nodes(ids)
    }

    fn find(&self, typed: &str) -> Answer<Vec<Node>> {
        self.store.find(typed)
    }

    fn search(&self, text: &str, limit: u32, query: &NodeQuery) -> Answer<Vec<(Node, f64)>> {
        self.store.search(text, limit, query)
    }

    fn list(&self, query: &NodeQuery) -> Answer<Vec<Node>> {
        self.store.list(query)
    }

    fn region(&self, root: &NodeId, max_depth: u32) -> Answer<Vec<(Node, u32)>> {
        self.store.region(root, max_depth)
    }

    fn edge(&self, id: EdgeId) -> Answer<Option<Edge>> {
        self.store.edge(id)
    }

    fn find_edge(&self, typed: &str) -> Answer<Vec<Edge>> {
        self.store.find_edge(typed)
    }

    fn edges(&self, query: &EdgeQuery) -> Answer<Vec<Edge>> {
        self.store.edges(query)
    }

    fn supersede_node(&self, old: &NodeId, new: &Node, edges: &[Edge]) -> Answer<Succession> {
        let secrets = &self.credentials.known();
        let edges = struck::edges(secrets, edges);
        let nodes = struck::nodes(secrets, std::slice::from_ref(new));
        let new = nodes.first().unwrap_or(new);
        self.row("supersede", &new.kind, || self.store.supersede_node(old, new, &edges))
    }

    fn succeed(&self, nodes: &[Node], places: &[(NodeId, NodeId)]) -> Answer<Added> {
        let kind = nodes.first().map_or("nothing", |node| node.kind.as_str());
        let nodes = struck::nodes(&self.credentials.known(), nodes);
        self.row("succeed", kind, || self.store.succeed(&nodes, places))
    }

    fn supersede_edge(&self, old: EdgeId, new: &Edge) -> Answer<()> {
        let edges = struck::edges(&self.credentials.known(), std::slice::from_ref(new));
        let new = edges.first().unwrap_or(new);
        self.row("supersede edge", new.kind.as_str(), || self.store.supersede_edge(old, new))
    }

    fn supersession_chain(&self, edge: EdgeId) -> Answer<Vec<Edge>> {
        self.store.supersession_chain(edge)
    }

    fn update_metadata(&self, id: &NodeId, patch: &Value, now: Timestamp) -> Answer<Value> {
        let patch = struck::value(&self.credentials.known(), patch);
        self.row("update", "metadata", || self.store.update_metadata(id, &patch, now))
    }

    fn counts(&self, now: Timestamp) -> Answer<Counts> {
        self.store.counts(now)
    }

    fn garbage(&self, query: &GcQuery) -> Answer<Vec<Node>> {
        self.store.garbage(query)
    }

    fn remove(
        &self,
        ids: &[NodeId],
        export: &mut dyn FnMut(&RemovedNodes) -> std::result::Result<(), Cause>,
    ) -> Answer<RemovedNodes> {
        self.row("remove", "nodes", || self.store.remove(ids, export))
    }
}
