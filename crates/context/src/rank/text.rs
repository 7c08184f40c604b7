//! The question's words in the text of files and of their functions.

use spore_lexical::{Bm25, TermMatches, inverse_frequency};

use super::files::SourceFiles;
use super::signals::{RankSignal, RankSignals};
use crate::corpus::Corpus;
use crate::question::{TaskQuestion, TaskTerm};

const WHOLE: Bm25 = Bm25 { saturation: 1.2, length: 0.75 };
const UNIT: Bm25 = Bm25 { saturation: 1.2, length: 0.6 };

/// Scores the question's terms; `matches` are those of `question.terms`, one for one. Returns
/// the score of every unit of the corpus, from which the best of a file are chosen later.
pub(super) fn fill(
    signals: &mut RankSignals,
    corpus: &Corpus<'_>,
    sources: &SourceFiles,
    question: &TaskQuestion,
    matches: &[TermMatches],
) -> Vec<f32> {
    let collection = &corpus.code.collection;
    let mut sums = TermSums {
        all: vec![0.0; sources.len()],
        subject: vec![0.0; sources.len()],
        units: vec![0.0; collection.units().len()],
    };
    for (term, found) in question.terms.iter().zip(matches) {
        sums.add(corpus, sources, found, term);
    }
    signals.set(RankSignal::Text, sums.all);
    signals.set(RankSignal::TextSubject, sums.subject);
    let best = |count: usize| best_of_each(corpus, sources, &sums.units, count);
    signals.set(RankSignal::BestUnit, best(1));
    signals.set(RankSignal::BestUnits, best(BEST));
    sums.units
}

struct TermSums {
    all: Vec<f32>,
    subject: Vec<f32>,
    units: Vec<f32>,
}

impl TermSums {
    fn add(
        &mut self,
        corpus: &Corpus<'_>,
        sources: &SourceFiles,
        found: &TermMatches,
        term: &TaskTerm,
    ) {
        let collection = &corpus.code.collection;
        let (documents, units) = (collection.documents(), collection.units());
        let worth = inverse_frequency(documents.len(), found.documents);
        let holding = u32::try_from(found.postings.len()).unwrap_or(u32::MAX);
        let unit_worth = inverse_frequency(units.len(), holding) * term.weight();
        let (mean, mean_unit) = (collection.mean_length(), collection.mean_unit_length());
        let of = |unit: u32| units[unit as usize].document as usize;
        for postings in found.postings.chunk_by(|a, b| of(a.unit) == of(b.unit)) {
            let document = of(postings[0].unit);
            let place = corpus.code.places[document];
            let Some(file) = sources.source_of[place as usize] else { continue };
            let count: f64 = postings.iter().map(|posting| f64::from(posting.count())).sum();
            let length = f64::from(documents[document].length) + 1.0;
            let whole = worth * WHOLE.weight(count, length, mean);
            self.all[file as usize] += (whole * term.weight()) as f32;
            self.subject[file as usize] += (whole * term.in_subject) as f32;
            for posting in postings {
                let count = f64::from(posting.count()) + f64::from(u8::from(posting.in_doc()));
                let length = f64::from(units[posting.unit as usize].length) + 1.0;
                let score = unit_worth * UNIT.weight(count, length, mean_unit);
                self.units[posting.unit as usize] += score as f32;
            }
        }
    }
}

/// How many of a file's units count together.
const BEST: usize = 3;

/// Returns for each source the mean of its best units.
fn best_of_each(
    corpus: &Corpus<'_>,
    sources: &SourceFiles,
    scores: &[f32],
    count: usize,
) -> Vec<f32> {
    let documents = corpus.code.collection.documents();
    let best = |place: &u32| {
        let Some(document) = corpus.code.documents[*place as usize] else { return 0.0 };
        let units = &documents[document as usize].units;
        let scores = &scores[units.start as usize..units.end as usize];
        if count == 1 {
            return scores.iter().copied().fold(0.0, f32::max);
        }
        let mut best = [0.0_f32; BEST];
        for score in scores {
            if *score > best[BEST - 1] {
                best[BEST - 1] = *score;
                best.sort_unstable_by(|a, b| b.total_cmp(a));
            }
        }
        best.iter().sum::<f32>() / BEST as f32
    };
    sources.files.iter().map(best).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_tree::SampleTree;

    #[test]
    fn one_function_that_says_all_beats_many_that_say_a_little() {
        let tree = SampleTree::of(
            "file one.rs
             function whole 1-2 round the total of a receipt
             function other 3-4 unrelated things altogether here
             file spread.rs
             function first 1-2 round numbers everywhere
             function second 3-4 total weight carried
             function third 5-6 receipt paper roll",
        );
        let corpus = tree.corpus();
        let sources = SourceFiles::of(&corpus);
        let question = TaskQuestion::new("round the total of a receipt");
        let terms: Vec<&str> = question.terms.iter().map(|term| term.term.as_str()).collect();
        let matches = corpus.code.matches(corpus.index, &terms).unwrap();
        let mut signals = RankSignals::new(sources.len());
        let units = fill(&mut signals, &corpus, &sources, &question, &matches);
        let value = |signal: RankSignal, file: usize| signals.value(signal, file);
        assert!(value(RankSignal::BestUnit, 0) > 2.0 * value(RankSignal::BestUnit, 1));
        // The mean of three counts the spread one's three functions and the other's one.
        let mean = units[1] / 3.0;
        assert!((value(RankSignal::BestUnits, 0) - mean).abs() < 1e-4);
        assert!(value(RankSignal::BestUnits, 1) > 0.0);
        assert_eq!(units.len(), corpus.code.collection.units().len());
    }
}
