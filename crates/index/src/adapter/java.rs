//! Java.

use tree_sitter::Node;

use super::table::comment::Style;
use super::table::{Bases, Prefix, Role, Table, Tabled, Tests, Visible, spelling};
use crate::ItemKind::{Class, Enum, Interface, Method};
use crate::Visibility::Restricted;
use crate::reader::Reader;

pub(super) static JAVA: Tabled = Tabled::new(Table {
    grammar: || tree_sitter_java::LANGUAGE.into(),
    nodes: &[
        ("class_declaration", Role::Item(Class)),
        ("record_declaration", Role::Item(Class)),
        ("interface_declaration", Role::Item(Interface)),
        ("annotation_type_declaration", Role::Item(Interface)),
        ("enum_declaration", Role::Item(Enum)),
        ("method_declaration", Role::Item(Method)),
        ("constructor_declaration", Role::Item(Method)),
        ("compact_constructor_declaration", Role::Item(Method)),
        ("annotation_type_element_declaration", Role::Item(Method)),
        (
            "field_declaration",
            Role::Constants(&["variable_declarator"], |_, words| {
                words.has("static") && words.has("final")
            }),
        ),
        ("constant_declaration", Role::Constants(&["variable_declarator"], |_, _| true)),
        ("method_invocation", Role::Call),
        ("object_creation_expression", Role::New),
        ("superclass", Role::Bases(Bases::Extended)),
        ("super_interfaces", Role::Bases(Bases::Implemented)),
        ("extends_interfaces", Role::Bases(Bases::Extended)),
        ("package_declaration", Role::Package),
        ("import_declaration", Role::Import(import)),
        ("line_comment", Role::Comment),
        ("block_comment", Role::Comment),
    ],
    comments: Style::C,
    visibility: Visible::Words { members: Restricted, others: Restricted },
    tests: Tests {
        annotations: &["Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate"],
        prefix: Prefix::MeansNothing,
        calls: &[],
        suites: &[],
    },
});

/// `import a.b.C;`, `import static a.b.C.m;`, `import a.b.*;`
fn import(reader: &mut Reader<'_>, node: Node<'_>) {
    let text = reader.of(node).trim_end_matches(';');
    let path = text.trim_start_matches("import").trim_start();
    let path = path.strip_prefix("static ").unwrap_or(path);
    if let Some(import) = spelling::import(path) {
        reader.import(import, node.start_byte());
    }
}
