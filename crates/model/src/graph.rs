//! The graph: what is known, what it is about, and how one thing leads to another.
//!
//! Nodes are pieces of knowledge (a task, a verdict, a lesson) and of code (a file, a
//! function); edges say why two of them belong together, how sure that is and who said so.
//! Nothing is overwritten: what turned out wrong is superseded by what is right, and both
//! stay.
//!
//! One decision shapes the rest: knowledge and code live in different stores, so an edge may
//! point at a node that its own store does not have. Everything that walks the graph does so
//! through [`Links`], which one store implements as well as several together.
//!
//! The algorithms are pure. They ask for links and never for the time, and where two answers
//! are equally good the ids decide, so the same graph gives the same bytes.

mod analysis;
mod connectivity;
mod expansion;
mod kind;
mod links;
mod paths;
#[cfg(test)]
mod sample;
mod score;
mod survey;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{EdgeId, NodeId, RunId, Timestamp};

pub use analysis::{
    Analysis, AnalysisOptions, Bridge, Cut, DegreeBand, FragileConnection, Health, Hub, NodeName,
    StaleNode, StaleSummary, Staleness, Topology, WeakPoints, analyze,
};
pub use expansion::{ExpandOptions, PathStep, ReachedNode, expand};
pub use kind::{EdgeKind, UnknownEdgeKind};
pub use links::{Both, Direction, Link, Links};
pub use paths::{Path, PathOptions, Paths, paths_between};
pub use score::{ScoredEdge, rank_for_context};
pub use survey::GraphSurvey;

/// What an edge of unknown confidence counts as.
pub const DEFAULT_CONFIDENCE: f64 = 0.5;

/// What a node is for.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum NodeClass {
    /// What the project knows: code, documents, entities, topics.
    #[default]
    Knowledge,
    /// What Spore did: tasks, implementations, verdicts. Never enters a context by itself.
    Operational,
    /// What was said about other nodes: summaries, contradictions, escalations.
    Meta,
}

impl NodeClass {
    pub const ALL: [Self; 3] = [Self::Knowledge, Self::Operational, Self::Meta];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Knowledge => "knowledge",
            Self::Operational => "operational",
            Self::Meta => "meta",
        }
    }
}

impl fmt::Display for NodeClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A class that is not on the list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a class of nodes")]
pub struct UnknownNodeClass(String);

impl FromStr for NodeClass {
    type Err = UnknownNodeClass;

    fn from_str(text: &str) -> Result<Self, UnknownNodeClass> {
        Self::ALL
            .into_iter()
            .find(|class| class.as_str() == text)
            .ok_or_else(|| UnknownNodeClass(text.chars().take(80).collect()))
    }
}

/// Something that is known.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Node {
    pub id: NodeId,
    pub class: NodeClass,
    /// What it is, in one word: `task`, `verdict`, `lesson`, `file`, `function`. An open set:
    /// a new capability brings its own.
    pub kind: String,
    pub title: String,
    pub content: String,
    /// Who wrote it.
    pub agent: Option<String>,
    pub run: Option<RunId>,
    /// The region it belongs to.
    pub parent: Option<NodeId>,
    /// From 0 to 1.
    pub confidence: Option<f64>,
    pub metadata: Value,
    pub created: Timestamp,
    pub updated: Timestamp,
    pub superseded_by: Option<NodeId>,
}

impl Node {
    /// Returns a live node with the bare necessities; the rest is for the caller to fill in.
    pub fn new(
        id: NodeId,
        class: NodeClass,
        kind: impl Into<String>,
        title: impl Into<String>,
        created: Timestamp,
    ) -> Self {
        Self {
            id,
            class,
            kind: kind.into(),
            title: title.into(),
            content: String::new(),
            agent: None,
            run: None,
            parent: None,
            confidence: None,
            metadata: Value::Null,
            created,
            updated: created,
            superseded_by: None,
        }
    }

    /// Returns whether this is a thing, not a place that holds things.
    pub fn is_item(&self) -> bool {
        is_item(&self.kind)
    }

    /// Returns the node without what only its reader needs.
    pub fn head(&self) -> NodeHead {
        NodeHead {
            id: self.id.clone(),
            class: self.class,
            kind: self.kind.clone(),
            title: self.title.clone(),
            parent: self.parent.clone(),
            updated: self.updated,
            superseded: self.superseded_by.is_some(),
        }
    }
}

/// As much of a node as it takes to walk past it: no content, whatever its size.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NodeHead {
    pub id: NodeId,
    pub class: NodeClass,
    pub kind: String,
    pub title: String,
    pub parent: Option<NodeId>,
    pub updated: Timestamp,
    pub superseded: bool,
}

impl NodeHead {
    /// Returns whether this is a thing, not a place that holds things.
    pub fn is_item(&self) -> bool {
        is_item(&self.kind)
    }
}

/// The kinds of nodes that only hold others.
pub const PLACES: [&str; 3] = ["category", "directory", "region"];

fn is_item(kind: &str) -> bool {
    !PLACES.contains(&kind)
}

/// Why two nodes belong together.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Edge {
    pub id: EdgeId,
    pub source: NodeId,
    pub target: NodeId,
    pub kind: EdgeKind,
    /// From 0 to 1.
    pub confidence: Option<f64>,
    /// Who said so.
    pub agent: Option<String>,
    /// In a few words.
    pub reason: Option<String>,
    /// In as many as it takes.
    pub content: Option<String>,
    pub metadata: Value,
    pub run: Option<RunId>,
    pub created: Timestamp,
    pub superseded_by: Option<EdgeId>,
}

impl Edge {
    /// Returns a live edge with the bare necessities; the rest is for the caller to fill in.
    pub fn new(
        id: EdgeId,
        source: NodeId,
        target: NodeId,
        kind: EdgeKind,
        created: Timestamp,
    ) -> Self {
        Self {
            id,
            source,
            target,
            kind,
            confidence: None,
            agent: None,
            reason: None,
            content: None,
            metadata: Value::Null,
            run: None,
            created,
            superseded_by: None,
        }
    }

    /// Returns how far apart the edge's ends are.
    pub fn cost(&self) -> f64 {
        self.kind.cost(self.confidence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_one_word_in_text_and_in_json() {
        for class in NodeClass::ALL {
            assert_eq!(serde_json::to_value(class).unwrap(), class.as_str());
            assert_eq!(class.as_str().parse(), Ok(class));
        }
        assert!("item".parse::<NodeClass>().is_err());
    }

    #[test]
    fn a_node_and_an_edge_survive_their_json() {
        let at = Timestamp::from_millis(1_767_225_600_000);
        let ids = [1, 2].map(|number| NodeId::from_parts(0, number));
        let mut node = Node::new(ids[0].clone(), NodeClass::Meta, "summary", "of it all", at);
        node.parent = Some(ids[1].clone());
        node.confidence = Some(0.1 + 0.2);
        let [source, target] = ids;
        let mut edge =
            Edge::new(EdgeId::from_parts(0, 3), source, target, EdgeKind::Summarizes, at);
        edge.metadata = serde_json::json!({ "n": 1 });
        let json = serde_json::to_string(&(&node, &edge)).unwrap();
        assert_eq!(serde_json::from_str::<(Node, Edge)>(&json).unwrap(), (node, edge));
    }

    #[test]
    fn a_place_is_not_an_item() {
        let kinds = ["file", "task", "directory", "region", "category", "topic"];
        assert_eq!(kinds.map(is_item), [true, true, false, false, false, true]);
    }
}
