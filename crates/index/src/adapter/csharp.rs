//! C#.

use tree_sitter::Node;

use super::table::comment::Style;
use super::table::{Bases, Prefix, Role, Table, Tabled, Tests, Visible, spelling};
use crate::ItemKind::{self, Class, Enum, Function, Interface, Method, Struct, Type};
use crate::Visibility::{Private, Restricted};
use crate::reader::{Reader, Visit};

pub(super) static CSHARP: Tabled = Tabled::new(Table {
    grammar: || tree_sitter_c_sharp::LANGUAGE.into(),
    nodes: &[
        ("class_declaration", Role::Item(Class)),
        ("record_declaration", Role::ItemBy(record_kind)),
        ("struct_declaration", Role::Item(Struct)),
        ("interface_declaration", Role::Item(Interface)),
        ("enum_declaration", Role::Item(Enum)),
        ("delegate_declaration", Role::Item(Type)),
        ("method_declaration", Role::Item(Method)),
        ("constructor_declaration", Role::Item(Method)),
        ("property_declaration", Role::ItemBy(property_kind)),
        ("local_function_statement", Role::Item(Function)),
        ("destructor_declaration", Role::Do(finalizer)),
        ("operator_declaration", Role::Do(operator)),
        (
            "field_declaration",
            Role::Constants(&["variable_declarator"], |_, words| {
                words.has("const") || words.has("static") && words.has("readonly")
            }),
        ),
        ("invocation_expression", Role::Call),
        ("object_creation_expression", Role::New),
        ("base_list", Role::Bases(Bases::NotCalledI)),
        ("namespace_declaration", Role::Package),
        ("file_scoped_namespace_declaration", Role::Package),
        ("using_directive", Role::Import(using)),
        ("comment", Role::Comment),
    ],
    comments: Style { clean: without_tags, ..Style::C },
    visibility: Visible::Words { members: Private, others: Restricted },
    tests: Tests {
        annotations: &["Fact", "Theory", "Test", "TestCase", "TestMethod", "DataTestMethod"],
        prefix: Prefix::MeansNothing,
        calls: &[],
        suites: &[],
    },
});

fn record_kind(reader: &Reader<'_>, node: Node<'_>) -> Option<ItemKind> {
    let name = node.child_by_field_name("name")?;
    let head = reader.text.get(node.start_byte()..name.start_byte())?;
    Some(if head.trim_end().ends_with("struct") { Struct } else { Class })
}

/// A property that computes something is a method; `{ get; set; }` is a field.
fn property_kind(_: &Reader<'_>, node: Node<'_>) -> Option<ItemKind> {
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
fn finalizer(table: &Tabled, reader: &mut Reader<'_>, node: Node<'_>) -> Visit {
    let Some(name) = node.child_by_field_name("name") else { return Visit::Children };
    let Some(mut definition) = table.definition(reader, node, Method, name) else {
        return Visit::Children;
    };
    let with_tilde = reader.text.get(name.start_byte().saturating_sub(1)..name.end_byte());
    definition.name = with_tilde.filter(|name| name.starts_with('~')).unwrap_or(definition.name);
    reader.open(definition);
    Visit::Within
}

fn operator(table: &Tabled, reader: &mut Reader<'_>, node: Node<'_>) -> Visit {
    match node.child_by_field_name("operator") {
        Some(name) => table.open(reader, node, Method, name),
        None => Visit::Children,
    }
}

/// `using A.B;` brings in everything in `A.B`; `using X = A.B.C;` one name.
fn using(reader: &mut Reader<'_>, node: Node<'_>) {
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
