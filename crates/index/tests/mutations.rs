//! Golden files with random damage: whatever is left of the syntax, the facts are about the
//! text, and they are the same each time.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its own files has failed")]

mod invariants;

use std::path::Path;

use proptest::prelude::*;
use spore_index::{Language, read};

use self::invariants::check_invariants;

/// Every fixture whose language is known, with its path.
fn samples() -> Vec<(String, String, Language)> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut folders = vec![tests];
    let mut samples = Vec::new();
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<_> = std::fs::read_dir(&folder).unwrap().map(Result::unwrap).collect();
        entries.sort_by_key(std::fs::DirEntry::path);
        for entry in entries {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Some(language) = Language::of_path(&path.to_string_lossy()) {
                let name = format!("src/{}", entry.file_name().to_string_lossy());
                samples.push((name, std::fs::read_to_string(&path).unwrap(), language));
            }
        }
    }
    samples
}

#[derive(Clone, Debug)]
enum Damage {
    Cut { from: u32, length: usize },
    Insert { at: u32, piece: &'static str },
    Repeat { from: u32, length: usize, at: u32 },
    Truncate { at: u32 },
    OtherEnds(&'static str),
}

const PIECES: [&str; 24] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    "\"",
    "'",
    "`",
    "/*",
    "*/",
    "//",
    "#",
    "\n",
    "\r\n",
    "\0",
    "\u{feff}",
    "é",
    "\u{1f600}",
    "class X",
    "::",
    "=\n---\n",
];

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        (any::<u32>(), 1..200_usize).prop_map(|(from, length)| Damage::Cut { from, length }),
        (any::<u32>(), proptest::sample::select(&PIECES[..]))
            .prop_map(|(at, piece)| Damage::Insert { at, piece }),
        (any::<u32>(), 1..400_usize, any::<u32>()).prop_map(|(from, length, at)| Damage::Repeat {
            from,
            length,
            at
        }),
        any::<u32>().prop_map(|at| Damage::Truncate { at }),
        proptest::sample::select(&["\r\n", "\r", "\n\n"][..]).prop_map(Damage::OtherEnds),
    ]
}

/// Returns a place in a text, on a character's boundary.
fn place(text: &str, at: u32) -> usize {
    text.floor_char_boundary(at as usize % (text.len() + 1))
}

fn damaged(mut text: String, damage: &Damage) -> String {
    match damage {
        Damage::Cut { from, length } => {
            let from = place(&text, *from);
            let end = text.floor_char_boundary(from + length);
            text.replace_range(from..end.max(from), "");
        }
        Damage::Insert { at, piece } => text.insert_str(place(&text, *at), piece),
        Damage::Repeat { from, length, at } => {
            let from = place(&text, *from);
            let end = text.floor_char_boundary(from + length);
            let piece = text[from..end.max(from)].to_owned();
            text.insert_str(place(&text, *at), &piece);
        }
        Damage::Truncate { at } => text.truncate(place(&text, *at)),
        Damage::OtherEnds(ends) => text = text.replace('\n', ends),
    }
    text
}

#[test]
fn every_language_has_a_sample() {
    let samples = samples();
    for language in Language::ALL {
        assert!(samples.iter().any(|(_, _, of)| of == language), "{language} has no sample");
    }
    for (path, text, language) in samples {
        check_invariants(&text, &read(&path, &text, language));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_give_facts_about_their_text(
        sample in any::<proptest::sample::Index>(),
        damages in proptest::collection::vec(damage(), 1..6),
    ) {
        let samples = samples();
        let (path, text, language) = sample.get(&samples);
        let text = damages.iter().fold(text.clone(), damaged);
        let facts = read(path, &text, *language);
        check_invariants(&text, &facts);
        prop_assert_eq!(read(path, &text, *language), facts);
    }

    /// A file may have any name, and any text in it.
    #[test]
    fn a_file_of_another_language_gives_facts_about_its_text(
        sample in any::<proptest::sample::Index>(),
        other in proptest::sample::select(Language::ALL),
    ) {
        let samples = samples();
        let (path, text, _) = sample.get(&samples);
        check_invariants(text, &read(path, text, other));
    }
}
