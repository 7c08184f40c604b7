//! What was found for a task, before it is written down.

use serde::Serialize;
use spore_model::NodeId;

use crate::impact::Impact;
use crate::places::PlaceSummary;

/// Everything that an agent might want to know for one task, best first.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Compiled {
    pub task: String,
    pub ranker: String,
    pub files: Vec<RankedFile>,
    pub anchors: Vec<Anchor>,
    pub nodes: Vec<ContextNode>,
    pub snippets: Vec<Snippet>,
    pub calls: Vec<CallGraph>,
    /// What investigations said of the best files and their directories.
    pub places: Vec<PlaceSummary>,
    pub lessons: Vec<CarriedLesson>,
    pub memory: Vec<MemoryLine>,
    /// What a change reaches; for a verifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impact: Option<Impact>,
}

/// A file, and why it is where it is.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RankedFile {
    pub path: String,
    pub score: f64,
    /// What spoke for it, the strongest first.
    pub why: Vec<Reason>,
    /// Its items that the task seems to be about, best first.
    pub nodes: Vec<ItemRef>,
}

/// One signal, and how much of the score it gave.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Reason {
    pub signal: String,
    pub share: f64,
}

/// A piece of code by everything that people and agents know it by.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ItemRef {
    pub id: NodeId,
    pub kind: String,
    pub name: String,
    pub path: String,
    pub first_line: u32,
    pub last_line: u32,
}

/// Where the walk through the graph began.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Anchor {
    #[serde(flatten)]
    pub item: ItemRef,
    /// What led to it: `semantic match`, `word match`, `named in the task`.
    pub source: String,
    pub score: f64,
}

/// A node that the walk reached.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ContextNode {
    pub id: NodeId,
    pub kind: String,
    pub title: String,
    /// From 0 to 1.
    pub relevance: f64,
    /// The anchor and the edges from it.
    pub via: String,
}

/// A few lines of a file.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Snippet {
    #[serde(flatten)]
    pub item: ItemRef,
    pub language: String,
    pub text: String,
    /// How many lines of the item are not shown.
    pub more_lines: u32,
}

/// Who calls a function, and what it calls.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CallGraph {
    #[serde(flatten)]
    pub item: ItemRef,
    pub callers: Vec<ItemRef>,
    pub callees: Vec<ItemRef>,
}

/// A lesson that the task file carries.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CarriedLesson {
    pub id: NodeId,
    pub title: String,
    pub pattern: String,
    pub fix: String,
    /// How near it is to the task; none if it is only among the newest.
    pub similarity: Option<f64>,
}

/// A line of the broadcast file that the task file carries.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MemoryLine {
    /// Of the broadcast file, counted from 1.
    pub line: u32,
    pub text: String,
}
