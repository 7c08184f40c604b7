//! The comment right above a definition is its documentation.
//!
//! For languages whose documentation is not a node of its own. Comments are met on the way
//! through the text and kept as one run while they follow each other line by line, because
//! asking a tree for what stood before a node is dear.

use tree_sitter::Node;

/// A file says in its head that a program wrote it.
const HEAD: usize = 4_096;

/// The latest run of comments.
#[derive(Default)]
pub(crate) struct Comments {
    start: usize,
    end: usize,
}

impl Comments {
    /// Takes a comment up. One behind code speaks of that code, not of what comes next.
    pub(crate) fn see(&mut self, text: &str, node: Node<'_>) {
        let (start, end) = (node.start_byte(), node.end_byte());
        if !is_first_on_its_line(text, start) {
            return;
        }
        if self.end > 0 && is_next(text, self.end, start) {
            self.end = end;
        } else {
            *self = Self { start, end };
        }
    }

    /// Returns the words of the run that ends right above a byte.
    pub(crate) fn above(&self, text: &str, at: usize) -> String {
        if self.end == 0 || !is_next(text, self.end, at) {
            return String::new();
        }
        words(text.get(self.start..self.end).unwrap_or(""))
    }

    /// Returns the words of a `/** … */` that nothing but blank lines part from a byte, and
    /// that nothing stands above of.
    pub(crate) fn head(&self, text: &str, at: usize) -> String {
        let is_blank = |range| text.get(range).is_some_and(|text: &str| text.trim().is_empty());
        let is_head = is_blank(0..self.start) && is_blank(self.end..at);
        let comment = text.get(self.start..self.end).unwrap_or("");
        if is_head && comment.starts_with("/**") { words(comment) } else { String::new() }
    }
}

/// Returns whether a comment in a file's head says that a program wrote the file.
pub(crate) fn marks_generated(text: &str, comment: Node<'_>) -> bool {
    if comment.start_byte() > HEAD {
        return false;
    }
    let words = text.get(comment.byte_range()).unwrap_or("");
    words.contains("@generated")
        || words.contains("DO NOT EDIT") && words.to_ascii_lowercase().contains("generated")
}

fn is_first_on_its_line(text: &str, at: usize) -> bool {
    // Backwards, and no further than to the first mark: a line can be a whole file long.
    let before = text.as_bytes().get(..at).unwrap_or(&[]);
    let mark = before.iter().rev().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
    mark.is_none_or(|byte| *byte == b'\n')
}

/// Returns whether nothing but one line's end stands between two bytes.
fn is_next(text: &str, end: usize, start: usize) -> bool {
    let Some(between) = text.get(end..start) else { return false };
    // A comment to the end of its line may or may not hold that end. The first mark ends the
    // search: the comment may be the head of a file of ten thousand definitions.
    let mut breaks = 0;
    between.chars().all(|mark| {
        breaks += usize::from(mark == '\n');
        mark.is_whitespace() && breaks <= 1
    })
}

/// Returns a comment's words without its marks and without notes to other programs.
fn words(comments: &str) -> String {
    let lines = comments.lines().filter_map(line_words);
    let mut words = lines.collect::<Vec<_>>().join("\n");
    words.truncate(words.trim_end().len());
    words
}

fn line_words(line: &str) -> Option<&str> {
    let line = line.trim();
    if is_directive(line) {
        return None;
    }
    let line = line.strip_suffix("*/").unwrap_or(line);
    let opened = ["/**", "/*", "///", "//!", "//", "*"];
    let line = opened.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
    Some(line.strip_prefix(' ').unwrap_or(line).trim_end())
}

/// Returns whether a comment is for a compiler or a linter: `//go:embed`, `//nolint`,
/// `// eslint-disable-next-line`.
fn is_directive(line: &str) -> bool {
    let Some(words) = line.strip_prefix("//") else { return false };
    const DIRECTIVES: [&str; 8] =
        ["go:", "nolint", "lint:", "+build", "eslint-", "@ts-", "prettier-", "#__"];
    DIRECTIVES.iter().any(|directive| words.trim_start().starts_with(directive))
}
