//! A tree and its history, opened for questions.
//!
//! What every question needs is read once: files, which units they have, which commits
//! touched them. What a single question needs (the postings of its terms, the items behind
//! the best units) is read when it is asked.

use rustc_hash::FxHashMap;
use spore_lexical::{Collection, TermMatches};
use spore_store::{CodeIndex, CodeIndexError, FileNo, SegmentKind, StoredFile};

/// An index, with what all questions share in memory.
pub struct Corpus<'i> {
    pub(crate) index: &'i CodeIndex,
    /// By path.
    pub(crate) files: Vec<StoredFile>,
    pub(crate) code: Searched,
    /// Newest first.
    pub(crate) commits: Vec<Past>,
    pub(crate) messages: Searched,
}

/// A commit as the ranking sees it; its age is its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Past {
    pub(crate) subject: String,
    /// The files it touched that are still there, by place.
    pub(crate) files: Vec<u32>,
    /// How many it touched in all.
    pub(crate) touched: u32,
}

/// A collection, and what its documents are: the place of a file or of a commit.
pub(crate) struct Searched {
    words: SegmentKind,
    segments: Vec<u32>,
    pub(crate) collection: Collection,
    /// For every document of the collection.
    pub(crate) places: Vec<u32>,
    /// For every file or commit, its document.
    pub(crate) documents: Vec<Option<u32>>,
}

impl Searched {
    pub(crate) fn open(
        index: &CodeIndex,
        words: SegmentKind,
        count: usize,
        place_of: impl Fn(u32) -> Option<u32>,
    ) -> Result<Self, CodeIndexError> {
        let stored = index.segments(words)?;
        let segments: Vec<u32> = stored.heads.iter().map(|(no, _)| *no).collect();
        let heads: Vec<&[u8]> = stored.heads.iter().map(|(_, head)| head.as_slice()).collect();
        let is_alive = |segment: usize, document: u32| {
            stored.alive.get(&document) == segments.get(segment) && place_of(document).is_some()
        };
        let collection = Collection::new(&heads, is_alive);
        let places: Vec<u32> = collection
            .documents()
            .iter()
            .map(|document| place_of(document.number).unwrap_or_default())
            .collect();
        let mut documents = vec![None; count];
        for (document, place) in (0..).zip(&places) {
            documents[*place as usize] = Some(document);
        }
        Ok(Self { words, segments, collection, places, documents })
    }

    /// Returns what holds each of these terms.
    pub(crate) fn matches(
        &self,
        index: &CodeIndex,
        terms: &[&str],
    ) -> Result<Vec<TermMatches>, CodeIndexError> {
        let lists = index.postings(self.words, terms)?;
        let matches = lists.iter().map(|lists| {
            let known = lists.iter().filter_map(|(no, list)| {
                // A segment that was written since is not part of this collection.
                Some((self.segments.iter().position(|known| known == no)?, list.as_slice()))
            });
            self.collection.matches(known)
        });
        Ok(matches.collect())
    }
}

impl<'i> Corpus<'i> {
    /// Reads what all questions share.
    pub fn open(index: &'i CodeIndex) -> Result<Self, CodeIndexError> {
        let files = index.files()?;
        let places: FxHashMap<FileNo, u32> =
            (0..).zip(&files).map(|(place, file)| (file.no, place)).collect();
        let past = index.past()?;
        let ages: FxHashMap<u32, u32> =
            (0..).zip(&past).map(|(age, commit)| (commit.no, age)).collect();
        let code =
            Searched::open(index, SegmentKind::Code, files.len(), |no| places.get(&no).copied())?;
        let messages =
            Searched::open(index, SegmentKind::Commits, past.len(), |no| ages.get(&no).copied())?;
        let commits = past
            .into_iter()
            .map(|commit| Past {
                subject: commit.subject,
                files: commit.files.iter().filter_map(|no| places.get(no).copied()).collect(),
                touched: commit.touched,
            })
            .collect();
        Ok(Self { index, files, code, commits, messages })
    }

    /// Returns how many files there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_tree::SampleTree;

    #[test]
    fn files_and_commits_are_known_by_their_places() {
        let tree = SampleTree::of(
            "file b.rs
             function second 1-2 shared words
             file a.rs
             function first 1-2 shared words
             function third 3-4 others
             commit newer | a.rs gone.rs
             commit older | a.rs b.rs",
        );
        let corpus = tree.corpus();
        assert_eq!((corpus.len(), corpus.is_empty()), (2, false));
        let paths: Vec<&str> = corpus.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["a.rs", "b.rs"]);
        let past = |subject: &str, files: &[u32], touched| Past {
            subject: subject.into(),
            files: files.to_vec(),
            touched,
        };
        assert_eq!(corpus.commits, [past("newer", &[0], 2), past("older", &[0, 1], 2)]);
        // A file's units are itself and its items; documents lead to places and back.
        for (place, document) in corpus.code.documents.iter().enumerate() {
            assert_eq!(corpus.code.places[document.unwrap() as usize] as usize, place);
        }
        assert_eq!(corpus.code.collection.units().len(), 5);
        let sought = ["words", "others", "zebra"].map(|word| spore_lexical::terms(word).remove(0));
        let sought: Vec<&str> = sought.iter().map(String::as_str).collect();
        let matches = corpus.code.matches(corpus.index, &sought).unwrap();
        let counts: Vec<usize> = matches.iter().map(|found| found.postings.len()).collect();
        assert_eq!(counts, [2, 1, 0]);
    }
}
