//! What sessions were told, so that it is known when an event only says it back.
//!
//! A line that was carried into a session, quoted by the agent and repeated by a person or a
//! channel would come back as a new signal, be written down once more, and grow by being heard.
//! So texts that memory gives out are known here by pieces of thirty bytes, and an event that has
//! one of the pieces is never a new signal; one that has little else is not heard at all, unless its
//! own part corrects what it quotes.

use std::collections::{BTreeSet, HashSet};

use crate::reading::hashed::HashedSet;
use crate::reading::scripts::is_unspaced;

/// How long a piece is. Shorter ones are in every text; a saying of five words has one.
const PIECE: usize = 30;
/// A line of fewer letters is in any text.
const SHORTEST_LINE: usize = 8;
/// How many pieces are known. Half a megabyte of texts; what is more is not guarded.
const MOST: usize = 500_000;

/// The texts that memory gives out.
#[derive(Clone, Debug, Default)]
pub struct Recalled {
    pieces: HashedSet,
    /// Texts that are shorter than a piece.
    short: HashSet<String>,
    /// Those of them that are lines: they are known in the middle of a text too.
    lines: HashSet<String>,
    /// How long the lines are.
    lengths: BTreeSet<usize>,
}

/// How much of a text was given out before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Quoting {
    Nothing,
    Some,
    /// Half of it or more.
    Mostly,
}

impl Recalled {
    /// Learns a text. Of a file each line is a text.
    pub fn add(&mut self, text: &str) {
        for line in text.lines() {
            let letters = letters_of(line);
            if letters.len() < PIECE {
                // A word or two are in any text.
                if letters.len() >= PIECE / 2 {
                    self.short.insert(letters);
                }
                continue;
            }
            let room = MOST.saturating_sub(self.pieces.len());
            self.pieces.extend(pieces(&letters).take(room));
        }
    }

    /// Learns a line that sessions are told. One that is shorter than a piece is known wherever it
    /// stands whole, if it is more than a word.
    pub fn add_line(&mut self, text: &str) {
        self.add(text);
        let words = LetterWords::of(text);
        let is_short = words.letters.len() < PIECE && words.letters.len() >= SHORTEST_LINE;
        if is_short && words.starts.len() > 1 {
            self.lengths.insert(words.letters.len());
            self.lines.insert(words.letters);
        }
    }

    /// Whether a text has a short line in it.
    pub(crate) fn has_short_line(&self, text: &str) -> bool {
        if self.lines.is_empty() {
            return false;
        }
        let words = LetterWords::of(text);
        let is_line = |from: usize, length: usize| {
            let to = from + length;
            words.ends.binary_search(&to).is_ok()
                && words.letters.get(from..to).is_some_and(|piece| self.lines.contains(piece))
        };
        words.starts.iter().any(|from| self.lengths.iter().any(|length| is_line(*from, *length)))
    }

    /// Returns what of a text memory has not told: the speaker's own words around a quote.
    pub(crate) fn own_part(&self, text: &str) -> String {
        let mut letters = String::new();
        // Of each byte of the letters, where its letter stands in the text.
        let mut places: Vec<usize> = Vec::new();
        for (at, c) in text.char_indices().filter(|(_, c)| c.is_alphanumeric()) {
            letters.extend(c.to_lowercase());
            places.resize(letters.len(), at);
        }
        if self.short.contains(&letters) {
            return String::new();
        }
        let mut told: HashSet<usize> = HashSet::new();
        for (from, piece) in pieces(&letters).enumerate() {
            if self.pieces.contains(&piece) {
                told.extend(&places[from..from + PIECE]);
            }
        }
        text.char_indices().filter(|(at, _)| !told.contains(at)).map(|(_, c)| c).collect()
    }

    pub(crate) fn quoted_by(&self, text: &str) -> Quoting {
        if self.pieces.is_empty() && self.short.is_empty() {
            return Quoting::Nothing;
        }
        let letters = letters_of(text);
        if self.short.contains(&letters) {
            return Quoting::Mostly;
        }
        let (mut all, mut known) = (0_usize, 0_usize);
        for piece in pieces(&letters) {
            all += 1;
            known += usize::from(self.pieces.contains(&piece));
        }
        match known {
            0 => Quoting::Nothing,
            // A quote of n bytes has n - 29 pieces; around it as many again are cut.
            _ if (known + PIECE) * 2 >= all => Quoting::Mostly,
            _ => Quoting::Some,
        }
    }
}

/// The letters and digits of a text, in lower case: how it is set decides nothing.
fn letters_of(text: &str) -> String {
    let mut letters = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_ascii() {
            true if c.is_ascii_alphanumeric() => letters.push(c.to_ascii_lowercase()),
            false if c.is_alphanumeric() => letters.extend(c.to_lowercase()),
            _ => {}
        }
    }
    letters
}

/// The letters of a text, and where its words begin and end among them. In a script that sets no
/// words apart each letter is one.
#[derive(Default)]
struct LetterWords {
    letters: String,
    starts: Vec<usize>,
    ends: Vec<usize>,
}

impl LetterWords {
    fn of(text: &str) -> Self {
        let mut words = Self::default();
        let mut inside = false;
        for c in text.chars() {
            let apart = is_unspaced(c);
            if inside && (apart || !c.is_alphanumeric()) {
                words.ends.push(words.letters.len());
                inside = false;
            }
            if !c.is_alphanumeric() {
                continue;
            }
            if !inside {
                words.starts.push(words.letters.len());
            }
            words.letters.extend(c.to_lowercase());
            inside = !apart;
            if apart {
                words.ends.push(words.letters.len());
            }
        }
        if inside {
            words.ends.push(words.letters.len());
        }
        words
    }
}

/// Hashes all pieces of a text, each from the one before it: a long message is as cheap as its
/// letters are.
fn pieces(letters: &str) -> impl Iterator<Item = u64> {
    const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
    // What the oldest letter of a piece has been multiplied by when it leaves.
    let oldest = (0..PIECE).fold(1_u64, |power, _| power.wrapping_mul(BASE));
    let bytes = letters.as_bytes();
    let mut rolling = 0_u64;
    (0..bytes.len()).filter_map(move |at| {
        let mut next = rolling.wrapping_mul(BASE).wrapping_add(u64::from(bytes[at]) + 1);
        if let Some(left) = at.checked_sub(PIECE) {
            next = next.wrapping_sub((u64::from(bytes[left]) + 1).wrapping_mul(oldest));
        }
        rolling = next;
        // The low bits know the last letters only.
        (at + 1 >= PIECE).then(|| (rolling ^ (rolling >> 32)).wrapping_mul(BASE).rotate_left(29))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LINE: &str = "Run `make migrate-check` before you commit a migration";

    fn recalled() -> Recalled {
        let mut recalled = Recalled::default();
        recalled.add(LINE);
        recalled.add("テストは必ず毎回実行してから提出してください");
        recalled.add("short but known to all");
        recalled
    }

    #[track_caller]
    fn check(text: &str, expected: Quoting) {
        assert_eq!(recalled().quoted_by(text), expected, "{text}");
    }

    #[test]
    fn what_was_told_is_known_when_it_comes_back() {
        check(LINE, Quoting::Mostly);
        check("run make  MIGRATE-CHECK before you commit a migration!", Quoting::Mostly);
        check(
            "As you said: Run `make migrate-check` before you commit a migration",
            Quoting::Mostly,
        );
        check("テストは必ず毎回実行してから提出してください。", Quoting::Mostly);
        check("Short, but known to all.", Quoting::Mostly);
        let long =
            "This is about something else entirely, and it goes on for quite a while. ".repeat(3);
        check(&format!("{long}{LINE}"), Quoting::Some);
        check(&long, Quoting::Nothing);
        check("Run the tests before you commit", Quoting::Nothing);
        check("", Quoting::Nothing);
        assert_eq!(Recalled::default().quoted_by(LINE), Quoting::Nothing);
    }

    #[test]
    fn around_a_quote_stand_the_speakers_own_words() {
        let own = |text: &str| {
            let own = recalled().own_part(text);
            own.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).fold(
                String::new(),
                |all, word| {
                    if all.is_empty() { word.to_owned() } else { format!("{all} {word}") }
                },
            )
        };
        assert_eq!(own(LINE), "");
        assert_eq!(own("Short, but known to all."), "");
        assert_eq!(own(&format!("You forgot: {LINE}!")), "You forgot");
        assert_eq!(own(&format!("{LINE}. İt is wrong.")), "İt is wrong");
        assert_eq!(own("「テストは必ず毎回実行してから提出してください」を忘れた"), "を忘れた");
        assert_eq!(own("Run the tests"), "Run the tests");
    }

    #[test]
    fn a_short_line_is_known_wherever_it_stands_whole() {
        let mut recalled = Recalled::default();
        for line in ["Squash commits", "テストは毎回実行", "Squash", "ask me"] {
            recalled.add_line(line);
        }
        for text in [
            "From now on squash commits",
            "please: *Squash*  commits!",
            "squash commits",
            "今後、テストは毎回実行してください",
        ] {
            assert!(recalled.has_short_line(text), "{text}");
        }
        for text in ["From now on squash", "squash commitsx", "unsquash commits", "do ask me", ""] {
            assert!(!recalled.has_short_line(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_that_was_told_is_known(text in "[^\n\r]{40,80}", around in "[a-z ]{0,9}") {
            let mut recalled = Recalled::default();
            recalled.add(&text);
            if letters_of(&text).len() >= PIECE {
                prop_assert_ne!(recalled.quoted_by(&format!("{around} {text}")), Quoting::Nothing);
            }
        }
    }
}
