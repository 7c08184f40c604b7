//! What the graph keeps about directories and files, brought up to date with what was seen.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use spore_investigate::{
    Counting, EntryKind, EntryPlace, EntryStaleness, InvestigationEntry, Tree, problems,
};
use spore_model::{Fault, Node, NodeClass, NodeId, Timestamp};
use spore_store::{Journal, Knowledge, NodeQuery};

use super::shared::{InvestigationRun, InvestigationSettings, named};
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
        let standing = EntryStaleness::of(&self.hashes(&known), &counting.hashes());
        let mut nodes: HashMap<EntryPlace, Node> = HashMap::new();
        let wanted: HashSet<&EntryPlace> = standing.stale.iter().chain(&standing.new).collect();
        for (kind, entry) in counting.entries() {
            let place = (kind, entry.path.clone());
            if wanted.contains(&place) {
                nodes.insert(place, self.node(kind, entry)?);
            }
        }
        let places = places(&standing, &known, &nodes);
        let mut nodes: Vec<Node> = nodes.into_values().collect();
        nodes.sort_unstable_by(|a, b| (&a.kind, &a.title).cmp(&(&b.kind, &b.title)));
        let kept = self.figures(&standing, &known)?;
        knowledge.succeed(&nodes, &places)?;
        Ok(kept)
    }

    /// What this run changes. Entries are written all at once: if one of this run's is there,
    /// it was killed after that, and what it changed was written down before.
    fn figures(
        &self,
        standing: &EntryStaleness,
        known: &BTreeMap<EntryPlace, Node>,
    ) -> Result<Kept> {
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
    fn known(&self, knowledge: &dyn Knowledge, scope: &str) -> Result<BTreeMap<EntryPlace, Node>> {
        let mut known = BTreeMap::new();
        for kind in EntryKind::ALL {
            let query =
                NodeQuery { kind: Some(kind.node_kind().to_owned()), ..NodeQuery::default() };
            for node in knowledge.list(&query)? {
                let is_ours = node.metadata["scope"] == scope && self.is_below(&node.title);
                if is_ours {
                    known.insert((kind, node.title.clone()), node);
                }
            }
        }
        Ok(known)
    }

    fn is_below(&self, path: &str) -> bool {
        let base = named(&self.settings.base);
        base == "." || Path::new(path).starts_with(&base)
    }

    /// The hashes that entries were written for; none counts where all are wanted anew.
    fn hashes(&self, known: &BTreeMap<EntryPlace, Node>) -> BTreeMap<EntryPlace, String> {
        let hash = |node: &Node| {
            let is_wanted_anew =
                self.settings.asked.fresh && node.run != Some(self.investigation.run);
            let hash = node.metadata["hash"].as_str().filter(|_| !is_wanted_anew);
            hash.unwrap_or_default().to_owned()
        };
        known.iter().map(|(place, node)| (place.clone(), hash(node))).collect()
    }

    /// The graph's node for an entry; a proposed one that breaks a rule is not written.
    fn node(&self, kind: EntryKind, entry: InvestigationEntry) -> Result<Node> {
        let mut metadata = serde_json::to_value(&entry).map_err(bug)?;
        if let Some(problem) = problems(kind, &metadata).into_iter().next() {
            let message = format!("the entry about {} breaks a rule: {problem}", entry.path);
            return Err(Error::new(Fault::Bug, message));
        }
        // It stands in the node's content.
        if let Some(fields) = metadata.as_object_mut() {
            fields.remove("summary");
        }
        let run = self.investigation.run.to_string();
        let id = NodeId::keyed(self.at, &[&run, kind.node_kind(), &entry.path, &entry.hash]);
        Ok(Node {
            content: entry.summary,
            agent: Some(AGENT.to_owned()),
            run: Some(self.investigation.run),
            parent: Some(place_node(kind, &entry.path)),
            confidence: entry.confidence,
            metadata,
            ..Node::new(id, NodeClass::Meta, kind.node_kind(), entry.path, self.at)
        })
    }
}

/// Who takes whose place: a new entry that of the stale one; for a place that is gone, the
/// nearest directory above it that has a new entry. There is one: its list of names changed.
fn places(
    standing: &EntryStaleness,
    known: &BTreeMap<EntryPlace, Node>,
    nodes: &HashMap<EntryPlace, Node>,
) -> Vec<(NodeId, NodeId)> {
    let mut places = Vec::new();
    for place in &standing.stale {
        if let (Some(old), Some(new)) = (known.get(place), nodes.get(place)) {
            places.push((old.id.clone(), new.id.clone()));
        }
    }
    for place in &standing.gone {
        let above = Path::new(&place.1).ancestors().skip(1).find_map(|above| {
            let above = (EntryKind::Directory, named(above));
            nodes.get(&above)
        });
        if let (Some(old), Some(new)) = (known.get(place), above) {
            places.push((old.id.clone(), new.id.clone()));
        }
    }
    places
}
