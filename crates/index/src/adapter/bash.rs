//! Shell scripts, as bash reads them.

use tree_sitter::Node;

use super::table::comment::Style;
use super::table::{Prefix, Role, Table, Tabled, Tests, Visible, spelling};
use crate::ItemKind::Function;
use crate::reader::{Reader, Visit};
use crate::{Access, ReferenceKind};

pub(super) static BASH: Tabled = Tabled::new(Table {
    grammar: || tree_sitter_bash::LANGUAGE.into(),
    nodes: &[
        ("function_definition", Role::Item(Function)),
        (
            "declaration_command",
            Role::Constants(&["variable_assignment"], |_, words| {
                words.has("readonly") || words.has("r")
            }),
        ),
        ("command", Role::Do(command)),
        ("comment", Role::Comment),
    ],
    comments: Style::HASH,
    visibility: Visible::UnlessUnderscore,
    tests: Tests { prefix: Prefix::OfFunctions, ..Tests::NONE },
});

/// A command may be a function's name. `source` and `.` bring another script in.
fn command(_: &Tabled, reader: &mut Reader<'_>, node: Node<'_>) -> Visit {
    let Some(name) = node.child_by_field_name("name") else { return Visit::Children };
    match reader.of(name) {
        "source" | "." => {
            let file = reader.field(node, "argument").unwrap_or("");
            if let Some(import) = spelling::import_file(file) {
                reader.import(import, node.start_byte());
            }
        }
        word if word.chars().all(|c| c.is_alphanumeric() || "_-:.".contains(c)) => {
            reader.refer(ReferenceKind::Call, word, Access::Bare, node.start_byte());
        }
        _ => {}
    }
    Visit::Children
}
