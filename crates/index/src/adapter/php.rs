//! PHP.

use tree_sitter::Node;

use super::table::comment::CommentStyle;
use super::table::{
    Bases, LanguageTable, NodeRole, Tabled, TestPrefix, Tests, VisibilityRule, spelling,
};
use crate::ItemKind::{Class, Enum, Function, Interface, Method, Trait};
use crate::Visibility::Public;
use crate::reader::FactReader;

pub(super) static PHP: Tabled = Tabled::new(LanguageTable {
    grammar: || tree_sitter_php::LANGUAGE_PHP.into(),
    nodes: &[
        ("class_declaration", NodeRole::Item(Class)),
        ("interface_declaration", NodeRole::Item(Interface)),
        ("trait_declaration", NodeRole::Item(Trait)),
        ("enum_declaration", NodeRole::Item(Enum)),
        ("function_definition", NodeRole::Item(Function)),
        ("method_declaration", NodeRole::Item(Method)),
        ("const_declaration", NodeRole::Constants(&["const_element"], |_, _| true)),
        ("function_call_expression", NodeRole::Call),
        ("member_call_expression", NodeRole::Call),
        ("nullsafe_member_call_expression", NodeRole::Call),
        ("scoped_call_expression", NodeRole::Call),
        ("object_creation_expression", NodeRole::New),
        ("base_clause", NodeRole::Bases(Bases::Extended)),
        ("class_interface_clause", NodeRole::Bases(Bases::Implemented)),
        ("use_declaration", NodeRole::Bases(Bases::Implemented)),
        ("namespace_definition", NodeRole::Package),
        ("namespace_use_declaration", NodeRole::Import(use_names)),
        ("require_expression", NodeRole::Import(require)),
        ("require_once_expression", NodeRole::Import(require)),
        ("include_expression", NodeRole::Import(require)),
        ("include_once_expression", NodeRole::Import(require)),
        ("comment", NodeRole::Comment),
    ],
    comments: CommentStyle { line: &["//", "#"], not: &["#["], ..CommentStyle::C },
    visibility: VisibilityRule::Words { members: Public, others: Public },
    tests: Tests {
        annotations: &["Test"],
        prefix: TestPrefix::OfMethods,
        calls: &["test", "it"],
        suites: &["describe"],
    },
});

/// `use A\B\C;`, `use A\B\{C, D as E};`, `use function A\f;`
fn use_names(reader: &mut FactReader<'_>, node: Node<'_>) {
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
fn require(reader: &mut FactReader<'_>, node: Node<'_>) {
    let written = reader.of(node).split(['\'', '"']).nth(1).unwrap_or("");
    if let Some(import) = spelling::import_file(written) {
        reader.import(import, node.start_byte());
    }
}
