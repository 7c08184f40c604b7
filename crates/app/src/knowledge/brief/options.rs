//! The settings, as the compiler of contexts takes them.

use spore_config::Config;
use spore_context::impact::ImpactLimits;
use spore_context::{ContextOptions, LessonRules, TaskFileLimits, TrailLimits};
use spore_model::graph::ExpandOptions;

/// Returns how much is found for a task.
pub fn context_options(config: &Config) -> ContextOptions {
    let context = &config.context;
    ContextOptions {
        files: context.files as usize,
        items_of_file: context.items_of_file as usize,
        reasons: context.reasons as usize,
        anchors: context.anchors as usize,
        anchor_files: context.anchor_files as usize,
        namesakes: context.namesakes as usize,
        walk: ExpandOptions::within(
            context.nodes_of_anchor as usize,
            context.max_hops,
            context.max_cost,
        ),
        nodes: context.nodes as usize,
        snippets: context.snippets as usize,
        snippet_lines: context.snippet_lines,
        snippet_item_lines: context.snippet_from..=context.snippet_to,
        calls: context.calls as usize,
        neighbours_of_call: context.neighbours_of_call as usize,
        places: context.places as usize,
        lessons: lesson_rules(config),
    }
}

/// Returns how lessons are chosen for a task file.
pub(crate) fn lesson_rules(config: &Config) -> LessonRules {
    let lessons = &config.lessons;
    LessonRules {
        most: lessons.carried as usize,
        least_likeness: lessons.least_likeness,
        same: lessons.same,
    }
}

/// Returns how much of a change is looked at.
pub(super) fn impact_limits(config: &Config) -> ImpactLimits {
    let impact = &config.impact;
    ImpactLimits {
        files: impact.files as usize,
        touched: impact.touched as usize,
        users: impact.users as usize,
        removed: impact.removed as usize,
        tests: impact.tests as usize,
        companions: impact.companions as usize,
        least_together: impact.least_together,
    }
}

/// Returns how long the lists of a task file are.
pub fn task_file_limits(config: &Config) -> TaskFileLimits {
    let (context, summary) = (&config.context, &config.summary);
    let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    TaskFileLimits {
        locations: context.locations as usize,
        locations_of_file: context.locations_of_file as usize,
        untouched: config.impact.untouched as usize,
        trail: TrailLimits {
            bytes: bytes(summary.bytes),
            message_bytes: bytes(summary.message_bytes),
            reason_bytes: bytes(summary.reason_bytes),
            files: summary.files as usize,
            checks: summary.checks as usize,
            findings: summary.findings as usize,
        },
    }
}
