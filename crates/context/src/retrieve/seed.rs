//! The seed's ranking of files: those that most of the found nodes are in.
//!
//! Kept beside ours as it was described, to be measured in the same run. Where it names fewer
//! files than are asked for, the best matches of words fill up.

use std::collections::{HashMap, HashSet};

use spore_store::CodeIndexError;

use super::RankedTask;
use super::anchors::best_everywhere;
use crate::compiled::{Anchor, ContextNode, RankedFile, Reason};

pub(super) fn files(
    view: &RankedTask<'_>,
    anchors: &[Anchor],
    nodes: &[ContextNode],
) -> Result<Vec<RankedFile>, CodeIndexError> {
    let mut counts: HashMap<String, (u32, f64)> = HashMap::new();
    let mut count = |path: &str, relevance: f64| {
        let known = counts.entry(path.to_owned()).or_default();
        known.0 += 1;
        known.1 = known.1.max(relevance);
    };
    for anchor in anchors {
        count(&anchor.item.path, 1.0);
    }
    for node in nodes {
        let path = view.corpus.index.node(&node.id)?.and_then(|node| {
            node.metadata.get("path").and_then(|path| path.as_str()).map(str::to_owned)
        });
        if let Some(path) = path {
            count(&path, node.relevance);
        }
    }
    // Source files alone, as in our own ranking: a task is about code, not about documents.
    let sources: HashSet<&str> =
        (0..).take(view.ranker.len()).map(|s| view.ranker.path(s)).collect();
    let mut ranked: Vec<(String, u32, f64)> = counts
        .into_iter()
        .filter(|(path, _)| sources.contains(path.as_str()))
        .map(|(path, (nodes, relevance))| (path, nodes, relevance))
        .collect();
    ranked.sort_by(|a, b| b.1.cmp(&a.1).then(b.2.total_cmp(&a.2)).then_with(|| a.0.cmp(&b.0)));
    for (place, _, _) in best_everywhere(view, usize::MAX) {
        let path = &view.corpus.files[place as usize].path;
        if ranked.len() >= view.options.files {
            break;
        }
        let is_new = ranked.iter().all(|(known, _, _)| known != path);
        if is_new && sources.contains(path.as_str()) {
            ranked.push((path.clone(), 0, 0.0));
        }
    }
    ranked.truncate(view.options.files);
    let places: HashMap<&str, u32> =
        (0..).zip(&view.corpus.files).map(|(place, file)| (file.path.as_str(), place)).collect();
    ranked
        .into_iter()
        .map(|(path, count, relevance)| {
            let nodes = match places.get(path.as_str()) {
                Some(place) => view.best_items(*place, view.options.items_of_file)?,
                None => Vec::new(),
            };
            let why = vec![Reason { signal: "nodes".to_owned(), share: count.into() }];
            Ok(RankedFile { path, score: f64::from(count) + relevance, why, nodes })
        })
        .collect()
}
