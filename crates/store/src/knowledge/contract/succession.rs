//! One thing in the place of another.

use spore_model::{Edge, EdgeKind, Node};

use super::{at, edge, edge_id, full_edge, id, node};
use crate::knowledge::{EdgeQuery, Knowledge, KnowledgeError};

pub(super) fn a_node_hands_its_edges_to_its_successor(graph: &dyn Knowledge) {
    let live = Edge { superseded_by: None, ..full_edge(1) };
    let edges = [
        live.clone(),
        edge(2, 1, EdgeKind::Tracks, 1),
        edge(3, 2, EdgeKind::Questions, 1),
        edge(4, 1, EdgeKind::Supersedes, 7),
        Edge { superseded_by: Some(edge_id(1)), ..edge(5, 1, EdgeKind::About, 2) },
    ];
    graph.add(&[node(1, "old"), node(2, "other")], &edges).unwrap();
    let new = Node { agent: Some("human".into()), ..node(10, "new") };
    let extra = edge(20, 10, EdgeKind::Summarizes, 3);
    let done = graph.supersede_node(&id(1), &new, std::slice::from_ref(&extra)).unwrap();
    assert_eq!(graph.node(&id(1)).unwrap().unwrap().superseded_by, Some(id(10)));
    assert_eq!(graph.node(&id(10)).unwrap(), Some(new));
    let link = graph.edge(done.supersedes).unwrap().unwrap();
    assert_eq!((link.source, link.kind, link.target), (id(10), EdgeKind::Supersedes, id(1)));
    assert_eq!((link.agent.as_deref(), link.created), (Some("human"), at(10)));
    let mut copied = done.copied.clone();
    copied.sort_by_key(|copy| copy.kind);
    let [doubt, track] = &copied[..] else { panic!("{copied:?}") };
    let expected = Edge { id: doubt.id, source: id(10), created: at(10), ..live };
    assert_eq!(*doubt, expected);
    assert_eq!((&track.source, &track.target), (&id(10), &id(10)));
    for copy in &done.copied {
        assert_eq!(graph.edge(copy.id).unwrap().as_ref(), Some(copy));
    }
    let superseded = |number| graph.edge(edge_id(number)).unwrap().unwrap().superseded_by;
    assert_eq!((superseded(1), superseded(2)), (Some(doubt.id), Some(track.id)));
    assert_eq!((superseded(3), superseded(4), superseded(20)), (None, None, None));
}

pub(super) fn a_succession_happens_once(graph: &dyn Knowledge) {
    graph.add(&[node(1, "old")], &[edge(1, 1, EdgeKind::About, 2)]).unwrap();
    let first = graph.supersede_node(&id(1), &node(10, "new"), &[]).unwrap();
    let edges = graph.edges(&EdgeQuery::default()).unwrap();
    let again = graph.supersede_node(&id(1), &node(10, "newer"), &[]).unwrap();
    assert_eq!(again, first);
    assert_eq!(graph.edges(&EdgeQuery::default()).unwrap(), edges);
    assert_eq!(graph.node(&id(10)).unwrap().unwrap().title, "new");
}

pub(super) fn a_refused_succession_leaves_nothing_behind(graph: &dyn Knowledge) {
    graph.add(&[node(1, "old")], &[]).unwrap();
    graph.supersede_node(&id(1), &node(2, "new"), &[]).unwrap();
    let extra = [edge(9, 3, EdgeKind::About, 1)];
    let late = graph.supersede_node(&id(1), &node(3, "late"), &extra);
    assert!(
        matches!(&late, Err(KnowledgeError::Superseded { by, .. }) if *by == id(2).to_string()),
        "{late:?}"
    );
    let missing = graph.supersede_node(&id(7), &node(3, "late"), &extra);
    assert!(matches!(missing, Err(KnowledgeError::NoSuchNode { .. })), "{missing:?}");
    let itself = graph.supersede_node(&id(2), &node(2, "itself"), &extra);
    assert!(matches!(itself, Err(KnowledgeError::Superseded { .. })), "{itself:?}");
    let back = graph.supersede_node(&id(2), &node(1, "old"), &extra);
    assert!(matches!(back, Err(KnowledgeError::Superseded { .. })), "{back:?}");
    assert_eq!(graph.node(&id(3)).unwrap(), None);
    assert_eq!(graph.edge(edge_id(9)).unwrap(), None);
    assert_eq!(graph.node(&id(2)).unwrap(), Some(node(2, "new")));
}

pub(super) fn an_edge_hands_over_its_place(graph: &dyn Knowledge) {
    let [old, new, late] = [1, 2, 3].map(|number| edge(number, 1, EdgeKind::Supports, 2));
    graph.add(&[], std::slice::from_ref(&old)).unwrap();
    graph.supersede_edge(old.id, &new).unwrap();
    graph.supersede_edge(old.id, &new).unwrap();
    let marked = Edge { superseded_by: Some(new.id), ..old.clone() };
    assert_eq!(graph.edges(&EdgeQuery::default()).unwrap(), [new.clone(), marked]);
    let refused = [
        graph.supersede_edge(old.id, &late),
        graph.supersede_edge(new.id, &old),
        graph.supersede_edge(new.id, &new),
    ];
    for refused in refused {
        assert!(matches!(refused, Err(KnowledgeError::Superseded { .. })), "{refused:?}");
    }
    let missing = graph.supersede_edge(edge_id(9), &late);
    assert!(matches!(missing, Err(KnowledgeError::NoSuchEdge { edge }) if edge == edge_id(9)));
    assert_eq!(graph.edge(late.id).unwrap(), None);
}

pub(super) fn a_chain_has_all_its_links_from_any_of_them(graph: &dyn Knowledge) {
    let edges = [1, 2, 3, 4, 5].map(|number| edge(number, 1, EdgeKind::Supports, 2));
    graph.add(&[], &edges).unwrap();
    for (old, new) in [(1, 3), (2, 3), (3, 4)] {
        graph.supersede_edge(edge_id(old), &edge(new, 1, EdgeKind::Supports, 2)).unwrap();
    }
    let chain = |number| -> Vec<_> {
        let chain = graph.supersession_chain(edge_id(number)).unwrap();
        chain.into_iter().map(|edge| edge.id).collect()
    };
    for number in 1..=4 {
        assert_eq!(chain(number), [1, 2, 3, 4].map(edge_id), "from {number}");
    }
    assert_eq!(chain(5), [edge_id(5)]);
    assert_eq!(chain(9), []);
}
