//! What models say about places, in the graph: written before the call that brings it is
//! answered, each with an edge to the file or directory it speaks of.
//!
//! Beside it stand the entries that counting made; neither takes the other's place. A summary is
//! found again by its key, so what was written once is not paid for twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use spore_investigate::EntryKind;
use spore_investigate::passes::{PassReport, text_digest};
use spore_model::{Edge, EdgeId, EdgeKind, Node, NodeClass, NodeId, RunId, Timestamp};
use spore_store::{Knowledge, NodeQuery};

use crate::Result;
use crate::base::stores::ProjectKnowledge;
use crate::investigate::shared::RaisedFlag;
use crate::knowledge::places::{FLAG, is_over, place_node, severity_rank, summary_kind};

/// A place: a file or a directory, from the target.
pub(crate) type SummaryPlace = (EntryKind, String);

pub(crate) const BRIEF: &str = "investigation_brief";

/// What raised a flag, and for which content.
pub(super) struct FlagOrigin<'a> {
    /// The directory that was looked at.
    pub(super) dir: &'a str,
    /// What a synthesis summed up; nothing in a look at a directory.
    pub(super) part: Option<&'a str>,
    /// Of a flagged file.
    pub(super) hash: Option<String>,
}

/// What is known of places, as this run sees it.
pub(crate) struct Summaries {
    knowledge: ProjectKnowledge,
    run: RunId,
    /// Where the target is, from the project's root; `.` is the root itself.
    base: String,
    scope: String,
    known: Mutex<BTreeMap<SummaryPlace, Node>>,
    /// What was flagged and stands.
    flags: Mutex<Vec<Node>>,
}

impl Summaries {
    /// Reads what is known of the places below the target.
    pub(crate) fn open(
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
                    && node.metadata["cleared"] != true
                    && let Some(below) =
                        node.metadata["place"].as_str().and_then(|place| below(&base, place))
                {
                    known.insert((kind, below), node);
                }
            }
        }
        let query = NodeQuery { kind: Some(FLAG.to_owned()), ..NodeQuery::default() };
        let is_ours = |node: &Node| {
            let place = node.metadata["path"].as_str().and_then(|place| below(&base, place));
            node.metadata["scope"] == scope.as_str() && place.is_some() && !is_over(node)
        };
        let flags: Vec<Node> = knowledge.list(&query)?.into_iter().filter(is_ours).collect();
        let (known, flags) = (Mutex::new(known), Mutex::new(flags));
        Ok(Self { knowledge, run, base, scope, known, flags })
    }

    fn raised(&self) -> MutexGuard<'_, Vec<Node>> {
        self.flags.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was flagged and stands, each once, worst first, by places from the target.
    pub(crate) fn flags(&self) -> Vec<RaisedFlag> {
        let mut flags: Vec<RaisedFlag> = Vec::new();
        for node in self.raised().iter() {
            let text = |name: &str| node.metadata[name].as_str().unwrap_or_default().to_owned();
            let Some(path) = below(&self.base, &text("path")) else { continue };
            let flag = RaisedFlag { severity: text("severity"), path, finding: text("finding") };
            if !flags.contains(&flag) {
                flags.push(flag);
            }
        }
        flags.sort_by_key(|flag| (severity_rank(&flag.severity), flag.path.clone()));
        flags
    }

    /// Marks flags of earlier looks at a directory as over: it was looked at again. What was flagged
    /// in the files `unread` stands: their entries hold, so they were not read again.
    pub(super) fn settle_flags(&self, dir: &str, unread: &[String], at: Timestamp) -> Result<()> {
        let dir = self.title(dir);
        let unread: Vec<String> = unread.iter().map(|path| self.title(path)).collect();
        self.end_flags(at, |node| {
            let is_unread = || unread.iter().any(|path| node.metadata["path"] == path.as_str());
            node.metadata["part"].is_null()
                && node.metadata["dir"] == dir.as_str()
                && node.run != Some(self.run)
                && !is_unread()
        })
    }

    /// Marks flags of earlier syntheses as over, but for those of the parts that were `known` and
    /// so not summed up again.
    pub(super) fn settle_synthesis(&self, known: &BTreeSet<String>, at: Timestamp) -> Result<()> {
        self.end_flags(at, |node| {
            let part = node.metadata["part"].as_str();
            node.metadata["dir"] == self.base.as_str()
                && node.run != Some(self.run)
                && part.is_some_and(|part| !known.contains(part))
        })
    }

    /// What was last said of the whole.
    pub(crate) fn last_brief(&self) -> Result<Option<PassReport>> {
        Ok(self.brief_node()?.as_ref().map(report_of))
    }

    /// What a model last said of the whole.
    pub(super) fn brief_of_model(&self) -> Result<Option<PassReport>> {
        let node = self.brief_node()?.filter(|node| node.metadata["mechanical"] != true);
        Ok(node.as_ref().map(report_of))
    }

    fn brief_node(&self) -> Result<Option<Node>> {
        let query = NodeQuery { kind: Some(BRIEF.to_owned()), ..NodeQuery::default() };
        let is_ours = |node: &Node| {
            node.title == self.base
                && node.metadata["scope"] == self.scope.as_str()
                && node.metadata["cleared"] != true
        };
        Ok(self.knowledge.list(&query)?.into_iter().find(is_ours))
    }

    /// Every place of which something is said, with its node.
    pub(crate) fn all(&self) -> Vec<(SummaryPlace, Node)> {
        self.known().iter().map(|(place, node)| (place.clone(), node.clone())).collect()
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<SummaryPlace, Node>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is said about a place, whatever it was written for.
    pub(crate) fn of(&self, kind: EntryKind, path: &str) -> Option<Node> {
        self.known().get(&(kind, path.to_owned())).cloned()
    }

    /// What is said about a place and still holds.
    pub(super) fn holding(&self, kind: EntryKind, path: &str, key: &str) -> Option<Node> {
        self.of(kind, path).filter(|node| node.metadata["key"] == key)
    }

    /// The places of which something is known, in order.
    pub(crate) fn places(&self) -> Vec<SummaryPlace> {
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
        let mut id = NodeId::keyed(at, &words);
        let mut known = self.known();
        let place = (kind, path.to_owned());
        let old = known.get(&place).map(|old| old.id.clone());
        if let Some(old) = old.as_ref().filter(|old| **old != id)
            && self.knowledge.node(&id)?.is_some()
        {
            // A model that takes back what it wrote last says again what it wrote before that, whose
            // node has given way already.
            id = NodeId::keyed(at, &[&words[..], &[old.as_str()]].concat());
        }
        let node = Node {
            content: summary.to_owned(),
            agent: metadata["writer"].as_str().map(str::to_owned),
            run: Some(self.run),
            parent: Some(place_node(kind, &title)),
            confidence,
            metadata,
            ..Node::new(
                id,
                NodeClass::Meta,
                summary_kind(kind),
                // The counted entry has the bare path for its title.
                format!("About {title}"),
                at,
            )
        };
        let edge =
            self.edge(&node.id, EdgeKind::Summarizes, &place_node(kind, &title), confidence, at);
        match old.filter(|old| *old != node.id) {
            Some(old) => {
                self.knowledge.supersede_node(&old, &node, &[edge])?;
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
        (kind, path): (EntryKind, &str),
        flag: &Value,
        origin: FlagOrigin<'_>,
        at: Timestamp,
    ) -> Result<()> {
        let finding = flag["finding"].as_str().unwrap_or_default();
        let severity = flag["severity"].as_str().unwrap_or("info");
        let run = self.run.to_string();
        let place = self.title(path);
        let id = NodeId::keyed(at, &[&run, FLAG, &place, severity, finding]);
        let edge = self.edge(&id, EdgeKind::Flags, &place_node(kind, &place), None, at);
        let node = Node {
            content: format!("{severity}: {finding}\n\n{place}"),
            agent: Some("investigate".to_owned()),
            run: Some(self.run),
            metadata: json!({
                "path": place, "severity": severity, "scope": self.scope, "finding": finding,
                "dir": self.title(origin.dir), "part": origin.part, "hash": origin.hash,
            }),
            ..Node::new(id, NodeClass::Meta, FLAG, spore_plain::line_within(finding, 120), at)
        };
        self.knowledge.add(std::slice::from_ref(&node), &[edge])?;
        self.raised().push(node);
        Ok(())
    }

    /// Keeps what is said of the whole, in the place of what was said before.
    pub(super) fn brief(
        &self,
        PassReport { brief, detailed }: &PassReport,
        is_mechanical: bool,
        at: Timestamp,
    ) -> Result<()> {
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
            metadata: json!({
                "path": base, "scope": self.scope, "mechanical": is_mechanical,
            }),
            ..Node::new(id, NodeClass::Meta, BRIEF, base, at)
        };
        match self.brief_node()?.filter(|old| old.id != node.id) {
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

    /// Marks what no longer holds and takes the mark from what holds again; flags of places that are
    /// gone are over.
    pub(super) fn mark_stale(
        &self,
        holds: impl Fn(EntryKind, &str, &Node) -> bool,
        is_there: impl Fn(&str) -> bool,
        at: Timestamp,
    ) -> Result<u64> {
        let mut stale = 0;
        for ((kind, path), node) in self.known().iter_mut() {
            let is_stale = !holds(*kind, path, node);
            stale += u64::from(is_stale);
            if is_stale != node.metadata["stale"].as_bool().unwrap_or(false) {
                self.knowledge.update_metadata(&node.id, &json!({ "stale": is_stale }), at)?;
                node.metadata["stale"] = json!(is_stale);
            }
        }
        self.end_flags(at, |node| {
            let place = |name: &str| below(&self.base, node.metadata[name].as_str()?);
            [place("path"), place("dir")].iter().flatten().any(|path| !is_there(path))
        })?;
        Ok(stale)
    }

    /// Marks flags as over.
    fn end_flags(&self, at: Timestamp, is_over: impl Fn(&Node) -> bool) -> Result<()> {
        let mut flags = self.raised();
        for node in flags.iter().filter(|node| is_over(node)) {
            self.knowledge.update_metadata(&node.id, &json!({ "stale": true }), at)?;
        }
        flags.retain(|node| !is_over(node));
        Ok(())
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

    /// A place from the project's root. Keys are made of it, so what is said of a place is the same
    /// whether the whole is looked at or a part.
    pub(super) fn title(&self, path: &str) -> String {
        title(&self.base, path)
    }
}

fn report_of(node: &Node) -> PassReport {
    let (brief, detailed) = node.content.split_once("\n\n").unwrap_or((&node.content, ""));
    PassReport { brief: brief.to_owned(), detailed: detailed.to_owned() }
}

fn title(base: &str, path: &str) -> String {
    match (base, path) {
        (base, ".") => base.to_owned(),
        (".", path) => path.to_owned(),
        (base, path) => format!("{base}/{path}"),
    }
}

/// A place from the target, where it is below it.
pub(crate) fn below(base: &str, title: &str) -> Option<String> {
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
        assert_eq!(title("src", "a.rs"), title(".", "src/a.rs"));
        assert_eq!(title("src", "."), title(".", "src"));
    }
}
