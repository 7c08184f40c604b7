//! Swift.

use tree_sitter::Node;

use super::table::comment::CommentStyle;
use super::table::{
    Bases, LanguageTable, NodeRole, Tabled, TestPrefix, Tests, VisibilityRule, build_on, is_at_top,
    is_in_code, spelling,
};
use crate::ItemKind::{Class, Enum, Function, Impl, Interface, Method, Struct, Type};
use crate::Visibility::Restricted;
use crate::reader::{FactReader, WalkStep, cut};

pub(super) static SWIFT: Tabled = Tabled::new(LanguageTable {
    grammar: || tree_sitter_swift::LANGUAGE.into(),
    nodes: &[
        ("class_declaration", NodeRole::Do(class)),
        ("protocol_declaration", NodeRole::Item(Interface)),
        ("function_declaration", NodeRole::Item(Function)),
        ("protocol_function_declaration", NodeRole::Item(Method)),
        ("init_declaration", NodeRole::Item(Method)),
        ("deinit_declaration", NodeRole::Do(keyword_method)),
        ("subscript_declaration", NodeRole::Do(keyword_method)),
        ("typealias_declaration", NodeRole::Item(Type)),
        ("associatedtype_declaration", NodeRole::Item(Type)),
        ("property_declaration", NodeRole::Do(property)),
        ("call_expression", NodeRole::Call),
        ("macro_invocation", NodeRole::Call),
        ("inheritance_specifier", NodeRole::Do(inherit)),
        ("import_declaration", NodeRole::Import(import)),
        ("comment", NodeRole::Comment),
        ("multiline_comment", NodeRole::Comment),
    ],
    comments: CommentStyle::C,
    visibility: VisibilityRule::Words { members: Restricted, others: Restricted },
    tests: Tests {
        annotations: &["Test"],
        prefix: TestPrefix::OfMethods,
        calls: &["it"],
        suites: &["describe", "context"],
    },
});

/// The grammar has one node for classes, structs, enums, actors and extensions.
fn class(table: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let Some(name) = node.child_by_field_name("name") else { return WalkStep::Children };
    let kind = match reader.field(node, "declaration_kind") {
        Some("struct") => Struct,
        Some("enum") => Enum,
        Some("extension") => Impl,
        _ => Class,
    };
    if kind != Impl {
        return table.open(reader, node, kind, name);
    }
    let Some(mut definition) = table.definition(reader, node, kind, name) else {
        return WalkStep::Children;
    };
    // It is called by its head, and what is in it belongs to the type.
    let prefix = reader.qualified(definition.name);
    definition.name = reader.text.get(definition.signature.clone()).unwrap_or(definition.name);
    definition.name = cut(definition.name.lines().next().unwrap_or(""), 200).trim_end();
    let qualified = reader.qualified(definition.name);
    reader.open_as(definition, qualified, prefix);
    WalkStep::Within
}

/// `deinit` and `subscript` are called by their keywords.
fn keyword_method(table: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let mut cursor = node.walk();
    let mut children = node.children(&mut cursor);
    match children.find(|child| matches!(child.kind(), "deinit" | "subscript")) {
        Some(keyword) => table.open(reader, node, Method, keyword),
        None => WalkStep::Children,
    }
}

/// A property with code of its own is a method; one that cannot change and is no value's, a
/// constant.
fn property(table: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let pattern = node.child_by_field_name("name");
    let name = pattern.and_then(|pattern| pattern.child_by_field_name("bound_identifier"));
    let Some(name) = name.filter(|_| !is_in_code(reader)) else { return WalkStep::Children };
    if node.child_by_field_name("computed_value").is_some() {
        let kind = if is_at_top(reader) { Function } else { Method };
        return table.open(reader, node, kind, name);
    }
    let head = cut(reader.text.get(node.start_byte()..name.start_byte()).unwrap_or(""), 1_000);
    let has = |word| head.split_whitespace().any(|other| other == word);
    if has("let") && (is_at_top(reader) || has("static")) {
        table.define_constant(reader, node, name);
    }
    WalkStep::Children
}

/// Only a class can extend another; what else is named is a protocol.
fn inherit(_: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let kind = reader.scope().map(|(_, item)| item.kind);
    let extends = matches!(kind, Some(Class | Interface));
    build_on(reader, node, if extends { Bases::Extended } else { Bases::Implemented })
}

/// `import Garden`, `@testable import Garden`, `import struct Garden.Hose`
fn import(reader: &mut FactReader<'_>, node: Node<'_>) {
    let text = reader.of(node);
    let Some((_, what)) = text.split_once("import ") else { return };
    let import = match what.trim().split_once(' ') {
        Some((_, path)) => spelling::import(path.trim()),
        None => spelling::import_all(spelling::path_words(what)),
    };
    if let Some(import) = import {
        reader.import(import, node.start_byte());
    }
}
