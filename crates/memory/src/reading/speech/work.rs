//! Words of work: what is done, and what it is done on.

use super::words::ARTEFACTS;
use crate::reading::glosses::{fold, glosses, unspaced_glosses};

/// Whether a sentence has a word of work, or something quoted.
pub(super) fn is_about_work(sentence: &str) -> bool {
    sentence.split_whitespace().any(is_of_work) || unspaced_glosses(sentence).next().is_some()
}

pub(super) fn is_of_work(word: &str) -> bool {
    names_artefact(word) || !glosses(&fold(bare(word))).is_empty()
}

pub(super) fn names_artefact(word: &str) -> bool {
    let word = if word.contains('…') { "…" } else { bare(word) };
    // Short ones are in too many other words to be a beginning.
    let names = |name: &str| match name.len() {
        ..=3 => word == name,
        _ => word.starts_with(name),
    };
    ARTEFACTS.iter().any(|name| names(name))
}

pub(super) fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}
