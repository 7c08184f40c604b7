//! What a verifier said of a tree.

use schemars::JsonSchema;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Three values, because not knowing is not passing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    Supports,
    Contradicts,
    Unknown,
}

/// How a verdict reached us, strongest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictSource {
    /// The `submit_verdict` tool.
    Tool,
    /// The last `<verdict>` block of the final message.
    Block,
    /// A phrase in prose: may reject, never passes.
    Phrase,
    /// Nothing that could be read.
    None,
}

/// Something the verifier found, with its place where it named one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub message: String,
}

/// The place as far as it is known, then the message: `src/a.rs:7: overflow`.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: ")?,
            (Some(file), None) => write!(f, "{file}: ")?,
            (None, _) => {}
        }
        f.write_str(&self.message)
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    pub ruling: Ruling,
    pub reason: String,
    pub confidence: f64,
    pub source: VerdictSource,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// The verdict of a verifier that said nothing readable.
    pub fn unknown(reason: impl Into<String>) -> Self {
        Self {
            ruling: Ruling::Unknown,
            reason: reason.into(),
            confidence: 0.0,
            source: VerdictSource::None,
            findings: Vec::new(),
        }
    }

    /// Returns what the verdict is worth. A contradiction always counts; support counts only
    /// when it was given in form and with enough confidence.
    pub fn weigh(&self, min_confidence: f64) -> Ruling {
        let formal = matches!(self.source, VerdictSource::Tool | VerdictSource::Block);
        match self.ruling {
            Ruling::Supports if formal && self.confidence >= min_confidence => Ruling::Supports,
            Ruling::Supports | Ruling::Unknown => Ruling::Unknown,
            Ruling::Contradicts => Ruling::Contradicts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ruling: Ruling, source: VerdictSource, confidence: f64, worth: Ruling) {
        let verdict =
            Verdict { ruling, source, confidence, reason: String::new(), findings: Vec::new() };
        assert_eq!(verdict.weigh(0.6), worth);
    }

    #[test]
    fn only_formal_and_confident_support_passes() {
        check(Ruling::Supports, VerdictSource::Block, 0.6, Ruling::Supports);
        check(Ruling::Supports, VerdictSource::Tool, 1.0, Ruling::Supports);
        check(Ruling::Supports, VerdictSource::Block, 0.59, Ruling::Unknown);
        check(Ruling::Supports, VerdictSource::Block, f64::NAN, Ruling::Unknown);
        check(Ruling::Supports, VerdictSource::Phrase, 1.0, Ruling::Unknown);
        check(Ruling::Supports, VerdictSource::None, 1.0, Ruling::Unknown);
        check(Ruling::Unknown, VerdictSource::Tool, 1.0, Ruling::Unknown);
    }

    #[test]
    fn a_contradiction_always_counts() {
        check(Ruling::Contradicts, VerdictSource::Phrase, 0.5, Ruling::Contradicts);
        check(Ruling::Contradicts, VerdictSource::Block, 0.1, Ruling::Contradicts);
    }
}
