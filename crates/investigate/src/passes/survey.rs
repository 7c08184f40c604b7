//! What a first look says about a target, and what follows from it for the loops.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Tools that no survey takes away: without them a loop cannot hand in what it found.
pub const PROTECTED_TOOLS: [&str; 3] = ["write_cache", "flag", "submit_report"];

/// A survey that is less sure of itself takes no tool away.
const SURE_ENOUGH: f64 = 0.5;
/// Bytes of one field in a loop's prompt.
const FIELD_BYTES: usize = 2_000;

/// What the survey handed in.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Survey {
    /// What the target is, in plain words.
    pub description: String,
    /// How the loops should look at it.
    pub approach: String,
    #[serde(default)]
    pub relevant_tools: Vec<String>,
    /// Tools whose answers would mislead.
    #[serde(default)]
    pub skip_tools: Vec<String>,
    #[serde(default)]
    pub domain_notes: String,
    pub confidence: f64,
}

impl Survey {
    /// Reads what was handed in; nothing where it is no survey.
    pub fn read(handed_in: &Value) -> Option<Self> {
        let survey: Self = serde_json::from_value(handed_in.clone()).ok()?;
        let is_whole =
            !survey.description.trim().is_empty() && (0.0..=1.0).contains(&survey.confidence);
        is_whole.then_some(survey)
    }

    /// Returns whether a loop goes without `tool`.
    pub fn leaves_out(&self, tool: &str) -> bool {
        self.confidence >= SURE_ENOUGH
            && !PROTECTED_TOOLS.contains(&tool)
            && self.skip_tools.iter().any(|name| name == tool)
    }

    /// The survey as every loop is told it.
    pub fn block(&self) -> String {
        let field = |name: &str, text: &str| match text.trim() {
            "" => String::new(),
            text => format!("{name}: {}\n", spore_plain::cut(text, FIELD_BYTES)),
        };
        let mut block = field("What it is", &self.description);
        block += &field("How to look at it", &self.approach);
        block += &field("Notes", &self.domain_notes);
        block += &field("Lean on", &self.relevant_tools.join(", "));
        if self.confidence >= SURE_ENOUGH {
            block += &field("Misleading here", &self.skip_tools.join(", "));
        }
        format!("{block}Confidence of this survey: {:.2}\n", self.confidence)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn survey(confidence: f64) -> Survey {
        let handed_in = json!({
            "description": "mail", "approach": "read headers", "relevant_tools": ["read"],
            "skip_tools": ["parse_structure", "submit_report"], "domain_notes": "a maildir",
            "confidence": confidence,
        });
        Survey::read(&handed_in).unwrap()
    }

    #[test]
    fn a_sure_survey_takes_tools_away_and_never_those_that_end_a_loop() {
        assert!(survey(0.5).leaves_out("parse_structure"));
        assert!(!survey(0.49).leaves_out("parse_structure"));
        for tool in PROTECTED_TOOLS {
            assert!(!survey(1.0).leaves_out(tool), "{tool}");
        }
        assert!(!survey(1.0).leaves_out("read"));
    }

    #[test]
    fn a_survey_without_words_or_measure_is_none() {
        for broken in [
            json!({}),
            json!({ "description": " ", "approach": "", "confidence": 0.5 }),
            json!({ "description": "a", "approach": "b", "confidence": 1.5 }),
            json!({ "description": "a", "approach": "b", "confidence": "high" }),
        ] {
            assert_eq!(Survey::read(&broken), None, "{broken}");
        }
    }

    #[test]
    fn a_loop_is_told_of_misleading_tools_only_by_a_sure_survey() {
        assert!(survey(0.9).block().contains("Misleading here: parse_structure"));
        assert!(!survey(0.2).block().contains("Misleading"));
    }
}
