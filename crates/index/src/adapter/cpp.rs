//! C++.

use tree_sitter::Node;

use super::c;
use super::table::comment::Style;
use super::table::{Bases, Prefix, Role, Table, Tabled, Tests, Visible, build_on, spelling};
use crate::ItemKind::{Class, Macro, Method, Module, Trait, Type};
use crate::Visibility::{Private, Public, Restricted};
use crate::reader::{Reader, Visit};

pub(super) static CPP: Tabled = Tabled::new(Table {
    grammar: || tree_sitter_cpp::LANGUAGE.into(),
    nodes: &[
        ("namespace_definition", Role::Item(Module)),
        ("class_specifier", Role::Do(class)),
        ("struct_specifier", Role::ItemBy(c::with_body)),
        ("union_specifier", Role::ItemBy(c::with_body)),
        ("enum_specifier", Role::ItemBy(c::with_body)),
        ("concept_definition", Role::Item(Trait)),
        ("alias_declaration", Role::Item(Type)),
        ("type_definition", Role::Do(c::type_definition)),
        ("function_definition", Role::Do(c::function)),
        ("declaration", Role::Do(c::constant)),
        ("field_declaration", Role::Do(member)),
        ("template_declaration", Role::Do(template)),
        ("access_specifier", Role::Do(section)),
        ("preproc_def", Role::ItemBy(c::defined)),
        ("preproc_function_def", Role::Item(Macro)),
        ("call_expression", Role::Call),
        ("new_expression", Role::New),
        ("base_class_clause", Role::Do(bases)),
        ("preproc_include", Role::Import(c::include)),
        ("using_declaration", Role::Import(using)),
        ("comment", Role::Comment),
    ],
    comments: Style::C,
    visibility: Visible::Sections,
    tests: Tests { prefix: Prefix::MeansNothing, ..Tests::NONE },
});

/// Returns whether a header that could be either is C++.
pub(super) fn is_likely(text: &str) -> bool {
    let begins = ["class ", "namespace ", "template <", "template<"];
    text.lines().any(|line| begins.iter().any(|word| line.trim_start().starts_with(word)))
}

/// A class hides its members until it says otherwise.
fn class(table: &Tabled, reader: &mut Reader<'_>, node: Node<'_>) -> Visit {
    let name = node.child_by_field_name("name");
    let Some(name) = name.filter(|_| node.child_by_field_name("body").is_some()) else {
        return Visit::Children;
    };
    let visit = table.open(reader, node, Class, name);
    if visit == Visit::Within {
        reader.set_member_visibility(Private);
    }
    visit
}

/// `public:`
fn section(_: &Tabled, reader: &mut Reader<'_>, node: Node<'_>) -> Visit {
    reader.set_member_visibility(match reader.of(node).trim_end_matches(':').trim_end() {
        "public" => Public,
        "protected" => Restricted,
        _ => Private,
    });
    Visit::Past
}

/// Its words for visibility are not those of a section: they are walked past.
fn bases(_: &Tabled, reader: &mut Reader<'_>, node: Node<'_>) -> Visit {
    build_on(reader, node, Bases::Extended);
    Visit::Past
}

/// What a template is of begins at the word `template`.
fn template(_: &Tabled, reader: &mut Reader<'_>, node: Node<'_>) -> Visit {
    if let Some(parameters) = node.child_by_field_name("parameters") {
        reader.lead_attribute(node.start_byte()..parameters.end_byte());
    }
    Visit::Children
}

/// A method without a body is declared here and defined elsewhere, unless it is pure.
fn member(table: &Tabled, reader: &mut Reader<'_>, node: Node<'_>) -> Visit {
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
fn using(reader: &mut Reader<'_>, node: Node<'_>) {
    let path = reader.of(node).trim_end_matches(';').trim_start_matches("using").trim();
    let import = match path.strip_prefix("namespace ") {
        Some(space) => spelling::import_all(spelling::path_words(space)),
        None => spelling::import(path),
    };
    if let Some(import) = import {
        reader.import(import, node.start_byte());
    }
}
