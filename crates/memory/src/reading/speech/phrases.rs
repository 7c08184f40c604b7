//! The phrases by which people correct, instruct and prefer, in many languages.
//!
//! The lists are data: another language is another set of rows. A row that is no proof by itself is a
//! *complaint* or a *hint* of one; what those need besides is said in the module above.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::kind::SpokenKind;
use super::sentences::stands_between;

#[macro_use]
mod row;
mod latin;
mod other;

use row::{Phrase, Place, Says};

fn all() -> impl Iterator<Item = &'static Phrase> {
    [latin::PHRASES, other::PHRASES].into_iter().flatten().copied().flatten()
}

/// More hints than these are none the more.
const MOST_HINTS: usize = 8;

/// What the phrases say of a sentence.
#[derive(Clone, Copy, Default)]
pub(super) struct PhrasesFound {
    /// What is certain.
    pub(super) kind: Option<SpokenKind>,
    pub(super) complains: bool,
    pub(super) hints: u8,
    /// Where the first phrase stands that makes a command a standing one.
    pub(super) standing: Option<(usize, usize)>,
}

/// All parts of all phrases, looked for in one pass: most of what people say has none of them.
struct PhraseSearch {
    parts: Option<AhoCorasick>,
    /// Each phrase with its parts' places in the search.
    phrases: Vec<(&'static Phrase, Vec<usize>)>,
    /// The phrases that begin with a part.
    by_first: Vec<Vec<usize>>,
}

static PHRASE_SEARCH: LazyLock<PhraseSearch> = LazyLock::new(PhraseSearch::new);

/// Looks for all phrases in a sentence whose first word of its own stands at `opens`.
pub(super) fn find(sentence: &str, opens: usize, is_question: bool) -> PhrasesFound {
    PHRASE_SEARCH.find(sentence, opens, is_question)
}

impl PhraseSearch {
    fn new() -> Self {
        let mut texts: Vec<&'static str> = Vec::new();
        let mut places = std::collections::HashMap::new();
        let mut phrases: Vec<(&'static Phrase, Vec<usize>)> = Vec::new();
        for phrase in all() {
            let mut place = |part: &&'static str| {
                *places.entry(*part).or_insert_with(|| {
                    texts.push(part);
                    texts.len() - 1
                })
            };
            let parts = phrase.parts.iter().map(&mut place).collect();
            phrases.push((phrase, parts));
        }
        let mut by_first = vec![Vec::new(); texts.len()];
        for (at, (_, parts)) in phrases.iter().enumerate() {
            parts.first().into_iter().for_each(|first| by_first[*first].push(at));
        }
        let parts = AhoCorasick::new(&texts).ok();
        Self { parts, phrases, by_first }
    }

    fn find(&self, sentence: &str, opens: usize, is_question: bool) -> PhrasesFound {
        let Some(parts) = &self.parts else { return PhrasesFound::default() };
        let mut hits: Vec<(usize, usize, usize)> = Vec::new();
        for hit in parts.find_overlapping_iter(sentence) {
            if stands_between(sentence, hit.start(), hit.end()) {
                hits.push((hit.pattern().as_usize(), hit.start(), hit.end()));
            }
        }
        let mut found = PhrasesFound::default();
        if hits.is_empty() {
            return found;
        }
        // In order, so that a long sentence full of them is not gone through for each of them.
        let mut present: Vec<usize> = Vec::new();
        let mut hinted: Vec<(usize, usize)> = Vec::new();
        // Of a correction and an instruction in one sentence the one that comes first says what the
        // sentence is: "from now on never push without asking" corrects nothing.
        let mut kinds: Vec<(bool, usize, SpokenKind)> = Vec::new();
        for &(part, at, end) in &hits {
            for &row in &self.by_first[part] {
                let (phrase, parts) = &self.phrases[row];
                if parts.len() > 1 && present.is_empty() {
                    present.extend(hits.iter().map(|(part, ..)| *part));
                    present.sort_unstable();
                }
                let is_there = |part: &usize| present.binary_search(part).is_ok();
                let is_whole = parts.len() == 1 || parts.iter().all(is_there);
                if !is_whole || !stands_at(phrase.place, sentence, at, opens) {
                    continue;
                }
                match phrase.says {
                    Says::Kind(kind) if is_question && kind != SpokenKind::Correction => {}
                    Says::Kind(kind) => {
                        kinds.push((kind == SpokenKind::Preference, at, kind));
                        let is_first = found.standing.is_none_or(|known| at < known.0);
                        if kind == SpokenKind::Instruction && is_first {
                            found.standing = Some((at, end));
                        }
                    }
                    Says::Complaint => found.complains = true,
                    // "Still has" is no more than "still".
                    Says::Hint if hinted.len() >= MOST_HINTS => {}
                    Says::Hint if hinted.iter().any(|known| at < known.1 && known.0 < end) => {}
                    Says::Hint => hinted.push((at, end)),
                }
            }
        }
        found.kind = kinds.into_iter().min().map(|(_, _, kind)| kind);
        found.hints = u8::try_from(hinted.len()).unwrap_or(u8::MAX);
        found
    }
}

fn stands_at(place: Place, sentence: &str, at: usize, opens: usize) -> bool {
    const BEFORE_CLAUSE: [&str; 14] =
        [",", ";", ":", "—", "–", "-", "(", "…", "、", "，", "；", "：", " and", " but"];
    let is_first = at == 0 || at == opens;
    match place {
        Place::First => is_first,
        Place::Clause => {
            let before = sentence[..at].trim_end();
            is_first || BEFORE_CLAUSE.iter().any(|mark| before.ends_with(mark))
        }
        Place::Within => true,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_phrase_stands_twice_and_all_are_in_lower_case() {
        let mut known = BTreeSet::new();
        for phrase in all() {
            let place = match phrase.place {
                Place::First => 0,
                Place::Clause => 1,
                Place::Within => 2,
            };
            assert!(known.insert((place, phrase.parts)), "twice: {:?}", phrase.parts);
            for part in phrase.parts {
                assert_eq!(part.to_lowercase(), *part, "it would never be found");
            }
        }
    }
}
