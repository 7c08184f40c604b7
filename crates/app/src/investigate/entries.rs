//! What the graph keeps about directories and files, brought up to date with what was seen.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spore_investigate::{
    CountedEntry, Counting, EntryKind, EntryPlace, EntryStaleness, Tree, problems,
};
use spore_model::{Fault, Node, NodeClass, NodeId, Timestamp};
use spore_store::{Journal, Knowledge, NodeQuery};

use super::shared::{InvestigationRun, InvestigationSettings, KeptNames, named};
use crate::base::error::bug;
use crate::knowledge::places::place_node;
use crate::{Error, Result};

/// How many entries there are now of each standing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Kept {
    /// Still hold, and were left alone.
    pub fresh: u64,
    /// Written anew, because their places changed.
    pub stale: u64,
    pub new: u64,
    /// Given way to what is above, because their places are gone.
    pub gone: u64,
}

/// Where a run's figures are kept until its step is recorded.
const FIGURES: &str = "investigation.entries";
/// The author of entries that were written by counting, without a model.
const AGENT: &str = "scan";
/// The kind of the graph's node that holds a counted entry. The place itself has a node of its
/// own in the code index; this is what was counted there.
const KIND: &str = "directory_entry";

/// The live entries, and the hashes that they were written for: their own directories' and
/// those of the files right in these.
#[derive(Default)]
struct KnownEntries {
    nodes: BTreeMap<String, Node>,
    hashes: BTreeMap<EntryPlace, String>,
}

pub(super) struct Keeping<'a> {
    pub(super) investigation: &'a InvestigationRun<'a>,
    pub(super) settings: &'a InvestigationSettings,
    pub(super) tree: &'a Tree,
    pub(super) at: Timestamp,
}

impl Keeping<'_> {
    /// Writes what is missing or stale, and nothing else.
    pub(super) fn bring_up_to_date(&self) -> Result<Kept> {
        let knowledge = self.investigation.workspace.knowledge(self.investigation.config)?;
        let scope = self.settings.asked.scan.scope().word();
        let known = self.known(&knowledge, &scope)?;
        let counting = Counting::new(self.tree, &self.settings.base, scope, self.at);
        let names = KeptNames::new(self.investigation.around);
        let hashes = counting.hashes().into_iter();
        let hashes = hashes.map(|((kind, path), hash)| ((kind, names.path(&path)), hash)).collect();
        let standing = EntryStaleness::of(&known.hashes, &hashes);
        let wanted: HashSet<&str> = standing
            .stale
            .iter()
            .chain(&standing.new)
            .filter(|(kind, _)| *kind == EntryKind::Directory)
            .map(|(_, path)| path.as_str())
            .collect();
        let entries = counting.entries(|path| wanted.contains(names.path(path).as_str()));
        let nodes: Result<Vec<Node>> =
            entries.into_iter().map(|entry| self.node(kept_entry(entry, &names))).collect();
        let mut nodes = nodes?;
        nodes.sort_unstable_by(|a, b| a.title.cmp(&b.title));
        let places = places(&standing, &known.nodes, &nodes);
        let kept = self.figures(&standing, &known.nodes)?;
        knowledge.succeed(&nodes, &places)?;
        Ok(kept)
    }

    /// What this run changes. Entries are written all at once: if one of this run's is there,
    /// it was killed after that, and what it changed was written down before.
    fn figures(&self, standing: &EntryStaleness, known: &BTreeMap<String, Node>) -> Result<Kept> {
        let (journal, run) = (&self.investigation.journal, self.investigation.run);
        let key = run.to_string();
        if known.values().any(|node| node.run == Some(run))
            && let Some(kept) = journal.cached(FIGURES, &key)?
        {
            return serde_json::from_value(kept).map_err(bug);
        }
        let kept = Kept {
            fresh: standing.fresh.len() as u64,
            stale: standing.stale.len() as u64,
            new: standing.new.len() as u64,
            gone: standing.gone.len() as u64,
        };
        journal.cache(FIGURES, &key, &serde_json::to_value(kept).map_err(bug)?, self.at)?;
        Ok(kept)
    }

    /// The live entries below the target that were written in the same scope.
    fn known(&self, knowledge: &dyn Knowledge, scope: &str) -> Result<KnownEntries> {
        let query = NodeQuery { kind: Some(KIND.to_owned()), ..NodeQuery::default() };
        let mut known = KnownEntries::default();
        for node in knowledge.list(&query)? {
            if node.metadata["scope"] != scope || !self.is_below(&node.title) {
                continue;
            }
            known.hashes.extend(self.hashes(&node));
            known.nodes.insert(node.title.clone(), node);
        }
        Ok(known)
    }

    fn is_below(&self, path: &str) -> bool {
        let base = named(&self.settings.base);
        base == "." || Path::new(path).starts_with(&base)
    }

    /// The hashes that an entry was written for; none counts where all are wanted anew.
    fn hashes(&self, node: &Node) -> Vec<(EntryPlace, String)> {
        let is_wanted_anew = self.settings.asked.fresh && node.run != Some(self.investigation.run);
        let hash =
            |hash: &Value| hash.as_str().filter(|_| !is_wanted_anew).unwrap_or_default().to_owned();
        let place = |name: &str| match node.title.as_str() {
            "." => name.to_owned(),
            dir => format!("{dir}/{name}"),
        };
        let files = node.metadata["files"].as_object().into_iter().flatten();
        let files = files.map(|(name, of)| ((EntryKind::File, place(name)), hash(of)));
        let own = ((EntryKind::Directory, node.title.clone()), hash(&node.metadata["hash"]));
        files.chain([own]).collect()
    }

    /// The graph's node for an entry; a proposed one that breaks a rule is not written.
    fn node(&self, CountedEntry { entry, files }: CountedEntry) -> Result<Node> {
        let mut metadata = serde_json::to_value(&entry).map_err(bug)?;
        if let Some(problem) = problems(EntryKind::Directory, &metadata).into_iter().next() {
            let message = format!("the entry about {} breaks a rule: {problem}", entry.path);
            return Err(Error::new(Fault::Bug, message));
        }
        // It stands in the node's content.
        if let Some(fields) = metadata.as_object_mut() {
            fields.remove("summary");
            fields.insert("files".to_owned(), json!(files));
        }
        let run = self.investigation.run.to_string();
        let id = NodeId::keyed(self.at, &[&run, KIND, &entry.path, &entry.hash]);
        Ok(Node {
            content: entry.summary,
            agent: Some(AGENT.to_owned()),
            run: Some(self.investigation.run),
            parent: Some(place_node(EntryKind::Directory, &entry.path)),
            confidence: entry.confidence,
            metadata,
            ..Node::new(id, NodeClass::Meta, KIND, entry.path, self.at)
        })
    }
}

/// An entry with the names of its places as they are kept.
fn kept_entry(CountedEntry { mut entry, files }: CountedEntry, names: &KeptNames) -> CountedEntry {
    entry.path = names.path(&entry.path);
    entry.relative_path = names.path(&entry.relative_path);
    let files = files.into_iter().map(|(name, hash)| (names.path(&name), hash)).collect();
    CountedEntry { entry, files }
}

/// Who takes whose place: a new entry that of the stale one; for a directory that is gone, the
/// nearest one above it that has a new entry. There is one: its list of names changed.
fn places(
    standing: &EntryStaleness,
    known: &BTreeMap<String, Node>,
    nodes: &[Node],
) -> Vec<(NodeId, NodeId)> {
    let written: HashMap<&str, &Node> =
        nodes.iter().map(|node| (node.title.as_str(), node)).collect();
    let dirs = |list: &'_ [EntryPlace]| -> Vec<String> {
        let dirs = list.iter().filter(|(kind, _)| *kind == EntryKind::Directory);
        dirs.map(|(_, path)| path.clone()).collect()
    };
    let mut places = Vec::new();
    for path in dirs(&standing.stale) {
        if let (Some(old), Some(new)) = (known.get(&path), written.get(path.as_str())) {
            places.push((old.id.clone(), new.id.clone()));
        }
    }
    for path in dirs(&standing.gone) {
        let above = Path::new(&path).ancestors().skip(1);
        let above = above.map(named).find_map(|above| written.get(above.as_str()));
        if let (Some(old), Some(new)) = (known.get(&path), above) {
            places.push((old.id.clone(), new.id.clone()));
        }
    }
    places
}
