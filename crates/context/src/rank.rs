//! Which files a task is about.
//!
//! Every signal is a named column with a value for each source file; the score is their
//! weighted sum. The weights are data, see [`RankWeights`]. No signal looks at the clock: age is
//! counted in commits, so the same tree gives the same order.
//!
//! The figures inside of the signals (how fast a commit fades, how soon a word is said often
//! enough, how much of a text is read) are no settings: the weights were fitted on signals made
//! with them, and another figure needs another fit (`bench/localise/fit.py`).

mod files;
mod history;
mod names;
mod paths;
mod purpose;
mod signals;
mod summaries;
mod text;
mod weights;

use spore_lexical::TermMatches;
use spore_store::CodeIndexError;

use crate::corpus::Corpus;
use crate::places::PlaceSummary;
use crate::question::TaskQuestion;
use files::SourceFiles;
use history::History;

pub use signals::{RankSignal, RankSignals};
pub use weights::{BadWeights, RankWeights};

/// A corpus, made ready for ranking.
pub struct Ranker<'c> {
    corpus: &'c Corpus<'c>,
    sources: SourceFiles,
    history: History,
    /// What is said of some of the sources and of directories.
    said: &'c [PlaceSummary],
}

/// The source files in the order in which a task is about them.
pub struct Ranking {
    pub signals: RankSignals,
    /// By source.
    pub scores: Vec<f32>,
    /// Sources, best first.
    pub order: Vec<u32>,
    /// What the words gave each unit of the corpus.
    pub(crate) units: Vec<f32>,
}

impl<'c> Ranker<'c> {
    pub fn new(corpus: &'c Corpus<'c>) -> Self {
        let sources = SourceFiles::of(corpus);
        let history = History::of(corpus, &sources);
        Self { corpus, sources, history, said: &[] }
    }

    /// Returns the same with what investigations said.
    #[must_use]
    pub fn knowing(self, said: &'c [PlaceSummary]) -> Self {
        Self { said, ..self }
    }

    /// Returns the path of a source.
    pub fn path(&self, source: u32) -> &str {
        &self.sources.paths[source as usize]
    }

    /// Returns how many sources there are.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns where a source is among the corpus's files.
    pub(crate) fn file_of(&self, source: u32) -> u32 {
        self.sources.files[source as usize]
    }

    /// Ranks all sources for a task.
    pub fn rank(&self, task: &str, weights: &RankWeights) -> Result<Ranking, CodeIndexError> {
        let (signals, units) = self.signals(&TaskQuestion::new(task))?;
        let scores = weights::scores(&signals, weights);
        let mut order: Vec<u32> = (0..).take(scores.len()).collect();
        // Sources are sorted by path, and the sort is stable.
        order.sort_by(|a, b| scores[*b as usize].total_cmp(&scores[*a as usize]));
        Ok(Ranking { signals, scores, order, units })
    }

    /// Returns what speaks for each source, and what the words gave each unit.
    fn signals(&self, question: &TaskQuestion) -> Result<(RankSignals, Vec<f32>), CodeIndexError> {
        let terms: Vec<&str> = question.terms.iter().map(|term| term.term.as_str()).collect();
        let in_code: Vec<TermMatches> = self.corpus.code.matches(self.corpus.index, &terms)?;
        let in_messages = self.corpus.messages.matches(self.corpus.index, &terms)?;
        let mut signals = RankSignals::new(self.sources.len());
        let units = text::fill(&mut signals, self.corpus, &self.sources, question, &in_code);
        names::fill(&mut signals, self.corpus, &self.sources, question)?;
        paths::fill(&mut signals, &self.sources, question);
        let (history, sources) = (&self.history, &self.sources);
        history::fill(&mut signals, self.corpus, sources, history, question, &in_messages);
        summaries::fill(&mut signals, &self.sources, question, self.said);
        purpose::fill(&mut signals, &self.sources.kinds, question.mood);
        self.fill_shape(&mut signals);
        signals.rank_some();
        signals.scale();
        Ok((signals, units))
    }

    /// Fills in what follows from the sizes of files and from what stands beside them.
    fn fill_shape(&self, signals: &mut RankSignals) {
        let size = |place: &u32| (self.corpus.files[*place as usize].size as f32).ln_1p();
        signals.set(RankSignal::Size, self.sources.files.iter().map(size).collect());
        let mut best = vec![0.0_f32; self.sources.directory_names.len()];
        let text = signals.column(RankSignal::Text);
        for (directory, value) in self.sources.directories.iter().zip(text) {
            let best = &mut best[*directory as usize];
            *best = best.max(*value);
        }
        let of = |directory: &u32| best[*directory as usize];
        signals.set(RankSignal::DirectoryText, self.sources.directories.iter().map(of).collect());
    }
}

#[cfg(test)]
mod tests;
