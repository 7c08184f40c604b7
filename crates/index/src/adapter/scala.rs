//! Scala.

use tree_sitter::Node;

use super::table::comment::Style;
use super::table::{Bases, Prefix, Role, Table, Tabled, Tests, Visible, is_in_code, spelling};
use crate::ItemKind::{Class, Const, Enum, Function, Test, Trait, Type};
use crate::Visibility::Public;
use crate::reader::{Reader, Visit, cut};

pub(super) static SCALA: Tabled = Tabled::new(Table {
    grammar: || tree_sitter_scala::LANGUAGE.into(),
    nodes: &[
        ("class_definition", Role::Item(Class)),
        ("object_definition", Role::Item(Class)),
        ("trait_definition", Role::Item(Trait)),
        ("enum_definition", Role::Item(Enum)),
        ("function_definition", Role::Item(Function)),
        ("function_declaration", Role::Item(Function)),
        ("type_definition", Role::Item(Type)),
        ("given_definition", Role::Item(Const)),
        ("val_definition", Role::Do(value)),
        ("call_expression", Role::Call),
        ("instance_expression", Role::New),
        ("infix_expression", Role::Do(infix)),
        ("extends_clause", Role::Bases(Bases::FirstExtended)),
        ("package_clause", Role::Do(package)),
        ("import_declaration", Role::Import(import)),
        ("comment", Role::Comment),
        ("block_comment", Role::Comment),
    ],
    comments: Style::C,
    visibility: Visible::Words { members: Public, others: Public },
    tests: Tests {
        annotations: &["Test"],
        prefix: Prefix::MeansNothing,
        calls: &["test", "it"],
        suites: &["describe"],
    },
});

/// A value at the top or in an object is a constant; one in a class is each object's own.
fn value(table: &Tabled, reader: &mut Reader<'_>, node: Node<'_>) -> Visit {
    let is_shared = match reader.scope() {
        Some((_, item)) => item.signature.split(' ').any(|word| word == "object"),
        None => true,
    };
    let name = node.child_by_field_name("pattern").filter(|name| name.kind() == "identifier");
    if let Some(name) = name.filter(|_| is_shared && !is_in_code(reader)) {
        table.define_constant(reader, node, name);
    }
    Visit::Children
}

/// `"A bed" should "count rows" in { … }` is a test, called by what should be.
fn infix(table: &Tabled, reader: &mut Reader<'_>, node: Node<'_>) -> Visit {
    if reader.field(node, "operator") != Some("in") {
        return Visit::Children;
    }
    let left = node.child_by_field_name("left");
    let said = left.map(|left| left.child_by_field_name("right").unwrap_or(left));
    match said.filter(|said| said.kind() == "string").map(|said| reader.of(said)) {
        Some(title) => table.open_titled(reader, node, Test, cut(title.trim_matches('"'), 200)),
        None => Visit::Children,
    }
}

/// `package a.b` and then `package c` is `a.b.c`.
fn package(_: &Tabled, reader: &mut Reader<'_>, node: Node<'_>) -> Visit {
    let Some(name) = reader.field(node, "name") else { return Visit::Children };
    let package = match reader.package() {
        Some(outer) => format!("{outer}.{name}"),
        None => name.to_owned(),
    };
    reader.set_package(cut(&package, 200));
    Visit::Children
}

/// `import a.b.C`, `import a.b.{C => D, E as F, *}`, `import a.b._`
fn import(reader: &mut Reader<'_>, node: Node<'_>) {
    let text = reader.of(node).trim_start_matches("import").trim_start();
    let (prefix, names) = match text.split_once('{') {
        Some((prefix, names)) => (prefix, names.trim_end().trim_end_matches('}')),
        None => ("", text),
    };
    for name in names.split(',').map(str::trim) {
        let renamed = name.split_once("=>").or_else(|| name.split_once(" as "));
        let (name, alias) = match renamed {
            Some((name, alias)) => (name.trim(), Some(alias.trim().to_owned())),
            None => (name, None),
        };
        if let Some(mut import) = spelling::import(&format!("{prefix}{name}")) {
            import.alias = alias;
            reader.import(import, node.start_byte());
        }
    }
}
