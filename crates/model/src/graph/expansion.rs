//! What lies around a node, nearest first.
//!
//! Dijkstra's search over undirected edges, with three limits: so many nodes in the answer,
//! so many hops, so much distance. The hop limit makes it a search over labels, not nodes: a
//! longer way with fewer hops may lead on where the shortest one may not, so a node is
//! entered again whenever that saves hops.
//!
//! A node that the options leave out of the answer costs nothing of its budget and is still
//! walked through: a task leads to the code that its implementation touched.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};

use serde::{Deserialize, Serialize};

use super::{Direction, EdgeKind, Link, Links, NodeClass, NodeHead};
use crate::NodeId;

/// How many labels are looked at in one search, so that a graph in which everything is left
/// out ends it too.
const MAX_LABELS: usize = 20_000;

/// What to look for around a node. The default is what the context of a task is made from.
#[derive(Clone, PartialEq, Debug)]
pub struct ExpandOptions {
    /// How many nodes the answer has at most.
    pub budget: usize,
    pub max_hops: u32,
    pub max_cost: f64,
    /// Edges of these kinds are not there.
    pub exclude: Vec<EdgeKind>,
    /// If given, edges of other kinds are not there.
    pub only: Option<Vec<EdgeKind>>,
    /// Superseded edges are not there, and superseded nodes not in the answer.
    pub not_superseded: bool,
    /// Places that only hold others are not in the answer.
    pub items_only: bool,
    /// Operational nodes are not in the answer.
    pub exclude_operational: bool,
}

impl ExpandOptions {
    /// Returns the options of a walk of this size that looks for what the project knows now.
    pub fn within(budget: usize, max_hops: u32, max_cost: f64) -> Self {
        Self {
            budget,
            max_hops,
            max_cost,
            exclude: EdgeKind::BROWSING.to_vec(),
            only: None,
            not_superseded: true,
            items_only: true,
            exclude_operational: true,
        }
    }

    fn admits_link(&self, link: &Link) -> bool {
        let wanted = self.only.as_ref().is_none_or(|only| only.contains(&link.kind));
        wanted
            && !self.exclude.contains(&link.kind)
            && !(self.not_superseded && link.superseded)
            && link.near != link.far
    }

    fn admits_node(&self, head: &NodeHead) -> bool {
        let left_out = self.not_superseded && head.superseded
            || self.items_only && !head.is_item()
            || self.exclude_operational && head.class == NodeClass::Operational;
        !left_out
    }
}

/// A node of the answer and the way to it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ReachedNode {
    pub node: NodeHead,
    /// The sum of the costs on the way.
    pub distance: f64,
    /// `1 / (1 + distance)`.
    pub relevance: f64,
    pub hops: u32,
    /// From the first edge to this node.
    pub path: Vec<PathStep>,
}

/// One edge of a way, and the node it leads to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PathStep {
    pub edge: EdgeKind,
    /// Whether the edge points the way it was walked.
    pub direction: Direction,
    pub node: NodeId,
    pub title: String,
}

/// Returns what lies around `from`, nearest first; of equally near nodes the one with fewer
/// hops, then the one with the smaller id. The start is not part of the answer, and neither
/// it nor its class matters.
pub fn expand<L: Links + ?Sized>(
    graph: &L,
    from: &NodeId,
    options: &ExpandOptions,
) -> Result<Vec<ReachedNode>, L::Error> {
    let mut search = ExpansionSearch::new(from.clone());
    let mut answer = Vec::new();
    while answer.len() < options.budget
        && search.labels.len() < MAX_LABELS
        && let Some(Reverse(label)) = search.queue.pop()
    {
        let Some(visit) = search.visit(graph, &label)? else { continue };
        let place = search.labels.len();
        if visit == NodeVisit::First
            && let Some(head) = search.heads.get(&label.node)
            && options.admits_node(head)
        {
            answer.push(search.reached(head.clone(), &label));
        }
        if label.hops < options.max_hops && answer.len() < options.budget {
            for link in graph.links(std::slice::from_ref(&label.node))? {
                search.follow(&label, place, link, options);
            }
        }
        search.labels.push(label);
    }
    Ok(answer)
}

/// A way to a node. Ways are linked backwards.
struct Label {
    distance: f64,
    hops: u32,
    node: NodeId,
    /// The edge that led here, and the place of the label it came from.
    via: Option<(EdgeKind, Direction, usize)>,
}

impl Label {
    fn key(&self) -> impl Ord + '_ {
        (self.hops, &self.node, self.via)
    }
}

impl Ord for Label {
    fn cmp(&self, other: &Self) -> Ordering {
        self.distance.total_cmp(&other.distance).then_with(|| self.key().cmp(&other.key()))
    }
}

impl PartialOrd for Label {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Label {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Label {}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeVisit {
    Start,
    First,
    Again,
}

struct ExpansionSearch {
    queue: BinaryHeap<Reverse<Label>>,
    /// Those that were walked on from, in the order of their distance.
    labels: Vec<Label>,
    /// The fewest hops that a node was walked on from with.
    fewest: HashMap<NodeId, u32>,
    heads: HashMap<NodeId, NodeHead>,
}

impl ExpansionSearch {
    fn new(from: NodeId) -> Self {
        let start = Label { distance: 0.0, hops: 0, node: from, via: None };
        Self {
            queue: BinaryHeap::from([Reverse(start)]),
            labels: Vec::new(),
            fewest: HashMap::new(),
            heads: HashMap::new(),
        }
    }

    /// Returns how a label counts; `None` if it is no better than one before, or leads to a
    /// node that the graph does not have.
    fn visit<L: Links + ?Sized>(
        &mut self,
        graph: &L,
        label: &Label,
    ) -> Result<Option<NodeVisit>, L::Error> {
        let before = self.fewest.get(&label.node).copied();
        if before.is_some_and(|hops| hops <= label.hops) {
            return Ok(None);
        }
        self.fewest.insert(label.node.clone(), label.hops);
        if label.via.is_none() {
            return Ok(Some(NodeVisit::Start));
        }
        if before.is_some() {
            return Ok(Some(NodeVisit::Again));
        }
        let Some(head) = graph.heads(std::slice::from_ref(&label.node))?.pop() else {
            self.fewest.insert(label.node.clone(), 0);
            return Ok(None);
        };
        self.heads.insert(label.node.clone(), head);
        Ok(Some(NodeVisit::First))
    }

    fn follow(&mut self, label: &Label, place: usize, link: Link, options: &ExpandOptions) {
        let distance = label.distance + link.cost();
        let hops = label.hops + 1;
        let better = self.fewest.get(&link.far).is_none_or(|fewest| hops < *fewest);
        if better && distance <= options.max_cost && options.admits_link(&link) {
            let via = Some((link.kind, link.direction, place));
            self.queue.push(Reverse(Label { distance, hops, node: link.far, via }));
        }
    }

    fn reached(&self, node: NodeHead, label: &Label) -> ReachedNode {
        let mut path = Vec::new();
        let mut at = label;
        while let Some((edge, direction, before)) = at.via {
            let title = self.heads.get(&at.node).map(|head| head.title.clone());
            let node = at.node.clone();
            path.push(PathStep { edge, direction, node, title: title.unwrap_or_default() });
            at = &self.labels[before];
        }
        path.reverse();
        let distance = label.distance;
        ReachedNode { node, distance, relevance: 1.0 / (1.0 + distance), hops: label.hops, path }
    }
}

#[cfg(test)]
mod tests;
