//! Scala.

use tree_sitter::Node;

use super::table::comment::CommentStyle;
use super::table::{
    Bases, LanguageTable, NodeRole, Tabled, TestPrefix, Tests, VisibilityRule, is_in_code, spelling,
};
use crate::ItemKind::{Class, Const, Enum, Function, Test, Trait, Type};
use crate::Visibility::Public;
use crate::reader::{FactReader, WalkStep, cut};

pub(super) static SCALA: Tabled = Tabled::new(LanguageTable {
    grammar: || tree_sitter_scala::LANGUAGE.into(),
    nodes: &[
        ("class_definition", NodeRole::Item(Class)),
        ("object_definition", NodeRole::Item(Class)),
        ("trait_definition", NodeRole::Item(Trait)),
        ("enum_definition", NodeRole::Item(Enum)),
        ("function_definition", NodeRole::Item(Function)),
        ("function_declaration", NodeRole::Item(Function)),
        ("type_definition", NodeRole::Item(Type)),
        ("given_definition", NodeRole::Item(Const)),
        ("val_definition", NodeRole::Do(value)),
        ("call_expression", NodeRole::Call),
        ("instance_expression", NodeRole::New),
        ("infix_expression", NodeRole::Do(infix)),
        ("extends_clause", NodeRole::Bases(Bases::FirstExtended)),
        ("package_clause", NodeRole::Do(package)),
        ("import_declaration", NodeRole::Import(import)),
        ("comment", NodeRole::Comment),
        ("block_comment", NodeRole::Comment),
    ],
    comments: CommentStyle::C,
    visibility: VisibilityRule::Words { members: Public, others: Public },
    tests: Tests {
        annotations: &["Test"],
        prefix: TestPrefix::MeansNothing,
        calls: &["test", "it"],
        suites: &["describe"],
    },
});

/// A value at the top or in an object is a constant; one in a class is each object's own.
fn value(table: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let is_shared = match reader.scope() {
        Some((_, item)) => item.signature.split(' ').any(|word| word == "object"),
        None => true,
    };
    let name = node.child_by_field_name("pattern").filter(|name| name.kind() == "identifier");
    if let Some(name) = name.filter(|_| is_shared && !is_in_code(reader)) {
        table.define_constant(reader, node, name);
    }
    WalkStep::Children
}

/// `"A bed" should "count rows" in { … }` is a test, called by what should be.
fn infix(table: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    if reader.field(node, "operator") != Some("in") {
        return WalkStep::Children;
    }
    let left = node.child_by_field_name("left");
    let said = left.map(|left| left.child_by_field_name("right").unwrap_or(left));
    match said.filter(|said| said.kind() == "string").map(|said| reader.of(said)) {
        Some(title) => table.open_titled(reader, node, Test, cut(title.trim_matches('"'), 200)),
        None => WalkStep::Children,
    }
}

/// `package a.b` and then `package c` is `a.b.c`.
fn package(_: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let Some(name) = reader.field(node, "name") else { return WalkStep::Children };
    let package = match reader.package() {
        Some(outer) => format!("{outer}.{name}"),
        None => name.to_owned(),
    };
    reader.set_package(cut(&package, 200));
    WalkStep::Children
}

/// `import a.b.C`, `import a.b.{C => D, E as F, *}`, `import a.b._`
fn import(reader: &mut FactReader<'_>, node: Node<'_>) {
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
