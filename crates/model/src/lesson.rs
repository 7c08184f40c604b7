//! What a run learnt that the next one could use.
//!
//! A lesson is a proposal with a record: where it comes from, and how often it was seen to help
//! and to fail. It is kept as a node of the graph and read back here; its record is not part of
//! the node, for it is counted from the ledger of memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::graph::{Node, NodeClass};
use crate::{NodeId, RunId, Timestamp};

/// The kind of a lesson's node.
pub const LESSON_KIND: &str = "lesson";

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Lesson {
    pub id: NodeId,
    pub title: String,
    /// When it applies.
    pub pattern: String,
    /// What to do then.
    pub fix: String,
    /// Paths it is about; none is everywhere.
    #[serde(default)]
    pub scope: Vec<String>,
    /// Where it was learnt, in a few words.
    #[serde(default)]
    pub evidence: String,
    pub run: Option<RunId>,
    pub created: Timestamp,
    #[serde(default)]
    pub record: LessonRecord,
}

/// How often a lesson was seen to help, and how often to fail. That a run was told it counts as
/// neither.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct LessonRecord {
    pub helped: u32,
    pub missed: u32,
}

impl LessonRecord {
    /// Returns the share of help in all that tested the lesson, from 0 to 1. Two imagined tests,
    /// one of each kind, make it a half while there are none.
    pub fn standing(self) -> f64 {
        let (helped, missed) = (f64::from(self.helped), f64::from(self.missed));
        (helped + 1.0) / (helped + missed + 2.0)
    }
}

impl Lesson {
    /// Reads a lesson off its node. One that a person wrote by hand has its text alone: the
    /// first paragraph under a heading that says when, and the one under what to do.
    pub fn of_node(node: &Node) -> Option<Self> {
        if node.kind != LESSON_KIND || node.superseded_by.is_some() {
            return None;
        }
        let text = |key: &str| node.metadata.get(key).and_then(|value| value.as_str());
        let scope = node.metadata.get("scope").and_then(|value| value.as_array());
        let section = |names: &[&str]| section(&node.content, names).unwrap_or_default();
        let pattern =
            text("pattern").map_or_else(|| section(&["pattern", "situation"]), str::to_owned);
        let fix = text("fix").map_or_else(|| section(&["fix", "mistake"]), str::to_owned);
        let bare = pattern.is_empty() && fix.is_empty();
        Some(Self {
            id: node.id.clone(),
            title: node.title.clone(),
            pattern: if bare { node.content.trim().to_owned() } else { pattern },
            fix,
            scope: scope
                .into_iter()
                .flatten()
                .filter_map(|path| path.as_str().map(str::to_owned))
                .collect(),
            evidence: text("evidence").unwrap_or_default().to_owned(),
            run: node.run,
            created: node.created,
            record: LessonRecord::default(),
        })
    }

    /// Returns the node that the lesson is kept as.
    pub fn to_node(&self) -> Node {
        let title = self.title.clone();
        let mut node =
            Node::new(self.id.clone(), NodeClass::Operational, LESSON_KIND, title, self.created);
        node.content = format!(
            "## Pattern\n\n{}\n\n## Fix\n\n{}\n\n## Evidence\n\n{}\n",
            self.pattern, self.fix, self.evidence
        );
        node.run = self.run;
        node.metadata = json!({
            "pattern": self.pattern,
            "fix": self.fix,
            "scope": self.scope,
            "evidence": self.evidence,
        });
        node
    }

    /// Returns whether it says enough to be worth a place: not a bare command, and not a rule
    /// of a few words.
    pub fn says_something(&self) -> bool {
        let text = format!("{} {} {}", self.title, self.pattern, self.fix);
        let words = text.split_whitespace().count();
        let lower = self.fix.trim().to_lowercase();
        let commands = ["cargo ", "npm ", "pnpm ", "yarn ", "go ", "pytest"];
        let is_command = self.pattern.trim().is_empty()
            && commands.iter().any(|command| lower.starts_with(command))
            && lower.split_whitespace().count() < 10;
        words >= MIN_WORDS && !is_command
    }
}

/// A lesson of fewer words teaches nothing.
const MIN_WORDS: usize = 20;

/// Returns the text below the first heading that begins with one of these words.
fn section(content: &str, names: &[&str]) -> Option<String> {
    let mut lines = content.lines();
    lines.find(|line| {
        let heading = line.trim_start_matches('#');
        let name = heading.trim().to_lowercase();
        heading.len() < line.len() && names.iter().any(|known| name.starts_with(known))
    })?;
    let below: Vec<&str> = lines.take_while(|line| !line.starts_with('#')).collect();
    Some(below.join("\n").trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lesson() -> Lesson {
        Lesson {
            id: NodeId::from_parts(1, 2),
            title: "Paths are compared as text".into(),
            pattern: "Two spellings of one path were taken for two files, so the cache missed"
                .into(),
            fix: "Normalise a path before it becomes a key, and test a trailing slash".into(),
            scope: vec!["src/cache".into()],
            evidence: "bounce 2 of the run".into(),
            run: None,
            created: Timestamp::from_millis(1_767_225_600_000),
            record: LessonRecord::default(),
        }
    }

    #[test]
    fn a_lesson_survives_its_node() {
        assert_eq!(Lesson::of_node(&lesson().to_node()), Some(lesson()));
    }

    #[test]
    fn a_lesson_that_a_person_wrote_is_read_by_its_headings() {
        let mut node = lesson().to_node();
        node.metadata = serde_json::Value::Null;
        node.content = "## Situation\n\nwhen it rains\n\n## Fix\nan umbrella\n".into();
        let read = Lesson::of_node(&node).unwrap();
        assert_eq!((read.pattern.as_str(), read.fix.as_str()), ("when it rains", "an umbrella"));
        node.content = "just text".into();
        assert_eq!(Lesson::of_node(&node).unwrap().pattern, "just text");
        node.kind = "summary".into();
        assert_eq!(Lesson::of_node(&node), None);
    }

    #[test]
    fn what_teaches_nothing_is_told_from_what_does() {
        assert!(lesson().says_something());
        let bare = Lesson {
            title: "Tests".into(),
            pattern: String::new(),
            fix: "cargo test".into(),
            ..lesson()
        };
        assert!(!bare.says_something());
    }

    #[test]
    fn a_record_moves_the_standing() {
        let record = |helped, missed| LessonRecord { helped, missed };
        assert_eq!(record(0, 0).standing(), 0.5);
        assert!(record(3, 0).standing() > 0.75 && record(0, 3).standing() < 0.25);
    }
}
