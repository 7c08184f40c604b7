//! What models say about places, in the graph: written before the call that brings it is
//! answered, each with an edge to the file or directory it speaks of.
//!
//! Beside it stand the entries that counting made; neither takes the other's place. A summary is
//! found again by its key, so what was written once is not paid for twice.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use spore_investigate::EntryKind;
use spore_investigate::passes::text_digest;
use spore_model::{Edge, EdgeId, EdgeKind, Node, NodeClass, NodeId, RunId, Timestamp};
use spore_store::{Knowledge, NodeQuery};

use crate::Result;
use crate::base::stores::ProjectKnowledge;
use crate::investigate::entries::place_node;

/// A place: a file or a directory, from the target.
pub(crate) type SummaryPlace = (EntryKind, String);

/// The kind of the node that holds what is said about a place.
pub(crate) const fn summary_kind(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Directory => "directory_summary",
        EntryKind::File => "file_summary",
    }
}

const FLAG: &str = "flag";
const BRIEF: &str = "investigation_brief";

/// What is known of places, as this run sees it.
pub(super) struct Summaries {
    knowledge: ProjectKnowledge,
    run: RunId,
    /// Where the target is, from the project's root; `.` is the root itself.
    base: String,
    scope: String,
    known: Mutex<BTreeMap<SummaryPlace, Node>>,
}

impl Summaries {
    /// Reads what is known of the places below the target.
    pub(super) fn open(
        knowledge: ProjectKnowledge,
        run: RunId,
        base: String,
        scope: String,
    ) -> Result<Self> {
        let mut known = BTreeMap::new();
        for kind in EntryKind::ALL {
            let query =
                NodeQuery { kind: Some(summary_kind(kind).to_owned()), ..NodeQuery::default() };
            for node in knowledge.list(&query)? {
                if node.metadata["scope"] == scope.as_str()
                    && let Some(below) =
                        node.metadata["place"].as_str().and_then(|place| below(&base, place))
                {
                    known.insert((kind, below), node);
                }
            }
        }
        Ok(Self { knowledge, run, base, scope, known: Mutex::new(known) })
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<SummaryPlace, Node>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is said about a place, whatever it was written for.
    pub(super) fn of(&self, kind: EntryKind, path: &str) -> Option<Node> {
        self.known().get(&(kind, path.to_owned())).cloned()
    }

    /// What is said about a place and still holds.
    pub(super) fn holding(&self, kind: EntryKind, path: &str, key: &str) -> Option<Node> {
        self.of(kind, path).filter(|node| node.metadata["key"] == key)
    }

    /// The places of which something is known, in order.
    pub(super) fn places(&self) -> Vec<SummaryPlace> {
        self.known().keys().cloned().collect()
    }

    /// Keeps what is said about a place. When this returns, it is on disk.
    pub(super) fn keep(
        &self,
        kind: EntryKind,
        path: &str,
        summary: &str,
        mut metadata: Value,
        at: Timestamp,
    ) -> Result<Node> {
        metadata["scope"] = json!(self.scope);
        let title = self.title(path);
        metadata["place"] = json!(title);
        let confidence = metadata["confidence"].as_f64();
        let (run, key) = (self.run.to_string(), metadata.to_string());
        let words = [run.as_str(), summary_kind(kind), title.as_str(), &key, summary];
        let node = Node {
            content: summary.to_owned(),
            agent: metadata["writer"].as_str().map(str::to_owned),
            run: Some(self.run),
            parent: Some(place_node(kind, &title)),
            confidence,
            metadata,
            ..Node::new(
                NodeId::keyed(at, &words),
                NodeClass::Meta,
                summary_kind(kind),
                // The counted entry has the bare path for its title.
                format!("About {title}"),
                at,
            )
        };
        let edge =
            self.edge(&node.id, EdgeKind::Summarizes, &place_node(kind, &title), confidence, at);
        let mut known = self.known();
        let place = (kind, path.to_owned());
        match known.get(&place).filter(|old| old.id != node.id) {
            Some(old) => {
                self.knowledge.supersede_node(&old.id, &node, &[edge])?;
            }
            None => {
                self.knowledge.add(std::slice::from_ref(&node), &[edge])?;
            }
        }
        known.insert(place, node.clone());
        Ok(node)
    }

    /// Keeps a flag, once however often it is raised.
    pub(super) fn flag(
        &self,
        path: Option<(EntryKind, &str)>,
        flag: &Value,
        at: Timestamp,
    ) -> Result<()> {
        let finding = flag["finding"].as_str().unwrap_or_default();
        let severity = flag["severity"].as_str().unwrap_or("info");
        let run = self.run.to_string();
        let place = path.map_or_else(|| self.base.clone(), |(_, path)| self.title(path));
        let id = NodeId::keyed(at, &[&run, FLAG, &place, severity, finding]);
        let kind = path.map_or(EntryKind::Directory, |(kind, _)| kind);
        let edge = self.edge(&id, EdgeKind::Flags, &place_node(kind, &place), None, at);
        let node = Node {
            content: format!("{severity}: {finding}\n\n{place}"),
            agent: Some("investigate".to_owned()),
            run: Some(self.run),
            metadata: json!({ "path": place, "severity": severity, "scope": self.scope }),
            ..Node::new(id, NodeClass::Meta, FLAG, spore_plain::line_within(finding, 120), at)
        };
        self.knowledge.add(&[node], &[edge])?;
        Ok(())
    }

    /// Keeps what is said of the whole, in the place of what was said before.
    pub(super) fn brief(&self, brief: &str, detailed: &str, at: Timestamp) -> Result<()> {
        let (run, base) = (self.run.to_string(), self.base.clone());
        let id =
            NodeId::keyed(at, &[&run, BRIEF, &base, &text_digest(brief), &text_digest(detailed)]);
        let target = place_node(EntryKind::Directory, &base);
        let edge = self.edge(&id, EdgeKind::Summarizes, &target, None, at);
        let node = Node {
            content: format!("{brief}\n\n{detailed}"),
            agent: Some("investigate".to_owned()),
            run: Some(self.run),
            parent: Some(target),
            metadata: json!({ "path": base, "scope": self.scope }),
            ..Node::new(id, NodeClass::Meta, BRIEF, base, at)
        };
        let query = NodeQuery { kind: Some(BRIEF.to_owned()), ..NodeQuery::default() };
        let before =
            self.knowledge.list(&query)?.into_iter().find(|old| {
                old.title == node.title && old.metadata["scope"] == node.metadata["scope"]
            });
        match before.filter(|old| old.id != node.id) {
            Some(old) if old.content == node.content => {}
            Some(old) => {
                self.knowledge.supersede_node(&old.id, &node, &[edge])?;
            }
            None => {
                self.knowledge.add(&[node], &[edge])?;
            }
        }
        Ok(())
    }

    /// Marks what no longer holds, and takes the mark from what holds again.
    pub(super) fn mark_stale(
        &self,
        holds: impl Fn(EntryKind, &str, &Node) -> bool,
        at: Timestamp,
    ) -> Result<u64> {
        let mut stale = 0;
        for ((kind, path), node) in self.known().iter() {
            let is_stale = !holds(*kind, path, node);
            stale += u64::from(is_stale);
            if is_stale != node.metadata["stale"].as_bool().unwrap_or(false) {
                self.knowledge.update_metadata(&node.id, &json!({ "stale": is_stale }), at)?;
            }
        }
        Ok(stale)
    }

    fn edge(
        &self,
        from: &NodeId,
        kind: EdgeKind,
        to: &NodeId,
        confidence: Option<f64>,
        at: Timestamp,
    ) -> Edge {
        let id = EdgeId::keyed(at, &[from.as_str(), kind.as_str(), to.as_str()]);
        Edge {
            agent: Some("investigate".to_owned()),
            run: Some(self.run),
            confidence,
            ..Edge::new(id, from.clone(), to.clone(), kind, at)
        }
    }

    /// A place from the project's root.
    fn title(&self, path: &str) -> String {
        match (self.base.as_str(), path) {
            (base, ".") => base.to_owned(),
            (".", path) => path.to_owned(),
            (base, path) => format!("{base}/{path}"),
        }
    }
}

/// A place from the target, where it is below it.
fn below(base: &str, title: &str) -> Option<String> {
    if base == title {
        return Some(".".to_owned());
    }
    if base == "." {
        return Some(title.to_owned());
    }
    title.strip_prefix(base)?.strip_prefix('/').map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_known_from_the_target_and_from_the_project() {
        assert_eq!(below(".", "src/a.rs").as_deref(), Some("src/a.rs"));
        assert_eq!(below("src", "src").as_deref(), Some("."));
        assert_eq!(below("src", "src/a.rs").as_deref(), Some("a.rs"));
        assert_eq!(below("src", "srcs/a.rs"), None);
    }
}
