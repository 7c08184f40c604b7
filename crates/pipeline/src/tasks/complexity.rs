//! How large a task looks, from its words alone. Informational: nothing is decided by it.

/// Words that ask for something to be done. Several of them are several things to do.
const ACTIONS: &[&str] = &[
    "add",
    "build",
    "change",
    "convert",
    "create",
    "delete",
    "document",
    "extend",
    "extract",
    "fix",
    "implement",
    "improve",
    "integrate",
    "make",
    "merge",
    "migrate",
    "move",
    "optimise",
    "optimize",
    "port",
    "refactor",
    "remove",
    "rename",
    "replace",
    "rewrite",
    "split",
    "support",
    "update",
    "upgrade",
    "write",
];

/// Words of work that reaches through a whole code base.
const CROSS_CUTTING: &[&str] = &[
    "across",
    "all",
    "architecture",
    "codebase",
    "cross-cutting",
    "end-to-end",
    "every",
    "everywhere",
    "global",
    "globally",
    "migration",
    "throughout",
];

/// The most that a task can come to.
const MOST: u32 = 10;

/// Returns how large a task looks, from 0 to 10: by its length, by how many different things it
/// asks for, by whether it reaches through everything, and by its sentences or points.
pub fn estimate_complexity(task: &str) -> u32 {
    let words: Vec<String> = task
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase())
        .filter(|word| !word.is_empty())
        .collect();
    let length = match words.len() {
        0..=30 => 0,
        31..=60 => 1,
        _ => 3,
    };
    let actions = ACTIONS.iter().filter(|action| words.iter().any(|word| word == *action)).count();
    let actions = match actions {
        0 | 1 => 0,
        2 => 1,
        _ => 3,
    };
    let reach = if words.iter().any(|word| CROSS_CUTTING.contains(&word.as_str())) { 2 } else { 0 };
    let parts = if parts(task) >= 3 { 2 } else { 0 };
    (length + actions + reach + parts).min(MOST)
}

/// Counts sentences, and points of a list.
fn parts(task: &str) -> usize {
    let is_end = |(at, c): (usize, char)| {
        matches!(c, '.' | '!' | '?' | ';')
            && task[at + c.len_utf8()..].chars().next().is_none_or(char::is_whitespace)
    };
    let sentences = task.char_indices().filter(|&end| is_end(end)).count();
    let points = task.lines().filter(|line| {
        let line = line.trim_start();
        line.starts_with("- ") || line.starts_with("* ")
    });
    sentences.max(points.count())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_task_is_as_large_as_what_it_asks_for() {
        let long = "word ".repeat(61);
        for (task, expected) in [
            ("", 0),
            ("Fix the parser", 0),
            ("Fix the parser and add a test", 1),
            ("Add a flag, rename the old one and update the docs", 3),
            ("Rename it across the codebase", 2),
            ("Fix the parser. It fails on tabs. See the test.", 2),
            ("word ".repeat(31).as_str(), 1),
            (long.as_str(), 3),
            (format!("Add it. Rename it. Remove it everywhere. {long}").as_str(), 10),
        ] {
            assert_eq!(estimate_complexity(task), expected, "{task}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_larger_than_ten(task in ".{0,400}") {
            prop_assert!(estimate_complexity(&task) <= MOST);
        }
    }
}
