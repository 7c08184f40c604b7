//! Foreign text, made fit for a line of a file that people and models read.

/// The longest word that is kept whole.
pub(crate) const WORD: usize = 40;

/// One line of at most `most` characters, without anything that moves a cursor or turns the
/// writing round. A cut shows.
pub(crate) fn line(text: &str, most: usize) -> String {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let spaced: String = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !c.is_control() && !turns(*c))
        .take(most.saturating_mul(4) + 16)
        .collect();
    let tidy = spaced.split_whitespace().collect::<Vec<_>>().join(" ");
    match tidy.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", tidy[..end].trim_end()),
        None => tidy,
    }
}

/// A word that can stand in a row, a name or a path: everything else becomes `_`.
pub(crate) fn word(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let word: String =
        text.trim().chars().map(|c| if fits(c) { c } else { '_' }).take(WORD).collect();
    match word.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stays_on_one_line() {
        assert_eq!(line("a\n\tb\u{1b}[2J \u{202e}c", 20), "a b[2J c");
        assert_eq!(line("abcdef", 3), "abc…");
        assert_eq!(line("äöü", 3), "äöü");
        assert_eq!(line("", 3), "");
    }

    #[test]
    fn a_word_is_no_path() {
        assert_eq!(word("../a b"), "_._a_b");
        assert_eq!(word(".hidden"), "_hidden");
        assert_eq!(word(&"x".repeat(99)).len(), WORD);
    }
}
