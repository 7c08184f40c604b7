//! Walking the graph from a node.

use serde::Serialize;
use spore_model::graph::{
    ExpandOptions, NodeName, PathOptions, PathStep, Paths, ReachedNode, expand, paths_between,
};
use spore_model::{Fault, NodeClass, NodeId};

use super::typed::only_kinds;
use super::{Graph, name_of, tidy};
use crate::{Error, Result};

/// Which ways to look for, as typed.
#[derive(Clone, Debug)]
pub struct PathsAsked {
    pub max_hops: u32,
    pub edge_types: Vec<String>,
    pub limit: u32,
}

/// How two nodes are connected.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Ways {
    pub from: NodeName,
    pub to: NodeName,
    #[serde(flatten)]
    pub found: Paths,
}

/// What to look for around a node, as typed.
#[derive(Clone, Debug)]
pub struct NodeContextAsked {
    pub budget: u32,
    pub max_hops: u32,
    pub max_cost: f64,
    pub edge_types: Vec<String>,
    pub not_superseded: bool,
    pub items_only: bool,
}

/// What lies around a node, nearest first.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Context {
    pub source: NodeName,
    pub budget: u32,
    pub count: usize,
    pub results: Vec<ContextRow>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ContextRow {
    pub rank: usize,
    pub id: NodeId,
    pub title: String,
    pub class: NodeClass,
    pub kind: String,
    pub is_item: bool,
    pub distance: f64,
    pub relevance: f64,
    pub hops: u32,
    pub path: Vec<PathStep>,
}

impl Graph<'_> {
    /// Finds the ways from one node to another, shortest first.
    pub fn path_between(&self, from: &str, to: &str, asked: &PathsAsked) -> Result<Ways> {
        let (from, to) = (self.find_node(from)?, self.find_node(to)?);
        let options = PathOptions {
            max_hops: asked.max_hops,
            only: only_kinds(&asked.edge_types)?,
            not_superseded: false,
            limit: count(asked.limit),
        };
        let mut found = paths_between(self, &from.id, &to.id, &options)?;
        found.paths.iter_mut().for_each(|path| path.cost = tidy(path.cost));
        Ok(Ways { from: name_of(&from), to: name_of(&to), found })
    }

    /// Finds what lies around a node. Operational nodes are walked through, but never part of
    /// the answer: what Spore did is not what the project knows.
    pub fn context_for_task(&self, typed: &str, asked: &NodeContextAsked) -> Result<Context> {
        if !(asked.max_cost >= 0.0 && asked.max_cost.is_finite()) {
            return Err(Error::new(Fault::Usage, format!("{} is not a cost", asked.max_cost))
                .hint("give a number from 0 on, such as 2.0"));
        }
        let node = self.find_node(typed)?;
        let options = ExpandOptions {
            only: only_kinds(&asked.edge_types)?,
            not_superseded: asked.not_superseded,
            items_only: asked.items_only,
            ..ExpandOptions::within(count(asked.budget), asked.max_hops, asked.max_cost)
        };
        let reached = expand(self, &node.id, &options)?;
        let results: Vec<ContextRow> =
            (1..).zip(reached).map(|(rank, reached)| row(rank, reached)).collect();
        Ok(Context { source: name_of(&node), budget: asked.budget, count: results.len(), results })
    }
}

fn row(rank: usize, reached: ReachedNode) -> ContextRow {
    ContextRow {
        rank,
        is_item: reached.node.is_item(),
        id: reached.node.id,
        title: reached.node.title,
        class: reached.node.class,
        kind: reached.node.kind,
        distance: tidy(reached.distance),
        relevance: tidy(reached.relevance),
        hops: reached.hops,
        path: reached.path,
    }
}

fn count(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
