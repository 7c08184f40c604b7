use proptest::prelude::*;

use super::*;
use crate::graph::Links;
use crate::graph::sample::random::sample;
use crate::graph::sample::{Sample, id};

const NOW: Timestamp = Timestamp::from_millis(100 * MILLIS_PER_DAY);

fn look(graph: &Sample, options: &AnalysisOptions) -> Analysis {
    let mut survey = GraphSurvey::new();
    let Ok(()) = graph.survey(&mut survey);
    analyze(&survey, options)
}

fn titles<'a>(names: impl IntoIterator<Item = &'a NodeName>) -> String {
    names.into_iter().map(|name| name.title.as_str()).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(graph: &str, expected: [f64; 4]) {
    let health = look(&Sample::new(graph), &AnalysisOptions::at(NOW)).health;
    let found = [health.connectivity, health.components, health.staleness, health.fragility];
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{health:?}");
    }
    let score = 0.3 * found[0] + 0.25 * found[1] + 0.25 * found[2] + 0.2 * found[3];
    assert!((health.score - score).abs() < 1e-12, "{health:?}");
}

#[test]
fn health_is_made_of_four_shares() {
    check("", [1.0, 1.0, 1.0, 1.0]);
    check("a calls 1 b\nb calls 1 c\nc calls 1 a", [1.0, 1.0, 1.0, 1.0]);
    check("a calls 1 b\nc calls 1 d", [1.0, 0.5, 1.0, 1.0]);
    check("a calls 1 b\nb calls 1 c\nd\ne", [0.6, 1.0, 1.0, 0.8]);
    check("a calls 1 b\na at:90", [1.0, 1.0, 0.5, 1.0]);
}

#[test]
fn what_is_superseded_is_not_looked_at() {
    let graph = Sample::new("a calls 1 b\nb superseded\na !calls 1 c\nd calls 1 d");
    let topology = look(&graph, &AnalysisOptions::at(NOW)).topology;
    assert_eq!((topology.total_nodes, topology.total_edges), (3, 1));
    assert_eq!(titles(&topology.orphans), "a c d");
}

#[test]
fn hubs_and_degrees_count_every_edge() {
    let graph = Sample::new(
        "h calls 1 a
         h calls 1 b
         h related 1 b
         c calls 1 h
         d",
    );
    let options = AnalysisOptions { hub_threshold: 2, ..AnalysisOptions::at(NOW) };
    let topology = look(&graph, &options).topology;
    let hubs: Vec<_> = topology
        .hubs
        .iter()
        .map(|hub| (hub.node.title.as_str(), hub.degree, hub.incoming, hub.outgoing))
        .collect();
    assert_eq!(hubs, [("h", 4, 1, 3), ("b", 2, 2, 0)]);
    let bands: Vec<_> =
        topology.degree_histogram.iter().map(|band| (band.least, band.most, band.nodes)).collect();
    assert_eq!(bands, [(0, 0, 1), (1, 1, 2), (2, 3, 1), (4, 7, 1)]);
}

#[test]
fn age_alone_does_not_make_a_node_stale() {
    let graph = Sample::new("a calls 1 b\nc calls 1 d\nd at:39\ne");
    let mut options = AnalysisOptions::at(NOW);
    let stale = |options: &AnalysisOptions| {
        let staleness = look(&graph, options).staleness;
        titles(staleness.stale_nodes.iter().map(|stale| &stale.node))
    };
    assert_eq!(stale(&options), "");
    options.stale_days = 61;
    assert_eq!(stale(&options), "c");
}

#[test]
fn a_summary_older_than_what_it_sums_up_is_stale() {
    let graph = Sample::new(
        "s summarizes 1 a
         s summarizes 1 b
         s at:5
         a at:6
         b at:5",
    );
    let staleness = look(&graph, &AnalysisOptions::at(NOW)).staleness;
    let summaries = &staleness.stale_summaries;
    assert_eq!(staleness.stale_summary_count, 1);
    assert_eq!(titles([&summaries[0].node, &summaries[0].target]), "s a");
}

#[test]
fn weak_points_are_named_the_busiest_first() {
    let graph = Sample::new(
        "a calls 1 b
         b calls 1 c
         c calls 1 a
         c calls 1 d
         d related 1 e",
    );
    let weak = look(&graph, &AnalysisOptions::at(NOW)).weak_points;
    let cuts: Vec<_> =
        weak.articulation_points.iter().map(|cut| (&*cut.node.title, cut.degree)).collect();
    assert_eq!(cuts, [("c", 3), ("d", 2)]);
    let bridges: Vec<_> =
        weak.bridges.iter().map(|edge| titles([&edge.source, &edge.target])).collect();
    assert_eq!(bridges, ["c d", "d e"]);
}

#[test]
fn regions_that_one_edge_joins_are_fragile() {
    let graph = Sample::new(
        "a in:r\nb in:r\nc in:s\nd in:t
         a calls 1 c
         b calls 1 d
         a related 1 d
         a calls 1 b",
    );
    let fragile = look(&graph, &AnalysisOptions::at(NOW)).weak_points.fragile_connections;
    assert_eq!(fragile.len(), 1);
    assert_eq!(fragile[0].regions, [id("r"), id("s")]);
    assert_eq!(titles([&fragile[0].edge.source, &fragile[0].edge.target]), "a c");
}

#[test]
fn a_region_is_its_root_and_all_below() {
    let graph = Sample::new(
        "r directory\nr in:below
         a in:r\nbelow in:a\nx
         a calls 1 x
         a calls 1 below",
    );
    let options = AnalysisOptions { region: Some(id("r")), ..AnalysisOptions::at(NOW) };
    let topology = look(&graph, &options).topology;
    assert_eq!((topology.total_nodes, topology.total_edges), (3, 1));
    assert_eq!(titles(&topology.orphans), "r");
}

#[test]
fn lists_are_cut_and_counts_are_not() {
    let text: String = ('a'..='z').map(|name| format!("{name}\n")).collect();
    let options = AnalysisOptions { top_n: 3, ..AnalysisOptions::at(NOW) };
    let topology = look(&Sample::new(&text), &options).topology;
    assert_eq!((topology.orphan_count, titles(&topology.orphans).as_str()), (26, "a b c"));
}

proptest! {
    #[test]
    fn every_share_is_a_share_and_every_node_is_in_one_band(graph in sample()) {
        let analysis = look(&graph, &AnalysisOptions::at(NOW));
        let health = analysis.health;
        for share in [
            health.score,
            health.connectivity,
            health.components,
            health.staleness,
            health.fragility,
        ] {
            prop_assert!((0.0..=1.0 + 1e-12).contains(&share), "{health:?}");
        }
        let banded: usize =
            analysis.topology.degree_histogram.iter().map(|band| band.nodes).sum();
        prop_assert_eq!(banded, analysis.topology.total_nodes);
    }
}
