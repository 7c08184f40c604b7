//! How much is looked at and how much is said: every choice that a person may make otherwise.
//!
//! There are no defaults here. Spore's are in the settings (`crates/config/defaults.toml`), and
//! the caller hands them in, so that no figure stands in two places.

use std::ops::RangeInclusive;

use spore_model::graph::ExpandOptions;

use crate::lessons::LessonRules;

/// How much [`crate::retrieve::compile`] finds for a task.
#[derive(Clone, PartialEq, Debug)]
pub struct ContextOptions {
    /// How many files are named, and with how many of their items.
    pub files: usize,
    pub items_of_file: usize,
    /// How many reasons a file's rank is given with.
    pub reasons: usize,
    /// How many items the walk through the graph begins at.
    pub anchors: usize,
    /// Of how many of the best files the best item is an anchor.
    pub anchor_files: usize,
    /// A name that the task spells and that stands for more items than this is no anchor.
    pub namesakes: usize,
    /// How far the walk goes from each anchor.
    pub walk: ExpandOptions,
    /// How many nodes are kept of all walks together.
    pub nodes: usize,
    pub snippets: usize,
    pub snippet_lines: u32,
    /// How long an item is that is shown as a snippet, in lines.
    pub snippet_item_lines: RangeInclusive<u32>,
    /// For how many functions callers and callees are told, and how many of each.
    pub calls: usize,
    pub neighbours_of_call: usize,
    /// Of how many of the best files, and of the directories they are in, it is told what
    /// investigations said.
    pub places: usize,
    pub lessons: LessonRules,
}

impl ContextOptions {
    /// Returns the options for a role that is shown a change: it is told which files the task
    /// points at, and the code around them is left out.
    #[must_use]
    pub fn of_a_judge(self, files: usize) -> Self {
        Self { files, anchors: 0, snippets: 0, calls: 0, nodes: 0, places: 0, ..self }
    }
}

/// How much [`crate::task_file::write`] says where the length of a list is a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskFileLimits {
    /// How many places in the code are listed, and how many of each file.
    pub locations: usize,
    pub locations_of_file: usize,
    /// How many files a judge is told that the task points at and the change left alone.
    pub untouched: usize,
    pub trail: TrailLimits,
}

/// How much a summarizer is told of the run that it sums up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrailLimits {
    /// Of all bounces together, in bytes; those in the middle are left out first.
    pub bytes: usize,
    /// Of a coder's last message.
    pub message_bytes: usize,
    /// Of the reason why a bounce ended.
    pub reason_bytes: usize,
    pub files: usize,
    pub checks: usize,
    pub findings: usize,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Options for tests: large enough that only a test that lowers one sees it.
    pub(crate) fn sample() -> ContextOptions {
        ContextOptions {
            files: 30,
            items_of_file: 3,
            reasons: 4,
            anchors: 5,
            anchor_files: 8,
            namesakes: 2,
            walk: ExpandOptions::within(7, 4, 2.0),
            nodes: 15,
            snippets: 5,
            snippet_lines: 30,
            snippet_item_lines: 3..=200,
            calls: 3,
            neighbours_of_call: 3,
            places: 8,
            lessons: LessonRules { most: 5, least_likeness: 0.15, same: 0.8 },
        }
    }

    pub(crate) const LIMITS: TaskFileLimits = TaskFileLimits {
        locations: 24,
        locations_of_file: 2,
        untouched: 8,
        trail: TrailLimits {
            bytes: 48 << 10,
            message_bytes: 2_000,
            reason_bytes: 1_000,
            files: 60,
            checks: 20,
            findings: 10,
        },
    };
}
