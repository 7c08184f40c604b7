//! What the languages have in common.

use tree_sitter::Node;

use super::edits::{CanaryEnding, TextEdit};

/// A text and what is wanted of it.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) ending: CanaryEnding,
    /// A word that no value of the product's is equal to.
    pub(super) mark: &'a str,
}

impl<'a> Source<'a> {
    pub(super) fn of(&self, node: Node<'_>) -> &'a str {
        &self.text[node.byte_range()]
    }

    pub(super) fn field(&self, node: Node<'_>, name: &str) -> &'a str {
        node.child_by_field_name(name).map_or("", |child| self.of(child))
    }

    /// Returns what stands before a node on its line.
    pub(super) fn indent(&self, node: Node<'_>) -> &'a str {
        let line = self.text[..node.start_byte()].rfind('\n').map_or(0, |at| at + 1);
        &self.text[line..node.start_byte()]
    }
}

pub(super) fn instead(node: Node<'_>, text: String) -> TextEdit {
    TextEdit { start: node.start_byte(), end: node.end_byte(), text }
}

pub(super) fn at(place: usize, text: String) -> TextEdit {
    TextEdit { start: place, end: place, text }
}

pub(super) fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| !child.kind().ends_with("comment")).collect()
}

/// Of two values that are compared, the one that the test wrote down. The other is the product's.
pub(super) fn expected<'t>(one: Node<'t>, other: Node<'t>) -> Node<'t> {
    if is_literal(one) && !is_literal(other) { one } else { other }
}

fn is_literal(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "string"
            | "concatenated_string"
            | "integer"
            | "float"
            | "number"
            | "true"
            | "false"
            | "none"
            | "null"
            | "list"
            | "array"
            | "dictionary"
            | "object"
            | "tuple"
            | "set"
            | "unary_operator"
            | "unary_expression"
            | "template_string"
    )
}
