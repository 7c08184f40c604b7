//! How the graph is doing, and what may go.

use spore_app::graph::{Garbage, Status};
use spore_model::NodeClass;
use spore_model::graph::{Analysis, DegreeBand, NodeName, Staleness, Topology, WeakPoints};

use super::{columns, field, line, percent, title};
use crate::commands::text::many;
use crate::local_time::minute;

pub(crate) fn status(status: &Status, all: bool) -> String {
    let mut text = String::new();
    let classes: Vec<String> = NodeClass::ALL
        .into_iter()
        .map(|class| format!("{} {class}", nodes(status, all, |of| of == class)))
        .collect();
    let total = nodes(status, all, |_| true);
    field(&mut text, "nodes", &format!("{total}: {}", classes.join(", ")));
    let meta: Vec<String> = status
        .meta_nodes
        .iter()
        .filter(|(_, live)| **live > 0)
        .map(|(kind, live)| format!("{live} {}", line(kind, 30)))
        .collect();
    if !meta.is_empty() {
        field(&mut text, "meta", &meta.join(", "));
    }
    let edges = &status.edges;
    let count = match all {
        true => format!("{}, {} superseded", edges.total, edges.total - edges.live),
        false => edges.live.to_string(),
    };
    let news = format!("{} made in 24 hours, {} in 7 days", edges.last_24h, edges.last_7d);
    field(&mut text, "edges", &format!("{count}; {news}"));
    field(&mut text, "code", &code(status));
    field(&mut text, "open", &contradictions(status.unresolved_contradictions));
    field(
        &mut text,
        "coverage",
        &format!("{} of knowledge is summarized", percent(status.coverage)),
    );
    field(&mut text, "coherence", &format!("{:.3}", status.coherence));
    text
}

/// The same, and each kind of node by itself.
pub(crate) fn status_in_full(shown: &Status, all: bool) -> String {
    let mut text = status(shown, all);
    let cells: Vec<[String; 4]> = shown
        .nodes
        .iter()
        .filter(|count| all || count.live > 0)
        .map(|count| {
            let old = if all { count.superseded.to_string() } else { String::new() };
            [count.class.to_string(), line(&count.kind, 30), count.live.to_string(), old]
        })
        .collect();
    if !cells.is_empty() {
        let head = ["CLASS", "KIND", "LIVE", if all { "SUPERSEDED" } else { "" }];
        text.push_str(&format!("\n{}", columns(Some(head), &cells)));
    }
    if shown.unresolved_contradictions > 0 {
        text.push_str(
            "\nTo see what disagrees:\n  spore graph query-edges -t contradicts --not-superseded\n",
        );
    }
    text
}

fn nodes(status: &Status, all: bool, of: impl Fn(NodeClass) -> bool) -> u64 {
    let counted = status.nodes.iter().filter(|count| of(count.class));
    counted.map(|count| count.live + if all { count.superseded } else { 0 }).sum()
}

/// What the code index holds.
fn code(status: &Status) -> String {
    let Some(code) = &status.code else {
        return "not indexed yet: spore index".to_owned();
    };
    let sum = |counts: &std::collections::BTreeMap<String, u64>| counts.values().sum::<u64>();
    format!("{} files, {} nodes, {} edges", sum(&code.files), sum(&code.nodes), sum(&code.edges))
}

fn contradictions(number: u64) -> String {
    match number {
        0 => "no contradictions".to_owned(),
        1 => "1 contradiction is unresolved".to_owned(),
        number => format!("{number} contradictions are unresolved"),
    }
}

pub(crate) fn analysis(analysis: &Analysis) -> String {
    let health = &analysis.health;
    let mut text = format!("Health {:.2}\n", health.score);
    for (name, share, meaning) in [
        ("connectivity", health.connectivity, "nodes that have an edge"),
        ("components", health.components, "1 by the number of parts"),
        ("staleness", health.staleness, "nodes that are not out of date"),
        ("fragility", health.fragility, "nodes whose loss would split nothing"),
    ] {
        text.push_str(&format!("  {name:12}  {share:.2}  {meaning}\n"));
    }
    topology(&mut text, &analysis.topology);
    staleness(&mut text, &analysis.staleness);
    weak_points(&mut text, &analysis.weak_points);
    text
}

fn topology(text: &mut String, topology: &Topology) {
    text.push_str(&format!(
        "\n{}, {} in {}",
        many(topology.total_nodes, "node"),
        many(topology.total_edges, "edge"),
        many(topology.num_components, "part")
    ));
    if topology.num_components > 1 {
        text.push_str(&format!(
            " of {} to {} nodes",
            topology.smallest_component, topology.largest_component
        ));
    }
    text.push('\n');
    let bands: Vec<String> = topology.degree_histogram.iter().map(band).collect();
    if !bands.is_empty() {
        text.push_str(&format!("  edges a node  {}\n", bands.join(", ")));
    }
    list(text, "Alone", topology.orphan_count, topology.orphans.iter().map(name));
    let hubs = topology.hubs.iter().map(|hub| {
        let (incoming, outgoing) = (hub.incoming, hub.outgoing);
        format!("{}  {} edges, {incoming} in, {outgoing} out", name(&hub.node), hub.degree)
    });
    list(text, "Hubs", topology.hub_count, hubs);
}

fn band(band: &DegreeBand) -> String {
    match band.most.saturating_sub(band.least) {
        0 => format!("{}: {}", band.least, band.nodes),
        _ => format!("{}–{}: {}", band.least, band.most, band.nodes),
    }
}

fn staleness(text: &mut String, staleness: &Staleness) {
    let nodes = staleness
        .stale_nodes
        .iter()
        .map(|stale| format!("{}  for {} days", name(&stale.node), stale.days));
    list(text, "Untouched while something beside them moved", staleness.stale_node_count, nodes);
    let summaries = staleness.stale_summaries.iter().map(|stale| {
        format!(
            "{}  of {}  updated {}",
            name(&stale.node),
            name(&stale.target),
            minute(stale.target_updated)
        )
    });
    list(text, "Summaries older than their subject", staleness.stale_summary_count, summaries);
}

fn weak_points(text: &mut String, weak: &WeakPoints) {
    let cuts = weak
        .articulation_points
        .iter()
        .map(|cut| format!("{}  {}", name(&cut.node), many(cut.degree, "edge")));
    list(text, "Nodes whose removal would split the graph", weak.articulation_point_count, cuts);
    let bridges = weak
        .bridges
        .iter()
        .map(|bridge| format!("{} {} {}", name(&bridge.source), bridge.kind, name(&bridge.target)));
    list(text, "Edges whose removal would split the graph", weak.bridge_count, bridges);
    let fragile = weak.fragile_connections.iter().map(|fragile| {
        let [one, other] = &fragile.regions;
        format!(
            "{} and {}: {} {} {}",
            one.short(),
            other.short(),
            title(&fragile.edge.source.title),
            fragile.edge.kind,
            title(&fragile.edge.target.title)
        )
    });
    list(text, "Regions that one edge joins", weak.fragile_connection_count, fragile);
}

fn name(node: &NodeName) -> String {
    format!("{}  {}", node.id.short(), title(&node.title))
}

/// A heading with its count, and below it as many as are shown.
fn list(text: &mut String, heading: &str, count: usize, lines: impl Iterator<Item = String>) {
    if count == 0 {
        return;
    }
    text.push_str(&format!("\n{heading}: {count}\n"));
    for line in lines {
        text.push_str(&format!("  {line}\n"));
    }
}

/// What went or would go; `call` is the command that removes it.
pub(crate) fn garbage(found: &Garbage, call: &str) -> String {
    if found.nodes.is_empty() {
        return "Nothing to remove.".to_owned();
    }
    let count = many(found.count, "node");
    let mut text = if found.applied {
        format!("Removed {count}.\n")
    } else {
        format!("Would remove {count}; nothing is removed yet.\n")
    };
    let cells: Vec<[String; 4]> = found
        .nodes
        .iter()
        .map(|row| {
            [
                format!("  {}", row.id.short()),
                minute(row.created),
                line(&row.kind, 30),
                title(&row.title),
            ]
        })
        .collect();
    text.push_str(&columns(None, &cells));
    match &found.export {
        Some(export) => text.push_str(&format!("A copy is in {export}.\n")),
        None if !found.applied => {
            text.push_str(&format!("To remove, and keep a copy:\n  {call}\n"))
        }
        None => {}
    }
    text
}
