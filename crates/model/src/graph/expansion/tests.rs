use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::graph::sample::random::{NAMES, kind, sample};
use crate::graph::sample::{Sample, id};
use crate::graph::{Both, NodeHead};

fn usual() -> ExpandOptions {
    ExpandOptions::within(7, 4, 2.0)
}

fn around(graph: &Sample, options: &ExpandOptions) -> String {
    let Ok(reached) = expand(graph, &id("a"), options);
    let lines: Vec<String> = reached
        .iter()
        .map(|reached| {
            let path: Vec<String> = reached
                .path
                .iter()
                .map(|step| match step.direction {
                    Direction::Out => format!("-{}> {}", step.edge, step.title),
                    Direction::In => format!("<{}- {}", step.edge, step.title),
                })
                .collect();
            format!("{} {:.3} {}", reached.node.title, reached.distance, path.join(" "))
        })
        .collect();
    lines.join("\n")
}

#[track_caller]
fn check(graph: &str, options: &ExpandOptions, expected: &str) {
    let trimmed: Vec<&str> = expected.lines().map(str::trim).collect();
    assert_eq!(around(&Sample::new(graph), options), trimmed.join("\n"));
}

#[test]
fn the_nearest_nodes_come_first_with_the_way_to_them() {
    check(
        "a calls 0.9 b
         c contradicts 0.9 a
         b derives_from 0.9 d",
        &usual(),
        "c 0.050 <contradicts- c
         b 0.085 -calls> b
         d 0.150 -calls> b -derives_from> d",
    );
}

#[test]
fn an_operational_node_uses_no_budget_and_is_walked_through() {
    check(
        "a derives_from 0.9 t
         t operational
         t related 0.9 b
         a calls 0.1 c",
        &ExpandOptions { budget: 1, ..usual() },
        "b 0.150 -derives_from> t -related> b",
    );
}

#[test]
fn what_is_superseded_or_holds_others_is_passed_by() {
    let graph = "a calls 0.9 old
         old superseded
         new supersedes 0.9 old
         dir contains 0.9 a
         dir directory
         a !calls 1 gone";
    check(graph, &usual(), "new 0.150 -calls> old <supersedes- new");
    let all = ExpandOptions { not_superseded: false, items_only: false, ..usual() };
    check(
        graph,
        &all,
        "gone 0.001 -calls> gone
         old 0.085 -calls> old
         new 0.150 -calls> old <supersedes- new
         dir 0.400 <contains- dir",
    );
}

#[test]
fn a_longer_way_with_fewer_hops_is_taken_where_hops_run_out() {
    check(
        "a contradicts 1 x
         x contradicts 1 b
         a calls 0.5 b
         b calls 0.5 c",
        &ExpandOptions { max_hops: 2, ..usual() },
        "x 0.001 -contradicts> x
         b 0.002 -contradicts> x -contradicts> b
         c 0.850 -calls> b -calls> c",
    );
}

#[test]
fn distance_and_kind_bound_the_search() {
    let graph = "a calls 0 b
         b calls 0 c
         c calls 0 d
         a clicked 1 e
         a related 1 f";
    check(
        graph,
        &ExpandOptions { max_cost: 1.7, ..usual() },
        "f 0.001 -related> f
         b 0.850 -calls> b
         c 1.700 -calls> b -calls> c",
    );
    let only = Some(vec![EdgeKind::Related]);
    check(graph, &ExpandOptions { only, ..usual() }, "f 0.001 -related> f");
}

#[test]
fn a_node_that_nobody_knows_leads_nowhere() {
    check("a calls 1 b\nb calls 1 c\nb unknown", &usual(), "");
    check("a unknown\na tracks 1 a", &usual(), "");
}

#[test]
fn two_stores_are_one_graph() {
    let knowledge = Sample::new("a related 0.85 b\nb unknown");
    let code = Sample::new("b calls 0.9 c");
    let both = Both(&knowledge, &code);
    let Ok(reached) = expand(&both, &id("a"), &usual());
    let titles: Vec<&str> = reached.iter().map(|reached| reached.node.title.as_str()).collect();
    assert_eq!(titles, ["b", "c"]);
}

/// The least distance to every node for every number of hops, worked out the long way.
fn distances(graph: &Sample, options: &ExpandOptions) -> BTreeMap<NodeId, (f64, u32)> {
    let known = |node: &NodeId| graph.heads.iter().any(|head| head.id == *node);
    let mut least = BTreeMap::from([(id("a"), (0.0, 0))]);
    let mut layer = BTreeMap::from([(id("a"), 0.0)]);
    for hops in 1..=options.max_hops {
        let mut next: BTreeMap<NodeId, f64> = BTreeMap::new();
        for edge in &graph.edges {
            let dropped =
                options.not_superseded && edge.superseded || options.exclude.contains(&edge.kind);
            let usable =
                !dropped && options.only.as_ref().is_none_or(|only| only.contains(&edge.kind));
            for (near, far) in [(&edge.source, &edge.target), (&edge.target, &edge.source)] {
                let Some(so_far) = layer.get(near).filter(|_| usable && known(far)) else {
                    continue;
                };
                let distance = so_far + edge.kind.cost(edge.confidence);
                if distance <= options.max_cost {
                    let best = next.entry(far.clone()).or_insert(distance);
                    *best = best.min(distance);
                }
            }
        }
        for (node, distance) in &next {
            let best = least.entry(node.clone()).or_insert((*distance, hops));
            if distance.total_cmp(&best.0).is_lt() {
                *best = (*distance, hops);
            }
        }
        layer = next;
    }
    least.remove(&id("a"));
    least
}

fn oracle(graph: &Sample, options: &ExpandOptions) -> Vec<(NodeId, f64, u32)> {
    let admitted = |head: &NodeHead| {
        !(options.not_superseded && head.superseded
            || options.items_only && head.kind == "directory"
            || options.exclude_operational && head.class == NodeClass::Operational)
    };
    let mut found: Vec<(NodeId, f64, u32)> = distances(graph, options)
        .into_iter()
        .filter(|(node, _)| graph.heads.iter().any(|head| head.id == *node && admitted(head)))
        .map(|(node, (distance, hops))| (node, distance, hops))
        .collect();
    found.sort_by(|a, b| a.1.total_cmp(&b.1).then((a.2, &a.0).cmp(&(b.2, &b.0))));
    found.truncate(options.budget);
    found
}

fn options() -> impl Strategy<Value = ExpandOptions> {
    let only = prop::option::weighted(0.2, prop::collection::vec(kind(), 0..3));
    let exclude = prop::collection::vec(kind(), 0..2);
    (0_usize..8, 0_u32..6, 0.0..3.0_f64, exclude, only, any::<[bool; 3]>()).prop_map(
        |(budget, max_hops, max_cost, exclude, only, [fresh, items, operational])| ExpandOptions {
            budget,
            max_hops,
            max_cost,
            exclude,
            only,
            not_superseded: fresh,
            items_only: items,
            exclude_operational: operational,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn the_search_finds_what_trying_everything_finds(graph in sample(), options in options()) {
        let Ok(reached) = expand(&graph, &id("a"), &options);
        let found: Vec<(NodeId, f64, u32)> = reached
            .iter()
            .map(|reached| (reached.node.id.clone(), reached.distance, reached.hops))
            .collect();
        prop_assert_eq!(found, oracle(&graph, &options));
    }

    #[test]
    fn the_way_is_as_long_as_it_says(graph in sample(), options in options()) {
        let Ok(reached) = expand(&graph, &id("a"), &options);
        for reached in reached {
            prop_assert_eq!(reached.path.len(), reached.hops as usize);
            let mut at = id("a");
            let mut length = 0.0;
            for step in &reached.path {
                let Ok(links) = graph.links(std::slice::from_ref(&at));
                let walked = links
                    .iter()
                    .filter(|link| {
                        (link.kind, link.direction, &link.far)
                            == (step.edge, step.direction, &step.node)
                    })
                    .filter(|link| options.admits_link(link))
                    .map(Link::cost)
                    .fold(f64::INFINITY, f64::min);
                length += walked;
                at = step.node.clone();
            }
            prop_assert_eq!(&at, &reached.node.id);
            prop_assert_eq!(length, reached.distance);
            prop_assert_eq!(reached.relevance, 1.0 / (1.0 + reached.distance));
        }
    }

    #[test]
    fn the_order_in_which_edges_come_does_not_matter(
        graph in sample(),
        options in options(),
        turn in 0_usize..24,
    ) {
        let mut turned = graph.clone();
        if !turned.edges.is_empty() {
            let turn = turn % turned.edges.len();
            turned.edges.rotate_left(turn);
        }
        for name in NAMES {
            let Ok(one) = expand(&graph, &id(name), &options);
            let Ok(other) = expand(&turned, &id(name), &options);
            prop_assert_eq!(one, other);
        }
    }
}
