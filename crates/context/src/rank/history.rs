//! What the commits before say: which files change, which changed for a similar reason.
//!
//! Age is counted in commits, never in days: a project that slept for a year is not older.

use spore_lexical::{TermMatches, inverse_frequency};

use super::files::SourceFiles;
use super::signals::{RankSignal, RankSignals};
use crate::corpus::Corpus;
use crate::question::{TaskQuestion, scopes_of};

/// A commit that touched more files says nothing about any of them. The weights were fitted with
/// it, so it does not follow `index.max_commit_files`, which is about edges of the graph.
const MAX_TOUCHED: u32 = 30;

/// The history of a corpus by source file.
pub(crate) struct History {
    /// Newest first.
    commits: Vec<PastChange>,
}

struct PastChange {
    /// Sources that it touched.
    files: Vec<u32>,
    touched: u32,
    /// How much it says about each of them; nothing if it touched too many.
    weight: f32,
    scopes: Vec<String>,
    length: f32,
}

impl History {
    pub(crate) fn of(corpus: &Corpus<'_>, sources: &SourceFiles) -> Self {
        let documents = corpus.messages.collection.documents();
        let change = |(age, commit): (usize, &crate::corpus::Past)| {
            let touched = commit.touched.max(1);
            let length = corpus.messages.documents[age]
                .map_or(0, |document| documents[document as usize].length);
            PastChange {
                files: commit
                    .files
                    .iter()
                    .filter_map(|place| sources.source_of[*place as usize])
                    .collect(),
                touched,
                weight: if touched <= MAX_TOUCHED { 1.0 / (touched as f32).sqrt() } else { 0.0 },
                scopes: scopes_of(&commit.subject),
                length: length as f32,
            }
        };
        Self { commits: corpus.commits.iter().enumerate().map(change).collect() }
    }

    /// The commits with their ages.
    fn seen(&self) -> impl Iterator<Item = (usize, &PastChange)> {
        self.commits.iter().enumerate()
    }

    /// Sums over all commits what `worth` gives each, by file.
    fn sum(&self, files: usize, worth: impl Fn(usize, &PastChange) -> f32) -> Vec<f32> {
        let mut sums = vec![0.0; files];
        for (age, commit) in self.seen() {
            let worth = commit.weight * worth(age, commit);
            if worth > 0.0 {
                commit.files.iter().for_each(|file| sums[*file as usize] += worth);
            }
        }
        sums
    }
}

fn decay(age: usize, half_life: f32) -> f32 {
    0.5_f32.powf(age as f32 / half_life)
}

/// How much a commit counts that is so old, if the last few count most: an exponential forgets
/// the rare file too soon, and this never quite forgets.
fn fading(age: usize, slowness: f32, exponent: f32) -> f32 {
    (1.0 + age as f32 / slowness).powf(-exponent)
}

/// Fills in what history says; `matches` are those of the question's terms in the messages.
pub(super) fn fill(
    signals: &mut RankSignals,
    corpus: &Corpus<'_>,
    sources: &SourceFiles,
    history: &History,
    question: &TaskQuestion,
    matches: &[TermMatches],
) {
    fill_recency(signals, sources, history);
    let sum = |worth: &dyn Fn(usize) -> f32| history.sum(sources.len(), |age, _| worth(age));
    signals.set(RankSignal::ChangesNow, sum(&|age| fading(age, 5.0, 1.0)));
    signals.set(RankSignal::ChangesOften, sum(&|age| decay(age, 50.0)));
    let similarity = fill_words(signals, corpus, sources, history, question, matches);
    fill_similar(signals, sources, history, &similarity);
    fill_scopes(signals, sources, history, &question.scopes);
}

fn fill_recency(signals: &mut RankSignals, sources: &SourceFiles, history: &History) {
    let mut recency = vec![0.0_f32; sources.len()];
    for (age, commit) in history.seen() {
        for file in &commit.files {
            let known = &mut recency[*file as usize];
            *known = known.max(1.0 / (1.0 + (age as f32).ln_1p()));
        }
    }
    signals.set(RankSignal::Recency, recency);
}

/// Fills in what the words of past messages say; returns how similar each commit is, from 0
/// to 1.
fn fill_words(
    signals: &mut RankSignals,
    corpus: &Corpus<'_>,
    sources: &SourceFiles,
    history: &History,
    question: &TaskQuestion,
    matches: &[TermMatches],
) -> Vec<f32> {
    let count = history.commits.len();
    let lengths = history.seen().map(|(_, commit)| commit.length);
    let mean = lengths.sum::<f32>() / count.max(1) as f32 + 1.0;
    let all = history.sum(sources.len(), |age, _| fading(age, 20.0, 0.5));
    let mut similarity = vec![0.0_f32; count];
    let mut profile = MessageProfile::new(&all);
    for (term, found) in question.terms.iter().zip(matches) {
        let ages = ages_of(corpus, found);
        let holding = u32::try_from(ages.len()).unwrap_or(u32::MAX);
        let worth = term.weight() as f32 * inverse_frequency(count, holding) as f32;
        for (age, times) in ages {
            let commit = &history.commits[age];
            let norm = 1.2 * (0.4 + 0.6 * commit.length / mean);
            similarity[age] += worth * times * 2.2 / (times + norm);
            let share = (times.min(2.0) / 2.0 + 0.5) * commit.weight;
            profile.say(&commit.files, share * fading(age, 20.0, 0.5));
        }
        profile.end_term(worth);
    }
    signals.set(RankSignal::MessageWords, profile.score);
    let most = similarity.iter().copied().fold(0.0, f32::max).max(1e-9);
    similarity.iter_mut().for_each(|value| *value /= most);
    similarity
}

/// Returns the commits whose message has a term, by age, and how often.
fn ages_of(corpus: &Corpus<'_>, found: &TermMatches) -> Vec<(usize, f32)> {
    let messages = &corpus.messages;
    let units = messages.collection.units();
    let age = |posting: &spore_lexical::Posting| {
        let document = units[posting.unit as usize].document as usize;
        (messages.places[document] as usize, f32::from(posting.count()))
    };
    found.postings.iter().map(age).collect()
}

/// What the messages of its commits say of each file, term by term: a term that all commits
/// of a file have says no more than one that many have.
struct MessageProfile<'a> {
    score: Vec<f32>,
    of_term: Vec<f32>,
    said: Vec<u32>,
    all: &'a [f32],
}

impl<'a> MessageProfile<'a> {
    fn new(all: &'a [f32]) -> Self {
        let zeros = vec![0.0; all.len()];
        Self { score: zeros.clone(), of_term: zeros, said: Vec::new(), all }
    }

    fn say(&mut self, files: &[u32], share: f32) {
        for file in files {
            self.of_term[*file as usize] += share;
            self.said.push(*file);
        }
    }

    fn end_term(&mut self, worth: f32) {
        for file in self.said.drain(..) {
            let file = file as usize;
            // A file that was touched twice is in the list twice, and counts once.
            let said = std::mem::take(&mut self.of_term[file]);
            if said > 0.0 {
                self.score[file] += worth * said / (said + 0.2 + 0.02 * self.all[file]);
            }
        }
    }
}

/// Fills in which files were touched for a similar reason.
fn fill_similar(
    signals: &mut RankSignals,
    sources: &SourceFiles,
    history: &History,
    similarity: &[f32],
) {
    // Half as similar is an eighth as telling.
    let cubed: Vec<f32> = similarity.iter().map(|value| value.powi(3)).collect();
    let sum =
        |fade: &dyn Fn(usize) -> f32| history.sum(sources.len(), |age, _| cubed[age] * fade(age));
    signals.set(RankSignal::SimilarNow, sum(&|age| fading(age, 5.0, 1.0)));
    signals.set(RankSignal::SimilarSoon, sum(&|age| fading(age, 5.0, 0.5)));
    signals.set(RankSignal::DirectorySimilar, by_directory(sources, &sum(&|_| 1.0)));
    let mut best = vec![0.0_f32; sources.len()];
    for (age, commit) in history.seen().filter(|(_, commit)| commit.weight > 0.0) {
        let worth = similarity[age] / (commit.touched as f32).powf(0.25);
        for file in &commit.files {
            best[*file as usize] = best[*file as usize].max(worth);
        }
    }
    signals.set(RankSignal::SimilarBest, best);
}

/// Fills in which files were touched under the same prefix.
fn fill_scopes(
    signals: &mut RankSignals,
    sources: &SourceFiles,
    history: &History,
    scopes: &[String],
) {
    if scopes.is_empty() {
        return;
    }
    let shared = |commit: &PastChange| {
        let shared = scopes.iter().filter(|scope| commit.scopes.contains(scope)).count();
        shared as f32 / scopes.len() as f32
    };
    let sums = history.sum(sources.len(), |age, commit| shared(commit) * fading(age, 20.0, 0.7));
    signals.set(RankSignal::ScopeHistory, sums);
}

fn by_directory(sources: &SourceFiles, column: &[f32]) -> Vec<f32> {
    let mut sums = vec![0.0; sources.directory_names.len()];
    for (directory, value) in sources.directories.iter().zip(column) {
        sums[*directory as usize] += value;
    }
    sources.directories.iter().map(|directory| sums[*directory as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_commit_counts_less_and_never_nothing() {
        #[track_caller]
        fn check(found: f32, expected: f32) {
            assert!((found - expected).abs() < 1e-4, "{found} is not {expected}");
        }
        check(decay(0, 50.0), 1.0);
        check(decay(50, 50.0), 0.5);
        check(decay(150, 50.0), 0.125);
        check(fading(0, 5.0, 1.0), 1.0);
        check(fading(5, 5.0, 1.0), 0.5);
        check(fading(15, 5.0, 0.5), 0.5);
        // What an exponential has forgotten is still there.
        assert!(decay(3_000, 50.0) < 1e-9 && fading(3_000, 5.0, 1.0) > 1e-3);
    }

    #[test]
    fn a_term_that_all_commits_of_a_file_have_says_little_more_than_one_that_many_have() {
        let all = [4.0, 4.0, 0.0];
        let mut profile = MessageProfile::new(&all);
        profile.say(&[0, 1], 1.0);
        profile.say(&[0], 3.0);
        profile.end_term(2.0);
        let [often, once, never] = profile.score[..] else { panic!("three files") };
        assert!(often > once && often < 1.3 * once, "{often} {once}");
        assert!(never == 0.0 && often < 2.0, "{often} {never}");
        // The next term begins at nothing.
        profile.end_term(2.0);
        assert_eq!(profile.score, [often, once, 0.0]);
    }
}
