//! Adding to the graph by hand.
//!
//! Nothing is overwritten: a new version of a node takes the place of the old one, and a new
//! edge that of the edge it corrects.

use serde::Serialize;
use serde_json::Value;
use spore_model::graph::NodeName;
use spore_model::{Edge, EdgeId, EdgeKind, Fault, Node, NodeClass, NodeId};
use spore_store::Knowledge;

use super::typed::{confidence, edge_kind};
use super::{Graph, name_of};
use crate::{Error, Result};

/// How many bytes a node or an edge may say.
pub const CONTENT_CAP: usize = 1 << 20;
const TITLE_CAP: usize = 200;

/// A new meta node, as typed.
#[derive(Clone, Debug)]
pub struct MetaAsked {
    pub kind: String,
    pub title: String,
    pub content: String,
    pub agent: String,
    pub connects_to: Vec<String>,
    pub edge_type: String,
}

/// A new version of a meta node, as typed.
#[derive(Clone, Debug)]
pub struct MetaChange {
    pub content: Option<String>,
    pub title: Option<String>,
    pub agent: String,
    pub add_connects: Vec<String>,
    pub edge_type: String,
}

/// A new edge, as typed.
#[derive(Clone, Debug)]
pub struct EdgeAsked {
    pub from: String,
    pub to: String,
    pub kind: String,
    pub content: Option<String>,
    pub reason: Option<String>,
    pub agent: String,
    pub confidence: f64,
    pub supersedes: Option<String>,
    pub metadata: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CreatedMeta {
    pub id: NodeId,
    pub kind: String,
    pub title: String,
    pub edges: Vec<NewEdge>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct UpdatedMeta {
    pub new_id: NodeId,
    pub old_id: NodeId,
    pub title: String,
    /// Edges that the new node took over.
    pub copied_edges: Vec<EdgeId>,
    pub new_edges: Vec<NewEdge>,
}

/// An edge from a node that was just made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NewEdge {
    pub id: EdgeId,
    pub kind: EdgeKind,
    pub target: NodeId,
    pub target_title: String,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CreatedEdge {
    pub id: EdgeId,
    pub source: NodeName,
    pub target: NodeName,
    pub kind: EdgeKind,
    pub agent: String,
    pub confidence: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<EdgeId>,
}

impl Graph<'_> {
    /// Adds a summary, a contradiction or a status.
    pub fn create_meta(&self, asked: &MetaAsked) -> Result<CreatedMeta> {
        let kind = edge_kind(&asked.edge_type)?;
        let targets = self.find_nodes(&asked.connects_to)?;
        let now = self.around.clock.now();
        let node = Node {
            content: bounded("content", &asked.content)?,
            agent: Some(agent(&asked.agent)?),
            ..Node::new(
                self.around.ids.node(),
                NodeClass::Meta,
                asked.kind.clone(),
                title(&asked.title)?,
                now,
            )
        };
        let edges = self.edges_from(&node, kind, &targets);
        self.knowledge.add(std::slice::from_ref(&node), &edges)?;
        Ok(CreatedMeta {
            edges: new_edges(&edges, &targets),
            id: node.id,
            kind: node.kind,
            title: node.title,
        })
    }

    /// Puts a new version in the place of a meta node.
    pub fn update_meta(&self, typed: &str, asked: &MetaChange) -> Result<UpdatedMeta> {
        if asked.content.is_none() && asked.title.is_none() && asked.add_connects.is_empty() {
            return Err(Error::new(Fault::Usage, "nothing is to be changed")
                .hint("give --content, --title or --add-connects"));
        }
        let kind = edge_kind(&asked.edge_type)?;
        let old = self.find_node(typed)?;
        refuse_update(&old)?;
        let targets = self.find_nodes(&asked.add_connects)?;
        let now = self.around.clock.now();
        let new = Node {
            id: self.around.ids.node(),
            title: asked.title.as_deref().map_or_else(|| Ok(old.title.clone()), title)?,
            content: match &asked.content {
                Some(content) => bounded("content", content)?,
                None => old.content.clone(),
            },
            agent: Some(agent(&asked.agent)?),
            created: now,
            updated: now,
            ..old.clone()
        };
        let edges = self.edges_from(&new, kind, &targets);
        let succession = self.knowledge.supersede_node(&old.id, &new, &edges)?;
        Ok(UpdatedMeta {
            new_id: new.id,
            old_id: old.id,
            title: new.title,
            copied_edges: succession.copied.iter().map(|edge| edge.id).collect(),
            new_edges: new_edges(&edges, &targets),
        })
    }

    /// Connects two nodes, in the place of another edge if one is named.
    pub fn create_edge(&self, asked: &EdgeAsked) -> Result<CreatedEdge> {
        let kind = edge_kind(&asked.kind)?;
        let confidence = confidence(asked.confidence)?;
        let metadata = asked.metadata.as_deref().map_or(Ok(Value::Null), object)?;
        let (from, to) = (self.find_node(&asked.from)?, self.find_node(&asked.to)?);
        if from.id == to.id {
            return Err(Error::new(Fault::BadInput, "both ends are the same node")
                .hint("an edge joins two nodes: name another one with --to"));
        }
        let old = asked.supersedes.as_deref().map(|typed| self.find_edge(typed)).transpose()?;
        let (id, now) = (self.around.ids.edge(), self.around.clock.now());
        let edge = Edge {
            confidence: Some(confidence),
            agent: Some(agent(&asked.agent)?),
            reason: asked.reason.as_deref().map(|text| bounded("reason", text)).transpose()?,
            content: asked.content.as_deref().map(|text| bounded("content", text)).transpose()?,
            metadata,
            ..Edge::new(id, from.id.clone(), to.id.clone(), kind, now)
        };
        match &old {
            Some(old) => self.knowledge.supersede_edge(old.id, &edge)?,
            None => {
                self.knowledge.add(&[], std::slice::from_ref(&edge))?;
            }
        }
        Ok(CreatedEdge {
            id,
            source: name_of(&from),
            target: name_of(&to),
            kind,
            agent: asked.agent.clone(),
            confidence,
            supersedes: old.map(|old| old.id),
        })
    }

    fn edges_from(&self, node: &Node, kind: EdgeKind, targets: &[Node]) -> Vec<Edge> {
        let edge = |target: &Node| Edge {
            confidence: Some(1.0),
            agent: node.agent.clone(),
            ..Edge::new(
                self.around.ids.edge(),
                node.id.clone(),
                target.id.clone(),
                kind,
                node.created,
            )
        };
        targets.iter().map(edge).collect()
    }
}

fn new_edges(edges: &[Edge], targets: &[Node]) -> Vec<NewEdge> {
    let pairs = edges.iter().zip(targets);
    pairs
        .map(|(edge, target)| NewEdge {
            id: edge.id,
            kind: edge.kind,
            target: target.id.clone(),
            target_title: target.title.clone(),
        })
        .collect()
}

/// Only what was said about other nodes can be said anew; and only its latest version.
fn refuse_update(old: &Node) -> Result<()> {
    if old.class != NodeClass::Meta {
        return Err(Error::new(
            Fault::BadInput,
            format!("{} is a {}, not a meta node", old.id.short(), old.kind),
        )
        .hint("what happened stays as it was; `spore graph create-meta` says something about it"));
    }
    match &old.superseded_by {
        Some(by) => Err(Error::new(
            Fault::BadInput,
            format!("{} has been superseded by {}", old.id.short(), by.short()),
        )
        .hint(format!("spore graph update-meta {}", by.short()))),
        None => Ok(()),
    }
}

/// One line, and not an empty one.
fn title(text: &str) -> Result<String> {
    let text = text.trim();
    if text.is_empty() || text.chars().any(char::is_control) || text.chars().count() > TITLE_CAP {
        return Err(Error::new(Fault::Usage, "this is no title")
            .hint(format!("a title is one line of 1 to {TITLE_CAP} characters")));
    }
    Ok(text.to_owned())
}

fn agent(text: &str) -> Result<String> {
    let is_word = |text: &str| !text.is_empty() && text.len() <= 80;
    if !is_word(text) || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(Error::new(Fault::Usage, format!("{text:?} is not the name of an agent"))
            .hint("a name is one word, such as human or spore:coder"));
    }
    Ok(text.to_owned())
}

fn bounded(what: &str, text: &str) -> Result<String> {
    if text.len() > CONTENT_CAP {
        return Err(Error::new(Fault::BadInput, format!("the {what} is too long")).hint(format!(
            "it may have {CONTENT_CAP} bytes; keep the rest in a file and name it"
        )));
    }
    Ok(text.to_owned())
}

fn object(text: &str) -> Result<Value> {
    let bad = || Error::new(Fault::BadInput, "the metadata is not a JSON object");
    let hint = "quote it for the shell: --metadata '{\"ticket\": 12}'";
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(bad().hint(hint)),
        Err(source) => Err(bad().hint(hint).because(source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_a_json_object_or_bad_input() {
        assert_eq!(object("{\"n\": 1}").unwrap()["n"], 1);
        for bad in ["", "{", "1", "[]", "null", "{'a': 1}"] {
            assert_eq!(object(bad).unwrap_err().fault, Fault::BadInput, "{bad}");
        }
    }

    #[test]
    fn a_title_is_one_line_with_something_on_it() {
        assert_eq!(title("  Parser notes ").unwrap(), "Parser notes");
        for bad in ["", "  ", "two\nlines", "bell\u{7}", &"x".repeat(TITLE_CAP + 1)] {
            assert_eq!(title(bad).unwrap_err().fault, Fault::Usage, "{bad}");
        }
    }

    #[test]
    fn an_agent_is_one_word() {
        assert_eq!(agent("spore:coder").unwrap(), "spore:coder");
        for bad in ["", "a b", "a\u{1b}b"] {
            assert!(agent(bad).is_err(), "{bad}");
        }
    }
}
