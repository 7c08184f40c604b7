//! Finding, searching, listing and counting.

use spore_model::{Edge, EdgeKind, Node, NodeClass, NodeId, RunId};

use super::{at, edge, edge_id, full_edge, full_node, id, node};
use crate::knowledge::{
    Counts, EdgeCounts, EdgeQuery, KindCount, Knowledge, MAX_CANDIDATES, NodeQuery,
};

fn ids(nodes: Vec<Node>) -> Vec<NodeId> {
    nodes.into_iter().map(|node| node.id).collect()
}

pub(super) fn a_node_is_found_by_what_a_person_types(graph: &dyn Knowledge) {
    let code = [NodeId::new("0011aabb445566778899aabbccddeeff").unwrap()];
    let hashed = Node { id: code[0].clone(), ..node(7, "fn parse_config") };
    let far = [NodeId::from_parts(1, u128::MAX)];
    let random = Node { id: far[0].clone(), ..node(8, "Config") };
    let old = Node { superseded_by: Some(id(3)), ..node(2, "the gates") };
    let new = node(3, "the gates");
    graph.add(&[node(1, "how gates run"), old, new, hashed, random], &[]).unwrap();
    let found = |typed: &str| ids(graph.find(typed).unwrap());
    assert_eq!(found(far[0].as_str()), far);
    assert_eq!(found(far[0].short()), far);
    assert_eq!(found(&far[0].short().to_lowercase()), far);
    assert_eq!(found("0011"), code);
    assert_eq!(found(" 0011AABB "), code);
    assert_eq!(found("0001"), [id(1)]);
    assert_eq!(found(id(2).as_str()), [id(2)]);
    assert_eq!(found("the gates"), [id(3)]);
    assert_eq!(found("parse config"), code);
    assert_eq!(found("gates").len(), 2);
    assert_eq!(found("run GATES"), [id(1)]);
    for nothing in ["", "   ", "0", "gates parse", "%%%%", "____", "\u{1f344}", "'--"] {
        assert_eq!(found(nothing), [], "{nothing:?}");
    }
    let many: Vec<Node> = (100..150).map(|number| node(number, "alike")).collect();
    graph.add(&many, &[]).unwrap();
    assert_eq!(found("alike").len(), MAX_CANDIDATES);
}

pub(super) fn an_edge_is_found_by_either_end_of_its_id(graph: &dyn Knowledge) {
    let edges = [1, 2].map(|number| edge(number, 1, EdgeKind::About, 2));
    graph.add(&[], &edges).unwrap();
    let short = edge_id(2).short();
    assert_eq!(graph.find_edge(&short.to_lowercase()).unwrap(), [edges[1].clone()]);
    assert_eq!(graph.find_edge(&edge_id(1).to_string()).unwrap(), [edges[0].clone()]);
    assert_eq!(graph.find_edge(&edge_id(1).to_string()[..10]).unwrap(), edges);
    assert_eq!(graph.find_edge("002").unwrap(), []);
    assert_eq!(graph.find_edge("%002").unwrap(), []);
}

pub(super) fn a_search_finds_words_and_titles_first(graph: &dyn Knowledge) {
    let written = |number: u32, title: &str, content: &str| Node {
        content: content.into(),
        ..node(number, title)
    };
    let nodes = [
        written(1, "spine", "about the journal and much more that matters little here"),
        written(2, "journal", "about the spine and much more that matters little here"),
        written(3, "größe", "Größe"),
        Node { class: NodeClass::Operational, ..written(4, "journal", "spine") },
        full_node(5),
    ];
    graph.add(&nodes, &[]).unwrap();
    let search = |text: &str, limit: u32, query: &NodeQuery| -> Vec<NodeId> {
        let hits = graph.search(text, limit, query).unwrap();
        assert!(hits.is_sorted_by(|a, b| a.1 >= b.1), "{text}");
        hits.into_iter().map(|(node, _)| node.id).collect()
    };
    let knowledge =
        NodeQuery { class: Some(NodeClass::Knowledge), limit: Some(0), ..NodeQuery::default() };
    assert_eq!(search("the SPINE?", 9, &knowledge), [id(1), id(2)]);
    assert_eq!(search("journal", 1, &knowledge), [id(2)]);
    assert_eq!(search("grosse grÖsse größe", 9, &knowledge), [id(3)]);
    assert_eq!(search("quoted", 9, &NodeQuery::default()), []);
    let all = NodeQuery { include_superseded: true, ..NodeQuery::default() };
    assert_eq!(search("quoted", 9, &all), [id(5)]);
    assert_eq!(search("spine", 0, &all), []);
}

pub(super) fn any_text_can_be_searched_for(graph: &dyn Knowledge) {
    graph.add(&[node(1, "a plain title with the word near in it")], &[]).unwrap();
    let hostile = [
        "\"",
        "'",
        "\"\"\"",
        "a\"b",
        "NEAR",
        "NEAR(a b, 3)",
        "*",
        "a*",
        "^a",
        "title:a",
        ":",
        "-a",
        "a AND",
        "OR",
        "NOT",
        "(",
        ")",
        "(a",
        "a)",
        "{title}:a",
        "a + b",
        "\0",
        "a\0b",
        "\u{1f980}",
        "\u{0301}",
        "²",
        "ﬁ",
        "\u{202e}",
        "%",
        "_",
        "; DROP TABLE node",
        "\\",
        "\n\t",
        "٣",
        "中文",
    ];
    let large = "near ".repeat(1 << 18);
    let endless = "x".repeat(1 << 20);
    for text in hostile.into_iter().chain([large.as_str(), endless.as_str()]) {
        let shown: String = text.chars().take(20).collect();
        let found = graph.search(text, 5, &NodeQuery::default());
        assert!(found.is_ok(), "{shown:?}: {found:?}");
        assert!(graph.find(text).is_ok(), "{shown:?}");
        assert!(graph.find_edge(text).is_ok(), "{shown:?}");
        let titled = Node { content: text.into(), ..node(2, text) };
        graph.add(std::slice::from_ref(&titled), &[]).unwrap();
        assert_eq!(graph.node(&id(2)).unwrap(), Some(titled), "{shown:?}");
        graph.remove(&[id(2)], &mut |_| Ok(())).unwrap();
    }
    let found = graph.search(&large, 5, &NodeQuery::default()).unwrap();
    assert_eq!(found.len(), 1);
}

pub(super) fn filters_count_before_limits(graph: &dyn Knowledge) {
    let run = RunId::from_parts(7, 7);
    let nodes: Vec<Node> = (0..40)
        .map(|number| match number % 4 {
            0 => Node { kind: "lesson".into(), ..node(number, "word") },
            1 => Node { class: NodeClass::Operational, run: Some(run), ..node(number, "word") },
            2 => Node { agent: Some("coder".into()), ..node(number, "word") },
            _ => Node { superseded_by: Some(id(0)), parent: Some(id(0)), ..node(number, "word") },
        })
        .collect();
    graph.add(&nodes, &[]).unwrap();
    let check = |query: NodeQuery, first: u32| {
        let expected: Vec<NodeId> = (0..3).map(|place| id(first - 4 * place)).collect();
        let limited = NodeQuery { limit: Some(3), ..query.clone() };
        assert_eq!(ids(graph.list(&limited).unwrap()), expected, "{query:?}");
        assert_eq!(graph.list(&query).unwrap().len(), 10, "{query:?}");
        assert_eq!(graph.search("word", 3, &query).unwrap().len(), 3, "{query:?}");
    };
    let any = NodeQuery::default;
    check(NodeQuery { kind: Some("lesson".into()), ..any() }, 36);
    check(NodeQuery { class: Some(NodeClass::Operational), ..any() }, 37);
    check(NodeQuery { run: Some(run), ..any() }, 37);
    check(NodeQuery { agent: Some("coder".into()), ..any() }, 38);
    check(NodeQuery { region: Some(id(0)), include_superseded: true, ..any() }, 39);
    assert_eq!(graph.list(&NodeQuery { region: Some(id(0)), ..any() }).unwrap(), []);
    assert_eq!(graph.list(&NodeQuery { since: Some(at(36)), ..any() }).unwrap().len(), 3);
}

pub(super) fn a_list_is_newest_first_and_can_be_paged(graph: &dyn Knowledge) {
    let nodes: Vec<Node> = (0..10)
        .map(|number| Node { created: at(i64::from(number / 2)), ..node(number, "n") })
        .collect();
    graph.add(&nodes, &[]).unwrap();
    let page = |limit, offset| {
        ids(graph.list(&NodeQuery { limit, offset, ..NodeQuery::default() }).unwrap())
    };
    assert_eq!(page(None, 0), (0..10).rev().map(id).collect::<Vec<_>>());
    assert_eq!(page(Some(3), 4), [5, 4, 3].map(id));
    assert_eq!(page(None, 8), [1, 0].map(id));
    assert_eq!(page(Some(3), 10), []);
}

pub(super) fn a_region_is_a_tree(graph: &dyn Knowledge) {
    let below = |number: u32, title: &str, parent: u32| Node {
        parent: Some(id(parent)),
        ..node(number, title)
    };
    let nodes = [
        node(1, "root"),
        below(2, "b", 1),
        below(3, "a", 1),
        below(4, "z", 3),
        below(5, "deep", 4),
        below(6, "self", 6),
        below(7, "x", 8),
        below(8, "y", 7),
        below(9, "orphan", 77),
    ];
    graph.add(&nodes, &[]).unwrap();
    let tree = |root: u32, max_depth| -> Vec<(u32, NodeId)> {
        let found = graph.region(&id(root), max_depth).unwrap();
        found.into_iter().map(|(node, depth)| (depth, node.id)).collect()
    };
    let whole = [(0, 1), (1, 3), (2, 4), (3, 5), (1, 2)].map(|(depth, node)| (depth, id(node)));
    assert_eq!(tree(1, 9), whole);
    assert_eq!(tree(1, 1), [whole[0].clone(), whole[1].clone(), whole[4].clone()]);
    assert_eq!(tree(1, 0), [whole[0].clone()]);
    assert_eq!(tree(6, 9), [(0, id(6))]);
    assert_eq!(tree(7, 9), [(0, id(7)), (1, id(8))]);
    assert_eq!(tree(77, 9), [(1, id(9))]);
    let query = NodeQuery { region: Some(id(1)), ..NodeQuery::default() };
    assert_eq!(ids(graph.list(&query).unwrap()), [5, 4, 3, 2].map(id));
}

pub(super) fn edges_are_asked_for_by_what_they_are(graph: &dyn Knowledge) {
    let author = Node { agent: Some("verifier".into()), ..node(2, "n") };
    let sure = Edge { confidence: Some(0.9), ..edge(2, 2, EdgeKind::Calls, 3) };
    let doubtful = Edge { confidence: Some(0.2), ..edge(3, 3, EdgeKind::Supports, 1) };
    let edges = [full_edge(1), sure, doubtful, edge(4, 1, EdgeKind::Related, 1)];
    graph.add(&[node(1, "n"), author], &edges).unwrap();
    let check = |query: EdgeQuery, expected: &[u32]| {
        let found = graph.edges(&query).unwrap();
        let found: Vec<_> = found.into_iter().map(|edge| edge.id).collect();
        let expected: Vec<_> = expected.iter().map(|number| edge_id(*number)).collect();
        assert_eq!(found, expected, "{query:?}");
    };
    let any = EdgeQuery::default;
    check(any(), &[4, 3, 2, 1]);
    check(EdgeQuery { limit: Some(2), ..any() }, &[4, 3]);
    check(EdgeQuery { kinds: vec![EdgeKind::Calls, EdgeKind::Contradicts], ..any() }, &[2, 1]);
    check(EdgeQuery { agent: Some("spore:verifier".into()), ..any() }, &[1]);
    check(EdgeQuery { target_agent: Some("verifier".into()), limit: Some(1), ..any() }, &[1]);
    check(EdgeQuery { source: Some(id(1)), ..any() }, &[4, 1]);
    check(EdgeQuery { target: Some(id(1)), ..any() }, &[4, 3]);
    check(EdgeQuery { node: Some(id(1)), ..any() }, &[4, 3, 1]);
    check(EdgeQuery { node: Some(id(1)), not_superseded: true, limit: Some(2), ..any() }, &[4, 3]);
    check(EdgeQuery { min_confidence: Some(0.5), ..any() }, &[4, 2, 1]);
    check(EdgeQuery { min_confidence: Some(0.6), ..any() }, &[2, 1]);
    check(EdgeQuery { since: Some(at(3)), ..any() }, &[4, 3]);
    check(EdgeQuery { source: Some(id(9)), ..any() }, &[]);
}

pub(super) fn counts_tell_the_live_from_the_superseded(graph: &dyn Knowledge) {
    assert_eq!(graph.counts(at(0)).unwrap(), Counts::default());
    let day = 24 * 60 * 60 * 1000;
    let task = Node { class: NodeClass::Operational, kind: "task".into(), ..node(3, "n") };
    let dir = Node { kind: "directory".into(), ..node(4, "n") };
    let when = |millis: i64, edge: Edge| Edge { created: at(millis), ..edge };
    let edges = [
        when(0, edge(1, 5, EdgeKind::Summarizes, 1)),
        when(3 * day, edge(2, 6, EdgeKind::Summarizes, 1)),
        when(8 * day, edge(3, 6, EdgeKind::Summarizes, 4)),
        when(9 * day, edge(4, 1, EdgeKind::Related, 2)),
        Edge { superseded_by: Some(edge_id(4)), ..when(0, edge(5, 6, EdgeKind::Summarizes, 2)) },
    ];
    let live_summary = Node { superseded_by: None, ..full_node(6) };
    let nodes = [node(1, "n"), node(2, "n"), task, dir, full_node(5), live_summary];
    graph.add(&nodes, &edges).unwrap();
    let counts = graph.counts(at(8 * day)).unwrap();
    let kind = |class, kind: &str, live, superseded| KindCount {
        class,
        kind: kind.into(),
        live,
        superseded,
    };
    let expected = Counts {
        nodes: vec![
            kind(NodeClass::Knowledge, "directory", 1, 0),
            kind(NodeClass::Knowledge, "entity", 2, 0),
            kind(NodeClass::Operational, "task", 1, 0),
            kind(NodeClass::Meta, "summary", 1, 1),
        ],
        edges: EdgeCounts { last_24h: 1, last_7d: 2, total: 5, live: 4 },
        unresolved_contradictions: 0,
        knowledge_items: 2,
        summarized_items: 1,
    };
    assert_eq!(counts, expected);
    assert_eq!((counts.coverage(), counts.coherence()), (0.5, 1.0));
    assert_eq!(counts.live(NodeClass::Knowledge), 3);
}

pub(super) fn a_contradiction_is_open_until_it_is_answered(graph: &dyn Knowledge) {
    let open = || graph.counts(at(0)).unwrap().unresolved_contradictions;
    let doubt = |number, source, target| edge(number, source, EdgeKind::Contradicts, target);
    let nodes = [1, 2, 3, 4].map(|number| node(number, "n"));
    graph.add(&nodes, &[doubt(10, 1, 2), doubt(11, 3, 4), doubt(12, 3, 99)]).unwrap();
    assert_eq!(open(), 3);
    graph.add(&[], &[edge(5, 4, EdgeKind::Resolves, 2)]).unwrap();
    assert_eq!(open(), 3, "an answer from before the doubt");
    graph.add(&[], &[edge(20, 4, EdgeKind::Resolves, 2)]).unwrap();
    assert_eq!(open(), 2);
    graph.supersede_edge(edge_id(12), &edge(21, 3, EdgeKind::Supports, 99)).unwrap();
    assert_eq!(open(), 1);
    graph.supersede_node(&id(3), &node(30, "withdrawn"), &[]).unwrap();
    assert_eq!(open(), 1, "the successor says it still");
    graph.supersede_node(&id(4), &node(31, "done anew"), &[]).unwrap();
    assert_eq!(open(), 0);
}
