//! What the question's words say about units. The figures belong to those of `fuse`.

use std::collections::HashSet;

use spore_lexical::{Bm25, TermMatches, inverse_frequency, terms};
use spore_store::UnitRow;

use super::wanted::{Wanted, WantedTerm};
use crate::corpus::Searched;

const UNIT: Bm25 = Bm25 { saturation: 1.2, length: 0.5 };
const WHOLE: Bm25 = Bm25 { saturation: 1.2, length: 0.75 };
/// A term in these counts as if the body had it so many times more.
const IN_NAME: f64 = 4.0;
const IN_DOC: f64 = 2.0;
const IN_PATH: f64 = 3.0;
/// What the rest of its file says for a unit, and for the file itself.
const OF_FILE: f32 = 0.2;
const FOR_FILE: f32 = 0.35;

/// The scores of all units and of their files.
pub(super) struct WordScores {
    matches: Vec<TermMatches>,
    /// How telling each term is.
    worths: Vec<f32>,
    units: Vec<f32>,
    documents: Vec<f32>,
    /// How much of the question each unit holds, by what its terms are worth.
    held: Vec<f32>,
    best: f32,
}

impl WordScores {
    /// Scores the question's terms; `matches` are theirs, one for one.
    pub(super) fn of(code: &Searched, wanted: &Wanted, matches: Vec<TermMatches>) -> Self {
        let collection = &code.collection;
        let mut words = Self {
            worths: Vec::with_capacity(wanted.terms.len()),
            units: vec![0.0; collection.units().len()],
            documents: vec![0.0; collection.documents().len()],
            held: vec![0.0; collection.units().len()],
            matches,
            best: 0.0,
        };
        for at in 0..words.matches.len() {
            words.add(code, at);
        }
        words.best = (0..)
            .zip(&words.units)
            .filter(|(_, score)| **score > 0.0)
            .map(|(unit, _)| words.whole(code, unit))
            .fold(0.0, f32::max);
        words
    }

    fn add(&mut self, code: &Searched, at: usize) {
        let collection = &code.collection;
        let (units, documents) = (collection.units(), collection.documents());
        let found = &self.matches[at];
        let holding = u32::try_from(found.postings.len()).unwrap_or(u32::MAX);
        let worth = inverse_frequency(units.len(), holding);
        let worth_of_file = inverse_frequency(documents.len(), found.documents);
        self.worths.push(worth as f32);
        let (mean, mean_of_file) = (collection.mean_unit_length(), collection.mean_length());
        let of = |unit: u32| units[unit as usize].document;
        for postings in found.postings.chunk_by(|a, b| of(a.unit) == of(b.unit)) {
            let document = of(postings[0].unit) as usize;
            let mut in_file = 0.0;
            for posting in postings {
                let mut count = f64::from(posting.count());
                in_file += count;
                count += if posting.in_name() { IN_NAME } else { 0.0 };
                count += if posting.in_doc() { IN_DOC } else { 0.0 };
                count += if posting.in_path() { IN_PATH } else { 0.0 };
                in_file += if posting.in_path() { IN_PATH } else { 0.0 };
                self.held[posting.unit as usize] += worth as f32;
                let length = f64::from(units[posting.unit as usize].length) + 1.0;
                self.units[posting.unit as usize] +=
                    (worth * UNIT.weight(count, length, mean)) as f32;
            }
            let length = f64::from(documents[document].length) + 1.0;
            self.documents[document] +=
                (worth_of_file * WHOLE.weight(in_file, length, mean_of_file)) as f32;
        }
    }

    /// Returns the score of a unit together with what its file says for it.
    fn whole(&self, code: &Searched, unit: u32) -> f32 {
        let document = code.collection.units()[unit as usize].document as usize;
        let is_file = code.collection.documents()[document].units.start == unit;
        let share = if is_file { FOR_FILE } else { OF_FILE };
        self.units[unit as usize] + share * self.documents[document]
    }

    /// Returns a unit's score as a share of the best one's.
    pub(super) fn share_of(&self, code: &Searched, unit: u32) -> f32 {
        if self.best > 0.0 { self.whole(code, unit) / self.best } else { 0.0 }
    }

    /// Returns how much of the question a unit holds, 0 to 1. All of a long question is no
    /// accident: it is the message of an error, or a sentence of the documentation.
    pub(super) fn coverage(&self, unit: u32) -> f32 {
        let asked: f32 = self.worths.iter().sum();
        if asked > 0.0 { self.held[unit as usize] / asked } else { 0.0 }
    }

    /// Returns how many terms were asked for.
    pub(super) fn terms(&self) -> usize {
        self.worths.len()
    }

    /// Returns the units that hold any of the words, the best first, of allowed documents.
    pub(super) fn best_first(&self, code: &Searched, is_allowed: impl Fn(u32) -> bool) -> Vec<u32> {
        /// More than any answer shows; sorting all of them takes longer than all the rest.
        const MOST: usize = 20_000;
        let units = code.collection.units();
        let mut found: Vec<(f32, u32)> = (0..)
            .zip(&self.units)
            .filter(|(unit, score)| **score > 0.0 && is_allowed(units[*unit as usize].document))
            .map(|(unit, _)| (self.whole(code, unit), unit))
            .collect();
        let order = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if found.len() > MOST {
            found.select_nth_unstable_by(MOST, order);
            found.truncate(MOST);
        }
        found.sort_unstable_by(order);
        found.into_iter().map(|(_, unit)| unit).collect()
    }

    /// Returns how well the name of something, with what holds it, is what was asked for: how
    /// much of the question is in it, and how much of it is in the question.
    pub(super) fn name_fit(&self, wanted: &Wanted, row: &UnitRow, path: &str) -> f32 {
        let of_name: HashSet<String> =
            terms(&row.qualified.replace("::", " ")).into_iter().collect();
        let stem = path.rsplit('/').next().unwrap_or(path);
        let of_file: HashSet<String> = terms(stem).into_iter().collect();
        let own: HashSet<String> = terms(&row.name).into_iter().collect();
        let (mut asked, mut held) = (0.0_f32, 0.0_f32);
        for (term, worth) in wanted.terms.iter().zip(&self.worths) {
            let share = match &term.term {
                term if own.contains(term) => 1.0,
                term if of_name.contains(term) => 0.8,
                term if of_file.contains(term) => 0.4,
                _ => 0.0,
            };
            // A compound is already there with its parts.
            let weight = if term.term.starts_with('#') { 0.5 } else { 1.0 };
            asked += worth * weight;
            held += worth * weight * share;
        }
        if asked <= 0.0 || own.is_empty() {
            return 0.0;
        }
        let in_question =
            own.iter().filter(|term| wanted.terms.iter().any(|known| known.term == **term)).count();
        let said = in_question as f32 / own.len() as f32;
        held / asked * (0.5 + 0.5 * said)
    }

    /// Returns the words of the question that a unit holds, as they were typed. Of a word that is
    /// made of several, and of which it holds only some, those.
    pub(super) fn held_by<'w>(&self, wanted: &'w Wanted, unit: u32) -> Vec<&'w str> {
        let there = |term: &str| -> Option<&'w WantedTerm> {
            let at = wanted.terms.iter().position(|known| known.term == term)?;
            let found = self.matches.get(at)?;
            let holds = found.postings.binary_search_by_key(&unit, |one| one.unit).is_ok();
            holds.then(|| &wanted.terms[at])
        };
        let mut held: Vec<&str> = Vec::new();
        for of_word in wanted.terms.chunk_by(|a, b| a.word == b.word) {
            let word = of_word[0].word.as_str();
            // A compound is there with its parts.
            let (whole, parts): (Vec<String>, Vec<String>) =
                terms(word).into_iter().partition(|term| term.starts_with('#'));
            let is_whole = whole.iter().any(|term| there(term).is_some());
            if is_whole || parts.iter().all(|term| there(term).is_some()) {
                held.push(word);
            } else {
                let found = parts.iter().filter_map(|term| there(term));
                held.extend(found.map(|found| part_as_typed(word, &found.term)));
            }
        }
        let mut told: Vec<&str> = Vec::new();
        for word in held {
            if !told.contains(&word) {
                told.push(word);
            }
        }
        told
    }
}

/// Returns the part of a word that a term was made of, as it was typed.
fn part_as_typed<'w>(word: &'w str, term: &'w str) -> &'w str {
    let mut rest = word;
    while !rest.is_empty() {
        let mut letters = rest.char_indices().peekable();
        let mut end = rest.len();
        while let Some((_, letter)) = letters.next() {
            let Some((at, next)) = letters.peek() else { break };
            // Where the index cuts a word, too: at joints, and where its case or a digit says so.
            let is_cut = !next.is_alphanumeric()
                || !letter.is_uppercase() && next.is_uppercase()
                || letter.is_numeric() != next.is_numeric();
            if is_cut {
                end = *at;
                break;
            }
        }
        let (part, after) = rest.split_at(end);
        if terms(part).iter().any(|one| one == term) {
            return part;
        }
        rest = after.trim_start_matches(|letter: char| !letter.is_alphanumeric());
    }
    term
}

#[cfg(test)]
mod tests {
    use spore_store::SegmentKind;

    use super::*;
    use crate::sample_tree::SampleTree;

    /// Asks a tree of three functions, and hands what the words gave to a test.
    fn with_scores(question: &str, look: impl Fn(&Searched, &Wanted, &WordScores)) {
        let tree = SampleTree::of(
            "file one.rs
             function read_lines 1-3 reads all lines of a file
             function close 5-6 closes it
             file two.rs
             function skip 1-2 a line in a long text that says nothing else of use to any reader",
        );
        let files = tree.index.files().unwrap();
        let place_of = |no| files.iter().position(|file| file.no == no).map(|place| place as u32);
        let code = Searched::open(&tree.index, SegmentKind::Code, files.len(), place_of).unwrap();
        let wanted = Wanted::of(question);
        let terms: Vec<&str> = wanted.terms.iter().map(|term| term.term.as_str()).collect();
        let matches = code.matches(&tree.index, &terms).unwrap();
        look(&code, &wanted, &WordScores::of(&code, &wanted, matches));
    }

    #[test]
    fn the_best_unit_has_the_whole_share_and_comes_first() {
        with_scores("reads the lines of a file", |code, _, words| {
            let order = words.best_first(code, |_| true);
            assert_eq!(order[0], 1, "{order:?}");
            assert!((words.share_of(code, 1) - 1.0).abs() < 1e-6);
            assert!(words.share_of(code, 2) < 0.5);
            assert!(words.coverage(1) > words.coverage(4), "{}", words.coverage(4));
            let of_second = words.best_first(code, |document| document == 1);
            assert!(!of_second.is_empty() && of_second.iter().all(|unit| *unit > 2));
        });
    }

    #[test]
    fn words_are_told_as_they_were_typed() {
        with_scores("Lines of Files", |_, wanted, words| {
            assert_eq!(words.held_by(wanted, 1), ["Lines", "Files"]);
            assert_eq!(words.held_by(wanted, 2), [""; 0]);
        });
        with_scores("read_lines skip", |_, wanted, words| {
            assert_eq!(words.held_by(wanted, 1), ["read_lines"]);
            assert_eq!(words.held_by(wanted, 4), ["lines", "skip"]);
        });
    }

    #[test]
    fn a_name_fits_by_how_much_of_it_was_asked_for() {
        let row = |name: &str, qualified: &str| UnitRow {
            no: 1,
            kind: "function".into(),
            name: name.into(),
            qualified: qualified.into(),
        };
        with_scores("read lines", |_, wanted, words| {
            let fit = |row: &UnitRow, path: &str| words.name_fit(wanted, row, path);
            let whole = fit(&row("read_lines", "read_lines"), "one.rs");
            let longer = fit(&row("read_lines_of_file", "read_lines_of_file"), "one.rs");
            let half = fit(&row("lines", "Reader::lines"), "one.rs");
            let by_file = fit(&row("paint", "paint"), "src/read_lines.rs");
            let none = fit(&row("close", "close"), "one.rs");
            let fits = [whole, longer, half, by_file, none];
            assert!(fits.is_sorted_by(|a, b| a > b), "{fits:?}");
            assert_eq!(none, 0.0);
        });
    }

    #[test]
    fn a_question_without_known_words_scores_nothing() {
        with_scores("zebra", |code, _, words| {
            assert_eq!(words.best_first(code, |_| true), [0; 0]);
            assert_eq!((words.share_of(code, 1), words.coverage(1)), (0.0, 0.0));
        });
        with_scores("", |_, wanted, words| {
            assert_eq!((words.terms(), words.coverage(1)), (0, 0.0));
            assert!(wanted.is_empty());
        });
    }
}
