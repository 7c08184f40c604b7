//! The question's words in paths, and files that it names outright.

use std::collections::HashSet;

use super::files::SourceFiles;
use super::signals::{RankSignal, RankSignals};
use crate::question::TaskQuestion;

/// What a word of the body counts that the subject does not have.
const BODY: f32 = 0.35;

/// Fills in what the paths say.
pub(super) fn fill(signals: &mut RankSignals, sources: &SourceFiles, question: &TaskQuestion) {
    let count = sources.len();
    let [mut path, mut base, mut directory] = [(); 3].map(|()| vec![0.0; count]);
    let mut stem = vec![0.0; count];
    for term in &question.terms {
        let Some(holding) = sources.path_terms.get(&term.term) else { continue };
        let worth = sources.path_worth(&term.term);
        let in_subject = term.in_subject > 0.0;
        let weighed = worth * if in_subject { 1.0 } else { BODY };
        for (file, in_stem) in holding {
            let file = *file as usize;
            path[file] += weighed;
            if *in_stem {
                base[file] += weighed;
            } else {
                directory[file] += weighed;
            }
            if *in_stem && !term.term.starts_with('#') {
                stem[file] += worth / (sources.stem_worth[file] + 1e-9);
            }
        }
    }
    signals.set(RankSignal::Path, path);
    signals.set(RankSignal::PathBase, base);
    signals.set(RankSignal::PathDirectory, directory);
    signals.set(RankSignal::Stem, stem);
    fill_named(signals, sources, &question.lower);
    fill_scopes(signals, sources, &question.scopes);
}

/// Files that the text names: `printer.rs`, `src/printer.rs`.
fn fill_named(signals: &mut RankSignals, sources: &SourceFiles, lower: &str) {
    let is_part = |letter: char| letter.is_alphanumeric() || "_-./@+".contains(letter);
    let said: HashSet<&str> = lower
        .split(|letter| !is_part(letter))
        .map(|word| word.trim_matches(['.', '/', '-']))
        .filter(|word| word.contains('.'))
        .map(|word| word.rsplit('/').next().unwrap_or(word))
        .collect();
    if !said.is_empty() {
        signals.set_if(RankSignal::FileNamed, |file| {
            let path = sources.paths[file].to_lowercase();
            said.contains(path.rsplit('/').next().unwrap_or(&path))
        });
    }
}

fn fill_scopes(signals: &mut RankSignals, sources: &SourceFiles, scopes: &[String]) {
    let mut exact = vec![0.0; sources.len()];
    let mut loose = vec![0.0; sources.len()];
    let scopes: Vec<Vec<String>> =
        scopes.iter().map(|scope| scope_words(scope)).filter(|words| !words.is_empty()).collect();
    if !scopes.is_empty() {
        for (file, path) in sources.paths.iter().enumerate() {
            let path = path.to_lowercase().replace('_', "-");
            let mut parts: Vec<&str> = path.split('/').collect();
            if let Some(last) = parts.last_mut() {
                *last = last.split('.').next().unwrap_or(last);
            }
            for scope in &scopes {
                exact[file] = share(scope, |word| parts.contains(&word)).max(exact[file]);
                let within = |word: &str| {
                    word.len() > 2
                        && parts.iter().any(|part| {
                            *part != word && part.split(['-', '.']).any(|piece| piece == word)
                        })
                };
                loose[file] = share(scope, within).max(loose[file]);
            }
        }
        favour_rare(&mut exact);
        favour_rare(&mut loose);
    }
    signals.set(RankSignal::Scope, exact);
    signals.set(RankSignal::ScopeLoosely, loose);
}

fn scope_words(scope: &str) -> Vec<String> {
    let endings = ["rs", "py", "ts", "js", "go"];
    scope
        .split(['/', ':', '.'])
        .filter(|word| !word.is_empty() && !endings.contains(word))
        .map(|word| word.replace('_', "-"))
        .collect()
}

fn share(words: &[String], holds: impl Fn(&str) -> bool) -> f32 {
    words.iter().filter(|word| holds(word)).count() as f32 / words.len().max(1) as f32
}

/// A place that few files are in says more.
fn favour_rare(column: &mut [f32]) {
    let (all, holding) = (column.len() as f32, column.iter().filter(|value| **value > 0.0).count());
    if holding > 0 {
        let factor = (1.0 + all / holding as f32).ln() / (1.0 + all).ln();
        column.iter_mut().for_each(|value| *value *= factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_read_by_its_words() {
        #[track_caller]
        fn check(scope: &str, expected: &[&str]) {
            assert_eq!(scope_words(scope), expected, "{scope}");
        }
        check("css", &["css"]);
        check("core/line_buffer.rs", &["core", "line-buffer"]);
        check("std::fmt", &["std", "fmt"]);
        check("app.py", &["app"]);
        check("::", &[]);
    }

    #[test]
    fn a_place_that_few_files_are_in_says_more() {
        let mut rare = [1.0, 0.0, 0.0, 0.0];
        let mut common = [1.0, 1.0, 1.0, 1.0];
        favour_rare(&mut rare);
        favour_rare(&mut common);
        assert!((rare[0] - 1.0).abs() < 1e-6 && rare[1] == 0.0);
        assert!(common[0] < 0.5, "{common:?}");
        let mut none = [0.0, 0.0];
        favour_rare(&mut none);
        assert_eq!(none, [0.0, 0.0]);
    }

    #[test]
    fn a_share_of_no_words_is_nothing() {
        let words = ["a".to_owned(), "b".to_owned()];
        assert_eq!(share(&words, |word| word == "a"), 0.5);
        assert_eq!(share(&[], |_| true), 0.0);
    }
}
