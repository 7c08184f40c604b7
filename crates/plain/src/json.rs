//! JSON that a terminal can be shown.

use std::borrow::Cow;

use crate::letters::is_unseen;

/// Returns a JSON document that says the same in characters that do not act on a terminal:
/// every other one is spelled as `\\u009b`. JSON has them in texts alone, so no reader of the
/// document can tell the difference (<https://www.rfc-editor.org/rfc/rfc8259#section-7>).
pub fn json(document: &str) -> Cow<'_, str> {
    // Between its texts a document has line ends and tabs.
    let is_drawn = |c: char| matches!(c, '\n' | '\r' | '\t') || !is_unseen(c);
    if document.chars().all(is_drawn) {
        return Cow::Borrowed(document);
    }
    let mut shown = String::with_capacity(document.len() + 16);
    for c in document.chars() {
        if is_drawn(c) {
            shown.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            shown.push_str(&format!("\\u{unit:04x}"));
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_says_the_same_and_acts_on_nothing() {
        assert_eq!(json("{\n  \"a\": \"größe\"\n}"), "{\n  \"a\": \"größe\"\n}");
        assert_eq!(
            json("[\"\u{9b}2J\u{202e}\u{7f}\u{e0041}\"]"),
            "[\"\\u009b2J\\u202e\\u007f\\udb40\\udc41\"]"
        );
    }
}
