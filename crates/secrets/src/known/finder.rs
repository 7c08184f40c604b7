//! Finds every form of every value in one pass, most of which it skips.
//!
//! The way of Wu and Manber (A Fast Algorithm for Multi-Pattern Searching, TR-94-17, University
//! of Arizona, 1994): all forms are at least [`WINDOW`] bytes long, so three bytes that stand
//! nowhere in the first twelve of any form let the search go on ten bytes further. Chosen over an
//! automaton because values are long and few: one of all forms took fifty milliseconds to make
//! with twenty values, and looked at every byte (`examples/strike_speed.rs`).

use std::collections::HashMap;
use std::ops::Range;

/// No form is shorter.
pub(super) const WINDOW: usize = 12;

/// The bytes that are looked at in one go.
const BLOCK: usize = 3;

/// The bytes by which the beginnings of forms are told apart at the end of a text.
const HEAD: usize = 4;

pub(super) struct Finder {
    forms: Vec<Vec<u8>>,
    /// By the hash of three bytes: how much further a form can end its first [`WINDOW`] bytes.
    shift: Box<[u8]>,
    /// The forms whose first [`WINDOW`] bytes end with three bytes of this hash.
    ending: HashMap<usize, Vec<usize>>,
    /// The forms that begin so.
    beginning: HashMap<[u8; HEAD], Vec<usize>>,
    longest: usize,
}

fn hash(block: &[u8]) -> usize {
    let byte = |at: usize| usize::from(block[at]);
    (byte(0) << 10 ^ byte(1) << 5 ^ byte(2)) & 0xffff
}

impl Finder {
    /// Takes forms of at least [`WINDOW`] bytes.
    pub(super) fn new(forms: Vec<Vec<u8>>) -> Self {
        let furthest = u8::try_from(WINDOW - BLOCK + 1).unwrap_or(1);
        let mut shift = vec![furthest; 1 << 16].into_boxed_slice();
        let mut ending: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut beginning: HashMap<[u8; HEAD], Vec<usize>> = HashMap::new();
        for (index, form) in forms.iter().enumerate() {
            for end in BLOCK..=WINDOW {
                let at = hash(&form[end - BLOCK..end]);
                shift[at] = shift[at].min(u8::try_from(WINDOW - end).unwrap_or(0));
            }
            ending.entry(hash(&form[WINDOW - BLOCK..WINDOW])).or_default().push(index);
            beginning.entry(head(form)).or_default().push(index);
        }
        let longest = forms.iter().map(Vec::len).max().unwrap_or(0);
        Self { forms, shift, ending, beginning, longest }
    }

    /// Returns where forms stand, and which; also those that overlap.
    pub(super) fn find(&self, text: &[u8]) -> Vec<(Range<usize>, usize)> {
        let mut found = Vec::new();
        let mut end = WINDOW;
        while end <= text.len() {
            let at = hash(&text[end - BLOCK..end]);
            let shift = usize::from(self.shift[at]);
            if shift > 0 {
                end += shift;
                continue;
            }
            let start = end - WINDOW;
            for &form in self.ending.get(&at).into_iter().flatten() {
                if text[start..].starts_with(&self.forms[form]) {
                    found.push((start..start + self.forms[form].len(), form));
                }
            }
            end += 1;
        }
        found
    }

    /// Returns where a form may begin whose end has not come yet; the end of the text if none.
    pub(super) fn begun(&self, text: &[u8]) -> usize {
        let from = text.len().saturating_sub(self.longest.saturating_sub(1));
        let begins = |at: &usize| {
            let tail = &text[*at..];
            let is = |form: &usize| self.forms[*form].starts_with(tail);
            if tail.len() < HEAD {
                return self.forms.iter().any(|form| form.starts_with(tail));
            }
            // Three bytes that a form begins with stand in its first twelve.
            usize::from(self.shift[hash(tail)]) <= WINDOW - BLOCK
                && self.beginning.get(&head(tail)).is_some_and(|forms| forms.iter().any(is))
        };
        (from..text.len()).find(begins).unwrap_or(text.len())
    }
}

fn head(text: &[u8]) -> [u8; HEAD] {
    [text[0], text[1], text[2], text[3]]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_finds_what_a_look_at_every_place_finds(
            forms in prop::collection::vec("[ab]{12,16}", 1..6),
            text in "[abc]{0,40}",
            planted in 0_usize..6,
        ) {
            let forms: Vec<Vec<u8>> = forms.into_iter().map(String::into_bytes).collect();
            let text = [text.as_bytes(), &forms[planted % forms.len()], text.as_bytes()].concat();
            let finder = Finder::new(forms.clone());
            let mut found = finder.find(&text);
            let at = |start: usize| {
                let stands = |(_, form): &(usize, &Vec<u8>)| text[start..].starts_with(form);
                let range = move |(index, form): (usize, &Vec<u8>)| (start..start + form.len(), index);
                forms.iter().enumerate().filter(stands).map(range).collect::<Vec<_>>()
            };
            let mut expected: Vec<_> = (0..text.len()).flat_map(at).collect();
            found.sort_by_key(|(place, form)| (place.start, *form));
            expected.sort_by_key(|(place, form)| (place.start, *form));
            prop_assert_eq!(found, expected);
            let begins = |at: &usize| {
                forms.iter().any(|form| form.len() > text.len() - at && form.starts_with(&text[*at..]))
            };
            let begun = (0..text.len()).find(begins).unwrap_or(text.len());
            prop_assert!(finder.begun(&text) <= begun);
            prop_assert!(begun == text.len() || finder.begun(&text) + 16 > text.len());
        }
    }
}
