//! Kotlin.

use tree_sitter::Node;

use super::table::comment::CommentStyle;
use super::table::{
    Bases, LanguageTable, NodeRole, Tabled, TestPrefix, Tests, VisibilityRule, is_at_top,
    is_in_code, spelling,
};
use crate::ItemKind::{self, Class, Enum, Function, Interface, Method, Type};
use crate::Visibility::Public;
use crate::reader::{FactReader, WalkStep, cut};

pub(super) static KOTLIN: Tabled = Tabled::new(LanguageTable {
    grammar: || tree_sitter_kotlin_ng::LANGUAGE.into(),
    nodes: &[
        ("class_declaration", NodeRole::ItemBy(class_kind)),
        ("object_declaration", NodeRole::Item(Class)),
        ("function_declaration", NodeRole::Item(Function)),
        ("secondary_constructor", NodeRole::Do(constructor)),
        ("type_alias", NodeRole::Do(type_alias)),
        ("property_declaration", NodeRole::Do(property)),
        ("call_expression", NodeRole::Call),
        ("delegation_specifiers", NodeRole::Bases(Bases::CalledExtended)),
        ("package_header", NodeRole::Package),
        ("import", NodeRole::Import(import)),
        ("line_comment", NodeRole::Comment),
        ("block_comment", NodeRole::Comment),
    ],
    comments: CommentStyle::C,
    visibility: VisibilityRule::Words { members: Public, others: Public },
    tests: Tests {
        annotations: &["Test", "ParameterizedTest", "RepeatedTest"],
        prefix: TestPrefix::MeansNothing,
        calls: &["test", "it", "should"],
        suites: &["describe", "context"],
    },
});

/// The grammar has one node for classes, interfaces and enums.
fn class_kind(reader: &FactReader<'_>, node: Node<'_>) -> Option<ItemKind> {
    let name = node.child_by_field_name("name")?;
    let head = cut(reader.text.get(node.start_byte()..name.start_byte())?, 1_000);
    let has = |word| head.split_whitespace().any(|other| other == word);
    Some(match () {
        () if has("interface") => Interface,
        () if has("enum") => Enum,
        () => Class,
    })
}

fn constructor(table: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let mut cursor = node.walk();
    let keyword = node.children(&mut cursor).find(|child| child.kind() == "constructor");
    match keyword {
        Some(keyword) => table.open(reader, node, Method, keyword),
        None => WalkStep::Children,
    }
}

fn type_alias(table: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    match node.child_by_field_name("type") {
        Some(name) => table.open(reader, node, Type, name),
        None => WalkStep::Children,
    }
}

/// A property with code of its own is a method; one that cannot change and is no object's, a
/// constant.
fn property(table: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
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
    let Some(name) = declared.filter(|_| !is_in_code(reader)) else { return WalkStep::Children };
    let kind = if is_at_top(reader) { Function } else { Method };
    if has_getter {
        return table.open(reader, node, kind, name);
    }
    let head = cut(reader.text.get(node.start_byte()..name.start_byte()).unwrap_or(""), 1_000);
    let has = |word| head.split_whitespace().any(|other| other == word);
    if has("const") || has("val") && is_at_top(reader) {
        table.define_constant(reader, node, name);
    }
    WalkStep::Children
}

/// `import a.b.C`, `import a.b.C as D`, `import a.b.*`
fn import(reader: &mut FactReader<'_>, node: Node<'_>) {
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
