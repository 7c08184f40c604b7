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
    /// Where it runs, from the root of the project; empty for the root itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dir: String,
    /// What must be installed: a program, or a program with the words that ask one of its
    /// parts for its version (`python3 -m pytest`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Report files that the command writes, as patterns from its directory; see
    /// [`Parser::Junit`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<String>,
    /// Files that decide how it runs and are not the product: a change may not touch them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<String>,
    /// The same of parts of files, the rest of which a change may well touch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<Held>,
    /// Tracked files that it may write, as patterns from the root of the project. Any other one that
    /// it writes and does not write at the base makes it red.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// Set where it only brings what the gates behind it need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<InstallRule>,
}

impl Gate {
    /// A gate at the root of a project that needs nothing but a shell.
    pub fn new(
        name: impl Into<String>,
        command: impl Into<String>,
        kind: GateKind,
        parser: Parser,
        timeout: Duration,
    ) -> Self {
        Self {
            name: name.into(),
            command: command.into(),
            kind,
            parser,
            timeout,
            dir: String::new(),
            needs: Vec::new(),
            reports: Vec::new(),
            guards: Vec::new(),
            held: Vec::new(),
            outputs: Vec::new(),
            install: None,
        }
    }

    /// Returns whether it may write the tracked file at `path`.
    pub fn may_write(&self, path: &str) -> bool {
        self.outputs.iter().any(|pattern| crate::paths::matches(pattern, path))
    }
}

/// A part of a file that must be in a change as it is in the base.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum Held {
    /// What a dotted key holds in a JSON, TOML or INI file, by the file's name.
    Key { file: String, key: String },
    /// Lines with one of the words `keep` must still be there, and no new one may have one of
    /// the words `refuse`: for files that only their own tool can read.
    Lines { file: String, keep: Vec<String>, refuse: Vec<String> },
}

/// When a gate that installs has to run at all: if `product` is missing, or if one of the
/// `inputs` differs from the base.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InstallRule {
    pub product: String,
    pub inputs: Vec<String>,
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
pub struct UnknownGateWord {
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
            type Err = UnknownGateWord;

            fn from_str(word: &str) -> Result<Self, UnknownGateWord> {
                Self::ALL.iter().copied().find(|one| one.as_str() == word).ok_or_else(|| {
                    let known: Vec<_> = Self::ALL.iter().map(|one| one.as_str()).collect();
                    UnknownGateWord { word: word.chars().take(80).collect(), known: known.join(", ") }
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
    /// What reads the gate's output.
    Parser {
        Cargo = "cargo",
        Pytest = "pytest",
        Unittest = "unittest",
        Jest = "jest",
        Vitest = "vitest",
        Mocha = "mocha",
        /// The Test Anything Protocol, and what `node --test` prints instead of it.
        Tap = "tap",
        Go = "go",
        Ctest = "ctest",
        Dotnet = "dotnet",
        /// Not what it prints but the XML files it writes.
        Junit = "junit",
        /// The one of the above that understands it best.
        Auto = "auto",
        /// None: the exit code is all there is.
        Plain = "plain",
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_survives_the_settings_of_its_run() {
        let millis = Duration::from_millis(1500);
        let mut gate = Gate::new("cargo-test", "cargo test", GateKind::Test, Parser::Cargo, millis);
        let json = serde_json::to_value(&gate).unwrap();
        assert_eq!(json["timeout_ms"], 1500);
        assert_eq!(json["parser"], "cargo");
        assert_eq!(json.as_object().unwrap().len(), 5, "{json}");
        assert_eq!(serde_json::from_value::<Gate>(json).unwrap(), gate);
        gate.dir = "tools".into();
        gate.held.push(Held::Key { file: "Cargo.toml".into(), key: "profile.test".into() });
        gate.install = Some(InstallRule {
            product: "node_modules".into(),
            inputs: vec!["package.json".into()],
        });
        let json = serde_json::to_value(&gate).unwrap();
        assert_eq!(json["held"][0]["part"], "key");
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
        let error = "rspec".parse::<GateKind>().unwrap_err();
        assert_eq!(error.to_string(), "\"rspec\" is not one of build, test, lint");
    }
}
