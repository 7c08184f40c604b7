//! Sentences, and what in them is the speaker's own.

use crate::reading::scripts::is_unspaced;

/// Whether what stands between two places is a word or words of their own. Where words are not
/// set apart, it only has to be there.
pub(super) fn stands_between(text: &str, start: usize, end: usize) -> bool {
    let is_word = |c: char| c.is_alphanumeric() && !is_unspaced(c);
    let before = text[..start].chars().next_back().is_some_and(is_word);
    let after = text[end..].chars().next().is_some_and(is_word);
    let opens = text[start..].chars().next().is_some_and(is_word);
    let closes = text[..end].chars().next_back().is_some_and(is_word);
    !(opens && before || closes && after)
}

pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    // The mark that ends a sentence belongs to it, and a point inside of a word ends none.
    let ends = |c: char| matches!(c, '.' | '!' | '?' | '。' | '！' | '？' | '\n');
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut chars = rest.char_indices().peekable();
        let mut end = rest.len();
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map(|(_, c)| *c);
            let apart = next.is_none_or(char::is_whitespace) || is_unspaced(c) || c == '\n';
            if ends(c) && apart {
                end = at + c.len_utf8();
                break;
            }
        }
        let (sentence, left) = rest.split_at(end);
        rest = left;
        Some(sentence.trim())
    })
    .filter(|sentence| !sentence.is_empty())
}

/// How much of a message is read. What is longer is pasted, and what people have to say of it they say
/// before; it also bounds what one event may cost.
const MOST: usize = 32 << 10;

/// The beginning of a text that is read.
pub(super) fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(MOST)]
}

/// The text without what it quotes: what stands in marks, in code and behind `>`.
pub(super) fn without_quotes(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut fenced = false;
    for line in text.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            fenced = !fenced;
        } else if !fenced && !trimmed.starts_with('>') {
            unquoted(line, &mut kept);
        }
        kept.push('\n');
    }
    kept
}

fn unquoted(line: &str, kept: &mut String) {
    const OPENING: [char; 7] = ['`', '"', '“', '„', '«', '「', '\''];
    if !line.contains(OPENING) {
        kept.push_str(line);
        return;
    }
    let mut rest = line;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let close = match c {
            '`' => Some('`'),
            '"' => Some('"'),
            '“' | '„' => Some(if c == '“' { '”' } else { '“' }),
            '«' => Some('»'),
            '「' => Some('」'),
            '\'' if !before.is_alphanumeric() => Some('\''),
            _ => None,
        };
        let inner = close.and_then(|close| after.find(close).map(|at| at + close.len_utf8()));
        match inner {
            Some(length) => {
                kept.push('…');
                rest = &after[length..];
                before = '…';
            }
            None => {
                kept.push(c);
                rest = after;
                before = c;
            }
        }
    }
}
