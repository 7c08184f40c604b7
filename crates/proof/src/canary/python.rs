//! Functions and methods that pytest and unittest take for tests.

use tree_sitter::Node;

use super::edits::{CanaryEnding, FoundTest, TextEdit};
use super::syntax::{Source, another, at, children, expected, instead};

/// Methods that compare two values.
const COMPARING: [&str; 11] = [
    "assertEqual",
    "assertEquals",
    "assertIs",
    "assertListEqual",
    "assertDictEqual",
    "assertTupleEqual",
    "assertSetEqual",
    "assertSequenceEqual",
    "assertMultiLineEqual",
    "assertCountEqual",
    "assertAlmostEqual",
];

pub(super) fn tests(source: &Source<'_>, root: Node<'_>) -> Vec<FoundTest> {
    let mut found = Vec::new();
    for item in children(root) {
        let definition = definition(item);
        match definition.kind() {
            "function_definition" => found.extend(test(source, item, "")),
            "class_definition" if !is_set_aside(source, item) => {
                let class = source.field(definition, "name");
                let body = definition.child_by_field_name("body").map(children).unwrap_or_default();
                found.extend(body.into_iter().filter_map(|method| test(source, method, class)));
            }
            _ => {}
        }
    }
    found
}

/// Returns whether something is defined that is no test.
pub(super) fn holds_product(source: &Source<'_>, root: Node<'_>) -> bool {
    children(root).into_iter().map(definition).any(|item| {
        let name = source.field(item, "name");
        match item.kind() {
            "function_definition" => !name.starts_with("test"),
            "class_definition" => {
                let above = source.field(item, "superclasses");
                !name.starts_with("Test") && !above.contains("Test") && !above.contains("Case")
            }
            _ => false,
        }
    })
}

/// Returns what is below decorators.
fn definition(item: Node<'_>) -> Node<'_> {
    item.child_by_field_name("definition").unwrap_or(item)
}

/// Returns whether a decorator says that a failure does not count.
fn is_set_aside(source: &Source<'_>, item: Node<'_>) -> bool {
    let decorators = children(item).into_iter().filter(|child| child.kind() == "decorator");
    let mut words = decorators.map(|one| source.of(one).to_ascii_lowercase());
    words.any(|text| ["skip", "xfail", "expectedfailure"].iter().any(|word| text.contains(word)))
}

fn test(source: &Source<'_>, item: Node<'_>, class: &str) -> Option<FoundTest> {
    let function = definition(item);
    let name = source.field(function, "name");
    let is_test = function.kind() == "function_definition"
        && name.starts_with("test")
        && !is_set_aside(source, item);
    let body = function.child_by_field_name("body").filter(|_| is_test)?;
    let first = *children(body).first()?;
    // A body on the line of its head takes no more lines.
    if !source.indent(first).trim().is_empty() {
        return None;
    }
    let last = *children(body).last()?;
    let end = match source.ending {
        CanaryEnding::Inverted => inverted(source, last).or_else(|| thrown(source, first, last)),
        CanaryEnding::Thrown => thrown(source, first, last),
    }?;
    Some(FoundTest {
        name: name.to_owned(),
        place: format!("{class}.{name}"),
        end,
        start: item.start_byte(),
        stop: last.end_byte(),
        name_stop: function.child_by_field_name("name")?.end_byte(),
        joint: "_",
    })
}

fn thrown(source: &Source<'_>, first: Node<'_>, last: Node<'_>) -> Option<TextEdit> {
    if matches!(last.kind(), "return_statement" | "raise_statement") {
        return None;
    }
    let indent = source.indent(first);
    Some(at(last.end_byte(), format!("\n{indent}raise AssertionError(\"{}\")", source.mark)))
}

fn inverted(source: &Source<'_>, last: Node<'_>) -> Option<TextEdit> {
    let otherwise = |one: Node<'_>, other: Node<'_>| {
        let asked = expected(one, other);
        instead(asked, another(source, asked))
    };
    if last.kind() == "assert_statement" {
        let asked = *children(last).first()?;
        let sides = children(asked);
        let is_equality = asked.kind() == "comparison_operator"
            && asked.child_count() == 3
            && asked.child(1).is_some_and(|sign| sign.kind() == "==");
        return Some(match (is_equality, sides.as_slice()) {
            (true, &[one, other]) => otherwise(one, other),
            _ => instead(asked, format!("(not ({}))", source.of(asked))),
        });
    }
    let call = children(last).into_iter().next().filter(|one| one.kind() == "call")?;
    let function = call.child_by_field_name("function")?;
    if source.field(function, "object") != "self" {
        return None;
    }
    let arguments = children(call.child_by_field_name("arguments")?);
    let method = source.field(function, "attribute");
    match *arguments.as_slice() {
        [one, other, ..] if COMPARING.contains(&method) && is_plain(one) && is_plain(other) => {
            Some(otherwise(one, other))
        }
        [asked, ..] if matches!(method, "assertTrue" | "assertFalse") && is_plain(asked) => {
            Some(instead(asked, format!("not ({})", source.of(asked))))
        }
        _ => None,
    }
}

fn is_plain(argument: Node<'_>) -> bool {
    !matches!(argument.kind(), "keyword_argument" | "list_splat" | "dictionary_splat")
}
