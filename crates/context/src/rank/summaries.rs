//! The question's words in what investigations said of files and of the directories they are in.

use std::collections::HashMap;

use spore_lexical::{Bm25, for_each_term, inverse_frequency};

use super::files::SourceFiles;
use super::signals::{RankSignal, RankSignals};
use crate::places::PlaceSummary;
use crate::question::TaskQuestion;

const SAID: Bm25 = Bm25 { saturation: 1.2, length: 0.6 };
/// What a word counts that is said of the directory and not of the file.
const OF_DIRECTORY: f64 = 0.5;

/// Scores what was said; nothing where nothing was.
pub(super) fn fill(
    signals: &mut RankSignals,
    sources: &SourceFiles,
    question: &TaskQuestion,
    said: &[PlaceSummary],
) {
    if said.is_empty() {
        return;
    }
    let terms: HashMap<&str, usize> =
        question.terms.iter().enumerate().map(|(at, term)| (term.term.as_str(), at)).collect();
    let counted: Vec<SaidWords> = said.iter().map(|one| SaidWords::of(&one.text, &terms)).collect();
    let mean = counted.iter().map(|words| words.length).sum::<f64>() / counted.len() as f64;
    let mut holding = vec![0_u32; question.terms.len()];
    for (at, count) in counted.iter().flat_map(|words| words.counts.iter().enumerate()) {
        holding[at] += u32::from(*count > 0);
    }
    // With few summaries every word would seem rare: as many texts are thought of as there are files.
    let all = sources.len().max(counted.len());
    let score = |words: &SaidWords| -> f64 {
        let each = words.counts.iter().zip(&question.terms).zip(&holding);
        each.filter(|((count, _), _)| **count > 0)
            .map(|((count, term), holding)| {
                let worth = inverse_frequency(all, *holding) * term.weight();
                worth * SAID.weight(f64::from(*count), words.length, mean)
            })
            .sum()
    };
    let mut files: HashMap<&str, f64> = HashMap::new();
    let mut directories: HashMap<&str, f64> = HashMap::new();
    for (one, words) in said.iter().zip(&counted) {
        let scores = if one.is_directory { &mut directories } else { &mut files };
        scores.insert(&one.path, score(words));
    }
    let column = sources.paths.iter().map(|path| {
        let directory = path.rsplit_once('/').map_or(".", |(directory, _)| directory);
        let of_directory = directories.get(directory).copied().unwrap_or(0.0);
        let of_file = files.get(path.as_str()).copied().unwrap_or(0.0);
        (of_file + OF_DIRECTORY * of_directory) as f32
    });
    signals.set(RankSignal::Summary, column.collect());
}

/// How often a text says each word of the question, and how long it is.
struct SaidWords {
    counts: Vec<u32>,
    length: f64,
}

impl SaidWords {
    fn of(text: &str, terms: &HashMap<&str, usize>) -> Self {
        let (mut counts, mut length) = (vec![0; terms.len()], 1.0);
        for_each_term(text, |term| {
            length += 1.0;
            if let Some(at) = terms.get(term) {
                counts[*at] += 1;
            }
        });
        Self { counts, length }
    }
}

#[cfg(test)]
mod tests {
    use spore_model::NodeId;

    use super::*;
    use crate::rank::{RankWeights, Ranker};
    use crate::sample_tree::SampleTree;

    fn said(path: &str, is_directory: bool, text: &str) -> PlaceSummary {
        PlaceSummary {
            id: NodeId::from_parts(1, 1),
            path: path.to_owned(),
            is_directory,
            text: text.to_owned(),
            confidence: None,
            flags: Vec::new(),
        }
    }

    fn best(said: &[PlaceSummary], task: &str) -> String {
        let tree = SampleTree::of(
            "file a/one.rs
             function first 1-2 adds
             file b/two.rs
             function second 1-2 adds",
        );
        let corpus = tree.corpus();
        let ranker = Ranker::new(&corpus).knowing(said);
        let ranking = ranker.rank(task, &RankWeights::built_in()).unwrap();
        ranker.path(ranking.order[0]).to_owned()
    }

    #[test]
    fn what_is_said_of_a_file_or_its_directory_speaks_for_it() {
        let task = "mend the rounding of receipts";
        assert_eq!(best(&[], task), "a/one.rs");
        assert_eq!(best(&[said("b/two.rs", false, "Rounding of receipts.")], task), "b/two.rs");
        assert_eq!(best(&[said("b", true, "Receipts and their rounding.")], task), "b/two.rs");
        // What is said of the file itself counts more.
        let both = [said("a", true, "Receipts."), said("b/two.rs", false, "Receipts.")];
        assert_eq!(best(&both, task), "b/two.rs");
    }
}
