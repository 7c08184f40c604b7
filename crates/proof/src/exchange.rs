//! Tests among code: the test items of one version of a file put into another version.
//!
//! Rust keeps unit tests in the file they test. The base's tests are run on the new code, and the new
//! tests on the base's code, by exchanging the items that only tests compile: those behind
//! `#[cfg(test)]`, `#[test]` and their kin. What is left of both versions stays as it is.

use tree_sitter::{Node, Parser};

use crate::documents::with_documents;
use crate::examples;

/// A file whose tests are another version's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Exchanged {
    /// Neither version has tests among its code, or both have the same.
    Same,
    /// The text with the other version's tests.
    Text(String),
    /// It cannot be taken apart.
    Unreadable,
}

/// Returns `code` with the test items of `tests`, both versions of the file at `path`, and with its examples
/// where the documentation of `code` does not have them.
pub fn exchange(path: &str, code: &str, tests: &str) -> Exchanged {
    if !path.ends_with(".rs") {
        return Exchanged::Same;
    }
    let exchanged = exchange_items(code, tests);
    let text = match &exchanged {
        Exchanged::Text(text) => text.as_str(),
        Exchanged::Same => code,
        Exchanged::Unreadable => return Exchanged::Unreadable,
    };
    let lost = examples::are_lost(path, tests, code);
    lost.then(|| with_documents(text, tests)).flatten().map_or(exchanged, Exchanged::Text)
}

fn exchange_items(code: &str, tests: &str) -> Exchanged {
    let (Some(own), Some(other)) = (test_items(code), test_items(tests)) else {
        return Exchanged::Unreadable;
    };
    let text_of = |text: &str, items: &[(usize, usize)]| -> Vec<String> {
        items.iter().map(|&(start, end)| text[start..end].to_owned()).collect()
    };
    let wanted = text_of(tests, &other);
    if text_of(code, &own) == wanted {
        return Exchanged::Same;
    }
    let mut text = String::with_capacity(code.len() + tests.len());
    let mut at = 0;
    for &(start, end) in &own {
        text.push_str(&code[at..start]);
        at = end;
    }
    text.push_str(&code[at..]);
    for item in wanted {
        text.push('\n');
        text.push_str(&item);
        text.push('\n');
    }
    Exchanged::Text(text)
}

/// Returns where the topmost items are that only tests compile, with their attributes; nothing for
/// a text that is not whole.
pub(crate) fn test_items(text: &str) -> Option<Vec<(usize, usize)>> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_rust::LANGUAGE.into()).ok()?;
    let tree = parser.parse(text, None)?;
    if tree.root_node().has_error() {
        return None;
    }
    let mut found = Vec::new();
    let mut attributes: Option<usize> = None;
    let mut is_test = false;
    let mut cursor = tree.root_node().walk();
    for node in tree.root_node().children(&mut cursor) {
        match node.kind() {
            "attribute_item" => {
                attributes.get_or_insert(node.start_byte());
                is_test |= is_for_tests(&text[node.byte_range()]);
            }
            "line_comment" | "block_comment" => {}
            _ => {
                if is_test {
                    found.push((attributes.unwrap_or(node.start_byte()), end_of(node, text)));
                }
                (attributes, is_test) = (None, false);
            }
        }
    }
    Some(found)
}

/// An item and what follows it on its line, so that nothing is left of it.
fn end_of(node: Node<'_>, text: &str) -> usize {
    let rest = &text[node.end_byte()..];
    let line = rest.find('\n').unwrap_or(rest.len());
    match rest[..line].trim().is_empty() {
        true => node.end_byte() + line,
        false => node.end_byte(),
    }
}

/// Returns whether an attribute says that its item is compiled for tests alone. One that says
/// `not(test)` does not.
fn is_for_tests(attribute: &str) -> bool {
    let plain: String = attribute.chars().filter(|c| !c.is_whitespace()).collect();
    let inner = plain.trim_start_matches("#[").trim_end_matches(']');
    let name = inner.split(['(', '=']).next().unwrap_or(inner);
    let is_test_attribute = name == "test" || name.ends_with("::test") || name == "bench";
    let words: Vec<&str> =
        inner.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty()).collect();
    is_test_attribute || (name == "cfg" && words.contains(&"test") && !inner.contains("not(test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "fn a() -> u8 {\n    1\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() {\n        assert_eq!(super::a(), 1);\n    }\n}\n";

    #[test]
    fn the_code_of_one_version_has_the_tests_of_the_other() {
        let now = BASE.replace("    1\n", "    2\n").replace("super::a(), 1", "super::a(), 2");
        let Exchanged::Text(kept) = exchange("src/a.rs", &now, BASE) else { panic!() };
        assert!(kept.contains("    2\n") && kept.contains("super::a(), 1"), "{kept}");
        assert!(!kept.contains("super::a(), 2"), "{kept}");
        let Exchanged::Text(new) = exchange("src/a.rs", BASE, &now) else { panic!() };
        assert!(new.contains("    1\n") && new.contains("super::a(), 2"), "{new}");
    }

    #[test]
    fn tests_that_came_or_went_are_taken_out_and_put_back() {
        let bare = "fn a() -> u8 {\n    1\n}\n";
        let Exchanged::Text(without) = exchange("a.rs", BASE, bare) else { panic!() };
        assert_eq!(without.trim(), bare.trim());
        let Exchanged::Text(with) = exchange("a.rs", bare, BASE) else { panic!() };
        assert!(with.contains("mod tests"), "{with}");
        let moved = "#[cfg(test)]\n#[path = \"other.rs\"]\nmod tests;\nfn a() {}\n";
        let Exchanged::Text(back) = exchange("a.rs", moved, BASE) else { panic!() };
        assert!(!back.contains("other.rs") && back.contains("fn t()"), "{back}");
    }

    #[test]
    fn what_has_the_same_tests_is_left_alone() {
        let now = BASE.replace("    1\n", "    2\n");
        assert_eq!(exchange("src/a.rs", &now, BASE), Exchanged::Same);
        assert_eq!(exchange("a.py", "x", "y"), Exchanged::Same);
        assert_eq!(exchange("a.rs", "fn a() {", BASE), Exchanged::Unreadable);
    }

    #[test]
    fn only_what_tests_alone_compile_is_a_test() {
        for (attribute, expected) in [
            ("#[cfg(test)]", true),
            ("#[cfg(all(test, unix))]", true),
            ("#[test]", true),
            ("#[tokio::test]", true),
            ("#[tokio::test(flavor = \"multi_thread\")]", true),
            ("#[cfg(not(test))]", false),
            ("#[cfg(feature = \"testing\")]", false),
            ("#[derive(Debug)]", false),
            ("#[cfg_attr(test, derive(Debug))]", false),
        ] {
            assert_eq!(is_for_tests(attribute), expected, "{attribute}");
        }
    }
}
