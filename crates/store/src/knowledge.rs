//! The contract of the knowledge graph: what is promised about nodes and edges that are not
//! code.
//!
//! Everything is written by key and once: a node or an edge that is there already stays as it
//! is, so a step that is done again after a crash adds nothing twice. Nothing is overwritten
//! either. A better node or edge supersedes the old one, and both can be read.
//!
//! An edge may point at a node that is not here: code lives in the index. So this store
//! answers for its own nodes, and [`spore_model::graph::Both`] makes one graph of several.
//!
//! The trait names no database; `contract.rs` is what another one would have to pass.

#[cfg(test)]
pub(crate) mod contract;

use serde::Serialize;
use serde_json::Value;
use spore_model::graph::{Links, NodeClass};
use spore_model::{Edge, EdgeId, EdgeKind, Node, NodeId, RunId, Timestamp};

use crate::journal::Cause;

/// What one repository knows.
///
/// One method is one transaction: when it returns `Ok`, all of it is on disk; when it returns
/// an error, or the process dies in it, none of it happened. Methods may be called from
/// several threads and processes at once; they wait for each other.
///
/// Filters count before limits: a list shorter than its limit is the whole answer.
pub trait Knowledge: Links<Error = KnowledgeError> + Send + Sync {
    /// Adds nodes, then edges. Those whose id is taken stay as they are: the first call
    /// counts. The ends of an edge need not be here.
    fn add(&self, nodes: &[Node], edges: &[Edge]) -> Result<Added, KnowledgeError>;

    /// Returns a node, `None` if it is not here.
    fn node(&self, id: &NodeId) -> Result<Option<Node>, KnowledgeError>;

    /// Returns those of these nodes that are here, in the order in which they were asked for.
    fn nodes(&self, ids: &[NodeId]) -> Result<Vec<Node>, KnowledgeError>;

    /// Returns what a person may have meant, [`MAX_CANDIDATES`] at most: the node with this
    /// id, else those whose id begins or ends with the text (from [`MIN_TYPED`] characters
    /// on, in either case), by id; else live ones with exactly this title, newest first; else
    /// live ones in which all its words occur, best first. One candidate is an answer,
    /// several are a question. No character is a wildcard.
    fn find(&self, typed: &str) -> Result<Vec<Node>, KnowledgeError>;

    /// Returns the nodes that `query` admits and in which a word of `text` occurs, with a
    /// score that is higher for a better match, best first. Any text will do; one without
    /// words finds nothing. Title words weigh more. `query`'s own limit and offset do not
    /// count.
    fn search(
        &self,
        text: &str,
        limit: u32,
        query: &NodeQuery,
    ) -> Result<Vec<(Node, f64)>, KnowledgeError>;

    /// Returns the nodes that `query` asks for, newest first.
    fn list(&self, query: &NodeQuery) -> Result<Vec<Node>, KnowledgeError>;

    /// Returns `root` and what is below it by region, with its depth, each node before what
    /// is below it and neighbours by title, then id. A root that is not here may still have
    /// nodes below it. A region that is above itself appears once.
    fn region(&self, root: &NodeId, max_depth: u32) -> Result<Vec<(Node, u32)>, KnowledgeError>;

    /// Returns an edge, `None` if it is not here.
    fn edge(&self, id: EdgeId) -> Result<Option<Edge>, KnowledgeError>;

    /// Returns every edge whose id is, begins or ends with `typed`, in either case, by id,
    /// [`MAX_CANDIDATES`] at most. Fewer than [`MIN_TYPED`] characters name nothing.
    fn find_edge(&self, typed: &str) -> Result<Vec<Edge>, KnowledgeError>;

    /// Returns the edges that `query` asks for, newest first.
    fn edges(&self, query: &EdgeQuery) -> Result<Vec<Edge>, KnowledgeError>;

    /// Puts `new` in the place of `old`: adds it, a `supersedes` edge and `edges`, and copies
    /// the live edges that go out of `old`, except those that say what it superseded itself.
    /// A copy supersedes its original. Ids of copies follow from those of the node and the
    /// original, so the same call again changes nothing and returns the same.
    ///
    /// Refused with [`KnowledgeError::Superseded`] if another node has taken the place.
    fn supersede_node(
        &self,
        old: &NodeId,
        new: &Node,
        edges: &[Edge],
    ) -> Result<Succession, KnowledgeError>;

    /// Adds nodes and puts some of them in the places of others, all at once: each pair of
    /// `places` is a node and the one that takes its place, as [`Self::supersede_node`] does
    /// it. Several may give way to the same one. The same call again changes nothing.
    ///
    /// Refused as a whole with [`KnowledgeError::NoSuchNode`] if either of a pair is missing,
    /// and with [`KnowledgeError::Superseded`] if a place is taken.
    fn succeed(&self, nodes: &[Node], places: &[(NodeId, NodeId)])
    -> Result<Added, KnowledgeError>;

    /// Puts `new` in the place of `old`; adds it unless it is there. The same call again
    /// changes nothing. Refused with [`KnowledgeError::Superseded`] if another edge has taken
    /// the place, or if `new` has lost its own: so no chain bites its tail.
    fn supersede_edge(&self, old: EdgeId, new: &Edge) -> Result<(), KnowledgeError>;

    /// Returns all edges that this one superseded or was superseded by, over any number of
    /// steps, itself included, oldest first. An edge that is not here has no chain.
    fn supersession_chain(&self, edge: EdgeId) -> Result<Vec<Edge>, KnowledgeError>;

    /// Merges `patch` into a node's metadata, key by key and to any depth; `null` removes a
    /// key. Returns the metadata there is now.
    fn update_metadata(
        &self,
        id: &NodeId,
        patch: &Value,
        now: Timestamp,
    ) -> Result<Value, KnowledgeError>;

    /// Returns how much there is of everything.
    fn counts(&self, now: Timestamp) -> Result<Counts, KnowledgeError>;

    /// Returns the operational nodes that nothing needs, oldest first.
    fn garbage(&self, query: &GcQuery) -> Result<Vec<Node>, KnowledgeError>;

    /// Removes nodes and all their edges. Before they are gone for good `export` gets to see
    /// everything that goes; if it fails, nothing is removed. It must not use this store.
    /// Ids that are not here are passed over.
    fn remove(
        &self,
        ids: &[NodeId],
        export: &mut dyn FnMut(&RemovedNodes) -> Result<(), Cause>,
    ) -> Result<RemovedNodes, KnowledgeError>;
}

/// How many characters of an id a person has to type at the least.
pub const MIN_TYPED: usize = 4;
/// How many candidates a person is asked to choose from at the most.
pub const MAX_CANDIDATES: usize = 20;

/// How much an [`Knowledge::add`] added that was not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Added {
    pub nodes: usize,
    pub edges: usize,
}

/// Which nodes to return. The default is every live one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeQuery {
    pub class: Option<NodeClass>,
    pub kind: Option<String>,
    /// Only what is below this node, at any depth.
    pub region: Option<NodeId>,
    /// Created at this time or later.
    pub since: Option<Timestamp>,
    pub run: Option<RunId>,
    pub agent: Option<String>,
    pub include_superseded: bool,
    pub limit: Option<u32>,
    pub offset: u32,
}

/// Which edges to return. The default is all of them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EdgeQuery {
    /// Empty is any.
    pub kinds: Vec<EdgeKind>,
    pub agent: Option<String>,
    /// Who wrote the node the edge points at.
    pub target_agent: Option<String>,
    pub source: Option<NodeId>,
    pub target: Option<NodeId>,
    /// At either end.
    pub node: Option<NodeId>,
    /// An edge without a confidence counts as
    /// [`spore_model::graph::DEFAULT_CONFIDENCE`].
    pub min_confidence: Option<f64>,
    /// Created at this time or later.
    pub since: Option<Timestamp>,
    pub not_superseded: bool,
    pub limit: Option<u32>,
}

/// What came of a node taking another's place.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Succession {
    /// The edge from the new node to the old one.
    pub supersedes: EdgeId,
    /// The new node's copies of the old one's edges, newest first.
    pub copied: Vec<Edge>,
}

/// How much there is of everything.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counts {
    /// By class, then kind.
    pub nodes: Vec<KindCount>,
    pub edges: EdgeCounts,
    /// Live `contradicts` edges between live nodes that no later, live `resolves` edge
    /// answers by pointing at either end.
    pub unresolved_contradictions: u64,
    /// Live knowledge nodes that are items.
    pub knowledge_items: u64,
    /// Those of them that a live node summarizes.
    pub summarized_items: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct KindCount {
    pub class: NodeClass,
    pub kind: String,
    pub live: u64,
    pub superseded: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct EdgeCounts {
    /// Created within the day before now, superseded or not.
    pub last_24h: u64,
    pub last_7d: u64,
    pub total: u64,
    /// Not superseded.
    pub live: u64,
}

impl Counts {
    /// Returns the share of knowledge that is summarized, 0 if there is none.
    pub fn coverage(&self) -> f64 {
        share(self.summarized_items, self.knowledge_items)
    }

    /// Returns the share of live edges that no open contradiction spoils.
    pub fn coherence(&self) -> f64 {
        1.0 - share(self.unresolved_contradictions, self.edges.live)
    }

    /// Returns how many live nodes there are of a class.
    pub fn live(&self, class: NodeClass) -> u64 {
        self.nodes.iter().filter(|count| count.class == class).map(|count| count.live).sum()
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// What counts as garbage: operational nodes of some age with no edge, that hold no other
/// node and that none was superseded by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GcQuery {
    /// Created before this time.
    pub older_than: Timestamp,
    /// Worth keeping even so.
    pub keep_kinds: Vec<String>,
    /// Not even `keep_kinds` are kept.
    pub force: bool,
}

impl GcQuery {
    /// What was learned outlives what taught it.
    pub const KEPT_KINDS: [&str; 2] = ["lesson", "summary"];

    /// Returns the query with the default kinds kept and nothing forced.
    pub fn older_than(older_than: Timestamp) -> Self {
        let keep_kinds = Self::KEPT_KINDS.map(str::to_owned).to_vec();
        Self { older_than, keep_kinds, force: false }
    }
}

/// What [`Knowledge::remove`] took away.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct RemovedNodes {
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
}

/// Why the graph did not do what it was asked. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum KnowledgeError {
    #[error("there is no node {node}")]
    NoSuchNode { node: NodeId },
    #[error("there is no edge {edge}")]
    NoSuchEdge { edge: EdgeId },
    /// The place is taken: look at who holds it and decide anew.
    #[error("{old} was superseded by {by}")]
    Superseded { old: String, by: String },
    /// What was to be removed could not be saved elsewhere first.
    #[error("the nodes to be removed could not be exported")]
    NotExported { source: Cause },
    #[error("the disk is full")]
    Full { source: Cause },
    #[error("the knowledge graph cannot be written to")]
    ReadOnly { source: Cause },
    /// Another process held the graph for longer than the busy timeout.
    #[error("the knowledge graph is held by another process")]
    Busy { source: Cause },
    /// The file is damaged, or holds what no version of Spore wrote.
    #[error("the knowledge graph is damaged")]
    Corrupt { source: Cause },
    #[error("the knowledge graph cannot be read or written")]
    Io { source: Cause },
    /// The database refused a statement of ours.
    #[error("the knowledge graph was used wrongly")]
    Bug { source: Cause },
}
