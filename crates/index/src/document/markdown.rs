//! Markdown: `#` headings, underlined headings, fences and front matter.

use std::ops::Range;

use super::{DocumentLine, Heading, lines_of, trimmed};

const MAX_RANK: usize = 6;

/// What a line can stand in that is no prose.
enum MarkdownBlock {
    Nothing,
    /// Up to a line of at least this many of the same mark.
    Fence(char, usize),
    /// Up to `-->`.
    Comment,
}

/// Returns what each line of a text is.
pub(super) fn lines(text: &str) -> Vec<DocumentLine> {
    let ranges: Vec<Range<usize>> = lines_of(text).collect();
    let mut lines = Vec::new();
    let mut inside = MarkdownBlock::Nothing;
    // Whether what is indented goes on with a list's point. Elsewhere it is code.
    let mut in_list = false;
    for range in &ranges[front_matter(text, &ranges)..] {
        let line = &text[range.clone()];
        inside = match inside {
            MarkdownBlock::Fence(mark, length) if closes(line, mark, length) => {
                MarkdownBlock::Nothing
            }
            MarkdownBlock::Comment if line.contains("-->") => MarkdownBlock::Nothing,
            MarkdownBlock::Fence(..) | MarkdownBlock::Comment => inside,
            MarkdownBlock::Nothing => {
                if line.starts_with(|c: char| !c.is_whitespace()) {
                    in_list = is_point(line);
                }
                look(text, range, in_list, &mut lines)
            }
        };
    }
    lines
}

/// Says what a line is that stands in nothing else, and what it opens.
fn look(
    text: &str,
    range: &Range<usize>,
    in_list: bool,
    lines: &mut Vec<DocumentLine>,
) -> MarkdownBlock {
    let line = &text[range.clone()];
    let is_indented = line.starts_with("    ") || line.starts_with('\t');
    let words = line.trim();
    let is_code = is_indented && !in_list && !matches!(lines.last(), Some(DocumentLine::Prose(_)));
    if words.is_empty() || is_code {
        lines.push(DocumentLine::Gap);
    } else if let Some((mark, length)) = fence(line) {
        lines.push(DocumentLine::Gap);
        return MarkdownBlock::Fence(mark, length);
    } else if words.starts_with("<!--") {
        lines.push(DocumentLine::Gap);
        return if words.contains("-->") { MarkdownBlock::Nothing } else { MarkdownBlock::Comment };
    } else if let Some(heading) = (!is_indented).then(|| marked(text, range)).flatten() {
        lines.push(DocumentLine::Heading(heading));
    } else if let Some(rank) = underline(line) {
        underlined(text, range, rank, lines);
    } else {
        lines.push(DocumentLine::Prose(range.clone()));
    }
    MarkdownBlock::Nothing
}

/// Returns how many lines the front matter takes: settings between two rules at the very top.
fn front_matter(text: &str, ranges: &[Range<usize>]) -> usize {
    let line = |range: &Range<usize>| text[range.clone()].trim_end();
    let Some(rule) = ranges.first().map(line).filter(|rule| matches!(*rule, "---" | "+++")) else {
        return 0;
    };
    let closes = |other: &str| other == rule || (rule == "---" && other == "...");
    ranges.iter().skip(1).position(|range| closes(line(range))).map_or(0, |at| at + 2)
}

/// Returns the mark and length of a fence that a line opens.
fn fence(line: &str) -> Option<(char, usize)> {
    let words = line.trim_start();
    let mark = words.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = words.len() - words.trim_start_matches(mark).len();
    // "```x```" on one line is code inside of prose.
    let opens = length >= 3 && !(mark == '`' && words[length..].contains('`'));
    opens.then_some((mark, length))
}

fn closes(line: &str, mark: char, length: usize) -> bool {
    let words = line.trim();
    words.len() >= length && words.chars().all(|c| c == mark)
}

/// Returns the heading of a line of the form `## Title ##`.
fn marked(text: &str, range: &Range<usize>) -> Option<Heading> {
    let line = trimmed(text, range.clone());
    let words = &text[line.clone()];
    let title = words.trim_start_matches('#');
    let rank = words.len() - title.len();
    if !(1..=MAX_RANK).contains(&rank) || !title.starts_with([' ', '\t']) {
        return None;
    }
    let closing = title.trim_end_matches('#');
    let title = if closing.ends_with([' ', '\t']) { closing } else { title };
    let start = line.start + rank;
    let title = trimmed(text, start..start + title.len());
    let signature = line.start..title.end;
    (!title.is_empty()).then(|| Heading { rank, whole: range.clone(), title, signature })
}

/// Returns the rank that a line of equal marks gives to the line above it.
fn underline(line: &str) -> Option<usize> {
    let mark = line.trim_end();
    let all = |of: char| mark.len() >= 2 && mark.chars().all(|c| c == of);
    if all('=') {
        Some(1)
    } else if all('-') {
        Some(2)
    } else {
        None
    }
}

/// Makes a heading of the line above, if that is a paragraph of one line. Else the marks are a
/// rule across the page.
fn underlined(text: &str, range: &Range<usize>, rank: usize, lines: &mut Vec<DocumentLine>) {
    let above = match lines.as_slice() {
        [.., DocumentLine::Prose(_), DocumentLine::Prose(_)] => None,
        [.., DocumentLine::Prose(above)] => Some(trimmed(text, above.clone())),
        _ => None,
    };
    match above.filter(|above| may_be_a_title(&text[above.clone()])) {
        Some(title) => {
            lines.pop();
            let whole = title.start..range.end;
            lines.push(DocumentLine::Heading(Heading {
                rank,
                whole,
                signature: title.clone(),
                title,
            }));
        }
        None => lines.push(DocumentLine::Gap),
    }
}

/// A point of a list, a quotation and a row of a table are no titles.
fn may_be_a_title(words: &str) -> bool {
    !is_point(words) && !words.starts_with(['>', '|'])
}

fn is_point(words: &str) -> bool {
    let digits = words.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = digits.len() < words.len() && digits.starts_with(". ");
    is_numbered || ["- ", "* ", "+ "].iter().any(|mark| words.starts_with(mark))
}
