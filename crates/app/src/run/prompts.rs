//! The prompt of each role, in our own words.
//!
//! Who and how stand in the role's prompt, what in the task file, which
//! [`spore_context::task_file`] writes.

use spore_pipeline::Evidence;

pub(crate) const CODER: &str = include_str!("../../../../assets/roles/coder.md");
const VERIFIER: &str = include_str!("../../../../assets/roles/verifier.md");
const SUMMARIZER: &str = include_str!("../../../../assets/roles/summarizer.md");
const OPERATOR: &str = include_str!("../../../../assets/roles/operator.md");

/// The roles that need nothing but us.
pub(crate) const BUILT_IN: [(&str, &str); 4] =
    [("coder", CODER), ("verifier", VERIFIER), ("summarizer", SUMMARIZER), ("operator", OPERATOR)];

/// What a coder is told in the conversation it already had: what fell short, and no more.
pub(crate) fn again(evidence: &Evidence) -> String {
    format!(
        "{}\nThe task and the checks are as before, and the files are as you left them. Mend what \
         fell short, then end with a short account.\n",
        evidence.to_markdown()
    )
}

/// The first line of a task, short enough for a heading or a commit subject.
pub(crate) fn title(task: &str) -> String {
    let line = task.trim().lines().next().unwrap_or_default().trim();
    if line.chars().count() <= 60 {
        return line.to_owned();
    }
    let cut: String = line.chars().take(59).collect();
    format!("{}…", cut.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_short_line() {
        assert_eq!(title("  fix it\nand more"), "fix it");
        assert_eq!(title(&"ä".repeat(80)).chars().count(), 60);
    }
}
