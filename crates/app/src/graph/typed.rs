//! Reads what the user or an agent typed: which node, edge or time it stands for.

use spore_model::{Edge, EdgeKind, Fault, Node, NodeClass, Timestamp};
use spore_store::{Knowledge, MIN_TYPED};

use super::Graph;
use crate::base::cutoff::parse_since;
use crate::{Error, Result};

/// How many candidates an error lists.
const LISTED: usize = 8;

impl Graph<'_> {
    /// Returns the one node that `typed` names by part of its id or by its title.
    pub(crate) fn find_node(&self, typed: &str) -> Result<Node> {
        let (mut named, others): (Vec<Node>, Vec<Node>) =
            self.knowledge.find(typed)?.into_iter().partition(|node| is_named(node, typed));
        // A title outlives its node: who says it now means the one that is in force.
        if named.len() > 1 && named.iter().filter(|node| node.superseded_by.is_none()).count() == 1
        {
            named.retain(|node| node.superseded_by.is_none());
        }
        match named.as_slice() {
            [node] => Ok(node.clone()),
            [] => self.find_code_node(typed, &others),
            several => {
                Err(ambiguous(typed, "nodes", &several.iter().map(node_line).collect::<Vec<_>>()))
            }
        }
    }

    /// Returns the one piece of code that `typed` names.
    fn find_code_node(&self, typed: &str, others: &[Node]) -> Result<Node> {
        let mut found = self.find_code(typed)?;
        if found.is_empty()
            && let Some(path) = self.path_from_here(typed)
        {
            found = self.find_code(&path)?;
        }
        match found.as_slice() {
            [node] => Ok(node.clone()),
            [] => Err(unknown_node(typed, others)),
            several => {
                Err(ambiguous(typed, "nodes", &several.iter().map(code_line).collect::<Vec<_>>()))
            }
        }
    }

    /// Returns the path from the project's root of a file or folder that is named from where the
    /// command was called.
    fn path_from_here(&self, typed: &str) -> Option<String> {
        let path = self.around.cwd.join(typed).canonicalize().ok()?;
        let path = path.strip_prefix(self.workspace.root()).ok()?;
        path.to_str().map(str::to_owned).filter(|path| !path.is_empty() && path != typed)
    }

    /// Returns the nodes that `typed` name, each once.
    pub(super) fn find_nodes(&self, typed: &[String]) -> Result<Vec<Node>> {
        let mut found: Vec<Node> = Vec::new();
        for typed in typed {
            let node = self.find_node(typed)?;
            if found.iter().all(|known| known.id != node.id) {
                found.push(node);
            }
        }
        Ok(found)
    }

    /// Returns the one edge whose id `typed` begins or ends.
    pub(super) fn find_edge(&self, typed: &str) -> Result<Edge> {
        let found = self.knowledge.find_edge(typed)?;
        match found.as_slice() {
            [edge] => Ok(edge.clone()),
            [] => Err(Error::new(Fault::BadInput, format!("there is no edge {typed:?}")).hint(
                format!(
                    "`spore graph query-edges` shows the ids; type {MIN_TYPED} characters or more"
                ),
            )),
            several => Err(ambiguous(
                typed,
                "edges",
                &several
                    .iter()
                    .map(|edge| format!("{}  {}", edge.id, edge.kind))
                    .collect::<Vec<_>>(),
            )),
        }
    }

    pub(super) fn since(&self, typed: Option<&str>) -> Result<Option<Timestamp>> {
        let parsed = typed.map(|text| parse_since(text, self.around.clock.now())).transpose();
        parsed.map_err(|error| Error::new(Fault::Usage, error.to_string()))
    }
}

/// Whether the text is the node's name, and not just found in it.
fn is_named(node: &Node, typed: &str) -> bool {
    let (id, part) = (node.id.as_str().to_ascii_lowercase(), typed.to_ascii_lowercase());
    node.title == typed || part.len() >= MIN_TYPED && (id.starts_with(&part) || id.ends_with(&part))
}

fn unknown_node(typed: &str, others: &[Node]) -> Error {
    let error = Error::new(Fault::BadInput, format!("there is no node {typed:?}"));
    if others.is_empty() {
        return error.hint(format!(
            "type {MIN_TYPED} or more characters of its id's beginning or end, or its exact title; \
             `spore graph query-edges` shows what there is"
        ));
    }
    let lines: Vec<String> = others.iter().map(node_line).collect();
    error.hint(format!("its words occur in:\n{}", listed(&lines)))
}

fn ambiguous(typed: &str, what: &str, lines: &[String]) -> Error {
    Error::new(Fault::BadInput, format!("{typed:?} could be any of {} {what}", lines.len()))
        .hint(format!("type more of the id:\n{}", listed(lines)))
}

fn listed(lines: &[String]) -> String {
    let shown: Vec<String> = lines.iter().take(LISTED).map(|line| format!("  {line}")).collect();
    shown.join("\n")
}

fn node_line(node: &Node) -> String {
    let title = spore_plain::line_within(&node.title, 60);
    format!("{}  {}  {title}", node.id, node.kind)
}

/// Names alike are told apart by where they stand.
fn code_line(node: &Node) -> String {
    let place = |key: &str| node.metadata.get(key).cloned().unwrap_or_default();
    let (path, line) = (place("path"), place("first_line"));
    format!("{}  {}:{line}", node_line(node), spore_plain::name(path.as_str().unwrap_or_default()))
}

/// Reads the name of an edge type, in the spelling of people too.
pub(crate) fn edge_kind(typed: &str) -> Result<EdgeKind> {
    let word = typed.trim().to_ascii_lowercase().replace('-', "_");
    word.parse().map_err(|_| {
        let known: Vec<&str> = EdgeKind::ALL.iter().map(|kind| kind.as_str()).collect();
        unknown_word("edge type", typed, &word, &known)
    })
}

pub(super) fn edge_kinds(typed: &[String]) -> Result<Vec<EdgeKind>> {
    typed.iter().map(|typed| edge_kind(typed)).collect()
}

/// Reads the types that a walk is limited to; none at all is no limit.
pub(super) fn only_kinds(typed: &[String]) -> Result<Option<Vec<EdgeKind>>> {
    let kinds = edge_kinds(typed)?;
    Ok(Some(kinds).filter(|kinds| !kinds.is_empty()))
}

pub(super) fn node_class(typed: &str) -> Result<NodeClass> {
    let word = typed.trim().to_ascii_lowercase();
    word.parse().map_err(|_| {
        unknown_word("class of nodes", typed, &word, &NodeClass::ALL.map(NodeClass::as_str))
    })
}

pub(super) fn confidence(number: f64) -> Result<f64> {
    if (0.0..=1.0).contains(&number) {
        return Ok(number);
    }
    Err(Error::new(Fault::Usage, format!("{number} is not a confidence"))
        .hint("give a number from 0 to 1"))
}

fn unknown_word(what: &str, typed: &str, word: &str, known: &[&str]) -> Error {
    let nearest = known.iter().min_by_key(|known| spore_config::distance(word, known));
    let error = Error::new(Fault::Usage, format!("there is no {what} {typed:?}"));
    error.hint(format!(
        "did you mean {}? There are: {}",
        nearest.copied().unwrap_or_default(),
        known.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_type_is_read_in_any_usual_spelling() {
        for typed in ["derives_from", "derives-from", "Derives_From", " derives_from "] {
            assert_eq!(edge_kind(typed).unwrap(), EdgeKind::DerivesFrom, "{typed}");
        }
    }

    #[track_caller]
    fn check_nearest(typed: &str, nearest: &str) {
        let error = edge_kind(typed).unwrap_err();
        assert_eq!(error.fault, Fault::Usage);
        let hint = error.hint_text().unwrap_or_default();
        assert!(hint.starts_with(&format!("did you mean {nearest}?")), "{hint}");
    }

    #[test]
    fn an_unknown_edge_type_names_the_nearest() {
        check_nearest("suports", "supports");
        check_nearest("contradict", "contradicts");
        check_nearest("derived-from", "derives_from");
    }

    #[test]
    fn a_confidence_is_a_number_from_nought_to_one() {
        for good in [0.0, 0.5, 1.0] {
            assert_eq!(confidence(good).unwrap(), good);
        }
        for bad in [-0.1, 1.01, f64::NAN, f64::INFINITY] {
            assert_eq!(confidence(bad).unwrap_err().fault, Fault::Usage, "{bad}");
        }
    }
}
