//! The ways from one node to another, shortest first.
//!
//! First the part of the graph in which such a way can lie is read, from both ends at once,
//! always from the side that has less to read. Then ways are grown in it, and the one that
//! can still become the shortest is grown first, so that they come out in order and no more
//! of them are looked at than were asked for.
//!
//! A hub joins everything with everything. So what is read is bounded, and an answer that
//! stopped at a bound says that it is not complete.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::expansion::PathStep;
use super::{Direction, EdgeKind, Link, Links, NodeHead};
use crate::NodeId;

/// How many nodes are asked for their links.
const MAX_READ: usize = 10_000;
/// How many of a hub's links are followed: its shortest.
const MAX_LINKS_PER_NODE: usize = 1_000;
/// How many unfinished ways are looked at.
const MAX_GROWN: usize = 50_000;

/// Which ways to look for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathOptions {
    pub max_hops: u32,
    /// If given, edges of other kinds are not there.
    pub only: Option<Vec<EdgeKind>>,
    pub not_superseded: bool,
    /// How many ways the answer has at most.
    pub limit: usize,
}

/// A way that visits no node twice.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Path {
    pub hops: u32,
    pub cost: f64,
    pub steps: Vec<PathStep>,
}

/// The ways that were found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Paths {
    /// By hops, then cost, then the ids on the way.
    pub paths: Vec<Path>,
    /// False if a bound was met: there may be other and shorter ways.
    pub complete: bool,
}

/// Returns the ways from `from` to `to`, shortest first. Edges are walked in both directions;
/// of several edges between two nodes the shortest stands for all. A node is joined to itself
/// by the way of no steps.
pub fn paths_between<L: Links + ?Sized>(
    graph: &L,
    from: &NodeId,
    to: &NodeId,
    options: &PathOptions,
) -> Result<Paths, L::Error> {
    let field = PathRegion::read(graph, from, to, options)?;
    let found = grow(&field, from, to, options);
    let paths = found.ways.iter().map(|way| field.path(way)).collect();
    Ok(Paths { paths, complete: field.complete && found.complete })
}

/// The shortest edge between two nodes, as it is walked.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Hop {
    cost: f64,
    edge: EdgeKind,
    direction: Direction,
}

impl Hop {
    fn is_shorter(&self, other: &Self) -> bool {
        let tie = (self.edge, self.direction).cmp(&(other.edge, other.direction));
        self.cost.total_cmp(&other.cost).then(tie).is_lt()
    }
}

/// The part of the graph that holds all ways from one node to the other.
struct PathRegion {
    /// Sorted, so that ways are grown in the same order every time.
    hops: HashMap<NodeId, BTreeMap<NodeId, Hop>>,
    heads: HashMap<NodeId, NodeHead>,
    complete: bool,
}

impl PathRegion {
    fn read<L: Links + ?Sized>(
        graph: &L,
        from: &NodeId,
        to: &NodeId,
        options: &PathOptions,
    ) -> Result<Self, L::Error> {
        let (hops, heads) = (HashMap::new(), HashMap::new());
        let mut field = Self { hops, heads, complete: true };
        let mut sides = [Side::new(from), Side::new(to)];
        field.admit(graph, &[from.clone(), to.clone()])?;
        let mut read = 0;
        for _ in 0..options.max_hops {
            let [a, b] = &sides;
            let side = &mut sides[usize::from(b.border.len() < a.border.len())];
            if side.border.is_empty() {
                break;
            }
            if read + side.border.len() > MAX_READ {
                field.complete = false;
                break;
            }
            read += side.border.len();
            let links = graph.links(&side.border)?;
            let beyond = field.lay(links, options, [from, to]);
            let fresh: Vec<NodeId> =
                beyond.into_iter().filter(|id| side.seen.insert(id.clone())).collect();
            side.border = field.admit(graph, &fresh)?;
        }
        Ok(field)
    }

    /// Learns the heads of `ids` and returns those that the graph has, in order.
    fn admit<L: Links + ?Sized>(
        &mut self,
        graph: &L,
        ids: &[NodeId],
    ) -> Result<Vec<NodeId>, L::Error> {
        let known = |id: &&NodeId| self.heads.contains_key(*id);
        let unknown: Vec<NodeId> = ids.iter().filter(|id| !known(id)).cloned().collect();
        let heads = graph.heads(&unknown)?;
        self.heads.extend(heads.into_iter().map(|head| (head.id.clone(), head)));
        let mut there: Vec<NodeId> =
            ids.iter().filter(|id| self.heads.contains_key(*id)).cloned().collect();
        there.sort_unstable();
        Ok(there)
    }

    /// Puts links into the field, in both directions, and returns their far ends.
    fn lay(
        &mut self,
        links: Vec<Link>,
        options: &PathOptions,
        ends: [&NodeId; 2],
    ) -> HashSet<NodeId> {
        let mut around: HashMap<NodeId, BTreeMap<NodeId, Hop>> = HashMap::new();
        let wanted =
            |link: &Link| options.only.as_ref().is_none_or(|only| only.contains(&link.kind));
        let live = |link: &Link| !(options.not_superseded && link.superseded);
        for link in links {
            if link.near != link.far && wanted(&link) && live(&link) {
                let hop = Hop { cost: link.cost(), edge: link.kind, direction: link.direction };
                keep_shorter(around.entry(link.near).or_default(), link.far, hop);
            }
        }
        let mut beyond = HashSet::new();
        for (near, hops) in around {
            let mut hops: Vec<(NodeId, Hop)> = hops.into_iter().collect();
            if hops.len() > MAX_LINKS_PER_NODE {
                self.complete = false;
                hops.sort_by(|(a, x), (b, y)| x.cost.total_cmp(&y.cost).then(a.cmp(b)));
                let is_end = |far: &NodeId| ends.contains(&far);
                let (direct, mut rest): (Vec<_>, Vec<_>) =
                    hops.into_iter().partition(|(far, _)| is_end(far));
                rest.truncate(MAX_LINKS_PER_NODE);
                hops = direct;
                hops.append(&mut rest);
            }
            for (far, hop) in hops {
                let back = Hop { direction: hop.direction.reversed(), ..hop };
                keep_shorter(self.hops.entry(far.clone()).or_default(), near.clone(), back);
                keep_shorter(self.hops.entry(near.clone()).or_default(), far.clone(), hop);
                beyond.insert(far);
            }
        }
        beyond
    }

    fn around(&self, node: &NodeId) -> impl Iterator<Item = (&NodeId, &Hop)> {
        self.hops.get(node).into_iter().flatten().filter(|(far, _)| self.heads.contains_key(*far))
    }

    /// Returns for every node the hops and the cost that are still needed to reach `to`, at
    /// the least: fewest hops first, then least cost.
    fn remaining(&self, to: &NodeId, max_hops: u32) -> HashMap<&NodeId, (u32, f64)> {
        let Some((to, _)) = self.heads.get_key_value(to) else { return HashMap::new() };
        let mut needed = HashMap::from([(to, (0, 0.0))]);
        let mut border = vec![(to, 0.0)];
        for hops in 1..=max_hops {
            let mut next: BTreeMap<&NodeId, f64> = BTreeMap::new();
            for (node, cost) in border {
                for (far, hop) in self.around(node).filter(|(far, _)| !needed.contains_key(far)) {
                    let cost = cost + hop.cost;
                    let least = next.entry(far).or_insert(cost);
                    *least = least.min(cost);
                }
            }
            needed.extend(next.iter().map(|(node, cost)| (*node, (hops, *cost))));
            border = next.into_iter().collect();
        }
        needed
    }

    fn path(&self, way: &PartialPath) -> Path {
        let pairs = way.nodes.iter().zip(way.nodes.iter().skip(1));
        let steps = pairs.filter_map(|(near, node)| {
            let hop = self.hops.get(near)?.get(node)?;
            let title = self.heads.get(node).map(|head| head.title.clone()).unwrap_or_default();
            let (edge, direction) = (hop.edge, hop.direction);
            Some(PathStep { edge, direction, node: node.clone(), title })
        });
        Path { hops: way.hops(), cost: way.cost, steps: steps.collect() }
    }
}

fn keep_shorter(hops: &mut BTreeMap<NodeId, Hop>, far: NodeId, hop: Hop) {
    hops.entry(far)
        .and_modify(|known| {
            if hop.is_shorter(known) {
                *known = hop;
            }
        })
        .or_insert(hop);
}

/// How far one end has been read.
struct Side {
    border: Vec<NodeId>,
    seen: HashSet<NodeId>,
}

impl Side {
    fn new(end: &NodeId) -> Self {
        Self { border: vec![end.clone()], seen: HashSet::from([end.clone()]) }
    }
}

/// The beginning of a way, or a whole one.
#[derive(Clone)]
struct PartialPath {
    nodes: Vec<NodeId>,
    cost: f64,
    /// The hops and the cost that the whole path has at the least.
    whole: (u32, f64),
}

impl PartialPath {
    fn hops(&self) -> u32 {
        self.nodes.len() as u32 - 1
    }
}

impl Ord for PartialPath {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let cost = self.whole.1.total_cmp(&other.whole.1);
        self.whole.0.cmp(&other.whole.0).then(cost).then_with(|| self.nodes.cmp(&other.nodes))
    }
}

impl PartialOrd for PartialPath {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PartialPath {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PartialPath {}

struct Grown {
    ways: Vec<PartialPath>,
    complete: bool,
}

fn grow(field: &PathRegion, from: &NodeId, to: &NodeId, options: &PathOptions) -> Grown {
    let needed = field.remaining(to, options.max_hops);
    let mut grown = Grown { ways: Vec::new(), complete: true };
    let mut queue = BinaryHeap::new();
    if let Some(whole) = needed.get(from) {
        queue.push(Reverse(PartialPath { nodes: vec![from.clone()], cost: 0.0, whole: *whole }));
    }
    let mut looked_at = 0;
    while grown.ways.len() < options.limit
        && let Some(Reverse(way)) = queue.pop()
    {
        looked_at += 1;
        if looked_at > MAX_GROWN {
            grown.complete = false;
            break;
        }
        let Some(end) = way.nodes.last() else { continue };
        if end == to {
            grown.ways.push(way);
            continue;
        }
        for (far, hop) in field.around(end) {
            let Some((hops, cost)) = needed.get(far) else { continue };
            let whole = (way.hops() + 1 + hops, way.cost + hop.cost + cost);
            if whole.0 <= options.max_hops && !way.nodes.contains(far) {
                let nodes = way.nodes.iter().chain([far]).cloned().collect();
                queue.push(Reverse(PartialPath { nodes, cost: way.cost + hop.cost, whole }));
            }
        }
    }
    grown
}

#[cfg(test)]
mod tests;
