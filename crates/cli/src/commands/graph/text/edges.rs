//! Edges and ways.

use spore_app::graph::{AdjacentEdge, CreatedEdge, EdgeRow, ExplainedEdge, RankedEdge, Ways};
use spore_model::graph::{Direction, Path};
use spore_model::{Node, NodeId};

use super::{columns, end, field, percent, source, sure, target, title};
use crate::commands::text::many;
use crate::local_time::minute;

const NONE: &str = "No edge matches.";

pub(crate) fn table_of_edges(rows: &[EdgeRow]) -> String {
    if rows.is_empty() {
        return NONE.to_owned();
    }
    let cells: Vec<[String; 6]> = rows
        .iter()
        .map(|row| {
            [
                row.edge.id.short(),
                mark_superseded(row),
                sure(row.edge.confidence),
                super::line(row.edge.agent.as_deref().unwrap_or_default(), 20),
                minute(row.edge.created),
                format!("{} → {}", source(row), target(row)),
            ]
        })
        .collect();
    columns(Some(["EDGE", "TYPE", "SURE", "AGENT", "CREATED", "FROM → TO"]), &cells)
}

fn mark_superseded(row: &EdgeRow) -> String {
    let old = row.edge.superseded_by.map_or("", |_| " (superseded)");
    format!("{}{old}", row.edge.kind)
}

/// One line an edge: ids, and a plain number for scripts.
pub(crate) fn edges_compact(rows: &[EdgeRow]) -> String {
    if rows.is_empty() {
        return NONE.to_owned();
    }
    let line = |row: &EdgeRow| {
        let sure = row.edge.confidence.map(|number| format!(" [{number:.2}]"));
        format!(
            "{} {} {} -> {}{}\n",
            row.edge.id.short(),
            row.edge.kind,
            row.edge.source.short(),
            row.edge.target.short(),
            sure.unwrap_or_default()
        )
    };
    rows.iter().map(line).collect()
}

pub(crate) fn scored_edges(rows: &[RankedEdge]) -> String {
    if rows.is_empty() {
        return "The node has no edges.".to_owned();
    }
    let cells: Vec<[String; 5]> = rows
        .iter()
        .map(|ranked| {
            [
                format!("{}.", ranked.rank),
                format!("{:.3}", ranked.score),
                ranked.row.edge.id.short(),
                mark_superseded(&ranked.row),
                format!("{} → {}", source(&ranked.row), target(&ranked.row)),
            ]
        })
        .collect();
    columns(Some(["", "SCORE", "EDGE", "TYPE", "FROM → TO"]), &cells)
}

pub(crate) fn edge_in_full(explained: &ExplainedEdge) -> String {
    let edge = &explained.edge;
    let mut text = format!("Edge {}  {}\n", edge.id, edge.kind);
    field(&mut text, "from", &node(explained.source_node.as_ref(), &edge.source));
    field(&mut text, "to", &node(explained.target_node.as_ref(), &edge.target));
    if let Some(confidence) = edge.confidence {
        field(&mut text, "sure", &percent(confidence));
    }
    for (name, value) in [
        ("agent", edge.agent.as_deref()),
        ("reason", edge.reason.as_deref()),
        ("content", edge.content.as_deref()),
    ] {
        if let Some(value) = value {
            field(&mut text, name, value);
        }
    }
    if !edge.metadata.is_null() {
        field(&mut text, "metadata", &edge.metadata.to_string());
    }
    if let Some(run) = &edge.run {
        field(&mut text, "run", &run.short());
    }
    field(&mut text, "created", &minute(edge.created));
    if let Some(by) = &edge.superseded_by {
        field(&mut text, "superseded", &format!("by {}", by.short()));
    }
    versions(&mut text, explained);
    around(&mut text, explained);
    text
}

fn node(node: Option<&Node>, id: &NodeId) -> String {
    let name = node.map(|node| format!("  {}  {}", node.kind, title(&node.title)));
    format!("{}{}", id.short(), name.unwrap_or_default())
}

fn versions(text: &mut String, explained: &ExplainedEdge) {
    if explained.supersession_chain.len() < 2 {
        return;
    }
    text.push_str("\nVersions, oldest first\n");
    let cells: Vec<[String; 5]> = explained
        .supersession_chain
        .iter()
        .map(|edge| {
            let here = if edge.id == explained.edge.id { "*" } else { "" };
            [
                format!("  {here}"),
                edge.id.short(),
                edge.kind.to_string(),
                sure(edge.confidence),
                minute(edge.created),
            ]
        })
        .collect();
    text.push_str(&columns(None, &cells));
}

fn around(text: &mut String, explained: &ExplainedEdge) {
    if explained.adjacent_edges.is_empty() {
        return;
    }
    let more = if explained.more_adjacent_edges { ", the first of more" } else { "" };
    text.push_str(&format!("\nAround it{more}\n"));
    let cells: Vec<[String; 4]> = explained
        .adjacent_edges
        .iter()
        .map(|AdjacentEdge { depth, row }| {
            let way = format!("{} → {}", source(row), target(row));
            [format!("  {depth}"), row.edge.id.short(), mark_superseded(row), way]
        })
        .collect();
    text.push_str(&columns(None, &cells));
}

pub(crate) fn ways(found: &Ways) -> String {
    let (from, to) = (title(&found.from.title), title(&found.to.title));
    if found.from.id == found.to.id {
        return "Both are the same node.".to_owned();
    }
    let paths = &found.found.paths;
    let mut text = match paths.len() {
        0 => format!("No way from {from} to {to}.\n"),
        count => format!("{} from {from} to {to}, shortest first\n", many(count, "way")),
    };
    for (number, path) in (1..).zip(paths) {
        text.push_str(&format!(
            "\n{number}. {}, cost {:.3}\n   {}  {from}\n",
            many(path.steps.len(), "hop"),
            path.cost,
            found.from.id.short()
        ));
        steps(&mut text, path);
    }
    if !found.found.complete {
        text.push_str("\nThe search was cut short at a node with very many edges: there may be more. Narrow it with --edge-types or --max-hops.\n");
    }
    text
}

fn steps(text: &mut String, path: &Path) {
    for step in &path.steps {
        text.push_str(&format!(
            "   {}\n   {}  {}\n",
            arrow(step.direction, step.edge.as_str()),
            step.node.short(),
            title(&step.title)
        ));
    }
}

/// An edge as it lies on the way, whichever way it points.
pub(super) fn arrow(direction: Direction, kind: &str) -> String {
    match direction {
        Direction::Out => format!("─ {kind} →"),
        Direction::In => format!("← {kind} ─"),
    }
}

pub(crate) fn created_edge(made: &CreatedEdge) -> String {
    let mut text = format!(
        "Edge {}: {} {} {}, {} sure.\n",
        made.id.short(),
        end(Some(&made.source.title), &made.source.id),
        made.kind,
        end(Some(&made.target.title), &made.target.id),
        percent(made.confidence)
    );
    if let Some(old) = &made.supersedes {
        text.push_str(&format!("It supersedes {}.\n", old.short()));
    }
    text
}
