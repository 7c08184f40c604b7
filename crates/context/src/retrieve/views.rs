//! What is shown of the code that was found: a few lines of it, and who calls it.

use spore_model::graph::{Direction, PathStep};
use spore_model::{EdgeKind, NodeId};
use spore_store::{CodeEdge, CodeIndexError};

use super::{RankedTask, ReadFiles};
use crate::compiled::{Anchor, CallGraph, ItemRef, RankedFile, Snippet};
use crate::items::item_ref;

/// Returns how the walk reached a node: the anchor, and the edges from it.
pub(super) fn via(anchor: &str, path: &[PathStep]) -> String {
    let mut via = anchor.to_owned();
    for step in path {
        let edge = step.edge.as_str();
        via.push_str(&match step.direction {
            Direction::Out => format!(" → {edge}"),
            Direction::In => format!(" ← {edge}"),
        });
    }
    via
}

/// Items worth a closer look, best first: the anchors, then the best of each file. Functions
/// come before what only holds data.
fn shown(anchors: &[Anchor], files: &[RankedFile]) -> Vec<ItemRef> {
    let of_files = files.iter().flat_map(|file| file.nodes.first());
    let mut items: Vec<ItemRef> = Vec::new();
    for item in anchors.iter().map(|anchor| &anchor.item).chain(of_files) {
        if items.iter().all(|known| known.id != item.id) {
            items.push(item.clone());
        }
    }
    items.sort_by_key(|item| !is_function(item));
    items
}

fn is_function(item: &ItemRef) -> bool {
    matches!(item.kind.as_str(), "function" | "method" | "test" | "macro")
}

pub(super) fn snippets(
    view: &RankedTask<'_>,
    anchors: &[Anchor],
    files: &[RankedFile],
    read: &ReadFiles<'_>,
) -> Result<Vec<Snippet>, CodeIndexError> {
    let mut items = shown(anchors, files);
    items.retain(|item| view.options.snippet_item_lines.contains(&lines_of(item)));
    let mut snippets = Vec::new();
    // Those that are wanted are read at once; one that cannot be read makes room for another.
    while !items.is_empty() && snippets.len() < view.options.snippets {
        let wanted = (view.options.snippets - snippets.len()).min(items.len());
        let batch: Vec<ItemRef> = items.drain(..wanted).collect();
        let paths: Vec<&str> = batch.iter().map(|item| item.path.as_str()).collect();
        let texts = read(&paths);
        for (item, text) in batch.into_iter().zip(texts) {
            if let Some(text) = text {
                snippets.push(snippet(view, item, &text)?);
            }
        }
    }
    Ok(snippets)
}

fn lines_of(item: &ItemRef) -> u32 {
    item.last_line.saturating_sub(item.first_line) + 1
}

fn snippet(view: &RankedTask<'_>, item: ItemRef, file: &str) -> Result<Snippet, CodeIndexError> {
    let language = view.corpus.index.file(&item.path)?.map(|file| file.language);
    let lines = lines_of(&item);
    let most = view.options.snippet_lines.min(lines);
    let skipped = item.first_line.saturating_sub(1) as usize;
    let shown: Vec<&str> = file.lines().skip(skipped).take(most as usize).collect();
    Ok(Snippet {
        language: language.unwrap_or_default(),
        text: shown.join("\n"),
        more_lines: lines - most,
        item,
    })
}

pub(super) fn calls(
    view: &RankedTask<'_>,
    anchors: &[Anchor],
    files: &[RankedFile],
) -> Result<Vec<CallGraph>, CodeIndexError> {
    let mut calls = Vec::new();
    for item in shown(anchors, files).into_iter().filter(is_function) {
        if calls.len() >= view.options.calls {
            break;
        }
        let callers = others(view, &item.id, Direction::In)?;
        let callees = others(view, &item.id, Direction::Out)?;
        if !callers.is_empty() || !callees.is_empty() {
            calls.push(CallGraph { item, callers, callees });
        }
    }
    Ok(calls)
}

fn others(
    view: &RankedTask<'_>,
    id: &NodeId,
    direction: Direction,
) -> Result<Vec<ItemRef>, CodeIndexError> {
    let edges: Vec<CodeEdge> = view.corpus.index.edges_of(id, &[EdgeKind::Calls])?;
    let mut others = Vec::new();
    for edge in edges.into_iter().filter(|edge| edge.direction == direction) {
        if others.len() >= view.options.neighbours_of_call {
            break;
        }
        others.extend(item_of(view, &edge.far.id)?);
    }
    Ok(others)
}

/// Returns a node of the code as people know it.
pub(super) fn item_of(
    view: &RankedTask<'_>,
    id: &NodeId,
) -> Result<Option<ItemRef>, CodeIndexError> {
    item_ref(view.corpus.index, id)
}
