//! Text into a syntax tree, with an end whatever the text is.
//!
//! A parser may take a step or two for a byte of code, and as many as a text has bytes for
//! each of them where it is none. So its steps are counted, and so is what it is handed: a
//! text of which it makes too much has no tree. Neither is timed: the same text gives the
//! same facts on any machine.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use crate::Language;
use crate::reader::Adapter;

/// How many steps a parser may take. Code takes about one for a byte, and the worst file that
/// was measured two; a text that is not the language's can take as many as it has bytes for
/// each of them. Counted, not timed, so that the same text gives the same facts.
const STEPS_FOR_A_BYTE: usize = 6;
const STEPS_AT_LEAST: usize = 20_000;
/// How often the parser asks whether to go on.
const STEPS_BETWEEN_LOOKS: usize = 100;
/// A grammar's own scanner may look ahead to the end of the text for each of its tokens, which
/// counts as no step. So the text is handed out in pieces, and these are counted.
const PIECE: usize = 4_096;
const TIMES_HANDED: usize = 64;
const HANDED_AT_LEAST: usize = 4 << 20;

thread_local! {
    /// A parser is made once a thread and language: making one is dearer than a small file.
    static PARSERS: RefCell<HashMap<Language, Parser>> = RefCell::new(HashMap::new());
}

/// Returns the tree of a text; nothing if it takes too much.
pub(crate) fn parse(adapter: &dyn Adapter, text: &str, language: Language) -> Option<Tree> {
    PARSERS.with_borrow_mut(|parsers| {
        let parser = parsers.entry(language).or_insert_with(|| {
            let mut parser = Parser::new();
            // A grammar of another ABI than the library's leaves the parser without one, and
            // every parse without a tree: a golden test of each language would fail.
            drop(parser.set_language(&adapter.grammar()));
            parser
        });
        let mut steps = 0;
        let most_steps = STEPS_AT_LEAST + text.len() * STEPS_FOR_A_BYTE;
        let most_handed = HANDED_AT_LEAST + text.len() * TIMES_HANDED;
        let handed = Cell::new(0);
        let mut watch = |_: &ParseState| {
            steps += STEPS_BETWEEN_LOOKS;
            let is_too_much = steps > most_steps || handed.get() > most_handed;
            if is_too_much { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut watch);
        let mut from = |at: usize, _| {
            let is_over = handed.get() > most_handed;
            handed.set(handed.get() + PIECE);
            if is_over { &[] } else { piece(text, at) }
        };
        let tree = parser.parse_with_options(&mut from, None, Some(options));
        if tree.is_none() {
            // It would go on with this text when it is given the next one.
            parser.reset();
        }
        tree.filter(|_| handed.get() <= most_handed)
    })
}

/// Returns what the parser is handed from a byte on. It never ends inside of a character: the
/// parser would ask for the rest, and if it is told then that the text is over, it reads
/// memory that is not there.
fn piece(text: &str, at: usize) -> &[u8] {
    let end = text.floor_char_boundary(at.saturating_add(PIECE));
    text.as_bytes().get(at..end).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_piece_ends_inside_of_a_character() {
        for letter in ["a", "é", "\u{feff}", "\u{1f600}"] {
            let text = format!("x{}", letter.repeat(2 * PIECE));
            let mut at = 0;
            while at < text.len() {
                let piece = piece(&text, at);
                assert!(!piece.is_empty() && std::str::from_utf8(piece).is_ok(), "{letter} {at}");
                at += piece.len();
            }
            assert_eq!((at, piece(&text, at)), (text.len(), &[][..]));
        }
    }
}
