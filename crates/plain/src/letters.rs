//! Which characters of a text a reader gets.

use crate::escapes;

/// Returns whether nothing is drawn for a character, or something else because of it.
///
/// The ranges are those of `Default_Ignorable_Code_Point`
/// (<https://www.unicode.org/Public/UCD/latest/ucd/DerivedCoreProperties.txt>), which holds the
/// controls of direction, the zero-width characters, the tags and the variation selectors;
/// then the anchors of interlinear notes, private use and noncharacters.
pub(crate) fn is_unseen(c: char) -> bool {
    let is_noncharacter = u32::from(c) & 0xfffe == 0xfffe;
    c.is_control()
        || is_noncharacter
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{e000}'..='\u{f8ff}'
                | '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}' | '\u{f0000}'..='\u{10ffff}'
        )
}

/// Returns whether a reader may take the character for the end of a line.
pub(crate) fn breaks(c: char) -> bool {
    matches!(c, '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The characters of a text that something is drawn for, and its white space. `\r\n` is one
/// break.
pub(crate) struct Seen<'t>(&'t str);

impl<'t> Seen<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self(text)
    }
}

impl Iterator for Seen<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        loop {
            let mut letters = self.0.chars();
            let c = letters.next()?;
            let rest = letters.as_str();
            if escapes::opens(c) {
                self.0 = escapes::after(c, rest);
                continue;
            }
            self.0 = rest;
            let is_half_a_break = c == '\r' && rest.starts_with('\n');
            if c.is_whitespace() && !is_half_a_break || !is_unseen(c) {
                return Some(c);
            }
        }
    }
}

/// The same on one line: runs of white space are one blank, and none is at either end.
pub(crate) struct Folded<I: Iterator<Item = char>> {
    letters: I,
    waiting: Option<char>,
    began: bool,
}

impl<I: Iterator<Item = char>> Folded<I> {
    pub(crate) fn of(letters: I) -> Self {
        Self { letters, waiting: None, began: false }
    }
}

impl<I: Iterator<Item = char>> Iterator for Folded<I> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        if let Some(letter) = self.waiting.take() {
            return Some(letter);
        }
        let mut gap = false;
        loop {
            let letter = self.letters.next()?;
            if letter.is_whitespace() {
                gap = true;
            } else if gap && self.began {
                self.waiting = Some(letter);
                return Some(' ');
            } else {
                self.began = true;
                return Some(letter);
            }
        }
    }
}
