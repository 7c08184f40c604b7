//! What a change reaches: `impact`.
//!
//! Everything that relies on what changes, step by step, and the tests among it. Without a
//! target, what changes is what differs: the work tree from its commit, a session's checkout
//! from the commit it began with.

use std::collections::BTreeMap;
use std::path::Path;

use sha1::{Digest, Sha1};
use spore_config::Config;
use spore_model::graph::Direction;
use spore_model::{CommitId, Fault, NodeId};
use spore_store::CodeIndex;

use super::Toolbox;
use super::hits::{one_line, place_of};
use super::page::ToolFindings;
use super::question::ToolRequest;
use super::view::ProjectView;
use super::walks::{ReachedCode, walk};
use crate::{Error, Result};

/// A larger file is not read to see whether it changed.
const MOST_BYTES: u64 = 16 << 20;

impl Toolbox {
    pub(super) fn impact(&self, asked: &ToolRequest<'_>, config: &Config) -> Result<ToolFindings> {
        // Of a larger change only the first files are followed.
        let (most_files, most_reached) = (config.impact.files as usize, config.tools.reached);
        let depth = asked.number("depth").unwrap_or(config.tools.impact_steps);
        let targets = asked.list("targets");
        let (named, heading) = if targets.is_empty() {
            let changed = self.changed_files()?;
            let heading = format!("What the {} that changed reach:", files(changed.len()));
            (changed, heading)
        } else {
            (
                targets.clone(),
                format!("What a change of {} reaches:", one_line(&targets.join(", "))),
            )
        };
        let more = named.len().saturating_sub(most_files);
        let mut roots: Vec<NodeId> = Vec::new();
        let (graph, _) = self.graph()?;
        for name in named.iter().take(most_files) {
            match graph.find_node(name) {
                Ok(node) => roots.push(node.id),
                // A file that is new or gone is reached by nothing.
                Err(_) if targets.is_empty() => {}
                Err(error) => return Err(error),
            }
        }
        drop(graph);
        let none = roots.is_empty();
        let (entries, note) = self.held_index.with(move |opened| {
            let roots = with_items(opened.index, roots)?;
            let reached = walk(opened.index, &roots, Direction::In, depth, most_reached)?;
            Ok((entries(opened.index, &reached)?, opened.note()))
        })?;
        let nothing = match (targets.is_empty(), none) {
            (true, true) => "Nothing that the index knows has changed.",
            _ => "Nothing in the project relies on it.",
        };
        let cut = (more > 0).then(|| format!("{} more changed and were left out", files(more)));
        Ok(ToolFindings::new(heading, entries).or(nothing).note(note).note(cut))
    }

    /// Returns the paths of files that differ from the commit that the work began with.
    fn changed_files(&self) -> Result<Vec<String>> {
        let places = self.places()?;
        let repository = places.repository().ok_or_else(|| {
            Error::new(Fault::BadInput, "without git nobody knows what has changed")
                .hint("name targets: paths, or ids from `search`")
        })?;
        match &self.view {
            ProjectView::WorkTree => {
                let head = repository.head()?;
                differing(repository, &head, self.workspace()?.root())
            }
            ProjectView::Session { run, dir, at } => {
                let base = match (self.base_of(*run)?, at) {
                    (Some(base), _) => base,
                    (None, Some(at)) => at.clone(),
                    (None, None) => repository.head()?,
                };
                differing(repository, &base, dir)
            }
        }
    }

    fn base_of(&self, run: spore_model::RunId) -> Result<Option<CommitId>> {
        use spore_store::Journal;
        let workspace = self.workspace()?;
        let config = workspace.config(&self.around, &[])?;
        let run = workspace.journal(&config)?.run(run)?;
        Ok(run.and_then(|run| run.base_commit))
    }
}

/// Compares a directory with a commit by contents. Nothing of git is started in it: it may be
/// an agent's, whose settings can name programs. A new file relies on others, and none on it.
fn differing(
    repository: &spore_git::Repository,
    base: &CommitId,
    dir: &Path,
) -> Result<Vec<String>> {
    let tree = repository.tree_of(base)?;
    let mut changed = Vec::new();
    let files = repository.tree_files(&tree)?;
    let blobs: Vec<&str> = files.iter().map(|file| file.blob.as_str()).collect();
    let sizes = repository.blob_sizes(&blobs)?;
    for (file, size) in files.iter().zip(sizes) {
        let path = dir.join(&file.path);
        let same = match path.symlink_metadata() {
            Ok(found) if !found.is_file() => true,
            Ok(found) if found.len() != size => false,
            Ok(found) if found.len() > MOST_BYTES => true,
            Ok(_) => std::fs::read(&path).is_ok_and(|bytes| blob_id(&bytes) == file.blob),
            Err(_) => false,
        };
        if !same {
            changed.push(file.path.clone());
        }
    }
    Ok(changed)
}

pub(crate) fn blob_id(bytes: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", bytes.len()));
    hash.update(bytes);
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Adds what is in these files and types: code that relies on a part relies on the whole.
fn with_items(index: &CodeIndex, roots: Vec<NodeId>) -> Result<Vec<NodeId>> {
    let mut all = Vec::new();
    let mut rest = roots;
    while let Some(id) = rest.pop() {
        let below = index.edges_of(&id, &[spore_model::EdgeKind::Contains])?;
        rest.extend(
            below
                .into_iter()
                .filter(|edge| edge.direction == Direction::Out)
                .map(|edge| edge.far.id),
        );
        all.push(id);
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// Tests first, by file: they are what to run.
fn entries(index: &CodeIndex, reached: &[ReachedCode]) -> Result<Vec<String>> {
    let mut tests: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut others = Vec::new();
    for reached in reached {
        match test_file(index, reached)? {
            Some(path) => {
                tests.entry(path).or_default().push(place_of(index, &reached.id)?);
            }
            None => others.push(reached.entry(index)?),
        }
    }
    let mut entries = Vec::new();
    if !tests.is_empty() {
        let count: usize = tests.values().map(Vec::len).sum();
        entries.push(format!("Tests to run, {count} in {}:", files(tests.len())));
        for (path, names) in tests {
            entries.push(format!("  {path}: {}", names.join(", ")));
        }
    }
    if !others.is_empty() {
        entries.push(format!("Reached, {} in all, the nearest first:", others.len()));
        entries.extend(others.into_iter().map(|entry| format!("  {entry}")));
    }
    Ok(entries)
}

/// The file of a test; nothing for what is none.
fn test_file(index: &CodeIndex, reached: &ReachedCode) -> Result<Option<String>> {
    let Some(node) = index.node(&reached.id)? else { return Ok(None) };
    let is_test = reached.kind == "test"
        || node.metadata.get("test").and_then(serde_json::Value::as_bool) == Some(true);
    let path = node.metadata.get("path").and_then(|path| path.as_str()).map(str::to_owned);
    Ok(path.filter(|_| is_test))
}

fn files(count: usize) -> String {
    crate::counted(u32::try_from(count).unwrap_or(u32::MAX), "file")
}
