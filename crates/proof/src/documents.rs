//! Examples in Rust's documentation, of one version of a file on the items of another.
//!
//! They are tests in the middle of the code. Documentation does nothing but carry them, so an item may have that
//! of another version: the new code runs the examples that it had before. An item that is not there any
//! more has no place for its own.

use std::collections::BTreeMap;

use tree_sitter::{Node, Parser};

use crate::examples::has_example;

/// What is written about one item.
struct ItemDocument {
    /// Where, each comment by itself, as bytes of the text.
    comments: Vec<(usize, usize)>,
    /// Where it would begin: before the item and its attributes, or inside of it at its top.
    start: usize,
}

/// Returns `code` with the documentation of `other` on every item that both have and whose examples differ;
/// nothing where there is none or one of them cannot be read.
pub(crate) fn with_documents(code: &str, other: &str) -> Option<String> {
    let (own, others) = (documents(code)?, documents(other)?);
    let said = |text: &str, one: &ItemDocument| -> Vec<String> {
        one.comments.iter().map(|&(start, end)| text[start..end].trim().to_owned()).collect()
    };
    // From the last to the first: what is changed behind moves nothing before.
    let mut edits: Vec<(usize, usize, String)> = Vec::new();
    for (path, theirs) in &others {
        let Some(here) = own.get(path) else { continue };
        let (wanted, now) = (said(other, theirs), said(code, here));
        if wanted == now || !has_example(&wanted) && !has_example(&now) {
            continue;
        }
        edits.extend(here.comments.iter().map(|&(start, end)| (start, end, String::new())));
        let lines: String = wanted.iter().map(|line| format!("{line}\n")).collect();
        edits.push((here.start, here.start, lines));
    }
    if edits.is_empty() {
        return None;
    }
    edits.sort_by_key(|edit| (edit.0, edit.1));
    let mut text = code.to_owned();
    for (start, end, new) in edits.into_iter().rev() {
        text.replace_range(start..end, &new);
    }
    Some(text)
}

/// Returns what is written about each item, by its path in the file.
fn documents(text: &str) -> Option<BTreeMap<String, ItemDocument>> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_rust::LANGUAGE.into()).ok()?;
    let tree = parser.parse(text, None).filter(|tree| !tree.root_node().has_error())?;
    let mut found = BTreeMap::new();
    let root = tree.root_node();
    found.insert("!".to_owned(), ItemDocument { comments: Vec::new(), start: 0 });
    look(text, root, "", &mut found);
    Some(found)
}

fn look(text: &str, list: Node<'_>, above: &str, found: &mut BTreeMap<String, ItemDocument>) {
    let mut comments: Vec<(usize, usize)> = Vec::new();
    let mut start: Option<usize> = None;
    let mut cursor = list.walk();
    for node in list.named_children(&mut cursor) {
        let said = &text[node.byte_range()];
        match node.kind() {
            "line_comment" | "block_comment" if is_inner(said) => {
                if let Some(inner) = found.get_mut(&format!("{above}!")) {
                    inner.comments.push(node_range(node, text));
                }
            }
            "line_comment" | "block_comment" => {
                if is_outer(said) {
                    start.get_or_insert(node.start_byte());
                    comments.push(node_range(node, text));
                }
            }
            "attribute_item" => {
                start.get_or_insert(node.start_byte());
            }
            _ => {
                let path = path_of(text, node, above, found);
                let start = start.take().unwrap_or(node.start_byte());
                let comments = std::mem::take(&mut comments);
                found.insert(path.clone(), ItemDocument { comments, start });
                let body = node.child_by_field_name("body");
                if let Some(body) = body.filter(|_| node.kind() != "function_item") {
                    if node.kind() == "mod_item" {
                        let start = body.start_byte() + 1;
                        let inner = ItemDocument { comments: Vec::new(), start };
                        found.insert(format!("{path}::!"), inner);
                    }
                    look(text, body, &format!("{path}::"), found);
                }
            }
        }
    }
}

/// A comment of documentation may have the end of its line in it.
fn node_range(node: Node<'_>, text: &str) -> (usize, usize) {
    let trimmed = text[node.byte_range()].trim_end_matches(['\n', '\r']).len();
    (node.start_byte(), node.start_byte() + trimmed)
}

/// Returns what an item is called where it is. Of several that are called alike each has its number.
fn path_of(
    text: &str,
    node: Node<'_>,
    above: &str,
    found: &BTreeMap<String, ItemDocument>,
) -> String {
    let field = |name: &str| {
        let part = node.child_by_field_name(name);
        part.map(|part| text[part.byte_range()].split_whitespace().collect::<String>())
    };
    let name = field("name").or_else(|| {
        let of = field("type")?;
        Some(format!("{} for {of}", field("trait").unwrap_or_default()))
    });
    let name = format!("{above}{} {}", node.kind(), name.unwrap_or_default());
    let mut number = 1;
    while found.contains_key(&format!("{name}#{number}")) {
        number += 1;
    }
    format!("{name}#{number}")
}

fn is_outer(comment: &str) -> bool {
    let is_line = comment.starts_with("///") && !comment.starts_with("////");
    let is_block = comment.starts_with("/**") && !comment.starts_with("/***") && comment != "/**/";
    is_line || is_block
}

fn is_inner(comment: &str) -> bool {
    comment.starts_with("//!") || comment.starts_with("/*!")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "//! Sums.\n//!\n//! ```\n//! assert_eq!(demo::add(1, 1), 2);\n//! ```\n\n/// Adds.\n///\n/// ```\n/// assert_eq!(demo::add(2, 3), 5);\n/// ```\n#[must_use]\npub fn add(a: u32, b: u32) -> u32 {\n    // Plain.\n    a + b\n}\n\npub struct Sum;\n\nimpl Sum {\n    /// Of one.\n    ///\n    /// ```\n    /// assert_eq!(demo::Sum::one(), 1);\n    /// ```\n    pub fn one() -> u32 {\n        1\n    }\n}\n";

    #[test]
    fn the_code_of_one_version_has_the_examples_of_the_other() {
        let now = BASE
            .replace("    a + b\n", "    a * b\n")
            .replace("add(2, 3), 5", "add(2, 3), 6")
            .replace("add(1, 1), 2", "add(1, 1), 1")
            .replace("/// assert_eq!(demo::Sum::one(), 1);", "/// let _ = demo::Sum::one();");
        let kept = with_documents(&now, BASE).unwrap();
        for wanted in
            ["    a * b\n", "add(2, 3), 5", "add(1, 1), 2", "Sum::one(), 1", "#[must_use]\npub"]
        {
            assert!(kept.contains(wanted), "{wanted}: {kept}");
        }
        for gone in ["add(2, 3), 6", "add(1, 1), 1", "let _"] {
            assert!(!kept.contains(gone), "{gone}: {kept}");
        }
        let new = with_documents(BASE, &now).unwrap();
        assert!(new.contains("add(2, 3), 6") && new.contains("a + b"), "{new}");
    }

    #[test]
    fn an_example_that_went_comes_back_where_its_item_is() {
        let bare = "pub struct Sum;\nimpl Sum {\n    pub fn one() -> u32 {\n        1\n    }\n}\n";
        let kept = with_documents(bare, BASE).unwrap();
        assert!(kept.contains("/// assert_eq!(demo::Sum::one(), 1);\n"), "{kept}");
        assert!(kept.starts_with("//! Sums.") && !kept.contains("demo::add(2, 3)"), "{kept}");
        assert!(documents(&kept).is_some(), "{kept}");
    }

    #[test]
    fn prose_is_left_alone() {
        assert_eq!(with_documents(BASE, BASE), None);
        let prose = "/// Adds.\npub fn add() {}\n";
        assert_eq!(with_documents(prose, "/// Subtracts.\npub fn add() {}\n"), None);
        assert_eq!(with_documents("pub fn add( {}\n", BASE), None);
    }
}
