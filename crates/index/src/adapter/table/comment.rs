//! The comment right above a definition.
//!
//! It is found in the text, upwards from the definition's line: a blank line ends it, and so
//! does anything that is not a comment. Every step is bounded, because a text may be one line
//! of a megabyte or ten thousand lines that look like comments.

/// How a language marks comments.
pub(in super::super) struct CommentStyle {
    /// What a comment to the end of the line begins with.
    pub(in super::super) line: &'static [&'static str],
    /// What begins so is none.
    pub(in super::super) not: &'static [&'static str],
    /// Whether `/* … */` is one.
    pub(in super::super) block: bool,
    /// Takes the marks out that stand inside of the words.
    pub(in super::super) clean: fn(String) -> String,
}

impl CommentStyle {
    pub(in super::super) const C: Self =
        Self { line: &["///", "//!", "//"], not: &[], block: true, clean: |words| words };
    pub(in super::super) const HASH: Self =
        Self { line: &["#"], not: &["#!"], block: false, clean: |words| words };
}

/// How far before a definition its own line may begin.
const MAX_INDENT: usize = 200;
const MAX_LINE: usize = 2_000;
const MAX_LINES: usize = 100;
const MAX_BLOCK: usize = 16_000;

/// Returns the words of the comment that ends on the line above a byte.
pub(super) fn above(text: &str, at: usize, style: &CommentStyle) -> String {
    let Some(line) = line_start(text, at, MAX_INDENT) else { return String::new() };
    let leads = text.get(line..at).unwrap_or("");
    // `private def`, `typedef struct`: words may stand before it, other code may not.
    if !leads.chars().all(|c| c.is_whitespace() || c.is_alphabetic()) {
        return String::new();
    }
    let mut lines = Vec::new();
    let mut end = line;
    while lines.len() < MAX_LINES {
        let Some((start, comment)) = line_before(text, end) else { break };
        if lines.is_empty() && style.block && comment.ends_with("*/") {
            let block = block_before(text, end).unwrap_or("");
            return (style.clean)(joined(block.lines().map(block_line)));
        }
        let Some(words) = line_words(comment, style) else { break };
        lines.push(words);
        end = start;
    }
    (style.clean)(joined(lines.into_iter().rev()))
}

/// Returns where the line of a byte begins, unless that is too far away.
fn line_start(text: &str, at: usize, most: usize) -> Option<usize> {
    let from = at.saturating_sub(most);
    let before = text.as_bytes().get(from..at)?;
    match before.iter().rposition(|byte| *byte == b'\n') {
        Some(found) => Some(from + found + 1),
        None => (from == 0).then_some(0),
    }
}

/// Returns the line that ends right before the line that begins at a byte.
fn line_before(text: &str, line: usize) -> Option<(usize, &str)> {
    let end = line.checked_sub(1)?;
    let start = line_start(text, end, MAX_LINE)?;
    Some((start, text.get(start..end)?.trim()))
}

/// Returns the block comment that ends right before a line, if it is alone on its lines.
fn block_before(text: &str, line: usize) -> Option<&str> {
    let from = text.ceil_char_boundary(line.saturating_sub(MAX_BLOCK));
    let before = text.get(from..line)?;
    let start = from + before.rfind("/*")?;
    let leads = text.get(line_start(text, start, MAX_INDENT)?..start)?;
    leads.trim().is_empty().then(|| text.get(start..line)).flatten()
}

fn line_words<'t>(comment: &'t str, style: &CommentStyle) -> Option<&'t str> {
    if style.not.iter().any(|mark| comment.starts_with(mark)) {
        return None;
    }
    let words = style.line.iter().find_map(|mark| comment.strip_prefix(mark))?;
    Some(words.strip_prefix(' ').unwrap_or(words))
}

fn block_line(line: &str) -> &str {
    let line = line.trim();
    let line = line.strip_suffix("*/").unwrap_or(line);
    let marks = ["/**", "/*!", "/*", "*"];
    let words = marks.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
    words.strip_prefix(' ').unwrap_or(words)
}

/// Joins lines without rulers, and without blank ones at either end.
fn joined<'t>(lines: impl Iterator<Item = &'t str>) -> String {
    let is_ruler = |line: &str| {
        line.len() > 3 && line.chars().all(|c| c.is_ascii_punctuation() || c.is_whitespace())
    };
    let kept = lines.filter(|line| !is_ruler(line)).map(str::trim_end);
    kept.collect::<Vec<_>>().join("\n").trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::{CommentStyle, above};

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let at = text.find("def").expect("the text has a definition");
        assert_eq!(above(text, at, &CommentStyle::C), expected);
    }

    #[test]
    fn lines_and_blocks_right_above_are_read() {
        check("// one\n/// two\ndef", "one\ntwo");
        check("/** one\n * two\n */\n  def", "one\ntwo");
        check("/* one */\ndef", "one");
        check("// one\r\n// two\r\ndef", "one\ntwo");
        check("// one\nprivate def", "one");
    }

    #[test]
    fn what_belongs_to_something_else_is_left() {
        check("// one\n\ndef", "");
        check("x(); // one\ndef", "");
        check("int x; /* one */\ndef", "");
        check("// one\nx { def }", "");
        check("def", "");
        check("*/\ndef", "");
    }

    #[test]
    fn rulers_are_no_words() {
        check("// ------\n// one\n// ------\ndef", "one");
    }
}
