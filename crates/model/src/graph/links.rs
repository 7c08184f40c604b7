//! The one door through which the graph is walked.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::{EdgeKind, GraphSurvey, NodeHead};
use crate::NodeId;

/// Which way an edge points, seen from the node whose links were asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Out,
    In,
}

impl Direction {
    /// Returns the direction seen from the other end.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Out => Self::In,
            Self::In => Self::Out,
        }
    }
}

/// An edge, seen from one of its ends. As much of it as a walk needs.
#[derive(Clone, PartialEq, Debug)]
pub struct Link {
    /// The node whose links were asked for.
    pub near: NodeId,
    pub far: NodeId,
    pub direction: Direction,
    pub kind: EdgeKind,
    pub confidence: Option<f64>,
    pub superseded: bool,
}

impl Link {
    /// Returns how far apart the link's ends are.
    pub fn cost(&self) -> f64 {
        self.kind.cost(self.confidence)
    }
}

/// Something with nodes and edges that can be walked.
///
/// A store answers for what it has: it may know an edge and not the node at its far end, or
/// a node and none of its edges. Together, see [`Both`], stores make one graph.
pub trait Links {
    type Error;

    /// Returns every edge at every one of these nodes, in both directions and superseded
    /// ones too, in any order. An edge between two of them comes once for each; an edge from
    /// a node to itself comes at most twice. Nodes that are not there have none.
    fn links(&self, of: &[NodeId]) -> Result<Vec<Link>, Self::Error>;

    /// Returns the heads of those of these nodes that are there, in any order.
    fn heads(&self, of: &[NodeId]) -> Result<Vec<NodeHead>, Self::Error>;

    /// Pours everything there is into `survey`.
    fn survey(&self, survey: &mut GraphSurvey) -> Result<(), Self::Error>;
}

/// Two graphs as one. A node that both have is the first one's.
pub struct Both<'a, E>(pub &'a dyn Links<Error = E>, pub &'a dyn Links<Error = E>);

impl<E> Links for Both<'_, E> {
    type Error = E;

    fn links(&self, of: &[NodeId]) -> Result<Vec<Link>, E> {
        let mut links = self.0.links(of)?;
        links.extend(self.1.links(of)?);
        Ok(links)
    }

    fn heads(&self, of: &[NodeId]) -> Result<Vec<NodeHead>, E> {
        let mut heads = self.0.heads(of)?;
        let known: HashSet<&NodeId> = heads.iter().map(|head| &head.id).collect();
        let rest: Vec<NodeId> = of.iter().filter(|id| !known.contains(id)).cloned().collect();
        if !rest.is_empty() {
            heads.extend(self.1.heads(&rest)?);
        }
        Ok(heads)
    }

    fn survey(&self, survey: &mut GraphSurvey) -> Result<(), E> {
        self.0.survey(survey)?;
        self.1.survey(survey)
    }
}
