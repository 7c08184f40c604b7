//! C. What it shares with C++ is here too: declarators, macros, includes, `TEST(…)`.
//!
//! A prototype is not an item: the definition is, and one name should have one place.

use tree_sitter::Node;

use super::table::comment::CommentStyle;
use super::table::{
    HeadWords, LanguageTable, NodeRole, Tabled, TestPrefix, Tests, VisibilityRule, is_in_code,
    spelling,
};
use crate::ItemKind::{self, Const, Enum, Function, Macro, Method, Struct, Test, Type};
use crate::reader::{FactReader, WalkStep};

pub(super) static C: Tabled = Tabled::new(LanguageTable {
    grammar: || tree_sitter_c::LANGUAGE.into(),
    nodes: &[
        ("struct_specifier", NodeRole::ItemBy(with_body)),
        ("union_specifier", NodeRole::ItemBy(with_body)),
        ("enum_specifier", NodeRole::ItemBy(with_body)),
        ("type_definition", NodeRole::Do(type_definition)),
        ("function_definition", NodeRole::Do(function)),
        ("declaration", NodeRole::Do(constant)),
        ("preproc_def", NodeRole::ItemBy(defined)),
        ("preproc_function_def", NodeRole::Item(Macro)),
        ("call_expression", NodeRole::Call),
        ("preproc_include", NodeRole::Import(include)),
        ("comment", NodeRole::Comment),
    ],
    comments: CommentStyle::C,
    visibility: VisibilityRule::UnlessStatic,
    tests: Tests { prefix: TestPrefix::OfFunctions, ..Tests::NONE },
});

/// How deep a declarator is looked into: `char *(*(*f)(int))[4]` has five layers.
const MAX_LAYERS: usize = 32;

/// What a declarator declares.
pub(super) struct DeclaredName<'n> {
    /// The name's last word.
    pub(super) name: Node<'n>,
    /// The declarator with the parameters, if it is a function's.
    function: Option<Node<'n>>,
    /// The whole name, if it has a class before it: `Bed::water`.
    path: Option<Node<'n>>,
}

/// Finds the name inside of pointers, arrays, parameters and parentheses.
pub(super) fn declared(declarator: Node<'_>) -> Option<DeclaredName<'_>> {
    let mut found = DeclaredName { name: declarator, function: None, path: None };
    for _ in 0..MAX_LAYERS {
        let node = found.name;
        found.name = match node.kind() {
            "identifier" | "field_identifier" | "type_identifier" | "operator_name"
            | "destructor_name" | "operator_cast" => return Some(found),
            "function_declarator" => {
                found.function = Some(node);
                node.child_by_field_name("declarator")?
            }
            "qualified_identifier" => {
                found.path = found.path.or(Some(node));
                node.child_by_field_name("name")?
            }
            "template_function" => node.child_by_field_name("name")?,
            _ => node.child_by_field_name("declarator").or_else(|| node.named_child(0))?,
        };
    }
    None
}

/// A type that is only mentioned has no body.
pub(super) fn with_body(_: &FactReader<'_>, node: Node<'_>) -> Option<ItemKind> {
    node.child_by_field_name("body")?;
    Some(if node.kind() == "enum_specifier" { Enum } else { Struct })
}

/// A name that is defined as nothing guards a header or switches something.
pub(super) fn defined(_: &FactReader<'_>, node: Node<'_>) -> Option<ItemKind> {
    node.child_by_field_name("value").map(|_| Const)
}

pub(super) fn function(table: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let declared = node.child_by_field_name("declarator").and_then(declared);
    let Some(DeclaredName { name, function, path }) = declared else { return WalkStep::Children };
    if let Some((suite, test)) = macro_test(reader, name, function) {
        return open_test(table, reader, node, suite, test);
    }
    let Some(mut definition) = table.definition(reader, node, Function, name) else {
        return WalkStep::Children;
    };
    if name.kind() == "operator_cast" {
        let end = definition.name.find('(').unwrap_or(definition.name.len());
        definition.name = definition.name[..end].trim_end();
    }
    let owner = path.and_then(|path| reader.text.get(path.start_byte()..name.start_byte()));
    let owner = owner.and_then(|text| spelling::path(text.trim_end_matches(':')));
    let Some(owner) = owner else {
        reader.open(definition);
        return WalkStep::Within;
    };
    if definition.kind == Function {
        definition.kind = Method;
    }
    let qualified = reader.qualified(&format!("{}::{}", owner.name, definition.name));
    reader.open_as(definition, qualified.clone(), qualified);
    WalkStep::Within
}

/// `TEST(Suite, Name) { … }` looks like a function that has no type.
fn macro_test<'n>(
    reader: &FactReader<'_>,
    name: Node<'_>,
    function: Option<Node<'n>>,
) -> Option<(Node<'n>, Node<'n>)> {
    const MACROS: [&str; 5] = ["TEST", "TEST_F", "TEST_P", "TYPED_TEST", "TYPED_TEST_P"];
    if !MACROS.contains(&reader.of(name)) {
        return None;
    }
    let parameters = function?.child_by_field_name("parameters")?;
    Some((parameters.named_child(0)?, parameters.named_child(1)?))
}

fn open_test(
    table: &Tabled,
    reader: &mut FactReader<'_>,
    node: Node<'_>,
    suite: Node<'_>,
    test: Node<'_>,
) -> WalkStep {
    let Some(mut definition) = table.definition(reader, node, Function, test) else {
        return WalkStep::Children;
    };
    definition.kind = Test;
    let qualified = reader.qualified(&format!("{}::{}", reader.of(suite), definition.name));
    reader.open_as(definition, qualified.clone(), qualified);
    WalkStep::Within
}

/// `typedef struct { … } bed_t;` names the struct; other definitions name a type.
pub(super) fn type_definition(
    table: &Tabled,
    reader: &mut FactReader<'_>,
    node: Node<'_>,
) -> WalkStep {
    let declared = node.child_by_field_name("declarator").and_then(declared);
    let Some(DeclaredName { name, .. }) = declared else { return WalkStep::Children };
    let of = node.child_by_field_name("type");
    let of_name = of.and_then(|of| of.child_by_field_name("name"));
    if of_name.is_some_and(|of| reader.of(of) == reader.of(name)) {
        return WalkStep::Children;
    }
    match of.and_then(|of| with_body(reader, of)) {
        Some(kind) if of_name.is_none() => table.open(reader, node, kind, name),
        _ => {
            if let Some(definition) = table.definition(reader, node, Type, name) {
                reader.define(definition);
            }
            WalkStep::Children
        }
    }
}

/// A constant that has a value here.
pub(super) fn constant(table: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let declarator = node.child_by_field_name("declarator");
    let Some(declarator) = declarator.filter(|_| !is_in_code(reader)) else {
        return WalkStep::Children;
    };
    let has_value = declarator.kind() == "init_declarator"
        || node.child_by_field_name("default_value").is_some();
    let Some(DeclaredName { name, function: None, .. }) = declared(declarator) else {
        return WalkStep::Children;
    };
    let head = reader.text.get(node.start_byte()..name.start_byte()).unwrap_or("");
    let words = HeadWords::of(head);
    let is_member = reader.scope().is_some_and(|(_, item)| item.kind.holds_members());
    let is_constant = words.has("constexpr") || words.has("const");
    if has_value && is_constant && (words.has("static") || !is_member) {
        table.define_constant(reader, node, name);
    }
    WalkStep::Children
}

pub(super) fn include(reader: &mut FactReader<'_>, node: Node<'_>) {
    let path = reader.field(node, "path").unwrap_or("");
    if let Some(import) = spelling::import_file(path) {
        reader.import(import, node.start_byte());
    }
}
