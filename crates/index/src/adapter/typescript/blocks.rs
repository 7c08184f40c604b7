//! The blocks of a test runner: `describe('…', …)`, `it('…', …)`, `test.each(rows)('…', …)`.

use tree_sitter::Node;

use super::TypeScriptWalk;
use super::grammar::{TypeScriptKind, children};
use crate::ItemKind;
use crate::reader::ItemDefinition;

/// How many words may stand between `test` and the text: `test.each(rows)`, `it.only`.
const MOST_WORDS: usize = 4;

impl<'t> TypeScriptWalk<'_, 't> {
    /// Opens the item of a test or of a group of tests, if a call is one.
    pub(super) fn open_block(&mut self, call: Node<'_>) -> bool {
        let Some(kind) = self.block_kind(call) else { return false };
        let Some(arguments) = self.field(call, self.grammar.arguments) else { return false };
        let arguments = children(arguments);
        let [title, rest @ ..] = arguments.as_slice() else { return false };
        let is_text = self.is(*title, TypeScriptKind::Leaf) || title.kind() == "template_string";
        let function = rest.iter().find(|one| self.is(**one, TypeScriptKind::FunctionValue));
        let (true, Some(function)) = (is_text, function) else { return false };
        let name = self.reader.of(*title).trim_matches(['"', '\'', '`']);
        if name.is_empty() {
            return false;
        }
        let body = self.field(*function, self.grammar.body);
        let doc = self.state.comments.above(self.reader.text, call.start_byte());
        self.reader.open(ItemDefinition::new(kind, name, call, body).doc(doc));
        true
    }

    fn block_kind(&mut self, call: Node<'_>) -> Option<ItemKind> {
        let mut is_group = false;
        let mut function = self.field(call, self.grammar.function)?;
        for _ in 0..MOST_WORDS {
            function = match self.grammar.kinds.of(function)? {
                TypeScriptKind::Identifier => {
                    let kind = match self.reader.of(function) {
                        "describe" | "suite" | "context" => ItemKind::Module,
                        "it" | "test" | "specify" if is_group => ItemKind::Module,
                        "it" | "test" | "specify" => ItemKind::Test,
                        _ => return None,
                    };
                    return self.local(function).is_none().then_some(kind);
                }
                TypeScriptKind::Member => {
                    let word = self.field(function, self.grammar.property)?;
                    is_group |= self.reader.of(word) == "describe";
                    self.field(function, self.grammar.object)?
                }
                TypeScriptKind::Call => self.field(function, self.grammar.function)?,
                _ => return None,
            };
        }
        None
    }
}
