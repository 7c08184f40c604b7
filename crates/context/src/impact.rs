//! What a change reaches: for the verifier that judges it, not for the coder that made it.
//!
//! Two indexes are compared, that of the tree before and that of the tree after. An item whose
//! text differs was changed; one that is only in the later tree is new, one that is only in
//! the earlier is gone. From there the graph answers: who uses what was changed, who still
//! relies on what is gone, which tests exercise it, and which files usually change with those
//! that were.
//!
//! All of it comes from the trees. Nothing that the change's author said is looked at.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use spore_model::graph::Direction;
use spore_model::{EdgeKind, NodeId};
use spore_store::{CodeEdge, CodeIndex, CodeIndexError, NodeKey, StoredItem};

use crate::compiled::ItemRef;
use crate::items::{item_ref, stored_ref};

/// What a change reaches.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Impact {
    /// What was changed or added, in the order of the files.
    pub touched: Vec<TouchedItem>,
    /// What is gone, first that which unchanged code still relies on.
    pub removed: Vec<RemovedItem>,
    /// Tests that exercise what was touched.
    pub tests: Vec<Exercise>,
    /// Files that were not changed and usually are when one of these is.
    pub companions: Vec<Companion>,
    /// The files of the change, as they were named.
    pub paths: Vec<String>,
}

/// What a change did to a piece of code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ImpactKind {
    Changed,
    Added,
    /// The tree before the change is not indexed, so what it was before is not known.
    InChangedFile,
}

/// A piece of code that the change touched.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TouchedItem {
    pub how: ImpactKind,
    #[serde(flatten)]
    pub item: ItemRef,
    /// What uses it, the surest first.
    pub users: Vec<ItemRef>,
    /// How many more there are.
    pub more_users: usize,
}

/// A piece of code that is gone; its place is where it was.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RemovedItem {
    #[serde(flatten)]
    pub item: ItemRef,
    /// What used it and was not changed since.
    pub still_used_by: Vec<ItemRef>,
}

/// A test, and what it exercises.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Exercise {
    #[serde(flatten)]
    pub test: ItemRef,
    pub exercises: String,
    /// Whether the change touched the test itself.
    pub touched: bool,
}

/// A file that usually changes with another.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Companion {
    pub path: String,
    /// The changed file that it goes with.
    pub with: String,
    pub confidence: f64,
}

/// How much of a change is looked at and said.
#[derive(Clone, PartialEq, Debug)]
pub struct ImpactLimits {
    /// Of a larger change only the first files are looked at.
    pub files: usize,
    pub touched: usize,
    pub users: usize,
    pub removed: usize,
    pub tests: usize,
    pub companions: usize,
    /// A file that changes with another less often than this is no companion.
    pub least_together: f64,
}

/// Compares two trees where `paths` differ. Without the tree before, everything in those files
/// counts as touched.
pub fn of(
    after: &CodeIndex,
    before: Option<&CodeIndex>,
    paths: &[String],
    limits: &ImpactLimits,
) -> Result<Impact, CodeIndexError> {
    let mut view = ImpactComparison { after, before, limits, hashes: HashMap::new() };
    let mut paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    paths.sort_unstable();
    paths.dedup();
    let looked_at = &paths[..paths.len().min(limits.files)];
    let mut impact =
        Impact { paths: paths.iter().map(|&path| path.to_owned()).collect(), ..Impact::default() };
    let mut items: Vec<(ImpactKind, ItemRef)> = Vec::new();
    let mut gone: Vec<ItemRef> = Vec::new();
    for path in looked_at {
        let (touched, removed) = view.compare(path)?;
        items.extend(touched);
        gone.extend(removed);
    }
    impact.tests = view.tests(&items)?;
    for (how, item) in items.into_iter().filter(|(_, item)| item.kind != "test") {
        if impact.touched.len() == limits.touched {
            break;
        }
        let (users, more_users) = view.users(&item)?;
        impact.touched.push(TouchedItem { how, item, users, more_users });
    }
    impact.removed = view.removed(gone)?;
    impact.companions = view.companions(looked_at)?;
    Ok(impact)
}

/// Returns those of the files `ours` that a file of `theirs` uses or is used by, each with one of
/// these, in the order of their names.
pub fn ties(
    index: &CodeIndex,
    ours: &[String],
    theirs: &[String],
) -> Result<Vec<(String, String)>, CodeIndexError> {
    let theirs: HashSet<&str> = theirs.iter().map(String::as_str).collect();
    let kinds: Vec<EdgeKind> = RELIES.into_iter().chain([EdgeKind::Tests]).collect();
    let mut tied: Vec<(String, String)> = Vec::new();
    for path in ours {
        'file: for item in items(index, path)? {
            for edge in index.edges_of(&item.key.id(), &kinds)? {
                let far = item_ref(index, &edge.far.id)?.map(|far| far.path);
                if let Some(far) = far.filter(|far| far != path && theirs.contains(far.as_str())) {
                    tied.push((path.clone(), far));
                    break 'file;
                }
            }
        }
    }
    tied.sort_unstable();
    tied.dedup();
    Ok(tied)
}

/// What of a file was touched, and what is gone from it.
type Compared = (Vec<(ImpactKind, ItemRef)>, Vec<ItemRef>);

struct ImpactComparison<'a> {
    after: &'a CodeIndex,
    before: Option<&'a CodeIndex>,
    limits: &'a ImpactLimits,
    /// Of items as they are after, by id; of the files that were looked at.
    hashes: HashMap<NodeKey, u64>,
}

/// The edges by which one piece of code relies on another.
const RELIES: [EdgeKind; 4] =
    [EdgeKind::Calls, EdgeKind::UsesType, EdgeKind::Implements, EdgeKind::Extends];

impl ImpactComparison<'_> {
    /// Returns what of a file was touched, innermost pieces alone, and what is gone from it.
    fn compare(&mut self, path: &str) -> Result<Compared, CodeIndexError> {
        let after = items(self.after, path)?;
        let before = match self.before {
            Some(index) => Some(items(index, path)?),
            None => None,
        };
        self.hashes.extend(after.iter().map(|item| (item.key, item.hash)));
        let was: HashMap<NodeKey, u64> =
            before.iter().flatten().map(|item| (item.key, item.hash)).collect();
        let how = |item: &StoredItem| match (&before, was.get(&item.key)) {
            (None, _) => Some(ImpactKind::InChangedFile),
            (Some(_), None) => Some(ImpactKind::Added),
            (Some(_), Some(hash)) if *hash != item.hash => Some(ImpactKind::Changed),
            _ => None,
        };
        let touched: Vec<(ImpactKind, &StoredItem)> =
            after.iter().filter_map(|item| Some((how(item)?, item))).collect();
        // What holds a touched piece differs by that piece, and says no more than it.
        let holders: HashSet<u32> = touched.iter().map(|(_, item)| item.parent).collect();
        let innermost = touched
            .iter()
            .filter(|(_, item)| !holders.contains(&item.no) || is_function(&item.kind))
            .map(|(how, item)| (*how, stored_ref(path, item)))
            .collect();
        let is: HashSet<NodeKey> = after.iter().map(|item| item.key).collect();
        let gone = before.iter().flatten().filter(|item| !is.contains(&item.key));
        Ok((innermost, gone.map(|item| stored_ref(path, item)).collect()))
    }

    /// Returns what uses an item, tests aside: they have a list of their own.
    fn users(&self, item: &ItemRef) -> Result<(Vec<ItemRef>, usize), CodeIndexError> {
        let edges = incoming(self.after, &item.id, &RELIES)?;
        let mut seen = HashSet::new();
        let edges: Vec<&CodeEdge> = edges
            .iter()
            .filter(|edge| edge.far.kind != "test" && edge.far.id != item.id)
            .filter(|edge| seen.insert(edge.far.id.clone()))
            .collect();
        let mut users = Vec::new();
        for edge in edges.iter().take(self.limits.users) {
            users.extend(item_ref(self.after, &edge.far.id)?);
        }
        Ok((users, edges.len().saturating_sub(self.limits.users)))
    }

    fn tests(&self, touched: &[(ImpactKind, ItemRef)]) -> Result<Vec<Exercise>, CodeIndexError> {
        let mut tests: Vec<Exercise> = Vec::new();
        let mut seen: HashSet<NodeId> = HashSet::new();
        let is_touched: HashSet<&NodeId> = touched.iter().map(|(_, item)| &item.id).collect();
        for (_, item) in touched.iter().filter(|(_, item)| item.kind == "test") {
            if tests.len() < self.limits.tests && seen.insert(item.id.clone()) {
                let exercises = self.exercised_by(&item.id)?;
                tests.push(Exercise { test: item.clone(), exercises, touched: true });
            }
        }
        for (_, item) in touched.iter().filter(|(_, item)| item.kind != "test") {
            for edge in incoming(self.after, &item.id, &[EdgeKind::Tests])? {
                if tests.len() >= self.limits.tests {
                    return Ok(tests);
                }
                if !seen.insert(edge.far.id.clone()) {
                    continue;
                }
                if let Some(test) = item_ref(self.after, &edge.far.id)? {
                    let touched = is_touched.contains(&test.id);
                    tests.push(Exercise { test, exercises: item.name.clone(), touched });
                }
            }
        }
        Ok(tests)
    }

    /// Returns the name of what a test exercises most surely; empty if nothing is known.
    fn exercised_by(&self, test: &NodeId) -> Result<String, CodeIndexError> {
        let edges = self.after.edges_of(test, &[EdgeKind::Tests])?;
        let first = edges.into_iter().find(|edge| edge.direction == Direction::Out);
        Ok(first.map(|edge| edge.far.title).unwrap_or_default())
    }

    /// Returns what is gone, first that which unchanged code still relies on.
    fn removed(&self, gone: Vec<ItemRef>) -> Result<Vec<RemovedItem>, CodeIndexError> {
        let Some(before) = self.before else { return Ok(Vec::new()) };
        let mut removed = Vec::new();
        for item in gone {
            let mut still_used_by = Vec::new();
            for edge in incoming(before, &item.id, &RELIES)? {
                if still_used_by.len() < self.limits.users && self.is_as_it_was(before, &edge)? {
                    still_used_by.extend(item_ref(self.after, &edge.far.id)?);
                }
            }
            removed.push(RemovedItem { item, still_used_by });
        }
        removed.sort_by_key(|removed| removed.still_used_by.is_empty());
        removed.truncate(self.limits.removed);
        Ok(removed)
    }

    /// Returns whether the near end of an edge has the same text in both trees.
    fn is_as_it_was(&self, before: &CodeIndex, edge: &CodeEdge) -> Result<bool, CodeIndexError> {
        let Some(there) = item_ref(self.after, &edge.far.id)? else { return Ok(false) };
        let Some(key) = NodeKey::of(&edge.far.id) else { return Ok(false) };
        // A file that was not looked at is not part of the change.
        let Some(after) = self.hashes.get(&key) else { return Ok(true) };
        let was = items(before, &there.path)?.into_iter().find(|item| item.key == key);
        Ok(was.is_some_and(|item| item.hash == *after))
    }

    /// Returns files that usually change with these. History ends where the change begins: in
    /// the tree after, the change itself would count.
    fn companions(&self, paths: &[&str]) -> Result<Vec<Companion>, CodeIndexError> {
        let index = self.before.unwrap_or(self.after);
        let mut best: HashMap<String, Companion> = HashMap::new();
        for path in paths {
            for id in index.find(path)? {
                for edge in index.edges_of(&id, &[EdgeKind::ChangedWith])? {
                    let other = edge.far.title;
                    if edge.confidence < self.limits.least_together
                        || paths.contains(&other.as_str())
                        || best.get(&other).is_some_and(|known| known.confidence >= edge.confidence)
                    {
                        continue;
                    }
                    let with = (*path).to_owned();
                    let confidence = edge.confidence;
                    best.insert(other.clone(), Companion { path: other, with, confidence });
                }
            }
        }
        let mut companions: Vec<Companion> = best.into_values().collect();
        companions.sort_by(|a, b| {
            b.confidence.total_cmp(&a.confidence).then_with(|| a.path.cmp(&b.path))
        });
        companions.truncate(self.limits.companions);
        Ok(companions)
    }
}

fn items(index: &CodeIndex, path: &str) -> Result<Vec<StoredItem>, CodeIndexError> {
    match index.file(path)? {
        Some(file) => index.items_of(file.no),
        None => Ok(Vec::new()),
    }
}

fn incoming(
    index: &CodeIndex,
    id: &NodeId,
    kinds: &[EdgeKind],
) -> Result<Vec<CodeEdge>, CodeIndexError> {
    let mut edges = index.edges_of(id, kinds)?;
    edges.retain(|edge| edge.direction == Direction::In);
    Ok(edges)
}

fn is_function(kind: &str) -> bool {
    matches!(kind, "function" | "method" | "test" | "macro")
}

#[cfg(test)]
mod tests;
