//! The prompt of each role, in our own words.
//!
//! Who and how stand in the role's prompt, what in the task file, which
//! [`spore_context::task_file`] writes.

use spore_pipeline::Evidence;

/// What a coder is told in the conversation it already had: what fell short, and no more.
pub(crate) fn again(evidence: &Evidence) -> String {
    format!(
        "{}\nThe task and the checks are as before, and the files are as you left them. Mend what \
         fell short, then end with a short account.\n",
        evidence.to_markdown()
    )
}
