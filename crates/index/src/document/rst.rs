//! reStructuredText: titles are underlined, or over- and underlined, by a row of one mark.
//!
//! Which mark means which rank is each document's own affair: the first that is met is the
//! highest.

use std::ops::Range;

use super::{DocumentLine, Heading, lines_of, trimmed};

/// A row of marks: which, how many.
type MarkRow = (char, usize);

/// A mark, and whether it stands above the title too.
type TitleStyle = (char, bool);

/// Returns what each line of a text is.
pub(super) fn lines(text: &str) -> Vec<DocumentLine> {
    let ranges: Vec<Range<usize>> = lines_of(text).collect();
    let line = |at: usize| ranges.get(at).map_or("", |range| &text[range.clone()]);
    let mut styles: Vec<TitleStyle> = Vec::new();
    let mut lines = Vec::new();
    let mut in_literal = false;
    let mut at = 0;
    while at < ranges.len() {
        let words = line(at);
        let is_indented = words.starts_with([' ', '\t']);
        in_literal &= is_indented || words.trim().is_empty();
        let starts_paragraph = !matches!(lines.last(), Some(DocumentLine::Prose(_)));
        let titled = (!in_literal).then(|| title_at([words, line(at + 1), line(at + 2)])).flatten();
        if let Some((style, of_lines)) = titled.filter(|_| starts_paragraph) {
            let named = at + usize::from(style.1);
            lines.push(DocumentLine::Heading(heading(
                text,
                &ranges[at..at + of_lines],
                named - at,
                rank(&mut styles, style),
            )));
            at += of_lines;
            continue;
        }
        if words.trim().is_empty() || in_literal || row(words).is_some() {
            lines.push(DocumentLine::Gap);
        } else if opens_literal(words) {
            in_literal = true;
            let is_prose = !words.trim_start().starts_with("..");
            lines.push(if is_prose {
                DocumentLine::Prose(ranges[at].clone())
            } else {
                DocumentLine::Gap
            });
        } else {
            lines.push(DocumentLine::Prose(ranges[at].clone()));
        }
        at += 1;
    }
    lines
}

fn heading(text: &str, whole: &[Range<usize>], named: usize, rank: usize) -> Heading {
    let title = trimmed(text, whole[named].clone());
    let end = whole.last().map_or(title.end, |last| last.end);
    Heading { rank, whole: whole[0].start..end, signature: title.clone(), title }
}

/// Returns the style of a title that begins with the first of three lines, and how many lines
/// it takes.
fn title_at([first, second, third]: [&str; 3]) -> Option<(TitleStyle, usize)> {
    if let Some((mark, length)) = row(first) {
        let is_title = row(second).is_none() && row(third).is_some_and(|(under, _)| under == mark);
        return (is_title && fits(second, length)).then_some(((mark, true), 3));
    }
    let (mark, length) = row(second)?;
    let is_title = !first.starts_with([' ', '\t']) && fits(first, length);
    is_title.then_some(((mark, false), 2))
}

/// Returns whether a row is long enough for a title. A short row is only one if it is as long
/// as the title; a longer one is taken even if a letter is missing.
fn fits(title: &str, length: usize) -> bool {
    let width = title.trim().chars().count();
    width > 0 && (length >= width || length >= 4)
}

/// Returns the mark of a line that has nothing else.
fn row(line: &str) -> Option<MarkRow> {
    let line = line.trim_end();
    let mark = line.chars().next().filter(char::is_ascii_punctuation)?;
    let length = line.len();
    (length >= 2 && line.chars().all(|c| c == mark) && line != "::" && line != "..")
        .then_some((mark, length))
}

/// Returns the rank of a style, counted from when it was first met.
fn rank(styles: &mut Vec<TitleStyle>, style: TitleStyle) -> usize {
    match styles.iter().position(|known| *known == style) {
        Some(place) => place,
        None => {
            styles.push(style);
            styles.len() - 1
        }
    }
}

/// Returns whether what is indented below a line is no prose: code, and comments.
fn opens_literal(line: &str) -> bool {
    let words = line.trim();
    let Some(directive) = words.strip_prefix(".. ") else {
        return words == ".." || words.ends_with("::");
    };
    let code = ["code", "sourcecode", "literalinclude", "parsed-literal", "highlight", "math"];
    code.iter().any(|name| directive.starts_with(name)) || !directive.contains("::")
}
