//! What can be told of files before anything is asked: kinds, words of their paths.

use std::collections::HashMap;

use rustc_hash::FxHashMap;
use spore_lexical::terms;

use super::purpose::FilePurpose;
use crate::corpus::Corpus;

/// The source files of a corpus: those that a change of code is about.
pub(crate) struct SourceFiles {
    /// Where each source is among the corpus's files.
    pub(crate) files: Vec<u32>,
    /// For every file of the corpus, where it is among the sources.
    pub(crate) source_of: Vec<Option<u32>>,
    pub(crate) paths: Vec<String>,
    pub(crate) kinds: Vec<FilePurpose>,
    /// For every term of a path, the files that have it, and whether in their own name.
    pub(crate) path_terms: FxHashMap<String, Vec<(u32, bool)>>,
    /// What the words of each file's own name are worth together.
    pub(crate) stem_worth: Vec<f32>,
    /// The directory of each file, by number, and how many there are.
    pub(crate) directories: Vec<u32>,
    pub(crate) directory_names: Vec<String>,
}

/// Languages whose files hold code. Text and documents are found by search.
fn is_source(language: &str) -> bool {
    !matches!(language, "" | "markdown" | "rst")
}

impl SourceFiles {
    pub(crate) fn of(corpus: &Corpus<'_>) -> Self {
        let mut source_of = vec![None; corpus.files.len()];
        let mut files = Vec::new();
        for (place, file) in (0..).zip(&corpus.files) {
            if is_source(&file.language) {
                source_of[place as usize] = Some(files.len() as u32);
                files.push(place);
            }
        }
        let paths: Vec<String> =
            files.iter().map(|place| corpus.files[*place as usize].path.clone()).collect();
        let kinds =
            files.iter().map(|place| FilePurpose::of(&corpus.files[*place as usize])).collect();
        let path_terms = path_terms(&paths);
        let mut sources = Self {
            files,
            source_of,
            kinds,
            path_terms,
            stem_worth: Vec::new(),
            directories: Vec::new(),
            directory_names: Vec::new(),
            paths,
        };
        sources.stem_worth = sources.stem_worths();
        sources.number_directories();
        sources
    }

    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns how telling a term of a path is.
    pub(crate) fn path_worth(&self, term: &str) -> f32 {
        let holding = self.path_terms.get(term).map_or(0, Vec::len);
        let holding = u32::try_from(holding).unwrap_or(u32::MAX);
        spore_lexical::inverse_frequency(self.len(), holding) as f32
    }

    fn stem_worths(&self) -> Vec<f32> {
        let mut worths = vec![0.0; self.len()];
        for (term, holding) in &self.path_terms {
            if term.starts_with('#') {
                continue;
            }
            let worth = self.path_worth(term);
            for (file, in_stem) in holding {
                if *in_stem {
                    worths[*file as usize] += worth;
                }
            }
        }
        worths
    }

    fn number_directories(&mut self) {
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut names = Vec::new();
        let mut directories = Vec::with_capacity(self.paths.len());
        for path in &self.paths {
            let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
            let number = *numbers.entry(directory).or_insert_with(|| {
                names.push(directory.to_owned());
                names.len() as u32 - 1
            });
            directories.push(number);
        }
        self.directories = directories;
        self.directory_names = names;
    }
}

fn path_terms(paths: &[String]) -> FxHashMap<String, Vec<(u32, bool)>> {
    let mut found: FxHashMap<String, Vec<(u32, bool)>> = FxHashMap::default();
    // Files of one directory share most of their words, and come one after the other.
    let mut directory = "";
    let mut of_directory: Vec<String> = Vec::new();
    for (file, path) in (0..).zip(paths) {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        if above != directory {
            directory = above;
            of_directory = distinct(above);
        }
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let of_stem = distinct(stem);
        let only_above = of_directory.iter().filter(|term| !of_stem.contains(term));
        let of_path = only_above.map(|term| (term, false)).chain(of_stem.iter().map(|t| (t, true)));
        for (term, in_stem) in of_path {
            match found.get_mut(term) {
                Some(holding) => holding.push((file, in_stem)),
                None => {
                    found.insert(term.clone(), vec![(file, in_stem)]);
                }
            }
        }
    }
    found
}

fn distinct(text: &str) -> Vec<String> {
    let mut distinct = terms(text);
    distinct.sort_unstable();
    distinct.dedup();
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_tree::SampleTree;

    #[test]
    fn the_words_of_a_path_are_those_of_its_name_and_of_what_is_above() {
        let paths =
            ["src/line_buffer.rs".to_owned(), "src/main.rs".to_owned(), "src/src.rs".to_owned()];
        let terms = path_terms(&paths);
        #[track_caller]
        fn check(
            terms: &FxHashMap<String, Vec<(u32, bool)>>,
            term: &str,
            expected: &[(u32, bool)],
        ) {
            assert_eq!(terms.get(term).map(Vec::as_slice).unwrap_or_default(), expected, "{term}");
        }
        check(&terms, "main", &[(1, true)]);
        check(&terms, "buffer", &[(0, true)]);
        // A word of the name is not told again as one of the directory.
        check(&terms, "src", &[(0, false), (1, false), (2, true)]);
        check(&terms, "rs", &[]);
    }

    #[test]
    fn documents_are_no_sources_and_places_lead_both_ways() {
        let tree = SampleTree::of(
            "file README.md
             section Top 1-2 words
             file inner/one.rs
             function one 1-2 x
             file inner/two.rs
             function two 1-2 y
             file outer/three.rs
             function three 1-2 z
             file notes",
        );
        let corpus = tree.corpus();
        let sources = SourceFiles::of(&corpus);
        assert_eq!(sources.paths, ["inner/one.rs", "inner/two.rs", "outer/three.rs"]);
        assert_eq!(sources.directory_names, ["inner", "outer"]);
        assert_eq!(sources.directories, [0, 0, 1]);
        for (source, place) in (0..).zip(&sources.files) {
            assert_eq!(sources.source_of[*place as usize], Some(source));
        }
        assert_eq!(sources.source_of.iter().flatten().count(), sources.len());
        // A word of one path tells more than a word of many.
        let worth = |word: &str| sources.path_worth(&terms(word)[0]);
        assert!(worth("outer") > worth("inner"), "{} {}", worth("outer"), worth("inner"));
    }
}
