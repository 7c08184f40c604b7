//! What is to be mended, in the order in which it is: a list that checks and an auditor add to.

use serde::{Deserialize, Serialize};

/// Whether work is held back by it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Blocking,
    Warning,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FixList {
    pub fixes: Vec<Fix>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fix {
    pub id: usize,
    pub severity: Severity,
    /// The check that complains, or the requirement that is not met.
    pub check: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub issue: String,
    pub suggested_fix: String,
}

impl FixList {
    /// Puts what blocks first and numbers all.
    pub(super) fn numbered(mut fixes: Vec<Fix>) -> Self {
        fixes.sort_by_key(|fix| fix.severity);
        for (index, fix) in fixes.iter_mut().enumerate() {
            fix.id = index + 1;
        }
        Self { fixes }
    }

    /// One line for each of the first `most`, and how many more there are.
    pub(super) fn lines(&self, most: usize) -> String {
        let line = |fix: &Fix| {
            let place = match (&fix.file, fix.line) {
                (Some(file), Some(line)) => format!(" {file}:{line}"),
                (Some(file), None) => format!(" {file}"),
                _ => String::new(),
            };
            let word = match fix.severity {
                Severity::Blocking => "must",
                Severity::Warning => "should",
            };
            let issue = spore_plain::line_within(&fix.issue, 300);
            format!("{}. [{word}] {}{place}: {issue}\n", fix.id, fix.check)
        };
        let mut text: String = self.fixes.iter().take(most).map(line).collect();
        if self.fixes.len() > most {
            text.push_str(&format!("… and {} more\n", self.fixes.len() - most));
        }
        text
    }
}
