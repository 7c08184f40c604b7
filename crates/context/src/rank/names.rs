//! Definitions and uses of the names that a task spells.

use spore_lexical::{TermMatches, compound_term, inverse_frequency, name_term};
use spore_store::CodeIndexError;

use super::files::SourceFiles;
use super::signals::{RankSignal, RankSignals};
use crate::corpus::Corpus;
use crate::question::TaskQuestion;

/// Fills in what the names of the question say.
pub(super) fn fill(
    signals: &mut RankSignals,
    corpus: &Corpus<'_>,
    sources: &SourceFiles,
    question: &TaskQuestion,
) -> Result<(), CodeIndexError> {
    for (signal, sought) in
        [(RankSignal::NamedDefinition, Sought::Definition), (RankSignal::NameUsed, Sought::Use)]
    {
        signals.set(signal, column(corpus, sources, &question.names, sought)?);
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sought {
    Definition,
    Use,
}

fn column(
    corpus: &Corpus<'_>,
    sources: &SourceFiles,
    names: &[(String, f64)],
    sought: Sought,
) -> Result<Vec<f32>, CodeIndexError> {
    let term = |(name, _): &(String, f64)| match sought {
        Sought::Definition => name_term(name),
        Sought::Use => compound_term(name),
    };
    let terms: Vec<String> = names.iter().map(term).collect();
    let terms: Vec<&str> = terms.iter().map(String::as_str).collect();
    let matches = corpus.code.matches(corpus.index, &terms)?;
    let mut column = vec![0.0; sources.len()];
    for ((_, weight), found) in names.iter().zip(&matches) {
        add(&mut column, corpus, sources, *weight, found, sought);
    }
    Ok(column)
}

fn add(
    column: &mut [f32],
    corpus: &Corpus<'_>,
    sources: &SourceFiles,
    weight: f64,
    found: &TermMatches,
    sought: Sought,
) {
    let collection = &corpus.code.collection;
    let worth = inverse_frequency(collection.documents().len(), found.documents);
    let of = |unit: u32| collection.units()[unit as usize].document;
    for postings in found.postings.chunk_by(|a, b| of(a.unit) == of(b.unit)) {
        let place = corpus.code.places[of(postings[0].unit) as usize];
        let Some(file) = sources.source_of[place as usize] else { continue };
        let count: f64 = postings
            .iter()
            .map(|posting| match sought {
                Sought::Definition => f64::from(u8::from(posting.in_name())),
                Sought::Use => f64::from(posting.count()),
            })
            .sum();
        column[file as usize] += (weight * worth * count / (count + 0.5)) as f32;
    }
}
