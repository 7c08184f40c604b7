//! Which classes a text names, and which one a value is of as far as the text shows it.

use tree_sitter::Node;

use crate::Access;
use crate::reader::FactReader;

/// How deep a chain like `(await x.y).z` is followed.
const MAX_CHAIN: u32 = 6;
/// Annotations and targets of more nodes are not written by hand.
const MAX_NODES: usize = 200;

/// Types that every annotation names and no project defines.
fn is_builtin(name: &str) -> bool {
    matches!(
        name,
        "int"
            | "str"
            | "float"
            | "bool"
            | "bytes"
            | "object"
            | "list"
            | "dict"
            | "set"
            | "tuple"
            | "type"
            | "None"
            | "Any"
            | "Optional"
            | "Union"
            | "List"
            | "Dict"
            | "Set"
            | "Tuple"
            | "Callable"
            | "Iterable"
            | "Iterator"
            | "Sequence"
            | "Mapping"
            | "Type"
            | "Literal"
            | "self"
            | "cls"
    )
}

/// Splits a dotted path into its last word and how that is reached.
pub(super) fn split(path: &str) -> (&str, Access) {
    match path.rsplit_once('.') {
        None => (path, Access::Bare),
        Some((before, name)) => (name.trim(), Access::Path(joined(before))),
    }
}

fn joined(path: &str) -> String {
    path.split('.').map(str::trim).collect::<Vec<_>>().join("::")
}

/// Returns the class that an expression in a place for one names, `Base` of `Base[int]`.
pub(super) fn class_path<'t>(reader: &FactReader<'t>, node: Node<'_>) -> Option<(&'t str, usize)> {
    match node.kind() {
        "identifier" => Some((reader.of(node), node.start_byte())),
        "attribute" => Some((reader.of(node), node.start_byte())).filter(|(path, _)| is_path(path)),
        "subscript" => class_path(reader, node.child_by_field_name("value")?),
        _ => None,
    }
}

/// Records every type that an annotation names, also in quotes.
pub(super) fn named_in(reader: &mut FactReader<'_>, annotation: Node<'_>) {
    each_below(annotation, |node| {
        let at = node.start_byte();
        match node.kind() {
            "identifier" | "attribute" => {
                type_used(reader, reader.of(node), at);
                false
            }
            "string" => {
                let text = reader.of(node).trim_matches(['"', '\'']);
                let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
                for word in text.split(|c| !is_part(c)).filter(|word| !word.is_empty()) {
                    type_used(reader, word, at);
                }
                false
            }
            _ => true,
        }
    });
}

/// Records the exceptions of an `except`.
pub(super) fn caught(reader: &mut FactReader<'_>, value: Node<'_>) {
    each_below(value, |node| match node.kind() {
        "identifier" | "attribute" => {
            type_used(reader, reader.of(node), node.start_byte());
            false
        }
        "as_pattern_target" | "call" => false,
        _ => true,
    });
}

fn type_used(reader: &mut FactReader<'_>, path: &str, at: usize) {
    let (name, access) = split(path);
    if !is_builtin(name) && is_path(path) {
        reader.refer_to_type(name, access, at);
    }
}

/// Binds every variable of a target, without types.
pub(super) fn bind_names(reader: &mut FactReader<'_>, target: Node<'_>) {
    each_below(target, |node| {
        if node.kind() == "identifier" {
            reader.bind(reader.of(node), None, node.start_byte());
        }
        !matches!(node.kind(), "attribute" | "subscript" | "call")
    });
}

/// Looks at the nodes from one down; below one only if the answer is to go on.
fn each_below(root: Node<'_>, mut goes_on: impl FnMut(Node<'_>) -> bool) {
    let mut cursor = root.walk();
    let mut depth = 0_u32;
    for _ in 0..MAX_NODES {
        if goes_on(cursor.node()) && cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        loop {
            if depth == 0 {
                return;
            }
            if cursor.goto_next_sibling() {
                break;
            }
            cursor.goto_parent();
            depth -= 1;
        }
    }
}

/// Returns the class that a value has by its annotation.
pub(super) fn annotated<'t>(reader: &FactReader<'t>, annotation: Node<'_>) -> Option<&'t str> {
    let mut node = annotation;
    for _ in 0..MAX_CHAIN {
        node = match node.kind() {
            "type" | "union_type" | "constrained_type" => node.named_child(0)?,
            "identifier" => return Some(reader.of(node)),
            "attribute" => return Some(reader.of(node)).filter(|path| is_path(path)),
            "string" => {
                let text = reader.of(node).trim_matches(['"', '\'']);
                return Some(text).filter(|path| is_path(path));
            }
            // `Foo | None`
            "binary_operator" => node.child_by_field_name("left")?,
            "generic_type" => {
                let name = node.named_child(0)?;
                if !hands_on(reader.of(name)) {
                    return Some(reader.of(name));
                }
                node.named_child(1)?.named_child(0)?
            }
            "subscript" => {
                let name = node.child_by_field_name("value")?;
                if !hands_on(reader.of(name)) {
                    return Some(reader.of(name)).filter(|path| is_path(path));
                }
                node.child_by_field_name("subscript")?
            }
            _ => return None,
        };
    }
    None
}

/// Returns whether a value of the type is used like one of the type it holds.
fn hands_on(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    matches!(last, "Optional" | "Annotated" | "Final" | "ClassVar")
}

/// Returns the class of a value as its expression shows it.
pub(super) fn made<'t>(reader: &FactReader<'t>, node: Node<'_>) -> Option<&'t str> {
    made_within(reader, node, MAX_CHAIN)
}

fn made_within<'t>(reader: &FactReader<'t>, node: Node<'_>, left: u32) -> Option<&'t str> {
    let left = left.checked_sub(1)?;
    match node.kind() {
        "identifier" => reader.local(reader.of(node), node.start_byte()).flatten(),
        "string" | "concatenated_string" => Some("str"),
        "list" | "list_comprehension" => Some("list"),
        "dictionary" | "dictionary_comprehension" => Some("dict"),
        "set" | "set_comprehension" => Some("set"),
        "await" | "parenthesized_expression" => made_within(reader, node.named_child(0)?, left),
        // `given or Default()`
        "boolean_operator" => {
            let first = made_within(reader, node.child_by_field_name("left")?, left);
            first.or_else(|| made_within(reader, node.child_by_field_name("right")?, left))
        }
        "attribute" => {
            let owner = node.child_by_field_name("object")?;
            let name = reader.field(node, "attribute")?;
            if is_class(reader.of(owner)) && is_path(reader.of(owner)) && is_constant(name) {
                // A member of an enumeration is of it.
                return Some(reader.of(owner));
            }
            if reader.of(owner) == "self" {
                return reader.field_type(reader.own_type()?, name);
            }
            match made_within(reader, owner, left)? {
                "cls" => reader.field_type(reader.own_type()?, name),
                owner => reader.field_type(owner, name),
            }
        }
        "call" => called(reader, node.child_by_field_name("function")?),
        _ => None,
    }
}

/// Returns the class of what a call gives, if it is a class or one of its constructors.
fn called<'t>(reader: &FactReader<'t>, function: Node<'_>) -> Option<&'t str> {
    let path = reader.of(function);
    if !is_path(path) {
        return None;
    }
    let (before, name) = path.rsplit_once('.').unwrap_or(("", path));
    if is_class(name) || path == "cls" {
        return Some(path);
    }
    const CONSTRUCTORS: [&str; 8] =
        ["from_", "load", "create", "open", "parse", "build", "default", "connect"];
    let constructs = CONSTRUCTORS.iter().any(|word| name.starts_with(word));
    let class = before.rsplit('.').next().unwrap_or(before);
    Some(before).filter(|_| constructs && is_class(class))
}

/// Returns how a member of an expression is reached.
pub(super) fn access(reader: &FactReader<'_>, object: Node<'_>) -> Access {
    let text = reader.of(object);
    match object.kind() {
        "identifier" if matches!(text, "self" | "cls") => return Access::Own,
        "call" if text == "super()" || text.starts_with("super(") => {
            return Access::Path("super".to_owned());
        }
        "identifier" | "attribute" if is_path(text) => {
            let root = text.split('.').next().unwrap_or(text).trim();
            let is_value =
                matches!(root, "self" | "cls") || reader.local(root, object.start_byte()).is_some();
            if !is_value {
                return Access::Path(joined(text));
            }
        }
        _ => {}
    }
    match made(reader, object) {
        Some("cls") => Access::Own,
        of_type => Access::Value(of_type.map(joined)),
    }
}

fn is_class(name: &str) -> bool {
    name.trim_start_matches('_').starts_with(char::is_uppercase)
}

/// Returns whether a name is written like one that never changes.
pub(super) fn is_constant(name: &str) -> bool {
    name.chars().all(|c| c.is_uppercase() || c.is_numeric() || c == '_')
}

fn is_path(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
}
