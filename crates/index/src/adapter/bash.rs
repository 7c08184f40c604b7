//! Shell scripts, as bash reads them.

use tree_sitter::Node;

use super::table::comment::CommentStyle;
use super::table::{LanguageTable, NodeRole, Tabled, TestPrefix, Tests, VisibilityRule, spelling};
use crate::ItemKind::Function;
use crate::reader::{FactReader, WalkStep};
use crate::{Access, ReferenceKind};

pub(super) static BASH: Tabled = Tabled::new(LanguageTable {
    grammar: || tree_sitter_bash::LANGUAGE.into(),
    nodes: &[
        ("function_definition", NodeRole::Item(Function)),
        (
            "declaration_command",
            NodeRole::Constants(&["variable_assignment"], |_, words| {
                words.has("readonly") || words.has("r")
            }),
        ),
        ("command", NodeRole::Do(command)),
        ("comment", NodeRole::Comment),
    ],
    comments: CommentStyle::HASH,
    visibility: VisibilityRule::UnlessUnderscore,
    tests: Tests { prefix: TestPrefix::OfFunctions, ..Tests::NONE },
});

/// A command may be a function's name. `source` and `.` bring another script in.
fn command(_: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let Some(name) = node.child_by_field_name("name") else { return WalkStep::Children };
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
    WalkStep::Children
}
