//! The signals by name, and how their values are made comparable.

macro_rules! signals {
    ($($(#[$doc:meta])* $name:ident $word:literal $scale:ident,)*) => {
        /// Something that speaks for or against a file.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum RankSignal {
            $($(#[$doc])* $name,)*
        }

        impl RankSignal {
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns the word that it goes by in the weights and in answers.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }

            const fn scale(self) -> Scale {
                match self {
                    $(Self::$name => Scale::$scale,)*
                }
            }
        }
    };
}

/// How a column is made comparable between questions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scale {
    /// It already is, from 0 to 1.
    Share,
    /// By the largest value of the question.
    Largest,
    /// By how far values lie apart.
    Spread,
}

signals! {
    /// All words in the whole file.
    Text "text" Largest,
    /// The subject's words in the whole file.
    TextSubject "text_subject" Largest,
    TextRank "text_rank" Share,
    /// All words in the best function.
    BestUnit "best_unit" Largest,
    /// All words in the three best functions.
    BestUnits "best_units" Largest,
    BestUnitRank "best_unit_rank" Share,
    /// A definition is called what the task spells as a name.
    NamedDefinition "named_definition" Largest,
    /// The file uses a name that the task spells.
    NameUsed "name_used" Largest,
    Path "path" Largest,
    PathBase "path_base" Largest,
    PathDirectory "path_directory" Largest,
    PathRank "path_rank" Share,
    /// How much of the file's own name the task says.
    Stem "stem" Share,
    /// The task names the file.
    FileNamed "file_named" Share,
    /// A prefix names a part of the path.
    Scope "scope" Share,
    ScopeLoosely "scope_loosely" Share,
    /// Touched by commits with the same prefix.
    ScopeHistory "scope_history" Largest,
    Recency "recency" Share,
    /// How often it changed, the last few commits counting most.
    ChangesNow "changes_now" Largest,
    /// The same over a longer time.
    ChangesOften "changes_often" Largest,
    /// Words of the messages of the commits that touched it.
    MessageWords "message_words" Largest,
    /// Touched by commits with similar messages, the last few counting most.
    SimilarNow "similar_now" Largest,
    SimilarRank "similar_rank" Share,
    /// The same, age counting less.
    SimilarSoon "similar_soon" Largest,
    /// Touched by the most similar commit.
    SimilarBest "similar_best" Largest,
    DirectorySimilar "directory_similar" Largest,
    DirectoryText "directory_text" Largest,
    /// What investigations said of the file and its directory.
    Summary "summary" Largest,
    IsTest "is_test" Share,
    TestAsked "test_asked" Share,
    TestOfRepair "test_of_repair" Share,
    IsTooling "is_tooling" Share,
    ToolingAsked "tooling_asked" Share,
    Size "size" Spread,
}

/// The values of all signals, one column each, by file.
#[derive(Clone, PartialEq, Debug)]
pub struct RankSignals {
    columns: Vec<Vec<f32>>,
    files: usize,
}

impl RankSignals {
    pub(crate) fn new(files: usize) -> Self {
        Self { columns: vec![vec![0.0; files]; RankSignal::ALL.len()], files }
    }

    /// Returns how many files there are.
    pub fn len(&self) -> usize {
        self.files
    }

    pub fn is_empty(&self) -> bool {
        self.files == 0
    }

    pub fn column(&self, signal: RankSignal) -> &[f32] {
        &self.columns[signal as usize]
    }

    pub fn value(&self, signal: RankSignal, file: usize) -> f32 {
        self.columns[signal as usize][file]
    }

    pub(crate) fn set(&mut self, signal: RankSignal, column: Vec<f32>) {
        debug_assert_eq!(column.len(), self.files);
        self.columns[signal as usize] = column;
    }

    pub(crate) fn set_if(&mut self, signal: RankSignal, holds: impl Fn(usize) -> bool) {
        let column = (0..self.files).map(|file| f32::from(u8::from(holds(file)))).collect();
        self.set(signal, column);
    }

    /// Fills in the ranks by some of the columns.
    pub(crate) fn rank_some(&mut self) {
        let ranked = [
            (RankSignal::Text, RankSignal::TextRank),
            (RankSignal::BestUnit, RankSignal::BestUnitRank),
            (RankSignal::SimilarNow, RankSignal::SimilarRank),
            (RankSignal::Path, RankSignal::PathRank),
        ];
        for (by, rank) in ranked {
            let column = ranks(self.column(by));
            self.set(rank, column);
        }
    }

    /// Makes every column comparable between questions.
    pub(crate) fn scale(&mut self) {
        for (column, signal) in self.columns.iter_mut().zip(RankSignal::ALL) {
            match signal.scale() {
                Scale::Share => {}
                Scale::Largest => divide_by_largest(column),
                Scale::Spread => centre(column),
            }
        }
    }
}

/// Returns 1 for the first, less for each later one; equals share the better rank, and what
/// has no value at all has none.
fn ranks(column: &[f32]) -> Vec<f32> {
    let mut sorted: Vec<f32> = column.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let rank = |value: &f32| {
        if *value <= 0.0 {
            return 0.0;
        }
        let before = sorted.partition_point(|other| other > value);
        1.0 / (1.0 + before as f32 / 2.0)
    };
    column.iter().map(rank).collect()
}

fn divide_by_largest(column: &mut [f32]) {
    let largest = column.iter().copied().fold(0.0, f32::max);
    if largest > 0.0 {
        column.iter_mut().for_each(|value| *value /= largest);
    }
}

/// A third of how many standard deviations a value lies from the mean.
fn centre(column: &mut [f32]) {
    let count = column.len().max(1) as f32;
    let mean = column.iter().sum::<f32>() / count;
    let variance = column.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / count;
    let spread = variance.sqrt() + 1e-6;
    column.iter_mut().for_each(|value| *value = (*value - mean) / spread / 3.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(found: &[f32], expected: &[f32]) {
        assert_eq!(found.len(), expected.len());
        for (found_one, expected_one) in found.iter().zip(expected) {
            assert!((found_one - expected_one).abs() < 1e-3, "{found:?} is not {expected:?}");
        }
    }

    #[test]
    fn a_rank_is_one_for_the_first_and_equals_share_the_better_one() {
        near(&ranks(&[0.5, 9.0, 0.5, 0.0, -1.0]), &[2.0 / 3.0, 1.0, 2.0 / 3.0, 0.0, 0.0]);
        near(&ranks(&[]), &[]);
    }

    #[test]
    fn a_column_is_scaled_as_its_signal_says() {
        let scaled = |signal: RankSignal| {
            let mut signals = RankSignals::new(3);
            signals.set(signal, vec![0.0, 2.0, 4.0]);
            signals.scale();
            signals.column(signal).to_vec()
        };
        near(&scaled(RankSignal::Recency), &[0.0, 2.0, 4.0]);
        near(&scaled(RankSignal::Text), &[0.0, 0.5, 1.0]);
        near(&scaled(RankSignal::Size), &[-0.408, 0.0, 0.408]);
    }

    #[test]
    fn a_column_of_nothing_stays_nothing() {
        let mut signals = RankSignals::new(2);
        signals.rank_some();
        signals.scale();
        for signal in RankSignal::ALL {
            near(signals.column(*signal), &[0.0, 0.0]);
        }
    }

    #[test]
    fn every_signal_has_a_word_of_its_own() {
        let words: std::collections::HashSet<&str> =
            RankSignal::ALL.iter().map(|signal| signal.as_str()).collect();
        assert_eq!(words.len(), RankSignal::ALL.len());
    }
}
