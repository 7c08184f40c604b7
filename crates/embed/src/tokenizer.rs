//! Text into the model's word pieces, exactly as the model was trained to see them.
//!
//! Clean, take apart at accents, lower the case, split at white space and punctuation, then
//! take the longest known piece again and again. All of it is lazy: a megabyte of text that is
//! cut at 128 tokens costs as much as its first lines.
//!
//! The file's own truncation and padding (both 128) are not used: length is the caller's, and
//! nothing here needs padding.

use std::collections::HashMap;
use std::path::Path;

use unicode_categories::UnicodeCategories;
use unicode_normalization::UnicodeNormalization;

use crate::EmbedError;
use crate::weights::WORDS;

/// A longer word is unknown as a whole.
const MAX_WORD_CHARS: usize = 100;

const UNKNOWN: &str = "[UNK]";
const START: &str = "[CLS]";
const END: &str = "[SEP]";
/// Names that stand for themselves when a text contains them, as in the reference.
const SPECIAL: [&str; 5] = ["[PAD]", UNKNOWN, START, END, "[MASK]"];

pub(crate) struct Tokenizer {
    /// Pieces that begin a word.
    first: HashMap<Box<str>, u32>,
    /// Pieces that continue one, without their `##`.
    later: HashMap<Box<str>, u32>,
    special: [u32; SPECIAL.len()],
    start: u32,
    end: u32,
    unknown: u32,
    longest: usize,
}

impl Tokenizer {
    pub(crate) fn read(path: &Path) -> Result<Self, EmbedError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| EmbedError::of_file(path, source))?;
        Self::of(&text).ok_or_else(|| EmbedError::Damaged {
            path: path.to_owned(),
            what: format!("it is not the vocabulary of {WORDS} words"),
        })
    }

    fn of(vocabulary: &str) -> Option<Self> {
        let mut first = HashMap::with_capacity(WORDS);
        let mut later = HashMap::with_capacity(WORDS / 4);
        let mut longest = 0;
        for (id, piece) in (0_u32..).zip(vocabulary.lines()) {
            longest = longest.max(piece.len());
            match piece.strip_prefix("##") {
                Some(rest) if !rest.is_empty() => later.insert(rest.into(), id),
                _ => first.insert(piece.into(), id),
            };
        }
        if first.len() + later.len() != WORDS {
            return None;
        }
        let id = |name: &str| first.get(name).copied();
        let (start, end, unknown) = (id(START)?, id(END)?, id(UNKNOWN)?);
        let mut special = [0; SPECIAL.len()];
        for (into, name) in special.iter_mut().zip(SPECIAL) {
            *into = id(name)?;
        }
        Some(Self { first, later, special, start, end, unknown, longest })
    }

    /// Returns at most `limit` tokens, of which the first and the last are the model's own.
    pub(crate) fn tokens(&self, text: &str, limit: usize) -> Vec<u32> {
        let mut tokens = vec![self.start];
        let room = limit.saturating_sub(1).max(1);
        let mut rest = text;
        while tokens.len() < room {
            let Some((at, which)) = next_special(rest) else {
                self.plain(rest, room, &mut tokens);
                break;
            };
            self.plain(&rest[..at], room, &mut tokens);
            tokens.push(self.special[which]);
            rest = &rest[at + SPECIAL[which].len()..];
        }
        tokens.truncate(room);
        tokens.push(self.end);
        tokens
    }

    fn plain(&self, text: &str, room: usize, tokens: &mut Vec<u32>) {
        let mut word = String::new();
        for letter in letters(text) {
            if tokens.len() >= room {
                return;
            }
            let alone = is_punctuation(letter);
            if alone || letter.is_whitespace() {
                self.pieces(&word, tokens);
                word.clear();
                if alone {
                    self.pieces(letter.encode_utf8(&mut [0; 4]), tokens);
                }
            } else {
                word.push(letter);
            }
        }
        self.pieces(&word, tokens);
    }

    /// The longest piece, then the longest of the rest; one that is not known makes the whole
    /// word unknown.
    fn pieces(&self, word: &str, tokens: &mut Vec<u32>) {
        if word.is_empty() {
            return;
        }
        let before = tokens.len();
        let mut rest = word;
        if word.chars().count() > MAX_WORD_CHARS {
            tokens.push(self.unknown);
            return;
        }
        while !rest.is_empty() {
            let known = if rest.len() == word.len() { &self.first } else { &self.later };
            let ends = (1..=rest.len().min(self.longest)).rev();
            let piece = ends.filter(|end| rest.is_char_boundary(*end)).find_map(|end| {
                let id = known.get(&rest[..end])?;
                Some((*id, end))
            });
            let Some((id, end)) = piece else {
                tokens.truncate(before);
                tokens.push(self.unknown);
                return;
            };
            tokens.push(id);
            rest = &rest[end..];
        }
    }
}

/// Returns where the next special name stands, and which it is.
fn next_special(text: &str) -> Option<(usize, usize)> {
    text.match_indices('[').find_map(|(at, _)| {
        let which = SPECIAL.iter().position(|name| text[at..].starts_with(name))?;
        Some((at, which))
    })
}

/// A text's letters as the vocabulary knows them: no control characters, no accents, small,
/// and ideographs apart.
fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars()
        .filter(|letter| !is_dropped(*letter))
        .flat_map(|letter| {
            let apart = is_ideograph(letter);
            [apart.then_some(' '), Some(letter), apart.then_some(' ')].into_iter().flatten()
        })
        .nfd()
        .filter(|letter| !letter.is_mark_nonspacing())
        .flat_map(char::to_lowercase)
}

fn is_dropped(letter: char) -> bool {
    match letter {
        '\t' | '\n' | '\r' => false,
        '\u{fffd}' => true,
        ' '..='~' => false,
        // White space among these would be lost: the order is that of the reference.
        _ => letter.is_other(),
    }
}

fn is_punctuation(letter: char) -> bool {
    letter.is_ascii_punctuation() || !letter.is_ascii() && letter.is_punctuation()
}

/// The blocks that the model's tokenizer takes for ideographs. It misses some, and so do we.
fn is_ideograph(letter: char) -> bool {
    matches!(
        u32::from(letter),
        0x4E00..=0x9FFF
            | 0x3400..=0x4DBF
            | 0x20000..=0x2A6DF
            | 0x2A700..=0x2B73F
            | 0x2B740..=0x2B81F
            | 0x2B920..=0x2CEAF
            | 0xF900..=0xFAFF
            | 0x2F800..=0x2FA1F
    )
}
