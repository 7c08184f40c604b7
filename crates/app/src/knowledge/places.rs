//! What investigations said of files and directories, found again by the places they speak of.
//!
//! A summary or a flag has an edge to the node that the code index gives its place, whether that is
//! indexed or not. What is said of a file is told only where the file is as it was then; of a
//! directory, unless it is known to have changed. What was flagged is told also of a place that no
//! model has described.

use std::collections::{BTreeMap, HashSet};

use spore_context::retrieve::ReadFiles;
use spore_context::{PlaceSummaries, PlaceSummary};
use spore_investigate::{EntryKind, Hash};
use spore_model::graph::Direction;
use spore_model::{EdgeKind, Node, NodeId};
use spore_store::{Knowledge, KnowledgeError, NodeQuery};

/// Summaries that are looked through for the words of a task, of each kind.
const LOOKED_THROUGH: u32 = 200;

/// What stands for the description of a place that was flagged and not described.
const UNDESCRIBED: &str = "Not described.";

/// The kind of the node that holds what a model said about a place.
pub(crate) const fn summary_kind(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Directory => "directory_summary",
        EntryKind::File => "file_summary",
    }
}

/// The kind of a node that flags something.
pub(crate) const FLAG: &str = "flag";

/// The id that the code index gives a file or directory, whether it is indexed or not: what is
/// said of it stands below it and points at it, so a question about a place finds it.
pub(crate) fn place_node(kind: EntryKind, path: &str) -> NodeId {
    let path = if path == "." { "" } else { path };
    crate::indexing::node_key(kind.as_str(), path, "", 0).id()
}

/// Whether a flag or a summary is over: known to be old, or cleared away.
pub(crate) fn is_over(node: &Node) -> bool {
    node.metadata["stale"] == true || node.metadata["cleared"] == true
}

/// How bad a flag is, the worst first.
pub(crate) fn severity_rank(severity: &str) -> u8 {
    match severity {
        "critical" => 0,
        "concern" => 1,
        _ => 2,
    }
}

/// What is known of the places of a project, seen from one tree of it.
pub(crate) struct ProjectPlaces<'a> {
    pub(crate) knowledge: &'a dyn Knowledge,
    /// Reads files of the tree.
    pub(crate) read: &'a ReadFiles<'a>,
}

impl PlaceSummaries for ProjectPlaces<'_> {
    fn matching(&self, task: &str) -> Result<Vec<PlaceSummary>, KnowledgeError> {
        let mut found = Vec::new();
        for kind in EntryKind::ALL {
            let query =
                NodeQuery { kind: Some(summary_kind(kind).to_owned()), ..NodeQuery::default() };
            let nodes = self.knowledge.search(task, LOOKED_THROUGH, &query)?;
            let counts = |node: &Node| node.metadata["cleared"] != true;
            let nodes = nodes.into_iter().map(|(node, _)| node).filter(counts);
            found.extend(nodes.filter_map(|node| summary(kind, &node)));
        }
        found.sort_by(|a, b| (&a.path, &a.id).cmp(&(&b.path, &b.id)));
        Ok(found)
    }

    fn about(
        &self,
        files: &[&str],
        directories: &[&str],
    ) -> Result<Vec<PlaceSummary>, KnowledgeError> {
        let place =
            |kind: EntryKind| move |path: &&str| (place_node(kind, path), kind, (*path).to_owned());
        let places: Vec<(NodeId, EntryKind, String)> = files
            .iter()
            .map(place(EntryKind::File))
            .chain(directories.iter().map(place(EntryKind::Directory)))
            .collect();
        let said = self.said_of(&places.iter().map(|(id, ..)| id.clone()).collect::<Vec<_>>())?;
        let mut told: Vec<PlaceSummary> = Vec::new();
        for (id, kind, path) in &places {
            let nodes = said.get(id).map(Vec::as_slice).unwrap_or_default();
            if nodes.is_empty() {
                continue;
            }
            let hash = self.hash_of(*kind, path);
            let of_kind = |node: &&Node| node.kind == summary_kind(*kind);
            // Of several, written for several scopes, the newest.
            let last = nodes.iter().filter(of_kind).max_by_key(|node| node.id.clone());
            let holds = |node: &&Node| !is_over(node) && is_about(node, hash.as_deref());
            let described = last.filter(holds).and_then(|node| summary(*kind, node));
            // A flag says for which content of a file it was raised. Where it does not, it stands and
            // falls with the description of its place; a directory may have none.
            let stands = |node: &Node| {
                let is_bare = *kind == EntryKind::Directory && last.is_none();
                described.is_some() || is_bare || node.metadata["hash"].is_string()
            };
            let is_raised = |node: &&Node| node.kind == FLAG && holds(node) && stands(node);
            let mut flags: Vec<&Node> = nodes.iter().filter(is_raised).collect();
            let severity =
                |node: &Node| node.metadata["severity"].as_str().unwrap_or("").to_owned();
            flags.sort_by_key(|node| (severity_rank(&severity(node)), node.title.clone()));
            flags.dedup_by_key(|node| (severity(node), node.title.clone()));
            let undescribed = flags.first().map(|flag| PlaceSummary {
                id: flag.id.clone(),
                path: path.clone(),
                is_directory: *kind == EntryKind::Directory,
                text: UNDESCRIBED.to_owned(),
                confidence: None,
                flags: Vec::new(),
            });
            let Some(mut summary) = described.or(undescribed) else { continue };
            summary.flags =
                flags.iter().map(|node| format!("{}: {}", severity(node), node.title)).collect();
            told.push(summary);
        }
        Ok(told)
    }
}

impl ProjectPlaces<'_> {
    /// The live nodes that speak of each of these places.
    fn said_of(&self, places: &[NodeId]) -> Result<BTreeMap<NodeId, Vec<Node>>, KnowledgeError> {
        let links = self.knowledge.links(places)?;
        let speaks = links.into_iter().filter(|link| {
            let is_about = matches!(link.kind, EdgeKind::Summarizes | EdgeKind::Flags);
            is_about && !link.superseded && link.direction == Direction::In
        });
        let pairs: HashSet<(NodeId, NodeId)> = speaks.map(|link| (link.near, link.far)).collect();
        let mut ids: Vec<NodeId> = pairs.iter().map(|(_, far)| far.clone()).collect();
        ids.sort();
        ids.dedup();
        let nodes = self.knowledge.nodes(&ids)?;
        let mut said: BTreeMap<NodeId, Vec<Node>> = BTreeMap::new();
        for node in nodes.into_iter().filter(|node| node.superseded_by.is_none()) {
            for (near, _) in pairs.iter().filter(|(_, far)| *far == node.id) {
                said.entry(near.clone()).or_default().push(node.clone());
            }
        }
        Ok(said)
    }

    /// The hash of a file as it is; nothing for a directory.
    fn hash_of(&self, kind: EntryKind, path: &str) -> Option<String> {
        let text = match kind {
            EntryKind::File => (self.read)(&[path]).pop().flatten()?,
            EntryKind::Directory => return None,
        };
        Some(Hash::of_content(text.as_bytes()).to_string())
    }
}

/// Whether what is said of a place is about what is there now. What does not say for which content
/// it was written, as a directory's entry, says of itself when it is known to be old.
fn is_about(node: &Node, hash: Option<&str>) -> bool {
    match node.metadata["hash"].as_str() {
        Some(of) if node.kind != summary_kind(EntryKind::Directory) => hash == Some(of),
        _ => true,
    }
}

fn summary(kind: EntryKind, node: &Node) -> Option<PlaceSummary> {
    Some(PlaceSummary {
        id: node.id.clone(),
        path: node.metadata["place"].as_str()?.to_owned(),
        is_directory: kind == EntryKind::Directory,
        text: node.content.clone(),
        confidence: node.confidence,
        flags: Vec::new(),
    })
}
