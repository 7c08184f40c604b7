//! What holds a graph together: its components, and the nodes and edges whose loss would
//! break one.
//!
//! Plain numbers in, plain numbers out. Nothing recurses: a chain of a hundred thousand nodes
//! is a graph like any other.

/// An undirected graph as lists of neighbours, several edges between two nodes included.
pub(super) struct NeighbourLists {
    /// Where each node's list begins; one more than there are nodes.
    starts: Vec<usize>,
    far: Vec<u32>,
}

impl NeighbourLists {
    /// Edges from a node to itself hold nothing together and are left out.
    pub(super) fn new(nodes: usize, edges: &[(u32, u32)]) -> Self {
        let mut starts = vec![0; nodes + 1];
        let joined = || edges.iter().filter(|(a, b)| a != b);
        for (a, b) in joined() {
            starts[*a as usize + 1] += 1;
            starts[*b as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut far = vec![0; starts[nodes]];
        for (a, b) in joined() {
            for (from, to) in [(*a, *b), (*b, *a)] {
                far[next[from as usize]] = to;
                next[from as usize] += 1;
            }
        }
        for node in 0..nodes {
            far[starts[node]..starts[node + 1]].sort_unstable();
        }
        Self { starts, far }
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns a node's neighbours in order, one for each edge.
    pub(super) fn of(&self, node: u32) -> &[u32] {
        &self.far[self.starts[node as usize]..self.starts[node as usize + 1]]
    }

    fn nodes(&self) -> impl Iterator<Item = u32> {
        0..self.len() as u32
    }

    /// Returns the sizes of the components, largest first. A node alone is one.
    pub(super) fn components(&self) -> Vec<usize> {
        let mut seen = vec![false; self.len()];
        let mut sizes = Vec::new();
        let mut stack = Vec::new();
        for root in self.nodes() {
            let mut size = 0;
            stack.push(root);
            while let Some(node) = stack.pop() {
                if !std::mem::replace(&mut seen[node as usize], true) {
                    size += 1;
                    stack.extend(self.of(node));
                }
            }
            if size > 0 {
                sizes.push(size);
            }
        }
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes
    }

    /// Returns the nodes whose loss splits their component, and the pairs of nodes whose only
    /// edge does, both in order.
    pub(super) fn weak_points(&self) -> (Vec<u32>, Vec<(u32, u32)>) {
        let mut walk = DepthFirstWalk {
            found: vec![0; self.len()],
            low: vec![0; self.len()],
            is_cut: vec![false; self.len()],
            bridges: Vec::new(),
        };
        let mut clock = 0;
        for root in self.nodes() {
            if walk.found[root as usize] == 0 {
                walk.component(self, root, &mut clock);
            }
        }
        walk.bridges.sort_unstable();
        let cuts = self.nodes().filter(|node| walk.is_cut[*node as usize]).collect();
        (cuts, walk.bridges)
    }
}

/// Tarjan's depth-first walk, with its own stack.
struct DepthFirstWalk {
    /// When a node was found, counted from one; zero is not yet.
    found: Vec<u32>,
    /// The earliest node that the part below a node reaches without its way down.
    low: Vec<u32>,
    is_cut: Vec<bool>,
    bridges: Vec<(u32, u32)>,
}

/// A node on the way down.
struct WalkFrame {
    node: u32,
    parent: u32,
    /// Which of its neighbours is next.
    next: usize,
    /// A second edge to the parent is a way back up; the first is the way down.
    came_down: bool,
}

impl DepthFirstWalk {
    fn component(&mut self, graph: &NeighbourLists, root: u32, clock: &mut u32) {
        let mut children = 0;
        let mut stack = vec![self.enter(root, root, clock)];
        while let Some(frame) = stack.last_mut() {
            let (node, parent) = (frame.node, frame.parent);
            if let Some(&far) = graph.of(node).get(frame.next) {
                frame.next += 1;
                if far == parent && !frame.came_down {
                    frame.came_down = true;
                } else if self.found[far as usize] == 0 {
                    children += u32::from(node == root);
                    stack.push(self.enter(far, node, clock));
                } else {
                    self.lower(node, self.found[far as usize]);
                }
                continue;
            }
            stack.pop();
            if node != root {
                self.leave(node, parent, root);
            }
        }
        self.is_cut[root as usize] = children > 1;
    }

    fn enter(&mut self, node: u32, parent: u32, clock: &mut u32) -> WalkFrame {
        *clock += 1;
        self.found[node as usize] = *clock;
        self.low[node as usize] = *clock;
        WalkFrame { node, parent, next: 0, came_down: false }
    }

    fn leave(&mut self, node: u32, parent: u32, root: u32) {
        let low = self.low[node as usize];
        self.lower(parent, low);
        let above = self.found[parent as usize];
        if low >= above && parent != root {
            self.is_cut[parent as usize] = true;
        }
        if low > above {
            self.bridges.push((node.min(parent), node.max(parent)));
        }
    }

    fn lower(&mut self, node: u32, to: u32) {
        let low = &mut self.low[node as usize];
        *low = to.min(*low);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(nodes: usize, edges: &[(u32, u32)], cuts: &[u32], bridges: &[(u32, u32)]) {
        let graph = NeighbourLists::new(nodes, edges);
        assert_eq!(graph.weak_points(), (cuts.to_vec(), bridges.to_vec()));
    }

    #[test]
    fn a_chain_breaks_anywhere_and_a_ring_nowhere() {
        check(4, &[(0, 1), (1, 2), (2, 3)], &[1, 2], &[(0, 1), (1, 2), (2, 3)]);
        check(4, &[(0, 1), (1, 2), (2, 3), (3, 0)], &[], &[]);
    }

    #[test]
    fn two_edges_between_two_nodes_are_no_bridge() {
        check(3, &[(0, 1), (1, 0), (1, 2)], &[1], &[(1, 2)]);
    }

    #[test]
    fn a_node_that_points_at_itself_is_alone() {
        check(2, &[(0, 0)], &[], &[]);
        assert_eq!(NeighbourLists::new(2, &[(0, 0)]).components(), [1, 1]);
    }

    #[test]
    fn a_very_long_chain_needs_no_deep_stack() {
        let edges: Vec<(u32, u32)> = (0..200_000).map(|node| (node, node + 1)).collect();
        let (cuts, bridges) = NeighbourLists::new(200_001, &edges).weak_points();
        assert_eq!((cuts.len(), bridges.len()), (199_999, 200_000));
    }

    /// The components of what is left when a node or an edge is taken out.
    fn pieces(nodes: u32, edges: &[(u32, u32)], without: Option<u32>) -> usize {
        let edges: Vec<(u32, u32)> = edges
            .iter()
            .copied()
            .filter(|(a, b)| Some(*a) != without && Some(*b) != without)
            .collect();
        let all = NeighbourLists::new(nodes as usize, &edges).components().len();
        all - usize::from(without.is_some())
    }

    proptest! {
        #[test]
        fn weak_points_are_those_whose_loss_makes_more_pieces(
            nodes in 1_u32..12,
            edges in prop::collection::vec((0_u32..12, 0_u32..12), 0..24),
        ) {
            let edges: Vec<(u32, u32)> =
                edges.into_iter().map(|(a, b)| (a % nodes, b % nodes)).collect();
            let whole = pieces(nodes, &edges, None);
            let graph = NeighbourLists::new(nodes as usize, &edges);
            let alone = |node: u32| graph.of(node).is_empty();
            let cuts: Vec<u32> = (0..nodes)
                .filter(|node| !alone(*node) && pieces(nodes, &edges, Some(*node)) > whole)
                .collect();
            let mut bridges: Vec<(u32, u32)> = (0..edges.len())
                .filter(|index| {
                    let mut rest = edges.clone();
                    rest.remove(*index);
                    pieces(nodes, &rest, None) > whole
                })
                .map(|index| (edges[index].0.min(edges[index].1), edges[index].0.max(edges[index].1)))
                .collect();
            bridges.sort_unstable();
            prop_assert_eq!(graph.weak_points(), (cuts, bridges));
        }
    }
}
