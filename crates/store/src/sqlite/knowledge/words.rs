//! Turns any text into a question that the full-text index understands.
//!
//! The index has a language of its own: quotes, `NEAR`, `*`, `^`, column names, brackets, see
//! <https://www.sqlite.org/fts5.html#full_text_query_syntax>. A person or a model that asks a
//! question does not mean that language. So a text is taken apart into its words, each is put in
//! quotes, and nothing else of it remains.

use std::collections::HashSet;

/// How many words of a text are looked for: more than a question has, while a pasted file would
/// ask for its whole vocabulary.
const MAX_WORDS: usize = 64;
/// Longer words occur in no prose, and in code only as data.
const MAX_WORD_BYTES: usize = 128;

/// Returns the question for nodes with any word of `text`; `None` if it has none.
pub(super) fn any_of(text: &str) -> Option<String> {
    question(text, " OR ")
}

/// Returns the question for nodes with all words of `text`; `None` if it has none.
pub(super) fn all_of(text: &str) -> Option<String> {
    question(text, " AND ")
}

fn question(text: &str, joint: &str) -> Option<String> {
    let mut seen = HashSet::new();
    let quoted: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && word.len() <= MAX_WORD_BYTES)
        .filter(|word| seen.insert(*word))
        .take(MAX_WORDS)
        .map(|word| format!("\"{word}\""))
        .collect();
    (!quoted.is_empty()).then(|| quoted.join(joint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(any_of(text).as_deref(), expected, "{text:?}");
    }

    #[test]
    fn only_the_words_of_a_text_remain() {
        check("parse_config", Some(r#""parse" OR "config""#));
        check("a\" OR b NEAR(c*, 3)", Some(r#""a" OR "OR" OR "b" OR "NEAR" OR "c" OR "3""#));
        check("title : ^x", Some(r#""title" OR "x""#));
        check("größe, größe", Some(r#""größe""#));
    }

    #[test]
    fn a_text_without_words_asks_nothing() {
        for text in ["", " ", "\"\"", "()*^:-+", "\0", "🦀🍄"] {
            check(text, None);
        }
    }

    #[test]
    fn a_long_text_asks_for_a_bounded_number_of_words() {
        let text = (0..100_000).fold("x".repeat(1 << 20), |text, n| text + &format!(" w{n}"));
        let asked = any_of(&text).unwrap();
        assert_eq!(asked.matches(" OR ").count() + 1, MAX_WORDS);
        assert!(asked.starts_with("\"w0\""));
    }
}
