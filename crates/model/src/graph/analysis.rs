//! How healthy a graph is: whether it hangs together, what is out of date, what is fragile.
//!
//! Looks at live nodes and live edges alone. Figures are exact; lists are cut to what a
//! person reads, worst first, and each has its count beside it.
//!
//! A node alone is counted under connectivity and not a second time as a component. A node is
//! stale when it has not been touched for a long time although something it is joined to has:
//! age by itself is no fault.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::connectivity::NeighbourLists;
use super::survey::{GraphSurvey, Wire};
use super::{EdgeKind, NodeHead};
use crate::{NodeId, Timestamp};

const CONNECTIVITY_WEIGHT: f64 = 0.30;
const COMPONENTS_WEIGHT: f64 = 0.25;
const STALENESS_WEIGHT: f64 = 0.25;
const FRAGILITY_WEIGHT: f64 = 0.20;

const MILLIS_PER_DAY: i64 = 24 * 60 * 60 * 1000;

/// What to look at, and how closely.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnalysisOptions {
    pub now: Timestamp,
    /// Only this node and what is below it.
    pub region: Option<NodeId>,
    /// How long each list is at most.
    pub top_n: usize,
    pub stale_days: u32,
    /// From how many edges on a node is a hub.
    pub hub_threshold: usize,
}

impl AnalysisOptions {
    /// Returns the options that the command line and the tools use by default.
    pub fn at(now: Timestamp) -> Self {
        Self { now, region: None, top_n: 10, stale_days: 60, hub_threshold: 15 }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Analysis {
    pub health: Health,
    pub topology: Topology,
    pub staleness: Staleness,
    pub weak_points: WeakPoints,
}

/// Each from 0, bad, to 1, good.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Health {
    pub score: f64,
    /// The share of nodes that have an edge.
    pub connectivity: f64,
    /// One by the number of components.
    pub components: f64,
    /// The share of nodes that are not stale.
    pub staleness: f64,
    /// The share of nodes whose loss would split nothing.
    pub fragility: f64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Topology {
    pub total_nodes: usize,
    pub total_edges: usize,
    /// Of two nodes or more.
    pub num_components: usize,
    pub largest_component: usize,
    pub smallest_component: usize,
    pub orphan_count: usize,
    pub orphans: Vec<NodeName>,
    pub degree_histogram: Vec<DegreeBand>,
    pub hub_count: usize,
    pub hubs: Vec<Hub>,
}

/// A node by the two things that people know it by.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NodeName {
    pub id: NodeId,
    pub title: String,
}

/// How many nodes have from `least` to `most` edges.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DegreeBand {
    pub least: usize,
    pub most: usize,
    pub nodes: usize,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Hub {
    #[serde(flatten)]
    pub node: NodeName,
    pub degree: usize,
    #[serde(rename = "in")]
    pub incoming: usize,
    #[serde(rename = "out")]
    pub outgoing: usize,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Staleness {
    pub stale_node_count: usize,
    pub stale_nodes: Vec<StaleNode>,
    pub stale_summary_count: usize,
    pub stale_summaries: Vec<StaleSummary>,
}

/// Not touched for long, although something it is joined to was.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StaleNode {
    #[serde(flatten)]
    pub node: NodeName,
    pub updated: Timestamp,
    pub days: i64,
}

/// Older than what it summarizes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StaleSummary {
    #[serde(flatten)]
    pub node: NodeName,
    pub updated: Timestamp,
    pub target: NodeName,
    pub target_updated: Timestamp,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WeakPoints {
    pub articulation_point_count: usize,
    /// Nodes whose loss would split their component, those with most edges first.
    pub articulation_points: Vec<Cut>,
    pub bridge_count: usize,
    /// Edges whose loss would, those between the busiest nodes first.
    pub bridges: Vec<Bridge>,
    pub fragile_connection_count: usize,
    /// Regions that one edge alone joins.
    pub fragile_connections: Vec<FragileConnection>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cut {
    #[serde(flatten)]
    pub node: NodeName,
    pub degree: usize,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bridge {
    pub source: NodeName,
    pub target: NodeName,
    pub kind: EdgeKind,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FragileConnection {
    pub regions: [NodeId; 2],
    #[serde(flatten)]
    pub edge: Bridge,
}

/// Returns how healthy the surveyed graph is.
pub fn analyze(survey: &GraphSurvey, options: &AnalysisOptions) -> Analysis {
    let scene = SurveyedGraph::new(survey, options);
    let (cuts, bridges) = scene.neighbours.weak_points();
    let topology = scene.topology(options);
    let stale = scene.stale(options);
    let fragile = scene.fragile_connections();
    let nodes = scene.heads.len();
    let of_nodes = |bad: usize| 1.0 - share(bad, nodes);
    let connectivity = of_nodes(topology.orphan_count);
    let components = share(1, topology.num_components.max(1));
    let staleness = of_nodes(stale.nodes.len());
    let fragility = of_nodes(cuts.len());
    let health = Health {
        score: CONNECTIVITY_WEIGHT * connectivity
            + COMPONENTS_WEIGHT * components
            + STALENESS_WEIGHT * staleness
            + FRAGILITY_WEIGHT * fragility,
        connectivity,
        components,
        staleness,
        fragility,
    };
    Analysis {
        health,
        topology,
        staleness: stale.report(options.top_n),
        weak_points: WeakPoints {
            articulation_point_count: cuts.len(),
            articulation_points: scene.worst_cuts(&cuts, options.top_n),
            bridge_count: bridges.len(),
            bridges: scene.worst_bridges(&bridges, options.top_n),
            fragile_connection_count: fragile.len(),
            fragile_connections: fragile.into_iter().take(options.top_n).collect(),
        },
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The live part of the survey that is looked at, numbered by id.
struct SurveyedGraph<'a> {
    heads: Vec<&'a NodeHead>,
    wires: Vec<Wire>,
    neighbours: NeighbourLists,
}

impl<'a> SurveyedGraph<'a> {
    fn new(survey: &'a GraphSurvey, options: &AnalysisOptions) -> Self {
        let within = options.region.as_ref().map(|region| region_of(survey, region));
        let looked_at = |place: usize| within.as_ref().is_none_or(|places| places[place]);
        let mut heads: Vec<(usize, &NodeHead)> = survey
            .heads
            .iter()
            .enumerate()
            .filter_map(|(place, head)| Some((place, head.as_ref()?)))
            .filter(|(place, head)| !head.superseded && looked_at(*place))
            .collect();
        heads.sort_unstable_by(|(_, a), (_, b)| a.id.cmp(&b.id));
        let mut numbers = vec![None; survey.heads.len()];
        for (number, (place, _)) in (0_u32..).zip(&heads) {
            numbers[*place] = Some(number);
        }
        let number = |wire: &Wire| {
            let (source, target) = (numbers[wire.source as usize]?, numbers[wire.target as usize]?);
            Some(Wire { source, target, kind: wire.kind })
        };
        let mut wires: Vec<Wire> = survey.wires.iter().filter_map(number).collect();
        wires.sort_unstable_by_key(|wire| (wire.source, wire.target, wire.kind));
        let pairs: Vec<(u32, u32)> = wires.iter().map(|wire| (wire.source, wire.target)).collect();
        let neighbours = NeighbourLists::new(heads.len(), &pairs);
        Self { heads: heads.into_iter().map(|(_, head)| head).collect(), wires, neighbours }
    }

    fn name(&self, number: u32) -> NodeName {
        let head = self.heads[number as usize];
        NodeName { id: head.id.clone(), title: head.title.clone() }
    }

    fn numbers(&self) -> impl Iterator<Item = u32> + use<'_, 'a> {
        (0_u32..).take(self.heads.len())
    }

    fn degree(&self, number: u32) -> usize {
        self.neighbours.of(number).len()
    }

    fn topology(&self, options: &AnalysisOptions) -> Topology {
        let mut components = self.neighbours.components();
        components.retain(|size| *size > 1);
        let orphans: Vec<u32> = self.numbers().filter(|node| self.degree(*node) == 0).collect();
        let hubs = self.hubs(options.hub_threshold);
        Topology {
            total_nodes: self.heads.len(),
            total_edges: self.wires.len(),
            num_components: components.len(),
            largest_component: components.first().copied().unwrap_or(0),
            smallest_component: components.last().copied().unwrap_or(0),
            orphan_count: orphans.len(),
            orphans: orphans.iter().take(options.top_n).map(|node| self.name(*node)).collect(),
            degree_histogram: self.degree_histogram(),
            hub_count: hubs.len(),
            hubs: hubs.into_iter().take(options.top_n).collect(),
        }
    }

    fn hubs(&self, threshold: usize) -> Vec<Hub> {
        let mut outgoing = vec![0; self.heads.len()];
        for wire in self.wires.iter().filter(|wire| wire.source != wire.target) {
            outgoing[wire.source as usize] += 1;
        }
        let mut hubs: Vec<u32> =
            self.numbers().filter(|node| self.degree(*node) >= threshold.max(1)).collect();
        hubs.sort_by_key(|node| std::cmp::Reverse(self.degree(*node)));
        hubs.into_iter()
            .map(|node| {
                let (degree, outgoing) = (self.degree(node), outgoing[node as usize]);
                Hub { node: self.name(node), degree, incoming: degree - outgoing, outgoing }
            })
            .collect()
    }

    /// Bands that double: 0, 1, 2–3, 4–7, …
    fn degree_histogram(&self) -> Vec<DegreeBand> {
        let mut bands: BTreeMap<usize, usize> = BTreeMap::new();
        for node in self.numbers() {
            let degree = self.degree(node);
            *bands.entry(degree.checked_ilog2().map_or(0, |log| 1 << log)).or_default() += 1;
        }
        let most = |least: usize| (2 * least).saturating_sub(1);
        bands
            .into_iter()
            .map(|(least, nodes)| DegreeBand { least, most: most(least), nodes })
            .collect()
    }

    fn stale(&self, options: &AnalysisOptions) -> Stale {
        let stale_after = i64::from(options.stale_days) * MILLIS_PER_DAY;
        let age =
            |node: u32| options.now.as_millis() - self.heads[node as usize].updated.as_millis();
        let is_old = |node: u32| age(node) > stale_after;
        let has_moved = |node: &u32| !is_old(*node);
        let mut nodes: Vec<StaleNode> = self
            .numbers()
            .filter(|node| is_old(*node) && self.neighbours.of(*node).iter().any(has_moved))
            .map(|node| StaleNode {
                node: self.name(node),
                updated: self.heads[node as usize].updated,
                days: age(node) / MILLIS_PER_DAY,
            })
            .collect();
        nodes.sort_by(|a, b| (a.updated, &a.node.id).cmp(&(b.updated, &b.node.id)));
        let mut summaries: Vec<StaleSummary> = self
            .wires
            .iter()
            .filter(|wire| wire.kind == EdgeKind::Summarizes)
            .map(|wire| StaleSummary {
                node: self.name(wire.source),
                updated: self.heads[wire.source as usize].updated,
                target: self.name(wire.target),
                target_updated: self.heads[wire.target as usize].updated,
            })
            .filter(|summary| summary.updated < summary.target_updated)
            .collect();
        summaries.sort_by(|a, b| {
            (a.updated, &a.node.id, &a.target.id).cmp(&(b.updated, &b.node.id, &b.target.id))
        });
        Stale { nodes, summaries }
    }

    fn worst_cuts(&self, cuts: &[u32], top_n: usize) -> Vec<Cut> {
        let mut cuts = cuts.to_vec();
        cuts.sort_by_key(|node| std::cmp::Reverse(self.degree(*node)));
        let cut = |node: &u32| Cut { node: self.name(*node), degree: self.degree(*node) };
        cuts.iter().take(top_n).map(cut).collect()
    }

    fn worst_bridges(&self, bridges: &[(u32, u32)], top_n: usize) -> Vec<Bridge> {
        let mut bridges = bridges.to_vec();
        bridges.sort_by_key(|(a, b)| std::cmp::Reverse(self.degree(*a).min(self.degree(*b))));
        let wires: HashMap<(u32, u32), &Wire> = self
            .wires
            .iter()
            .map(|wire| ((wire.source.min(wire.target), wire.source.max(wire.target)), wire))
            .collect();
        bridges.iter().take(top_n).filter_map(|pair| Some(self.bridge(wires.get(pair)?))).collect()
    }

    fn bridge(&self, wire: &Wire) -> Bridge {
        Bridge { source: self.name(wire.source), target: self.name(wire.target), kind: wire.kind }
    }

    fn fragile_connections(&self) -> Vec<FragileConnection> {
        let mut joined: BTreeMap<[&NodeId; 2], Vec<&Wire>> = BTreeMap::new();
        for wire in &self.wires {
            let regions =
                [wire.source, wire.target].map(|node| self.heads[node as usize].parent.as_ref());
            if let [Some(a), Some(b)] = regions
                && a != b
            {
                joined.entry([a.min(b), a.max(b)]).or_default().push(wire);
            }
        }
        joined
            .into_iter()
            .filter_map(|(regions, wires)| match wires[..] {
                [wire] => Some(FragileConnection {
                    regions: regions.map(Clone::clone),
                    edge: self.bridge(wire),
                }),
                _ => None,
            })
            .collect()
    }
}

struct Stale {
    nodes: Vec<StaleNode>,
    summaries: Vec<StaleSummary>,
}

impl Stale {
    fn report(self, top_n: usize) -> Staleness {
        Staleness {
            stale_node_count: self.nodes.len(),
            stale_summary_count: self.summaries.len(),
            stale_nodes: self.nodes.into_iter().take(top_n).collect(),
            stale_summaries: self.summaries.into_iter().take(top_n).collect(),
        }
    }
}

/// Returns for every place of the survey whether it is in the region.
fn region_of(survey: &GraphSurvey, root: &NodeId) -> Vec<bool> {
    let mut children: HashMap<&NodeId, Vec<&NodeId>> = HashMap::new();
    for head in survey.heads.iter().flatten() {
        if let Some(parent) = &head.parent {
            children.entry(parent).or_default().push(&head.id);
        }
    }
    let mut within = vec![false; survey.heads.len()];
    let mut seen = HashSet::new();
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        // Parents that were written by mistake may form a cycle: each node is walked once.
        if seen.insert(node) {
            if let Some(place) = survey.place_of(node) {
                within[place as usize] = true;
            }
            stack.extend(children.get(node).into_iter().flatten());
        }
    }
    within
}

#[cfg(test)]
mod tests;
