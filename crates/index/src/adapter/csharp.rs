//! C#.

use tree_sitter::Node;

use super::table::comment::CommentStyle;
use super::table::{
    Bases, LanguageTable, NodeRole, Tabled, TestPrefix, Tests, VisibilityRule, spelling,
};
use crate::ItemKind::{self, Class, Enum, Function, Interface, Method, Struct, Type};
use crate::Visibility::{Private, Restricted};
use crate::reader::{FactReader, WalkStep};

pub(super) static CSHARP: Tabled = Tabled::new(LanguageTable {
    grammar: || tree_sitter_c_sharp::LANGUAGE.into(),
    nodes: &[
        ("class_declaration", NodeRole::Item(Class)),
        ("record_declaration", NodeRole::ItemBy(record_kind)),
        ("struct_declaration", NodeRole::Item(Struct)),
        ("interface_declaration", NodeRole::Item(Interface)),
        ("enum_declaration", NodeRole::Item(Enum)),
        ("delegate_declaration", NodeRole::Item(Type)),
        ("method_declaration", NodeRole::Item(Method)),
        ("constructor_declaration", NodeRole::Item(Method)),
        ("property_declaration", NodeRole::ItemBy(property_kind)),
        ("local_function_statement", NodeRole::Item(Function)),
        ("destructor_declaration", NodeRole::Do(finalizer)),
        ("operator_declaration", NodeRole::Do(operator)),
        (
            "field_declaration",
            NodeRole::Constants(&["variable_declarator"], |_, words| {
                words.has("const") || words.has("static") && words.has("readonly")
            }),
        ),
        ("invocation_expression", NodeRole::Call),
        ("object_creation_expression", NodeRole::New),
        ("base_list", NodeRole::Bases(Bases::NotCalledI)),
        ("namespace_declaration", NodeRole::Package),
        ("file_scoped_namespace_declaration", NodeRole::Package),
        ("using_directive", NodeRole::Import(using)),
        ("comment", NodeRole::Comment),
    ],
    comments: CommentStyle { clean: without_tags, ..CommentStyle::C },
    visibility: VisibilityRule::Words { members: Private, others: Restricted },
    tests: Tests {
        annotations: &["Fact", "Theory", "Test", "TestCase", "TestMethod", "DataTestMethod"],
        prefix: TestPrefix::MeansNothing,
        calls: &[],
        suites: &[],
    },
});

fn record_kind(reader: &FactReader<'_>, node: Node<'_>) -> Option<ItemKind> {
    let name = node.child_by_field_name("name")?;
    let head = reader.text.get(node.start_byte()..name.start_byte())?;
    Some(if head.trim_end().ends_with("struct") { Struct } else { Class })
}

/// A property that computes something is a method; `{ get; set; }` is a field.
fn property_kind(_: &FactReader<'_>, node: Node<'_>) -> Option<ItemKind> {
    let computed = node.child_by_field_name("value");
    if computed.is_some_and(|value| value.kind() == "arrow_expression_clause") {
        return Some(Method);
    }
    let accessors = node.child_by_field_name("accessors")?;
    let mut cursor = accessors.walk();
    let has_code = accessors
        .named_children(&mut cursor)
        .any(|accessor| accessor.child_by_field_name("body").is_some());
    has_code.then_some(Method)
}

/// A finalizer is called like its class; its own name is with the tilde.
fn finalizer(table: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let Some(name) = node.child_by_field_name("name") else { return WalkStep::Children };
    let Some(mut definition) = table.definition(reader, node, Method, name) else {
        return WalkStep::Children;
    };
    let with_tilde = reader.text.get(name.start_byte().saturating_sub(1)..name.end_byte());
    definition.name = with_tilde.filter(|name| name.starts_with('~')).unwrap_or(definition.name);
    reader.open(definition);
    WalkStep::Within
}

fn operator(table: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    match node.child_by_field_name("operator") {
        Some(name) => table.open(reader, node, Method, name),
        None => WalkStep::Children,
    }
}

/// `using A.B;` brings in everything in `A.B`; `using X = A.B.C;` one name.
fn using(reader: &mut FactReader<'_>, node: Node<'_>) {
    let text = reader.of(node).trim_end_matches(';').trim_start_matches("global ");
    let path = text.trim_start_matches("using").trim_start();
    let path = path.strip_prefix("static ").unwrap_or(path);
    let import = match path.split_once('=') {
        Some((alias, path)) => spelling::import(path).map(|mut import| {
            import.alias = Some(alias.trim().to_owned());
            import
        }),
        None => spelling::import_all(spelling::path_words(path)),
    };
    if let Some(import) = import {
        reader.import(import, node.start_byte());
    }
}

/// Leaves the words of an XML comment, and the names that its tags refer to.
fn without_tags(comment: String) -> String {
    let mut words = String::with_capacity(comment.len());
    let mut rest = comment.as_str();
    while let Some((before, tagged)) = rest.split_once('<') {
        words.push_str(before);
        let Some((tag, after)) = tagged.split_once('>') else {
            words.push('<');
            rest = tagged;
            break;
        };
        let referred = tag.split_once("ref=\"").or_else(|| tag.split_once("name=\""));
        if let Some((name, _)) = referred.and_then(|(_, value)| value.split_once('"')) {
            words.push_str(name);
            words.push_str(if tag.ends_with('/') { "" } else { ": " });
        }
        rest = after;
    }
    words.push_str(rest);
    let lines = words.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}
