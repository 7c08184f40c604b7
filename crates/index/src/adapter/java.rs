//! Java.

use tree_sitter::Node;

use super::table::comment::CommentStyle;
use super::table::{
    Bases, LanguageTable, NodeRole, Tabled, TestPrefix, Tests, VisibilityRule, spelling,
};
use crate::ItemKind::{Class, Enum, Interface, Method};
use crate::Visibility::Restricted;
use crate::reader::FactReader;

pub(super) static JAVA: Tabled = Tabled::new(LanguageTable {
    grammar: || tree_sitter_java::LANGUAGE.into(),
    nodes: &[
        ("class_declaration", NodeRole::Item(Class)),
        ("record_declaration", NodeRole::Item(Class)),
        ("interface_declaration", NodeRole::Item(Interface)),
        ("annotation_type_declaration", NodeRole::Item(Interface)),
        ("enum_declaration", NodeRole::Item(Enum)),
        ("method_declaration", NodeRole::Item(Method)),
        ("constructor_declaration", NodeRole::Item(Method)),
        ("compact_constructor_declaration", NodeRole::Item(Method)),
        ("annotation_type_element_declaration", NodeRole::Item(Method)),
        (
            "field_declaration",
            NodeRole::Constants(&["variable_declarator"], |_, words| {
                words.has("static") && words.has("final")
            }),
        ),
        ("constant_declaration", NodeRole::Constants(&["variable_declarator"], |_, _| true)),
        ("method_invocation", NodeRole::Call),
        ("object_creation_expression", NodeRole::New),
        ("superclass", NodeRole::Bases(Bases::Extended)),
        ("super_interfaces", NodeRole::Bases(Bases::Implemented)),
        ("extends_interfaces", NodeRole::Bases(Bases::Extended)),
        ("package_declaration", NodeRole::Package),
        ("import_declaration", NodeRole::Import(import)),
        ("line_comment", NodeRole::Comment),
        ("block_comment", NodeRole::Comment),
    ],
    comments: CommentStyle::C,
    visibility: VisibilityRule::Words { members: Restricted, others: Restricted },
    tests: Tests {
        annotations: &["Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate"],
        prefix: TestPrefix::MeansNothing,
        calls: &[],
        suites: &[],
    },
});

/// `import a.b.C;`, `import static a.b.C.m;`, `import a.b.*;`
fn import(reader: &mut FactReader<'_>, node: Node<'_>) {
    let text = reader.of(node).trim_end_matches(';');
    let path = text.trim_start_matches("import").trim_start();
    let path = path.strip_prefix("static ").unwrap_or(path);
    if let Some(import) = spelling::import(path) {
        reader.import(import, node.start_byte());
    }
}
