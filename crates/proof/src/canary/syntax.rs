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

/// Returns another value of the kind that a test wrote down: by its kind nothing tells that it is ours.
pub(super) fn another(source: &Source<'_>, node: Node<'_>) -> String {
    let text = source.of(node);
    let mark = format!("'{}'", source.mark);
    let more = 1 + source.mark.bytes().map(i64::from).sum::<i64>() % 7;
    match node.kind() {
        "true" | "false" => match text {
            "True" => "False".to_owned(),
            "False" => "True".to_owned(),
            "true" => "false".to_owned(),
            _ => "true".to_owned(),
        },
        "integer" | "float" | "number" | "unary_operator" | "unary_expression" => {
            let whole = text.parse::<i64>().ok().and_then(|number| number.checked_add(more));
            let broken = || text.parse::<f64>().ok().map(|number| format!("{:?}", number + 1.5));
            whole.map(|number| number.to_string()).or_else(broken).unwrap_or(mark)
        }
        "list" | "array" => format!("[{mark}]"),
        "dictionary" | "object" => format!("{{{mark}: 1}}"),
        "tuple" => format!("({mark},)"),
        "set" => format!("{{{mark}}}"),
        _ => mark,
    }
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
