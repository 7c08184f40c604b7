//! The cheap signals that a survey is made from: endings, looks, a sample of names.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::shown::path_text;
use crate::tree::{File, Tree};

/// How many of each there are at most.
const MOST: usize = 20;

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct SurveySignals {
    pub total_files: u64,
    /// Files by ending, most first; `(none)` for names without one.
    pub extension_histogram: Vec<WordCount>,
    /// What files look like whose names say nothing, most first.
    pub file_descriptions: Vec<WordCount>,
    /// Paths, evenly spread over all.
    pub filename_samples: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WordCount {
    pub name: String,
    pub count: u64,
}

impl SurveySignals {
    pub(crate) fn of(tree: &Tree) -> Self {
        let files: Vec<&File> = tree.files.iter().filter(|file| file.kind.is_file()).collect();
        Self {
            total_files: files.len() as u64,
            extension_histogram: tally(files.iter().map(|file| ending(file))),
            file_descriptions: tally(
                files.iter().filter_map(|file| file.description).map(str::to_owned),
            ),
            filename_samples: spread(files.len())
                .map(|at| path_text(&tree.path_of(files[at])))
                .collect(),
        }
    }
}

fn ending(file: &File) -> String {
    let name = file.name.to_string_lossy();
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && !ending.is_empty() => {
            format!(".{}", ending.to_lowercase())
        }
        _ => "(none)".to_owned(),
    }
}

/// Counts equal words: most first, equals by name.
fn tally(words: impl Iterator<Item = String>) -> Vec<WordCount> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    let mut rows: Vec<WordCount> =
        counts.into_iter().map(|(name, count)| WordCount { name, count }).collect();
    rows.sort_by_key(|row| Reverse(row.count));
    rows.truncate(MOST);
    rows
}

/// Places in a list of so many, evenly spread, the first among them.
fn spread(length: usize) -> impl Iterator<Item = usize> {
    let most = length.min(MOST);
    (0..most).map(move |number| number * length / most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_evenly_and_never_larger_than_the_whole() {
        assert_eq!(spread(0).count(), 0);
        assert_eq!(spread(3).collect::<Vec<_>>(), [0, 1, 2]);
        let some: Vec<usize> = spread(1000).collect();
        assert_eq!((some.len(), some[0], some[19]), (20, 0, 950));
    }

    #[test]
    fn a_tally_has_the_most_first_and_equals_by_name() {
        let words = ["b", "a", "c", "c"].map(str::to_owned);
        let rows = tally(words.into_iter());
        let told: Vec<(&str, u64)> =
            rows.iter().map(|row| (row.name.as_str(), row.count)).collect();
        assert_eq!(told, [("c", 2), ("a", 1), ("b", 1)]);
    }
}
