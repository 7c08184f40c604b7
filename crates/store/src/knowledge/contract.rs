//! What every knowledge graph has to do, whatever it is made of. Each check gets a fresh one.

mod queries;
mod succession;

use serde_json::json;
use spore_model::graph::{Direction, GraphSurvey};
use spore_model::{Edge, EdgeId, EdgeKind, Node, NodeClass, NodeId, RunId, Timestamp};

use super::{Added, Knowledge, KnowledgeError, RemovedNodes};
use crate::GcQuery;

type Check = fn(&dyn Knowledge);

macro_rules! suite {
    ($($check:path,)*) => {
        &[$((stringify!($check), $check),)*]
    };
}

pub(crate) const SUITE: &[(&str, Check)] = suite![
    nodes_and_edges_come_back_as_they_were_written,
    the_first_addition_counts,
    an_edge_needs_no_nodes,
    nodes_come_in_the_order_in_which_they_were_asked_for,
    links_are_seen_from_both_ends,
    a_survey_has_every_node_and_every_live_edge,
    metadata_is_merged,
    many_places_are_taken_at_once,
    garbage_is_what_nothing_needs,
    what_is_removed_is_exported_first,
    queries::a_node_is_found_by_what_a_person_types,
    queries::an_edge_is_found_by_either_end_of_its_id,
    queries::a_search_finds_words_and_titles_first,
    queries::any_text_can_be_searched_for,
    queries::filters_count_before_limits,
    queries::a_list_is_newest_first_and_can_be_paged,
    queries::a_region_is_a_tree,
    queries::edges_are_asked_for_by_what_they_are,
    queries::counts_tell_the_live_from_the_superseded,
    queries::a_contradiction_is_open_until_it_is_answered,
    succession::a_node_hands_its_edges_to_its_successor,
    succession::a_succession_happens_once,
    succession::a_refused_succession_leaves_nothing_behind,
    succession::an_edge_hands_over_its_place,
    succession::a_chain_has_all_its_links_from_any_of_them,
];

pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_767_225_600_000 + millis)
}

pub(crate) fn id(number: u32) -> NodeId {
    NodeId::from_parts(1_767_225_600_000, u128::from(number))
}

pub(crate) fn edge_id(number: u32) -> EdgeId {
    EdgeId::from_parts(1_767_225_600_000, u128::from(number))
}

pub(crate) fn node(number: u32, title: &str) -> Node {
    let created = at(i64::from(number));
    Node::new(id(number), NodeClass::Knowledge, "entity", title, created)
}

pub(crate) fn edge(number: u32, source: u32, kind: EdgeKind, target: u32) -> Edge {
    Edge::new(edge_id(number), id(source), id(target), kind, at(i64::from(number)))
}

/// A node in which every field has something to lose.
pub(crate) fn full_node(number: u32) -> Node {
    Node {
        class: NodeClass::Meta,
        kind: "summary".into(),
        content: "it's \"quoted\";\nDROP TABLE node -- größer \0 🍄".into(),
        agent: Some("spore:coder".into()),
        run: Some(RunId::from_parts(5, 6)),
        parent: Some(id(99)),
        confidence: Some(0.1 + 0.2),
        metadata: json!({ "n": u64::MAX, "x": [0.1, null, { "deep": true }] }),
        updated: at(5_000),
        superseded_by: Some(id(98)),
        ..node(number, "a title")
    }
}

pub(crate) fn full_edge(number: u32) -> Edge {
    Edge {
        confidence: Some(0.7),
        agent: Some("spore:verifier".into()),
        reason: Some("because".into()),
        content: Some("at length".into()),
        metadata: json!({ "attempt": 2 }),
        run: Some(RunId::from_parts(5, 6)),
        superseded_by: Some(edge_id(97)),
        ..edge(number, 1, EdgeKind::Contradicts, 2)
    }
}

fn nodes_and_edges_come_back_as_they_were_written(graph: &dyn Knowledge) {
    let code = NodeId::new("00112233445566778899aabbccddeeff").unwrap();
    let plain = Node { id: code.clone(), ..node(2, "") };
    graph
        .add(&[full_node(1), plain.clone()], &[full_edge(1), edge(2, 1, EdgeKind::About, 1)])
        .unwrap();
    assert_eq!(graph.node(&id(1)).unwrap(), Some(full_node(1)));
    assert_eq!(graph.node(&code).unwrap(), Some(plain));
    assert_eq!(graph.edge(edge_id(1)).unwrap(), Some(full_edge(1)));
    assert_eq!(graph.edge(edge_id(2)).unwrap(), Some(edge(2, 1, EdgeKind::About, 1)));
    assert_eq!(graph.node(&id(9)).unwrap(), None);
    assert_eq!(graph.edge(edge_id(9)).unwrap(), None);
}

fn the_first_addition_counts(graph: &dyn Knowledge) {
    let add = |title: &str, confidence: f64| {
        let edge = Edge { confidence: Some(confidence), ..edge(1, 1, EdgeKind::About, 2) };
        graph.add(&[node(1, title), node(2, "other")], &[edge]).unwrap()
    };
    assert_eq!(add("first", 0.1), Added { nodes: 2, edges: 1 });
    assert_eq!(add("second", 0.2), Added::default());
    assert_eq!(graph.node(&id(1)).unwrap().unwrap().title, "first");
    assert_eq!(graph.edge(edge_id(1)).unwrap().unwrap().confidence, Some(0.1));
    assert_eq!(graph.search("second", 5, &crate::NodeQuery::default()).unwrap(), []);
    assert_eq!(graph.add(&[], &[]).unwrap(), Added::default());
}

fn an_edge_needs_no_nodes(graph: &dyn Knowledge) {
    graph.add(&[], &[edge(1, 1, EdgeKind::Related, 2)]).unwrap();
    assert_eq!(graph.links(&[id(2)]).unwrap()[0].far, id(1));
    assert_eq!(graph.heads(&[id(1), id(2)]).unwrap(), []);
}

fn nodes_come_in_the_order_in_which_they_were_asked_for(graph: &dyn Knowledge) {
    graph.add(&[1, 2, 3].map(|number| node(number, "n")), &[]).unwrap();
    let found = graph.nodes(&[3, 9, 1].map(id)).unwrap();
    assert_eq!(found, [node(3, "n"), node(1, "n")]);
    assert_eq!(graph.nodes(&[]).unwrap(), []);
    let mut heads = graph.heads(&[2, 9, 1].map(id)).unwrap();
    heads.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(heads, [node(1, "n").head(), node(2, "n").head()]);
}

fn links_are_seen_from_both_ends(graph: &dyn Knowledge) {
    graph.add(&[], &[full_edge(1), edge(2, 3, EdgeKind::Calls, 1)]).unwrap();
    let mut seen: Vec<_> = graph
        .links(&[id(1), id(2), id(9)])
        .unwrap()
        .into_iter()
        .map(|link| {
            (link.near, link.far, link.direction, link.kind, link.confidence, link.superseded)
        })
        .collect();
    seen.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    let doubt = EdgeKind::Contradicts;
    assert_eq!(
        seen,
        [
            (id(1), id(2), Direction::Out, doubt, Some(0.7), true),
            (id(1), id(3), Direction::In, EdgeKind::Calls, None, false),
            (id(2), id(1), Direction::In, doubt, Some(0.7), true),
        ]
    );
}

fn a_survey_has_every_node_and_every_live_edge(graph: &dyn Knowledge) {
    let edges = [full_edge(1), edge(2, 1, EdgeKind::Calls, 2), edge(3, 2, EdgeKind::Calls, 7)];
    graph.add(&[node(1, "a"), node(2, "b"), full_node(3)], &edges).unwrap();
    let mut survey = GraphSurvey::new();
    graph.survey(&mut survey).unwrap();
    let options = spore_model::graph::AnalysisOptions::at(at(0));
    let topology = spore_model::graph::analyze(&survey, &options).topology;
    // The superseded node, the superseded edge and the edge to elsewhere do not count.
    assert_eq!((topology.total_nodes, topology.total_edges), (2, 1));
}

fn metadata_is_merged(graph: &dyn Knowledge) {
    graph.add(&[node(1, "a")], &[]).unwrap();
    let merge = |patch| graph.update_metadata(&id(1), &patch, at(70)).unwrap();
    assert_eq!(merge(json!({ "a": 1, "b": { "c": 2 } })), json!({ "a": 1, "b": { "c": 2 } }));
    let merged = json!({ "b": { "c": 2, "d": 0.1 } });
    assert_eq!(merge(json!({ "a": null, "b": { "d": 0.1 }, "x": null })), merged);
    let node = graph.node(&id(1)).unwrap().unwrap();
    assert_eq!((node.metadata, node.updated), (merged, at(70)));
    let refused = graph.update_metadata(&id(2), &json!({}), at(0));
    assert!(matches!(refused, Err(KnowledgeError::NoSuchNode { node }) if node == id(2)));
}

fn many_places_are_taken_at_once(graph: &dyn Knowledge) {
    graph.add(&[node(1, "a"), node(2, "b"), node(3, "c")], &[]).unwrap();
    let places = [(id(1), id(4)), (id(2), id(4)), (id(3), id(5))];
    let new = [node(4, "d"), node(5, "e")];
    assert_eq!(graph.succeed(&new, &places).unwrap().nodes, 2);
    let live = |graph: &dyn Knowledge| -> Vec<NodeId> {
        let listed = graph.list(&crate::NodeQuery::default()).unwrap();
        listed.into_iter().map(|node| node.id).collect()
    };
    assert_eq!(live(graph), [id(5), id(4)]);
    assert_eq!(graph.node(&id(2)).unwrap().unwrap().superseded_by, Some(id(4)));
    // Again: nothing. Otherwise: refused, and nothing of it happened.
    assert_eq!(graph.succeed(&new, &places).unwrap().nodes, 0);
    let taken = graph.succeed(&[node(6, "f")], &[(id(1), id(6))]);
    assert!(matches!(taken, Err(KnowledgeError::Superseded { .. })), "{taken:?}");
    let missing = graph.succeed(&[node(6, "f")], &[(id(9), id(6))]);
    assert!(matches!(missing, Err(KnowledgeError::NoSuchNode { .. })), "{missing:?}");
    assert_eq!(graph.node(&id(6)).unwrap(), None);
}

fn garbage_is_what_nothing_needs(graph: &dyn Knowledge) {
    let operational = |number: u32, kind: &str| Node {
        class: NodeClass::Operational,
        kind: kind.into(),
        ..node(number, "n")
    };
    let child = Node { parent: Some(id(5)), ..operational(6, "lesson") };
    let old = Node { superseded_by: Some(id(7)), ..operational(8, "summary") };
    let nodes = [
        operational(1, "task"),
        operational(2, "lesson"),
        operational(3, "task"),
        operational(4, "task"),
        operational(5, "task"),
        child,
        operational(7, "task"),
        old,
        node(9, "knowledge"),
        operational(50, "task"),
    ];
    graph.add(&nodes, &[edge(1, 3, EdgeKind::Related, 4)]).unwrap();
    let found = |query: &GcQuery| -> Vec<NodeId> {
        graph.garbage(query).unwrap().into_iter().map(|node| node.id).collect()
    };
    let query = GcQuery::older_than(at(50));
    assert_eq!(found(&query), [id(1)]);
    assert_eq!(found(&GcQuery { force: true, ..query.clone() }), [1, 2, 6, 8].map(id));
    assert_eq!(found(&GcQuery { keep_kinds: vec!["task".into()], ..query }), [2, 6, 8].map(id));
}

fn what_is_removed_is_exported_first(graph: &dyn Knowledge) {
    let (nodes, edges) = ([node(1, "one"), node(2, "two")], [edge(1, 1, EdgeKind::Related, 2)]);
    graph.add(&nodes, &edges).unwrap();
    let refused = graph.remove(&[id(1)], &mut |_| Err("no room".into()));
    assert!(matches!(refused, Err(KnowledgeError::NotExported { .. })), "{refused:?}");
    assert_eq!(graph.nodes(&[id(1), id(2)]).unwrap(), nodes);
    let mut exported = Vec::new();
    let mut export = |removed: &RemovedNodes| {
        exported.push(removed.clone());
        Ok(())
    };
    let removed = graph.remove(&[id(1), id(9)], &mut export).unwrap();
    assert_eq!(removed, RemovedNodes { nodes: vec![nodes[0].clone()], edges: edges.to_vec() });
    assert_eq!(exported, [removed]);
    assert_eq!(graph.node(&id(1)).unwrap(), None);
    assert_eq!(graph.edge(edge_id(1)).unwrap(), None);
    assert_eq!(graph.search("one", 5, &crate::NodeQuery::default()).unwrap(), []);
    assert_eq!(graph.links(&[id(2)]).unwrap(), []);
}
