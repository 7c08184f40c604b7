//! The texts that say what nodes mean, on their way into the index as hashes.
//!
//! Tokens are the cost of a vector, so a text is short: the words of the qualified name, the
//! first sentence of the documentation, and then the words of signature and path that were not
//! said yet. Names are cut into words, because the model reads English and not `parseConfig`.
//! The text of a node follows from its row alone: it is made once for the hash, and again when it
//! is embedded.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};

use spore_embed::Key;
use spore_index::ItemKind;
use spore_store::{CodeIndex, CodeIndexError, FileNo, NodeNo, TextParts, Writer};

use crate::error::Result;
use crate::sink::{FileSink, SeenFile};

/// The key in the index's meta under which it is said whether all texts have vectors.
const TEXTS: &str = "texts";
/// All texts had vectors at the last look, and no text has changed since.
const EMBEDDED: &str = "embedded";
const CHANGED: &str = "changed";

/// How many words a text has at most.
const MAX_WORDS: usize = 40;
/// How many words of the documentation's first sentence count.
const MAX_DOC_WORDS: usize = 24;
/// How much of the documentation is looked at for its first sentence.
const MAX_DOC_BYTES: usize = 400;
/// How many parts of a path count, from its end.
const PATH_PARTS: usize = 3;

/// Returns whether every text of an index has a vector.
pub fn has_all_vectors(index: &CodeIndex) -> std::result::Result<bool, CodeIndexError> {
    Ok(index.meta(TEXTS)?.as_deref() == Some(EMBEDDED))
}

/// Notes that every text of an index has a vector.
pub(crate) fn note_all_vectors(index: &CodeIndex) -> std::result::Result<(), CodeIndexError> {
    if has_all_vectors(index)? {
        return Ok(());
    }
    index.write(|writer| writer.set_meta(TEXTS, EMBEDDED))
}

/// Returns the text of a node; none where there is nothing to say.
pub(crate) fn text(parts: &TextParts) -> Option<String> {
    let mut text = NodeText::default();
    let TextParts { qualified, signature, doc, path } = parts;
    text.say(qualified, signature, doc, path).map(str::to_owned)
}

/// A text on its way. It can be used for one after the other.
#[derive(Default)]
struct NodeText {
    text: String,
    /// What was said, in lower case: `said` holds the words, one behind the other, and this
    /// where each ends.
    ends: Vec<usize>,
    said: String,
    word: String,
}

impl NodeText {
    fn say(&mut self, qualified: &str, signature: &str, doc: &str, path: &str) -> Option<&str> {
        self.text.clear();
        self.ends.clear();
        self.said.clear();
        self.add_words(qualified);
        let is_file = qualified.is_empty();
        if is_file {
            self.add_path(path);
        }
        self.add_sentence(doc);
        self.add_words(signature);
        if !is_file {
            self.add_path(path);
        }
        (!self.ends.is_empty()).then_some(&self.text)
    }

    fn push(&mut self, word: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(word);
    }

    fn was_said(&self, word: &str) -> bool {
        let mut start = 0;
        self.ends.iter().any(|end| {
            let said = &self.said[start..*end];
            start = *end;
            said == word
        })
    }

    /// Adds the words of names that were not said yet. Names are cut where a joint or their
    /// case says so.
    fn add_words(&mut self, names: &str) {
        let mut word = std::mem::take(&mut self.word);
        word.clear();
        let mut letters = names.chars().peekable();
        let mut before = ' ';
        while let Some(letter) = letters.next() {
            let ends_run = letters.peek().is_some_and(|next| next.is_lowercase());
            let begins = letter.is_uppercase() && (before.is_lowercase() || ends_run);
            if begins || !letter.is_alphanumeric() {
                self.add_word(&word);
                word.clear();
                if self.ends.len() >= MAX_WORDS {
                    break;
                }
            }
            if letter.is_alphanumeric() {
                word.extend(letter.to_lowercase());
            }
            before = letter;
        }
        self.add_word(&word);
        self.word = word;
    }

    fn add_word(&mut self, word: &str) {
        if word.len() > 1 && self.ends.len() < MAX_WORDS && !self.was_said(word) {
            self.push(word);
            self.said.push_str(word);
            self.ends.push(self.said.len());
        }
    }

    /// Adds the first sentence as it stands: its grammar says something, too.
    fn add_sentence(&mut self, doc: &str) {
        let doc = spore_plain::head(doc, MAX_DOC_BYTES);
        let paragraph = doc.trim_start().split("\n\n").next().unwrap_or_default();
        let end = paragraph.find(". ").or_else(|| paragraph.find(".\n")).unwrap_or(paragraph.len());
        for word in paragraph[..end].split_whitespace().take(MAX_DOC_WORDS) {
            self.push(word);
            self.said.push_str(&word.to_lowercase());
            self.ends.push(self.said.len());
        }
    }

    fn add_path(&mut self, path: &str) {
        let path = path.rsplit_once('.').map_or(path, |(path, _)| path);
        let parts: Vec<&str> = path.rsplit('/').take(PATH_PARTS).collect();
        for part in parts.into_iter().rev() {
            self.add_words(part);
        }
    }
}

/// Keeps the hashes of the texts of one change of the index.
#[derive(Default)]
pub(crate) struct TextSink {
    changed: AtomicBool,
}

/// The hash of a file's text, and those of its items by place.
type TextHashes = (Option<Key>, Vec<(usize, Key)>);

impl FileSink for TextSink {
    fn prepare(&self, seen: &SeenFile<'_>) -> Box<dyn Any + Send> {
        let mut hashes: TextHashes = (None, Vec::new());
        let mut text = NodeText::default();
        let mut key = |qualified: &str, signature: &str, doc: &str| {
            text.say(qualified, signature, doc, seen.path).map(Key::of)
        };
        if let Some(facts) = seen.facts {
            hashes.0 = key("", "", &facts.doc);
            for (place, item) in facts.items.iter().enumerate() {
                // An implementation says what its type and its methods say.
                if item.kind != ItemKind::Impl {
                    let key = key(&item.qualified, &item.signature, &item.doc);
                    hashes.1.extend(key.map(|key| (place, key)));
                }
            }
        }
        Box::new(hashes)
    }

    fn store(
        &self,
        writer: &mut Writer<'_>,
        file: FileNo,
        items: &[NodeNo],
        prepared: Box<dyn Any + Send>,
    ) -> Result<()> {
        let Ok(hashes) = prepared.downcast::<TextHashes>() else { return Ok(()) };
        let (of_file, of_items) = *hashes;
        self.changed.store(true, Ordering::Relaxed);
        if let Some(key) = of_file {
            writer.put_text(file, key.0)?;
        }
        for (place, key) in of_items {
            if let Some(node) = items.get(place) {
                writer.put_text(*node, key.0)?;
            }
        }
        Ok(())
    }

    fn forget(&self, writer: &mut Writer<'_>, file: FileNo) -> Result<()> {
        Ok(writer.forget_texts(file)?)
    }

    fn settle(&self, _: &mut Writer<'_>) -> Result<()> {
        Ok(())
    }

    fn finish(&self, writer: &mut Writer<'_>) -> Result<()> {
        if self.changed.swap(false, Ordering::Relaxed) {
            writer.set_meta(TEXTS, CHANGED)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(parts: [&str; 4], expected: &str) {
        let [qualified, signature, doc, path] = parts.map(str::to_owned);
        let found = text(&TextParts { qualified, signature, doc, path });
        assert_eq!(found.as_deref().unwrap_or_default(), expected);
    }

    #[test]
    fn a_text_says_each_word_of_names_once_and_the_first_sentence_whole() {
        check(
            [
                "Searcher::search_path",
                "pub fn search_path<P>(&mut self, path: &HTTPPath) -> Result",
                "Execute a search over the file. More of it.",
                "crates/searcher/src/searcher/mod.rs",
            ],
            "searcher search path Execute a search over the file pub fn mut self http result src mod",
        );
        check(
            ["", "", "Reads settings.\n\nLong.", "src/flask/config.py"],
            "src flask config Reads settings.",
        );
        check(["", "", "", ".x"], "");
    }

    #[test]
    fn a_text_is_short_whatever_there_is_to_say() {
        let long = "word ".repeat(10_000);
        let parts = TextParts {
            qualified: "f".repeat(10),
            signature: (0..500).map(|n| format!("a{n}, ")).collect(),
            doc: long,
            path: "ö/ä.rs".to_owned(),
        };
        assert!(text(&parts).unwrap().split(' ').count() <= MAX_WORDS + MAX_DOC_WORDS);
    }
}
