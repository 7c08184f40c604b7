//! The title of a text: what a run, a node or a commit is called by.

/// Returns the first line of a task, short enough for a heading or a commit subject.
pub(crate) fn title(task: &str) -> String {
    spore_plain::line_within(task.trim().lines().next().unwrap_or_default(), 60)
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
