//! Whether what was said of a place is about the place as it is.

use std::collections::BTreeMap;

use serde_json::Value;
use spore_investigate::passes::{
    ChildSummary, PROMPT_VERSION, SummaryWriter, directory_key, file_key,
};
use spore_investigate::{EntryKind, Tree, path_text};
use spore_model::Node;

use super::ground::{Ground, named};
use super::summaries::Summaries;

/// Says of entries whether they are about a tree as it is.
pub(in crate::investigate) struct StandingOf<'a> {
    tree: &'a Tree,
    summaries: &'a Summaries,
    places: BTreeMap<String, (EntryKind, usize)>,
    /// Of directories.
    said: BTreeMap<String, String>,
}

impl<'a> StandingOf<'a> {
    pub(in crate::investigate) fn new(tree: &'a Tree, summaries: &'a Summaries) -> Self {
        let dirs = summaries.all().into_iter();
        let said = dirs
            .filter(|((kind, _), _)| *kind == EntryKind::Directory)
            .map(|((_, path), node)| (path, node.content))
            .collect();
        Self { tree, summaries, places: Ground::places_of(tree), said }
    }

    /// Whether a place is in the tree.
    pub(in crate::investigate) fn is_there(&self, path: &str) -> bool {
        self.places.contains_key(path)
    }

    pub(in crate::investigate) fn holds(&self, kind: EntryKind, path: &str, node: &Node) -> bool {
        let Some(&(found, at)) = self.places.get(path) else { return false };
        let text = |name: &str| node.metadata[name].as_str().unwrap_or_default().to_owned();
        let writer = SummaryWriter { backend: text("writer"), model: text("model") };
        if found != kind || text("prompt_version") != PROMPT_VERSION {
            return false;
        }
        let tree = self.tree;
        let title = self.summaries.title(path);
        let key = match kind {
            EntryKind::File => file_key(&tree.files[at], &title, &writer),
            EntryKind::Directory => {
                let dir = &tree.dirs[at];
                let below = dir.dirs.iter().map(|below| &tree.dirs[*below]);
                // A child that the entry was written without, for one because a plan skipped it,
                // is none of what it says.
                let told = |name: &str| node.metadata["children"].get(name) != Some(&Value::Null);
                let children: Vec<ChildSummary> = below
                    .map(|dir| {
                        let name = path_text(dir.name().as_ref());
                        let said = self.said.get(&named(&dir.path)).filter(|_| told(&name));
                        ChildSummary { summary: said.cloned(), name }
                    })
                    .collect();
                directory_key(tree, dir, &title, &children, &writer)
            }
        };
        text("key") == key
    }
}
