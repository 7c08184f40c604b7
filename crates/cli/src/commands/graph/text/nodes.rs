//! Nodes, and what lies around them.

use spore_app::graph::{
    Context, CreatedMeta, EdgeRow, Freshness, NewEdge, NodeView, RegionRow, SummaryEnd, UpdatedMeta,
};

use super::edges::arrow;
use super::{columns, end, field, line, percent, sure, title};
use crate::commands::text::many;
use crate::local_time::minute;

/// How many lines of a content `show` prints.
const SHOWN_LINES: usize = 12;

pub(crate) fn node_in_full(shown: &NodeView) -> String {
    let node = &shown.node;
    let mut text = format!("Node {}  {} ({})\n", node.id, line(&node.kind, 30), node.class);
    field(&mut text, "title", &line(&node.title, 200));
    if let Some(agent) = &node.agent {
        field(&mut text, "agent", agent);
    }
    if let Some(run) = &node.run {
        field(&mut text, "run", &run.short());
    }
    if let Some(parent) = &node.parent {
        field(&mut text, "below", parent.short());
    }
    if let Some(confidence) = node.confidence {
        field(&mut text, "sure", &percent(confidence));
    }
    field(&mut text, "created", &minute(node.created));
    if node.updated != node.created {
        field(&mut text, "updated", &minute(node.updated));
    }
    if let Some(by) = &node.superseded_by {
        field(&mut text, "superseded", &format!("by {}", by.short()));
    }
    if !node.metadata.is_null() {
        field(&mut text, "metadata", &node.metadata.to_string());
    }
    if !node.content.is_empty() {
        field(&mut text, "content", &beginning(&node.content, node.id.short()));
    }
    edges(&mut text, shown);
    text
}

fn beginning(content: &str, id: &str) -> String {
    let lines: Vec<&str> = content.trim_end().lines().collect();
    if lines.len() <= SHOWN_LINES {
        return lines.join("\n");
    }
    let rest = many(lines.len() - SHOWN_LINES, "line");
    format!("{}\n… {rest} more: spore graph read-content {id}", lines[..SHOWN_LINES].join("\n"))
}

fn edges(text: &mut String, shown: &NodeView) {
    if shown.edges.is_empty() {
        text.push_str("\nNo edges\n");
        return;
    }
    let more = if shown.more_edges { ", the newest of more" } else { "" };
    text.push_str(&format!("\n{}{more}\n", many(shown.edges.len(), "edge")));
    let cells: Vec<[String; 5]> = shown
        .edges
        .iter()
        .map(|row| {
            let (way, far) = far_end(shown, row);
            let old = row.edge.superseded_by.map_or("", |_| " (superseded)");
            [
                format!("  {way}"),
                format!("{}{old}", row.edge.kind),
                sure(row.edge.confidence),
                row.edge.id.short(),
                far,
            ]
        })
        .collect();
    text.push_str(&columns(None, &cells));
}

/// The other end of an edge, seen from the node that is shown.
fn far_end(shown: &NodeView, row: &EdgeRow) -> (&'static str, String) {
    let (way, id, name) = if row.edge.source == shown.node.id {
        ("→", &row.edge.target, &row.target_title)
    } else {
        ("←", &row.edge.source, &row.source_title)
    };
    let name = name.as_deref().map(|name| format!("  {}", title(name)));
    (way, format!("{}{}", id.short(), name.unwrap_or_default()))
}

pub(crate) fn region(rows: &[RegionRow]) -> String {
    if rows.is_empty() {
        return "Nothing matches below this node.".to_owned();
    }
    let mut text = String::new();
    for row in rows {
        let indent = "  ".repeat(usize::try_from(row.depth.saturating_sub(1)).unwrap_or(0));
        let mark = if row.is_item { "I" } else { "C" };
        text.push_str(&format!(
            "{indent}[{mark}] {}  {}  {}\n",
            row.id.short(),
            line(&row.kind, 30),
            title(&row.title)
        ));
    }
    text
}

pub(crate) fn context(found: &Context) -> String {
    let source = title(&found.source.title);
    if found.results.is_empty() {
        return format!(
            "No knowledge lies near {source}. What Spore did is not context; its edges:\n  spore graph show {}",
            found.source.id.short()
        );
    }
    let mut text = format!("Near {source}, nearest first\n");
    for row in &found.results {
        let mark = if row.is_item { "I" } else { "C" };
        text.push_str(&format!(
            "\n{}. [{mark}] {}  {} [{}] - dist={:.3} rel={} hops={}\n   ",
            row.rank,
            row.id.short(),
            title(&row.title),
            row.class,
            row.distance,
            percent(row.relevance).replace(' ', ""),
            row.hops
        ));
        let steps: Vec<String> = row
            .path
            .iter()
            .map(|step| {
                format!("{} {}", arrow(step.direction, step.edge.as_str()), title(&step.title))
            })
            .collect();
        text.push_str(&format!("{}\n", steps.join(" ")));
    }
    text
}

pub(crate) fn freshness(checked: &Freshness) -> String {
    let mut text = format!(
        "{}  {}  updated {}\n",
        checked.id.short(),
        title(&checked.title),
        minute(checked.updated)
    );
    if checked.targets.is_empty() && checked.summaries.is_empty() {
        text.push_str("It summarizes nothing, and nothing summarizes it.\n");
    }
    for (heading, kin) in
        [("It summarizes", &checked.targets), ("Summarized by", &checked.summaries)]
    {
        if !kin.is_empty() {
            text.push_str(&format!("\n{heading}\n{}", kin_lines(kin)));
        }
    }
    text
}

fn kin_lines(kin: &[SummaryEnd]) -> String {
    let cells: Vec<[String; 4]> = kin
        .iter()
        .map(|kin| {
            let state = if kin.stale { "  STALE" } else { "  fresh" };
            let updated = format!("updated {}", minute(kin.updated));
            [state.to_owned(), kin.id.short().to_owned(), updated, title(&kin.title)]
        })
        .collect();
    columns(None, &cells)
}

pub(crate) fn created_meta(made: &CreatedMeta) -> String {
    let mut text =
        format!("Node {}: {} {}\n", made.id.short(), line(&made.kind, 30), title(&made.title));
    text.push_str(&new_edges(&made.edges));
    text
}

pub(crate) fn updated_meta(updated: &UpdatedMeta) -> String {
    let mut text = format!(
        "Node {}: {}\nIt supersedes {} and took over {}.\n",
        updated.new_id.short(),
        title(&updated.title),
        updated.old_id.short(),
        many(updated.copied_edges.len(), "edge")
    );
    text.push_str(&new_edges(&updated.new_edges));
    text
}

fn new_edges(edges: &[NewEdge]) -> String {
    let cells: Vec<[String; 4]> = edges
        .iter()
        .map(|edge| {
            let target = end(Some(&edge.target_title), &edge.target);
            ["  →".to_owned(), edge.kind.to_string(), edge.id.short(), target]
        })
        .collect();
    columns(None, &cells)
}
