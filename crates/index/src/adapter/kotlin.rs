//! Kotlin.

use tree_sitter::Node;

use super::table::comment::Style;
use super::table::{
    Bases, Prefix, Role, Table, Tabled, Tests, Visible, is_at_top, is_in_code, spelling,
};
use crate::ItemKind::{self, Class, Enum, Function, Interface, Method, Type};
use crate::Visibility::Public;
use crate::reader::{Reader, Visit, cut};

pub(super) static KOTLIN: Tabled = Tabled::new(Table {
    grammar: || tree_sitter_kotlin_ng::LANGUAGE.into(),
    nodes: &[
        ("class_declaration", Role::ItemBy(class_kind)),
        ("object_declaration", Role::Item(Class)),
        ("function_declaration", Role::Item(Function)),
        ("secondary_constructor", Role::Do(constructor)),
        ("type_alias", Role::Do(type_alias)),
        ("property_declaration", Role::Do(property)),
        ("call_expression", Role::Call),
        ("delegation_specifiers", Role::Bases(Bases::CalledExtended)),
        ("package_header", Role::Package),
        ("import", Role::Import(import)),
        ("line_comment", Role::Comment),
        ("block_comment", Role::Comment),
    ],
    comments: Style::C,
    visibility: Visible::Words { members: Public, others: Public },
    tests: Tests {
        annotations: &["Test", "ParameterizedTest", "RepeatedTest"],
        prefix: Prefix::MeansNothing,
        calls: &["test", "it", "should"],
        suites: &["describe", "context"],
    },
});

/// The grammar has one node for classes, interfaces and enums.
fn class_kind(reader: &Reader<'_>, node: Node<'_>) -> Option<ItemKind> {
    let name = node.child_by_field_name("name")?;
    let head = cut(reader.text.get(node.start_byte()..name.start_byte())?, 1_000);
    let has = |word| head.split_whitespace().any(|other| other == word);
    Some(match () {
        () if has("interface") => Interface,
        () if has("enum") => Enum,
        () => Class,
    })
}

fn constructor(table: &Tabled, reader: &mut Reader<'_>, node: Node<'_>) -> Visit {
    let mut cursor = node.walk();
    let keyword = node.children(&mut cursor).find(|child| child.kind() == "constructor");
    match keyword {
        Some(keyword) => table.open(reader, node, Method, keyword),
        None => Visit::Children,
    }
}

fn type_alias(table: &Tabled, reader: &mut Reader<'_>, node: Node<'_>) -> Visit {
    match node.child_by_field_name("type") {
        Some(name) => table.open(reader, node, Type, name),
        None => Visit::Children,
    }
}

/// A property with code of its own is a method; one that cannot change and is no object's, a
/// constant.
fn property(table: &Tabled, reader: &mut Reader<'_>, node: Node<'_>) -> Visit {
    let mut cursor = node.walk();
    let mut declared = None;
    let mut has_getter = false;
    for child in node.named_children(&mut cursor) {
        match child.kind() {
            "variable_declaration" => declared = child.named_child(0),
            "getter" => has_getter = true,
            _ => {}
        }
    }
    let Some(name) = declared.filter(|_| !is_in_code(reader)) else { return Visit::Children };
    let kind = if is_at_top(reader) { Function } else { Method };
    if has_getter {
        return table.open(reader, node, kind, name);
    }
    let head = cut(reader.text.get(node.start_byte()..name.start_byte()).unwrap_or(""), 1_000);
    let has = |word| head.split_whitespace().any(|other| other == word);
    if has("const") || has("val") && is_at_top(reader) {
        table.define_constant(reader, node, name);
    }
    Visit::Children
}

/// `import a.b.C`, `import a.b.C as D`, `import a.b.*`
fn import(reader: &mut Reader<'_>, node: Node<'_>) {
    let path = reader.of(node).trim_start_matches("import").trim();
    let (path, alias) = match path.split_once(" as ") {
        Some((path, alias)) => (path, Some(alias.trim().to_owned())),
        None => (path, None),
    };
    if let Some(mut import) = spelling::import(path) {
        import.alias = alias;
        reader.import(import, node.start_byte());
    }
}
