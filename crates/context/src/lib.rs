//! What an agent should know before its first action: retrieval, ranking and the task file.
//!
//! [`Compiled`] is what was found for a task; [`task_file::write`] turns it into the text
//! that goes to the agent, within a budget. Nothing here reads a file, the clock or a model:
//! the index, lessons, memory lines and vectors are inputs, and the same inputs give the same
//! bytes.

mod compiled;
mod corpus;
pub mod impact;
mod items;
mod lessons;
mod options;
mod places;
mod question;
mod quoting;
pub mod rank;
pub mod retrieve;
#[cfg(test)]
mod sample_tree;
pub mod search;
pub mod task_file;
mod tokens;

pub use compiled::{
    Anchor, CallGraph, CarriedLesson, Compiled, ContextNode, ItemRef, MemoryLine, RankedFile,
    Reason, Snippet,
};
pub use corpus::Corpus;
pub use lessons::{LessonRules, choose as choose_lessons, likeness, overlap_of_texts};
pub use options::{ContextOptions, TaskFileLimits, TrailLimits};
pub use places::{PlaceSummaries, PlaceSummary};
pub use quoting::{fenced, inline, quoted};
pub use tokens::{tokens, tokens_of_bytes};
