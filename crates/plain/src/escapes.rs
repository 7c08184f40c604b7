//! Escape sequences: where they begin and where they end.
//!
//! The grammar is that of ECMA-48, sections 5.3 to 5.6
//! (<https://ecma-international.org/publications-and-standards/standards/ecma-48/>), with two
//! additions that terminals made: BEL ends a string as well as ST does, and CAN, SUB or another
//! ESC break a sequence off. One addition is ours: no sequence goes past the end of its line,
//! so that a program that was stopped in the middle of one does not take the rest of a log with
//! it.

use std::borrow::Cow;

const ESC: char = '\u{1b}';
const BEL: char = '\u{7}';
/// Ends a string, as one character; `ESC \` is its other form.
const ST: char = '\u{9c}';
/// Opens a control sequence, as one character; `ESC [` is its other form.
const CSI: char = '\u{9b}';

/// Returns whether a character begins an escape sequence.
pub(crate) fn opens(c: char) -> bool {
    // The strings beside CSI: DCS, SOS, OSC, PM and APC.
    matches!(c, ESC | CSI | '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}')
}

/// Returns what follows the escape sequence that `opener` began.
pub(crate) fn after(opener: char, rest: &str) -> &str {
    match opener {
        ESC => after_escape(rest),
        CSI => after_control(rest),
        _ => after_string(rest),
    }
}

fn after_escape(rest: &str) -> &str {
    match rest.as_bytes().first() {
        Some(b'[') => after_control(&rest[1..]),
        Some(b']' | b'P' | b'X' | b'^' | b'_') => after_string(&rest[1..]),
        // Sets of characters and the like: some intermediate bytes, then one last byte.
        Some(b' '..=b'/') => {
            let rest = rest.trim_start_matches(|c| matches!(c, ' '..='/'));
            rest.strip_prefix(|c| matches!(c, '0'..='~')).unwrap_or(rest)
        }
        Some(b'0'..=b'~') => &rest[1..],
        _ => rest,
    }
}

/// Colours and movements: parameters and intermediate bytes, then one last byte.
fn after_control(rest: &str) -> &str {
    let rest = rest.trim_start_matches(|c| matches!(c, ' '..='?'));
    rest.strip_prefix(|c| matches!(c, '@'..='~')).unwrap_or(rest)
}

/// Titles, links and what devices are told: text up to BEL or ST.
fn after_string(rest: &str) -> &str {
    let ends = |c| matches!(c, BEL | ST | ESC | '\u{18}' | '\u{1a}' | '\n' | '\r');
    let Some(end) = rest.find(ends) else { return "" };
    let rest = &rest[end..];
    rest.strip_prefix([BEL, ST]).or_else(|| rest.strip_prefix("\u{1b}\\")).unwrap_or(rest)
}

/// Returns the text without its escape sequences; everything else stays.
///
/// For what Spore itself reads: the output of a gate, whose other control characters may mean
/// something to the reader of its report.
pub fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains(opens) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(opens) {
        kept.push_str(&rest[..at]);
        let mut letters = rest[at..].chars();
        rest = letters.next().map_or("", |opener| after(opener, letters.as_str()));
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(without_escapes(text), expected, "{text:?}");
    }

    #[test]
    fn a_sequence_is_left_out_whole_in_both_forms() {
        check("\u{1b}[1m\u{1b}[38;5;9m  Finished\u{1b}[0m `test`", "  Finished `test`");
        check("a\u{1b}]0;title\u{7}b\u{1b}]8;;http://x\u{1b}\\c", "abc");
        check("a\u{9b}2Jb\u{9d}0;title\u{9c}c\u{90}q\u{1b}\\d", "abcd");
        check("a\u{1b}(Bb\u{1b}cc\u{1b}P1$r\u{1b}\\d\u{1b}_x\u{7}e", "abcde");
        check("a\u{1b}[?25lb\u{1b}[0 qc", "abc");
    }

    #[test]
    fn a_sequence_that_was_broken_off_takes_nothing_else_with_it() {
        check("cut \u{1b}", "cut ");
        check("cut \u{1b}[3", "cut ");
        check("cut \u{1b}[3\nnext", "cut \nnext");
        check("cut \u{1b}]0;title\nnext", "cut \nnext");
        check("cut \u{1b}]0;ti\u{1b}[1mtle", "cut tle");
        check("cut \u{1b}[1\u{1b}[2mx\u{1b}é", "cut xé");
    }
}
