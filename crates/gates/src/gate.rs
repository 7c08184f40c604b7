//! One command that a project checks itself with.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Stored with the run that uses it: a resumed run checks with the commands it began with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Gate {
    /// Unique among the gates of a run, and fit to be a file's name.
    pub name: String,
    /// What `sh -c` runs.
    pub command: String,
    pub kind: GateKind,
    pub parser: Parser,
    #[serde(rename = "timeout_ms", with = "millis")]
    pub timeout: Duration,
}

mod millis {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::time::Duration;

    pub(super) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

/// A word that names no kind of gate or no parser.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{word:?} is not one of {known}")]
pub struct UnknownWord {
    word: String,
    known: String,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                Self::ALL.iter().copied().find(|one| one.as_str() == word).ok_or_else(|| {
                    let known: Vec<_> = Self::ALL.iter().map(|one| one.as_str()).collect();
                    UnknownWord { word: word.chars().take(80).collect(), known: known.join(", ") }
                })
            }
        }
    };
}

words!(
    /// What a gate says of a tree.
    GateKind { Build = "build", Test = "test", Lint = "lint" }
);
words!(
    /// Who can read the gate's output.
    Parser {
        Cargo = "cargo",
        Pytest = "pytest",
        Unittest = "unittest",
        /// Nobody: the exit code is all there is.
        Plain = "plain",
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_survives_the_settings_of_its_run() {
        let gate = Gate {
            name: "cargo-test".into(),
            command: "cargo test".into(),
            kind: GateKind::Test,
            parser: Parser::Cargo,
            timeout: Duration::from_millis(1500),
        };
        let json = serde_json::to_value(&gate).unwrap();
        assert_eq!(json["timeout_ms"], 1500);
        assert_eq!(json["parser"], "cargo");
        assert_eq!(serde_json::from_value::<Gate>(json).unwrap(), gate);
    }

    #[test]
    fn the_word_in_a_config_is_the_word_in_json() {
        for &parser in Parser::ALL {
            assert_eq!(parser.as_str().parse(), Ok(parser));
            assert_eq!(serde_json::to_value(parser).unwrap(), parser.as_str());
        }
        for &kind in GateKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        let error = "jest".parse::<Parser>().unwrap_err();
        assert_eq!(error.to_string(), "\"jest\" is not one of cargo, pytest, unittest, plain");
    }
}
