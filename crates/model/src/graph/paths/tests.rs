use proptest::prelude::*;

use super::*;
use crate::graph::sample::random::sample;
use crate::graph::sample::{Sample, id};

fn usual() -> PathOptions {
    PathOptions { max_hops: 5, only: None, not_superseded: false, limit: 20 }
}

fn ways(paths: &Paths) -> Vec<String> {
    paths
        .paths
        .iter()
        .map(|path| {
            let steps: Vec<&str> = path.steps.iter().map(|step| step.title.as_str()).collect();
            format!("{} {:.3} {}", path.hops, path.cost, steps.join(""))
        })
        .collect()
}

#[track_caller]
fn check(graph: &str, options: &PathOptions, expected: &[&str]) {
    let Ok(paths) = paths_between(&Sample::new(graph), &id("a"), &id("z"), options);
    assert_eq!(ways(&paths), expected);
    assert!(paths.complete);
}

#[test]
fn fewer_hops_come_first_and_then_less_cost() {
    let graph = "a calls 0 z
         a calls 0.9 b
         b calls 0.9 z
         z related 0.5 c
         c related 0.5 a
         b flags 1 c";
    check(
        graph,
        &usual(),
        &["1 0.850 z", "2 0.170 bz", "2 0.850 cz", "3 0.511 bcz", "3 0.511 cbz"],
    );
    check(graph, &PathOptions { limit: 2, ..usual() }, &["1 0.850 z", "2 0.170 bz"]);
    check(graph, &PathOptions { max_hops: 1, ..usual() }, &["1 0.850 z"]);
}

#[test]
fn edges_of_other_kinds_and_superseded_ones_can_be_left_out() {
    let graph = "a calls 1 z
         a !related 1 b
         b related 1 z
         a related 1 c
         c related 1 z";
    let only = Some(vec![EdgeKind::Related]);
    check(graph, &PathOptions { only: only.clone(), ..usual() }, &["2 0.002 bz", "2 0.002 cz"]);
    let live = PathOptions { only, not_superseded: true, ..usual() };
    check(graph, &live, &["2 0.002 cz"]);
}

#[test]
fn of_several_edges_between_two_nodes_the_shortest_stands_for_all() {
    let graph = Sample::new("a calls 0.1 z\nz contradicts 0.9 a\na contains 1 z");
    let Ok(paths) = paths_between(&graph, &id("a"), &id("z"), &usual());
    let step = &paths.paths[0].steps[0];
    assert_eq!((paths.paths.len(), step.edge), (1, EdgeKind::Contradicts));
    assert_eq!(step.direction, Direction::In);
}

#[test]
fn there_is_no_way_through_a_node_that_nobody_knows() {
    check("a calls 1 b\nb calls 1 z\nb unknown", &usual(), &[]);
    check("a calls 1 b\nz", &usual(), &[]);
}

#[test]
fn a_node_is_joined_to_itself_by_no_steps() {
    let Ok(paths) = paths_between(&Sample::new("a calls 1 b"), &id("a"), &id("a"), &usual());
    assert_eq!(ways(&paths), ["0 0.000 "]);
}

#[test]
fn a_hub_is_read_up_to_a_bound_and_the_answer_says_so() {
    let mut graph = Sample::new("a calls 0.9 h\nh calls 0.1 z");
    for number in 0..=MAX_LINKS_PER_NODE {
        graph.edges.extend(Sample::new(&format!("h calls 0.5 x{number}")).edges);
        graph.heads.extend(Sample::new(&format!("x{number}")).heads);
    }
    let Ok(paths) = paths_between(&graph, &id("a"), &id("z"), &usual());
    assert_eq!(ways(&paths), ["2 0.850 hz"]);
    assert!(!paths.complete);
}

/// Every way there is, by walking all of them.
fn oracle(graph: &Sample, options: &PathOptions) -> Vec<(u32, f64, Vec<NodeId>)> {
    let mut found = Vec::new();
    let mut unfinished = vec![(vec![id("a")], 0.0)];
    while let Some((nodes, cost)) = unfinished.pop() {
        let end = nodes.last().unwrap();
        if *end == id("h") {
            found.push((u32::try_from(nodes.len()).unwrap() - 1, cost, nodes));
            continue;
        }
        if nodes.len() > options.max_hops as usize {
            continue;
        }
        for far in &graph.heads {
            let least = graph
                .edges
                .iter()
                .filter(|edge| {
                    let ends = [&edge.source, &edge.target];
                    ends == [end, &far.id] || ends == [&far.id, end]
                })
                .filter(|edge| !(options.not_superseded && edge.superseded))
                .map(|edge| edge.kind.cost(edge.confidence))
                .fold(f64::INFINITY, f64::min);
            if least.is_finite() && !nodes.contains(&far.id) {
                unfinished
                    .push(([&nodes[..], std::slice::from_ref(&far.id)].concat(), cost + least));
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_ways_are_those_that_walking_everywhere_finds(
        graph in sample(),
        max_hops in 0_u32..7,
        limit in 0_usize..30,
        not_superseded: bool,
    ) {
        let ends_known =
            ["a", "h"].iter().all(|name| graph.heads.iter().any(|head| head.id == id(name)));
        prop_assume!(ends_known);
        let options = PathOptions { max_hops, only: None, not_superseded, limit };
        let Ok(paths) = paths_between(&graph, &id("a"), &id("h"), &options);
        let all = oracle(&graph, &options);
        prop_assert!(paths.complete);
        prop_assert_eq!(paths.paths.len(), all.len().min(limit));
        for (path, (hops, cost, _)) in paths.paths.iter().zip(&all) {
            prop_assert_eq!(path.hops, *hops);
            prop_assert!((path.cost - cost).abs() < 1e-9, "{} for {}", path.cost, cost);
            let nodes: Vec<NodeId> = [id("a")]
                .into_iter()
                .chain(path.steps.iter().map(|step| step.node.clone()))
                .collect();
            prop_assert!(all.iter().any(|(_, _, way)| *way == nodes));
        }
    }
}
