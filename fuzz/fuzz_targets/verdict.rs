//! The reader of verdicts, given any text.
//!
//! What must hold: no text passes that does not know the nonce; and one that passes ends with its
//! block, so that a rejection before it, a word behind it or a cut takes that away.

#![no_main]

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use libfuzzer_sys::fuzz_target;
use spore_model::Ruling;
use spore_pipeline::read_verdict;

/// In the corpus, for texts that know it.
const NONCE: &str = "k3x9w2";
const REJECTION: &str = r#"<verdict>{"verdict":"contradicts"}</verdict>"#;

fn passes(text: &str, nonce: &str) -> bool {
    read_verdict(text, nonce, 0.5).weigh(0.0) == Ruling::Supports
}

/// A nonce that the text cannot hold: it is made of the text. One that stays the same would be found
/// by the fuzzer, which sees what the text is compared with.
fn unknown_to(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("n{:016x}", hasher.finish())
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    assert!(!passes(&text, &unknown_to(&text)), "it passes without the nonce");
    assert!(!passes(&text, ""), "it passes where there is no nonce");
    if !passes(&text, NONCE) {
        return;
    }
    assert!(!passes(&format!("{REJECTION}\n{text}"), NONCE), "it outweighs a rejection before it");
    assert!(!passes(&format!("{text}\n{REJECTION}"), NONCE), "it outweighs a rejection behind it");
    assert!(!passes(&format!("{text}\nbut"), NONCE), "it passes and is not the last word");
    assert!(!passes(&format!("{text}\n{text}"), NONCE), "it passes twice");
    let whole = text.trim_end();
    let cut = &whole[..whole.char_indices().next_back().map_or(0, |(at, _)| at)];
    assert!(!passes(cut, NONCE), "it passes although it was cut");
});
