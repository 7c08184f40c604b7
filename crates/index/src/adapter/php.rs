//! PHP.

use tree_sitter::Node;

use super::table::comment::Style;
use super::table::{Bases, Prefix, Role, Table, Tabled, Tests, Visible, spelling};
use crate::ItemKind::{Class, Enum, Function, Interface, Method, Trait};
use crate::Visibility::Public;
use crate::reader::Reader;

pub(super) static PHP: Tabled = Tabled::new(Table {
    grammar: || tree_sitter_php::LANGUAGE_PHP.into(),
    nodes: &[
        ("class_declaration", Role::Item(Class)),
        ("interface_declaration", Role::Item(Interface)),
        ("trait_declaration", Role::Item(Trait)),
        ("enum_declaration", Role::Item(Enum)),
        ("function_definition", Role::Item(Function)),
        ("method_declaration", Role::Item(Method)),
        ("const_declaration", Role::Constants(&["const_element"], |_, _| true)),
        ("function_call_expression", Role::Call),
        ("member_call_expression", Role::Call),
        ("nullsafe_member_call_expression", Role::Call),
        ("scoped_call_expression", Role::Call),
        ("object_creation_expression", Role::New),
        ("base_clause", Role::Bases(Bases::Extended)),
        ("class_interface_clause", Role::Bases(Bases::Implemented)),
        ("use_declaration", Role::Bases(Bases::Implemented)),
        ("namespace_definition", Role::Package),
        ("namespace_use_declaration", Role::Import(use_names)),
        ("require_expression", Role::Import(require)),
        ("require_once_expression", Role::Import(require)),
        ("include_expression", Role::Import(require)),
        ("include_once_expression", Role::Import(require)),
        ("comment", Role::Comment),
    ],
    comments: Style { line: &["//", "#"], not: &["#["], ..Style::C },
    visibility: Visible::Words { members: Public, others: Public },
    tests: Tests {
        annotations: &["Test"],
        prefix: Prefix::OfMethods,
        calls: &["test", "it"],
        suites: &["describe"],
    },
});

/// `use A\B\C;`, `use A\B\{C, D as E};`, `use function A\f;`
fn use_names(reader: &mut Reader<'_>, node: Node<'_>) {
    let text = reader.of(node).trim_end_matches(';').trim_start_matches("use").trim_start();
    let kinds = ["function ", "const "];
    let text = kinds.iter().find_map(|kind| text.strip_prefix(kind)).unwrap_or(text);
    let (prefix, names) = match text.split_once('{') {
        Some((prefix, names)) => (prefix, names.trim_end().trim_end_matches('}')),
        None => ("", text),
    };
    for name in names.split(',').map(str::trim) {
        let (name, alias) = match name.split_once(" as ") {
            Some((name, alias)) => (name, Some(alias.trim().to_owned())),
            None => (name, None),
        };
        if let Some(mut import) = spelling::import(&format!("{prefix}{name}")) {
            import.alias = alias;
            reader.import(import, node.start_byte());
        }
    }
}

/// `require __DIR__ . '/../plot.php';`: the words of the path, as far as it is written out.
fn require(reader: &mut Reader<'_>, node: Node<'_>) {
    let written = reader.of(node).split(['\'', '"']).nth(1).unwrap_or("");
    if let Some(import) = spelling::import_file(written) {
        reader.import(import, node.start_byte());
    }
}
