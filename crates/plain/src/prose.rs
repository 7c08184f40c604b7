//! Words for a person: on a line of a table or a report, or as a text of several lines.

use std::borrow::Cow;

use crate::letters::{Folded, Seen, breaks, is_unseen};

/// Stands where a line was cut.
const MARK: char = '…';

/// Returns the text on one line: white space is one blank, and nothing acts on the terminal.
pub fn line(text: &str) -> Cow<'_, str> {
    let is_word = |c: u8| matches!(c, b'!'..=b'~');
    let is_line = text.split(' ').all(|word| !word.is_empty() && word.bytes().all(is_word));
    if is_line { Cow::Borrowed(text) } else { Cow::Owned(Folded::of(Seen::of(text)).collect()) }
}

/// Returns the text on one line of at most `most` characters, the last of them `…` if
/// something is missing.
pub fn line_within(text: &str, most: usize) -> String {
    if text.len() <= most && is_plain_line(text) {
        return text.to_owned();
    }
    let (line, is_cut) = beginning(Folded::of(Seen::of(text)), most);
    marked(line, most, is_cut)
}

/// Whether a text is one plain line already: letters of ASCII with single blanks between.
fn is_plain_line(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_single = |at: usize| bytes.get(at + 1).is_some_and(|next| *next != b' ') && at > 0;
    bytes
        .iter()
        .enumerate()
        .all(|(at, byte)| byte.is_ascii_graphic() || *byte == b' ' && is_single(at))
}

/// Returns the first line that says something, in at most `most` characters, the last of them
/// `…` if the line is longer or others follow it.
pub fn headline(text: &str, most: usize) -> String {
    let mut letters = Seen::of(text).skip_while(|c| c.is_whitespace());
    let first = letters.by_ref().take_while(|c| !breaks(*c));
    let (line, is_cut) = beginning(Folded::of(first), most);
    let goes_on = is_cut || letters.any(|c| !c.is_whitespace());
    marked(line, most, goes_on)
}

/// Returns the text on one line of at most `most` characters; what is too long loses its
/// middle. For titles and paths, which differ at their ends.
pub fn ends_within(text: &str, most: usize) -> String {
    let letters: Vec<char> = Folded::of(Seen::of(text)).collect();
    if letters.len() <= most {
        return letters.into_iter().collect();
    }
    let Some(room) = most.checked_sub(1) else { return String::new() };
    let tail = most / 3;
    let head: String = letters[..room.saturating_sub(tail)].iter().collect();
    let tail: String = letters[letters.len() - tail..].iter().collect();
    format!("{}{MARK}{}", head.trim_end(), tail.trim_start())
}

/// Returns the text with its lines and tabs, and without anything that acts on the terminal.
///
/// Every character that some reader takes for the end of a line is one, a lone carriage return
/// too: on a terminal it would write the rest of the line over its beginning.
pub fn block(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| matches!(c, '\n' | '\t') || !is_unseen(c)) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(Seen::of(text).map(|c| if breaks(c) { '\n' } else { c }).collect())
}

/// Returns as many characters as may be, and whether there are more.
fn beginning(mut letters: impl Iterator<Item = char>, most: usize) -> (String, bool) {
    let line = letters.by_ref().take(most).collect();
    (line, letters.next().is_some())
}

/// Sets the mark behind a line that was cut, in the place of its last character if there is
/// no other.
fn marked(mut line: String, most: usize, is_cut: bool) -> String {
    if is_cut && most > 0 {
        if line.chars().count() >= most {
            line.pop();
            line.truncate(line.trim_end().len());
        }
        line.push(MARK);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "\u{1b}]0;title\u{7}\u{1b}[2J one\u{202e}\r\n\ttwo\u{2066}\u{200b}\r";

    proptest::proptest! {
        #[test]
        fn a_line_that_is_taken_as_it_is_would_have_come_out_so(text in "[ -~\t]{0,12}") {
            let (line, is_cut) = beginning(Folded::of(Seen::of(&text)), 99);
            proptest::prop_assert_eq!(line_within(&text, 99), marked(line, 99, is_cut));
        }
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        for text in ["", "a", "fn main() { x }", "größe — 日本 👍", "a (b) [c] `d` $e \\f"]
        {
            assert_eq!(line(text), text);
            assert_eq!(line_within(text, 99), text);
            assert_eq!(headline(text, 99), text);
            assert_eq!(ends_within(text, 99), text);
            assert_eq!(block(text), text);
        }
        assert_eq!(block(" a\n\n\tb  c\n"), " a\n\n\tb  c\n");
    }

    #[test]
    fn nothing_acts_on_the_terminal() {
        assert_eq!(line(HOSTILE), "one two");
        assert_eq!(block(HOSTILE), " one\n\ttwo\n");
        assert_eq!(headline(HOSTILE, 20), "one…");
        assert_eq!(line("x\u{2028}y\u{85}z\u{b}\u{feff}\u{e0041}\u{e000}\u{fe0f}"), "x y z");
        assert_eq!(block("10 %\r20 %\u{2029}end"), "10 %\n20 %\nend");
    }

    #[test]
    fn a_line_that_is_too_long_shows_it() {
        assert_eq!(line_within("abc", 3), "abc");
        assert_eq!(line_within("äöüß", 3), "äö…");
        assert_eq!(line_within("ab cdef", 4), "ab…");
        assert_eq!(line_within("abc", 0), "");
        assert_eq!(headline("\n  abc \n\n", 9), "abc");
        assert_eq!(headline("abc\ndef", 9), "abc…");
        assert_eq!(headline("abc\ndef", 3), "ab…");
    }

    #[test]
    fn a_title_loses_its_middle() {
        assert_eq!(ends_within(" two\n\tlines ", 12), "two lines");
        assert_eq!(ends_within("a title that is too long", 12), "a title…long");
        assert_eq!(ends_within("größe größe größe", 12), "größe g…röße");
        assert_eq!(ends_within("abc", 1), "…");
        assert_eq!(ends_within("abc", 0), "");
    }
}
