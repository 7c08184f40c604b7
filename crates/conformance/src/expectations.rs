//! The table of what is expected, from `assets/conformance.toml`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

const TEXT: &str = include_str!("../../../assets/conformance.toml");

/// What stands for a case that has no meaning for a backend, and is not run.
pub(crate) const NOTHING: &str = "-";

/// Every case, in the order in which it is shown.
#[derive(Clone, Debug, Deserialize)]
pub struct Expectations {
    #[serde(rename = "case")]
    pub cases: Vec<ConformanceCase>,
    /// Which agents may lead a layer of a flow, and who takes their own tools away.
    pub leads: BTreeMap<String, Cell>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ConformanceCase {
    pub name: String,
    /// What it shows, in one sentence.
    pub shows: String,
    /// By backend.
    #[serde(flatten)]
    pub cells: BTreeMap<String, Cell>,
}

/// What a backend does in a case, and who sees to it.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(from = "(String, Enforcer)")]
pub struct Cell {
    /// How what is seen begins.
    pub expected: String,
    pub by: Enforcer,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforcer {
    Agent,
    Spore,
    /// Neither can: the table expects what happens instead, or the case is not run.
    #[serde(rename = "not possible")]
    Nobody,
}

impl Expectations {
    /// Reads the table that is compiled in.
    pub fn read() -> Result<Self, String> {
        toml_edit::de::from_str(TEXT).map_err(|error| format!("assets/conformance.toml: {error}"))
    }
}

impl Cell {
    /// Tells whether there is something to run.
    pub fn is_run(&self) -> bool {
        self.expected != NOTHING
    }

    pub(crate) fn is_met_by(&self, got: &str) -> bool {
        got.starts_with(&self.expected)
    }
}

impl From<(String, Enforcer)> for Cell {
    fn from((expected, by): (String, Enforcer)) -> Self {
        Self { expected, by }
    }
}

impl fmt::Display for Enforcer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Agent => "agent",
            Self::Spore => "spore",
            Self::Nobody => "not possible",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kits::KITS;
    use crate::trials::TRIALS;

    #[test]
    fn every_case_says_for_every_backend_what_is_expected_and_who_sees_to_it() {
        let table = Expectations::read().unwrap();
        assert_eq!(table.cases.len(), 19);
        let mut backends: Vec<&str> = KITS.iter().map(|kit| kit.name()).collect();
        backends.sort_unstable();
        for case in &table.cases {
            assert!(!case.shows.is_empty(), "{}", case.name);
            let found: Vec<&str> = case.cells.keys().map(String::as_str).collect();
            assert_eq!(found, backends, "{}", case.name);
            for (backend, cell) in &case.cells {
                assert!(!cell.expected.is_empty(), "{} {backend}", case.name);
                let is_legal = cell.is_run() || cell.by == Enforcer::Nobody;
                assert!(is_legal, "{} {backend}: nothing is expected of somebody", case.name);
            }
        }
    }

    #[test]
    fn every_case_is_shown_by_one_trial() {
        let table = Expectations::read().unwrap();
        let mut shown: Vec<&str> = TRIALS.iter().flat_map(|trial| trial.shows).copied().collect();
        let mut named: Vec<&str> = table.cases.iter().map(|case| case.name.as_str()).collect();
        shown.sort_unstable();
        named.sort_unstable();
        assert_eq!(shown, named);
    }
}
