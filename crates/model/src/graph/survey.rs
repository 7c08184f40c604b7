//! A whole graph in memory, in the fewest bytes that its analysis needs.

use std::collections::HashMap;

use super::{EdgeKind, NodeHead};
use crate::NodeId;

/// All nodes and edges, poured in by one store after another and in any order.
#[derive(Default, Debug)]
pub struct GraphSurvey {
    places: HashMap<NodeId, u32>,
    /// By place; `None` is a node that so far only an edge has named.
    pub(super) heads: Vec<Option<NodeHead>>,
    pub(super) wires: Vec<Wire>,
}

/// An edge between two places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Wire {
    pub(super) source: u32,
    pub(super) target: u32,
    pub(super) kind: EdgeKind,
}

impl GraphSurvey {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node; the first one with an id counts.
    pub fn add_node(&mut self, head: NodeHead) {
        let place = self.place(&head.id);
        self.heads[place as usize].get_or_insert(head);
    }

    /// Adds a live edge. Superseded ones have no say in how a graph holds together.
    pub fn add_edge(&mut self, source: &NodeId, target: &NodeId, kind: EdgeKind) {
        let wire = Wire { source: self.place(source), target: self.place(target), kind };
        self.wires.push(wire);
    }

    pub(super) fn place_of(&self, id: &NodeId) -> Option<u32> {
        self.places.get(id).copied()
    }

    fn place(&mut self, id: &NodeId) -> u32 {
        if let Some(place) = self.places.get(id) {
            return *place;
        }
        let place = self.heads.len() as u32;
        self.places.insert(id.clone(), place);
        self.heads.push(None);
        place
    }
}
