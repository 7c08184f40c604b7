//! A task as it travels: ids, a commit, words and numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use spore_model::{CommitId, RunId, TraceId};

/// A task for any worker on any machine that has the repository and the journal.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EngineTask {
    /// The run that it is, on every worker.
    pub run: RunId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    pub trace: TraceId,
    /// What it starts from.
    pub base: CommitId,
    /// What is to be done, in a person's words.
    pub task: String,
    /// How, by the names of settings.
    #[serde(default)]
    pub terms: BTreeMap<String, EngineTerm>,
}

/// A value of a setting. No text that names a place on a machine is one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged, try_from = "RawTerm")]
pub enum EngineTerm {
    Flag(bool),
    Count(u64),
    Amount(f64),
    Word(String),
}

/// What could be a term.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawTerm {
    Flag(bool),
    Count(u64),
    Amount(f64),
    Word(String),
}

impl TryFrom<RawTerm> for EngineTerm {
    type Error = BadTerm;

    fn try_from(raw: RawTerm) -> Result<Self, BadTerm> {
        Ok(match raw {
            RawTerm::Flag(flag) => Self::Flag(flag),
            RawTerm::Count(count) => Self::Count(count),
            RawTerm::Amount(amount) => Self::Amount(amount),
            RawTerm::Word(word) => return Self::word(&word),
        })
    }
}

/// A text that names a place on the machine it was written on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is a place on one machine, which another does not have")]
pub struct BadTerm(pub String);

impl EngineTerm {
    /// Takes a name: of an agent, a model, a role. `vendor/model` is one, a path is none.
    pub fn word(text: &str) -> Result<Self, BadTerm> {
        let is_named = |c: char| c.is_alphanumeric() || "._:@+-/, ".contains(c);
        let is_place = text.starts_with(['/', '.', '~'])
            || text.split('/').any(|part| part.is_empty() || part == "..")
            || !text.chars().all(is_named);
        match is_place {
            true => Err(BadTerm(text.to_owned())),
            false => Ok(Self::Word(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_place_of_a_machine_travels_with_a_task() {
        for name in ["claude", "vendor/model-4.5", "claude,codex", "gpt-5@low", "merge"] {
            assert_eq!(EngineTerm::word(name), Ok(EngineTerm::Word(name.to_owned())), "{name}");
        }
        for place in [
            "",
            "/srv/work",
            "./scenario.toml",
            "../x",
            "~/.config",
            "a//b",
            "a/../b",
            "C:\\x",
            "a\nb",
        ] {
            assert_eq!(EngineTerm::word(place), Err(BadTerm(place.to_owned())), "{place}");
            // Nor does one that was written down by something else.
            let json = serde_json::Value::from(place);
            assert!(serde_json::from_value::<EngineTerm>(json).is_err(), "{place}");
        }
        for (json, term) in [
            ("true", EngineTerm::Flag(true)),
            ("3", EngineTerm::Count(3)),
            ("0.5", EngineTerm::Amount(0.5)),
        ] {
            assert_eq!(serde_json::from_str::<EngineTerm>(json).unwrap(), term);
        }
    }
}
