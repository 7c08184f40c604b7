//! C++.

use tree_sitter::Node;

use super::c;
use super::table::comment::CommentStyle;
use super::table::{
    Bases, LanguageTable, NodeRole, Tabled, TestPrefix, Tests, VisibilityRule, build_on, spelling,
};
use crate::ItemKind::{Class, Macro, Method, Module, Trait, Type};
use crate::Visibility::{Private, Public, Restricted};
use crate::reader::{FactReader, WalkStep};

pub(super) static CPP: Tabled = Tabled::new(LanguageTable {
    grammar: || tree_sitter_cpp::LANGUAGE.into(),
    nodes: &[
        ("namespace_definition", NodeRole::Item(Module)),
        ("class_specifier", NodeRole::Do(class)),
        ("struct_specifier", NodeRole::ItemBy(c::with_body)),
        ("union_specifier", NodeRole::ItemBy(c::with_body)),
        ("enum_specifier", NodeRole::ItemBy(c::with_body)),
        ("concept_definition", NodeRole::Item(Trait)),
        ("alias_declaration", NodeRole::Item(Type)),
        ("type_definition", NodeRole::Do(c::type_definition)),
        ("function_definition", NodeRole::Do(c::function)),
        ("declaration", NodeRole::Do(c::constant)),
        ("field_declaration", NodeRole::Do(member)),
        ("template_declaration", NodeRole::Do(template)),
        ("access_specifier", NodeRole::Do(section)),
        ("preproc_def", NodeRole::ItemBy(c::defined)),
        ("preproc_function_def", NodeRole::Item(Macro)),
        ("call_expression", NodeRole::Call),
        ("new_expression", NodeRole::New),
        ("base_class_clause", NodeRole::Do(bases)),
        ("preproc_include", NodeRole::Import(c::include)),
        ("using_declaration", NodeRole::Import(using)),
        ("comment", NodeRole::Comment),
    ],
    comments: CommentStyle::C,
    visibility: VisibilityRule::Sections,
    tests: Tests { prefix: TestPrefix::MeansNothing, ..Tests::NONE },
});

/// Returns whether a header that could be either is C++.
pub(super) fn is_likely(text: &str) -> bool {
    let begins = ["class ", "namespace ", "template <", "template<"];
    text.lines().any(|line| begins.iter().any(|word| line.trim_start().starts_with(word)))
}

/// A class hides its members until it says otherwise.
fn class(table: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let name = node.child_by_field_name("name");
    let Some(name) = name.filter(|_| node.child_by_field_name("body").is_some()) else {
        return WalkStep::Children;
    };
    let visit = table.open(reader, node, Class, name);
    if visit == WalkStep::Within {
        reader.set_member_visibility(Private);
    }
    visit
}

/// `public:`
fn section(_: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    reader.set_member_visibility(match reader.of(node).trim_end_matches(':').trim_end() {
        "public" => Public,
        "protected" => Restricted,
        _ => Private,
    });
    WalkStep::Past
}

/// Its words for visibility are not those of a section: they are walked past.
fn bases(_: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    build_on(reader, node, Bases::Extended);
    WalkStep::Past
}

/// What a template is of begins at the word `template`.
fn template(_: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    if let Some(parameters) = node.child_by_field_name("parameters") {
        reader.lead_attribute(node.start_byte()..parameters.end_byte());
    }
    WalkStep::Children
}

/// A method without a body is declared here and defined elsewhere, unless it is pure.
fn member(table: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let value = node.child_by_field_name("default_value");
    let declarator = node.child_by_field_name("declarator");
    let is_pure = value.is_some_and(|value| reader.of(value) == "0")
        && declarator.is_some_and(|of| of.kind().ends_with("declarator"));
    match declarator.and_then(c::declared).filter(|_| is_pure) {
        Some(declared) => table.open(reader, node, Method, declared.name),
        None => c::constant(table, reader, node),
    }
}

/// `using a::B;`, `using namespace a;`
fn using(reader: &mut FactReader<'_>, node: Node<'_>) {
    let path = reader.of(node).trim_end_matches(';').trim_start_matches("using").trim();
    let import = match path.strip_prefix("namespace ") {
        Some(space) => spelling::import_all(spelling::path_words(space)),
        None => spelling::import(path),
    };
    if let Some(import) = import {
        reader.import(import, node.start_byte());
    }
}
