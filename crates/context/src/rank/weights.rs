//! How much each signal counts: data, fitted by `bench/localise/fit.py` and read here.

use toml_edit::{DocumentMut, Item};

use super::signals::{RankSignal, RankSignals};

/// The weights that are built in.
const BUILT_IN: &str = include_str!("../../../../assets/ranker.toml");

/// A number for each signal.
#[derive(Clone, PartialEq, Debug)]
pub struct RankWeights(pub(crate) Vec<f32>);

/// Weights that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadWeights {
    #[error("the weights are not TOML: {0}")]
    Syntax(String),
    #[error("there is no table [weights]")]
    Missing,
    #[error("{0:?} is not a signal")]
    UnknownSignal(String),
    #[error("the weight of {0} is not a number")]
    NotANumber(String),
}

impl RankWeights {
    /// Returns the weights that are built in.
    pub fn built_in() -> Self {
        // The test `the_built_in_weights_can_be_read` holds that this never fails.
        Self::read(BUILT_IN).unwrap_or_else(|_| Self::none())
    }

    /// Returns weights under which nothing counts.
    pub fn none() -> Self {
        Self(vec![0.0; RankSignal::ALL.len()])
    }

    /// Reads weights: a number for each signal that counts.
    pub fn read(text: &str) -> Result<Self, BadWeights> {
        let document: DocumentMut = text
            .parse()
            .map_err(|error: toml_edit::TomlError| BadWeights::Syntax(error.to_string()))?;
        let table = document.get("weights").and_then(Item::as_table).ok_or(BadWeights::Missing)?;
        let mut weights = vec![0.0; RankSignal::ALL.len()];
        for (word, value) in table {
            let signal = RankSignal::ALL.iter().find(|signal| signal.as_str() == word);
            let signal = signal.ok_or_else(|| BadWeights::UnknownSignal(word.to_owned()))?;
            let number = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
            let number = number.ok_or_else(|| BadWeights::NotANumber(word.to_owned()))?;
            weights[*signal as usize] = number as f32;
        }
        Ok(Self(weights))
    }

    /// Returns the weights as text that can be read again.
    pub fn write(&self) -> String {
        let mut text = String::from("[weights]\n");
        for (signal, weight) in RankSignal::ALL.iter().zip(&self.0).filter(|(_, w)| **w != 0.0) {
            text.push_str(&format!("{} = {weight:.4}\n", signal.as_str()));
        }
        text
    }

    pub(crate) fn of(&self, signal: RankSignal) -> f32 {
        self.0[signal as usize]
    }

    /// Returns the weights without one signal, for an ablation.
    #[must_use]
    pub fn without(mut self, signal: RankSignal) -> Self {
        self.0[signal as usize] = 0.0;
        self
    }
}

/// Returns the weighted sum of all signals, by file.
pub(crate) fn scores(signals: &RankSignals, weights: &RankWeights) -> Vec<f32> {
    let mut scores = vec![0.0; signals.len()];
    for (signal, weight) in RankSignal::ALL.iter().zip(&weights.0) {
        if *weight != 0.0 {
            for (score, value) in scores.iter_mut().zip(signals.column(*signal)) {
                *score += weight * value;
            }
        }
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_weights_can_be_read() {
        let weights = RankWeights::read(BUILT_IN).unwrap();
        assert!(weights.0.iter().any(|weight| *weight != 0.0));
        assert_eq!(RankWeights::read(&weights.write()).unwrap().write(), weights.write());
    }

    #[test]
    fn bad_weights_are_told_apart() {
        let read = |text: &str| RankWeights::read(text).unwrap_err();
        assert!(matches!(read("["), BadWeights::Syntax(_)));
        assert_eq!(read("[other]"), BadWeights::Missing);
        assert_eq!(read("[weights]\nmagic = 1"), BadWeights::UnknownSignal("magic".into()));
        assert_eq!(read("[weights]\ntext = 'x'"), BadWeights::NotANumber("text".into()));
    }
}
