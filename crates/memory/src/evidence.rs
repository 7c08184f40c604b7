//! The words in which evidence is given: what an event did to a line's standing.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Text that is none of the words it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a {kind}")]
pub struct UnknownEvidenceWord {
    kind: &'static str,
    text: String,
}

/// A closed set of words, each the same in text and in JSON.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $kind:literal, { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownEvidenceWord;

            fn from_str(text: &str) -> Result<Self, UnknownEvidenceWord> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text).ok_or_else(|| {
                    UnknownEvidenceWord { kind: $kind, text: text.chars().take(80).collect() }
                })
            }
        }
    };
}

words!(
    /// Which way an event moved a line.
    Trajectory, "trajectory", {
        /// The line's trigger was there, and what was done matched the line.
        Strengthening = "STRENGTHENING",
        /// The trigger was there, and the line was not followed, or was wrong.
        Weakening = "WEAKENING",
        /// Nothing that would test the line. Not a reason to drop it.
        Neutral = "NEUTRAL",
        /// Worth remembering, and no line says it.
        NewSignal = "NEW_SIGNAL",
    }
);

words!(
    /// What became of the line. Follows from the trajectory.
    Activation, "activation", {
        Activated = "activated",
        Missed = "missed",
        Waiting = "waiting",
        /// There is no line.
        None = "none",
    }
);

words!(
    /// Why a line failed. Only for a weakening, and only where a person or tool that saw it
    /// said so.
    RootCause, "root cause", {
        /// The line was right, and the agent did not recall it.
        RecallMiss = "recall-miss",
        /// The line itself is wrong or out of date.
        DirectionWrong = "direction-wrong",
    }
);

words!(
    /// What kind of evidence it is: the rule that gave it.
    EvidenceSignal, "signal", {
        /// An event says outright what a line did.
        Statement = "statement",
        /// Work that had carried the line had to be put right where the line points.
        Correction = "correction",
        /// A person gave a standing instruction.
        Instruction = "instruction",
        /// A person said what they prefer.
        Preference = "preference",
        /// The line's trigger was there, and what was done then is what the line asks for.
        Helped = "helped",
        /// A window of events in which nothing touched the line.
        Coverage = "coverage",
        /// A person took back a change of the line. It says nothing for or against the line.
        Restored = "restored",
        /// A judge read what no rule could decide.
        Judged = "judged",
    }
);

/// Who decided: a rule, a person who asked for it, or a judge, which is a model with a prompt.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Decider {
    #[default]
    Rule,
    Person,
    Judge {
        model: String,
        prompt: String,
    },
}

impl Decider {
    /// Names a judge. What its name cannot hold becomes `_`, so that a row stays one row.
    pub fn judge(model: &str, prompt: &str) -> Self {
        Self::Judge { model: decider_word(model), prompt: decider_word(prompt) }
    }

    pub const fn is_rule(&self) -> bool {
        matches!(self, Self::Rule)
    }
}

fn decider_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    let word: String = text.chars().take(60).map(|c| if plain(c) { c } else { '_' }).collect();
    if word.is_empty() { "_".to_owned() } else { word }
}

impl fmt::Display for Decider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule => f.pad("rule"),
            Self::Person => f.pad("person"),
            Self::Judge { model, prompt } => write!(f, "judge:{model}:{prompt}"),
        }
    }
}

impl FromStr for Decider {
    type Err = UnknownEvidenceWord;

    fn from_str(text: &str) -> Result<Self, UnknownEvidenceWord> {
        if text == "rule" {
            return Ok(Self::Rule);
        }
        if text == "person" {
            return Ok(Self::Person);
        }
        let named = text.strip_prefix("judge:").and_then(|rest| rest.split_once(':'));
        match named.map(|(model, prompt)| Self::judge(model, prompt)) {
            Some(judge) if judge.to_string() == text => Ok(judge),
            _ => {
                Err(UnknownEvidenceWord { kind: "decider", text: text.chars().take(80).collect() })
            }
        }
    }
}

impl TryFrom<String> for Decider {
    type Error = UnknownEvidenceWord;

    fn try_from(text: String) -> Result<Self, UnknownEvidenceWord> {
        text.parse()
    }
}

impl From<Decider> for String {
    fn from(decider: Decider) -> String {
        decider.to_string()
    }
}

impl Trajectory {
    pub const fn activation(self) -> Activation {
        match self {
            Self::Strengthening => Activation::Activated,
            Self::Weakening => Activation::Missed,
            Self::Neutral => Activation::Waiting,
            Self::NewSignal => Activation::None,
        }
    }
}

impl Activation {
    /// Returns the trajectory of a line to which this happened.
    pub const fn trajectory(self) -> Trajectory {
        match self {
            Self::Activated => Trajectory::Strengthening,
            Self::Missed => Trajectory::Weakening,
            Self::Waiting => Trajectory::Neutral,
            Self::None => Trajectory::NewSignal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_the_same_in_text_and_in_json() {
        for trajectory in Trajectory::ALL {
            assert_eq!(serde_json::to_value(trajectory).unwrap(), trajectory.as_str());
            assert_eq!(trajectory.as_str().parse(), Ok(*trajectory));
            assert_eq!(trajectory.activation().trajectory(), *trajectory);
        }
        assert!("strengthening".parse::<Trajectory>().is_err());
    }

    #[test]
    fn who_decided_is_one_word() {
        for decider in [
            Decider::Rule,
            Decider::Person,
            Decider::judge("small/model-2.1", "1"),
            Decider::judge("a b", ""),
        ] {
            let word = decider.to_string();
            assert!(!word.contains(' '), "{word}");
            assert_eq!(word.parse(), Ok(decider));
        }
        for bad in ["", "Rule", "judge", "judge:x", "judge:a b:1", "Person"] {
            assert!(bad.parse::<Decider>().is_err(), "{bad}");
        }
    }
}
