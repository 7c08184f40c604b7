//! What another owner's Markdown tells: the sentences of it that can be lines.
//!
//! A broadcast file has a line for each sentence; other documents wrap their paragraphs and have
//! tables, headings of other kinds and keys. Half of a sentence is no line, and a row of a table
//! none that an agent could go by.

use crate::lines::LineMap;

/// Returns what a document's list items and paragraphs say, each whole and in one line.
pub fn sentences_of(text: &str) -> Vec<String> {
    let map = LineMap::read(&unwrapped(text));
    let said = map.lines().iter().map(|line| line.text.clone());
    said.filter(|text| !is_key(text)).collect()
}

/// Whether a text only names something, or what is listed below it.
fn is_key(text: &str) -> bool {
    let value = text.split_once(':').map(|(_, value)| value.trim());
    let is_short = |value: &str| !value.contains(char::is_whitespace);
    let key = text.split(':').next().unwrap_or_default();
    value.is_some_and(|value| value.is_empty() || is_short(key) && is_short(value))
}

/// What surrounds a line of a document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Surrounding {
    Text,
    FrontMatter,
    Comment,
    /// Closed by this character, three times.
    Fence(char),
}

/// The document with its paragraphs in one line each, and without tables, quotes, code that is set
/// in, and what else no agent is told by.
fn unwrapped(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut kept: Vec<String> = Vec::new();
    // Whether the last line that was kept may go on in the next one, and whether it is in a list.
    let (mut goes_on, mut in_list) = (false, false);
    let mut inside = Surrounding::Text;
    for (at, raw) in lines.iter().enumerate() {
        let line = raw.trim();
        let before = inside;
        inside = follow(before, line, at == 0);
        if before != Surrounding::Text || inside != Surrounding::Text || line.starts_with("<!--") {
            kept.push((*raw).to_owned());
            goes_on = false;
            continue;
        }
        let next = lines.get(at + 1).map_or("", |line| line.trim());
        let is_set_in = raw.starts_with("    ") || raw.starts_with('\t');
        let is_item = is_item(line);
        if line.is_empty() {
            kept.push(String::new());
            goes_on = false;
        } else if is_underline(line)
            || is_row(line, next, at.checked_sub(1).map(|at| lines[at]))
            || (!is_item && is_underline(next) && !is_heading(line) && !next.is_empty())
            || is_aside(line)
            || (!goes_on && is_key(crate::lines::without_bullet(line)))
            || (is_set_in && !goes_on && !in_list)
        {
            goes_on = false;
        } else if goes_on && !is_item && !is_heading(line) {
            if let Some(last) = kept.last_mut() {
                last.push(' ');
                last.push_str(line);
            }
        } else {
            in_list = is_item || in_list && raw.starts_with(char::is_whitespace);
            goes_on = !is_heading(line);
            kept.push(line.to_owned());
        }
    }
    kept.join("\n")
}

fn follow(before: Surrounding, line: &str, is_first: bool) -> Surrounding {
    let fence = ['`', '~'].into_iter().find(|mark| line.starts_with(&mark.to_string().repeat(3)));
    match before {
        Surrounding::Text if is_first && line == "---" => Surrounding::FrontMatter,
        Surrounding::Text if line.starts_with("<!--") && !line.contains("-->") => {
            Surrounding::Comment
        }
        Surrounding::Text => fence.map_or(Surrounding::Text, Surrounding::Fence),
        Surrounding::FrontMatter if line == "---" => Surrounding::Text,
        Surrounding::Comment if line.contains("-->") => Surrounding::Text,
        Surrounding::Fence(mark) if fence == Some(mark) => Surrounding::Text,
        same => same,
    }
}

fn is_item(line: &str) -> bool {
    crate::lines::without_bullet(line) != line
}

fn is_heading(line: &str) -> bool {
    line.starts_with('#')
}

/// The second line of a heading that is underlined, or a rule.
fn is_underline(line: &str) -> bool {
    line.len() >= 2 && ['=', '-'].iter().any(|mark| line.chars().all(|c| c == *mark))
}

/// Whether a line is a row of a table: it begins as one, or stands next to the row of dashes.
fn is_row(line: &str, next: &str, before: Option<&str>) -> bool {
    let is_dashes = |line: &str| {
        line.contains('-')
            && line.contains('|')
            && line.chars().all(|c| matches!(c, '-' | '|' | ':' | ' '))
    };
    line.starts_with('|')
        || is_dashes(line)
        || line.contains(" | ")
            && (is_dashes(next)
                || before.is_some_and(|before| before.contains(" | ") || is_dashes(before.trim())))
}

/// A quote, a tag of HTML or the address behind a link.
fn is_aside(line: &str) -> bool {
    let is_address = line.starts_with('[') && line.contains("]: ");
    line.starts_with('>') || line.starts_with('<') || is_address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(sentences_of(text), expected, "{text}");
    }

    #[test]
    fn a_wrapped_sentence_is_one() {
        check(
            "Run the tests\nbefore you push.\n\nAsk first.",
            &["Run the tests before you push.", "Ask first."],
        );
        check(
            "- Run the tests\nbefore you push\n- Ask\n  first",
            &["Run the tests before you push", "Ask first"],
        );
        check("# Head\nSquash.\n## Next\nAsk.", &["Squash.", "Ask."]);
        check("1. Ask\n2. Run the\n   tests", &["Ask", "Run the tests"]);
    }

    #[test]
    fn what_is_no_sentence_is_none() {
        for furniture in [
            "| a | b |\n|---|---|\n| c | d |",
            "a | b\n--|--\nc | d\ne | f",
            "Heading\n=======",
            "Heading\n-------",
            "name: spore\nversion: 3",
            "- name: spore\n- Commands:",
            "---\nname: x y z\n---",
            "```\nmake lint\nmake test\n```",
            "    make lint now",
            "> Somebody said so.",
            "[1]: https://example.org/a b",
            "<p align=\"center\">",
            "<!--\nnot told\n-->",
            "***",
        ] {
            check(furniture, &[]);
            check(
                &format!("Ask first.\n\n{furniture}\n\nSquash then."),
                &["Ask first.", "Squash then."],
            );
        }
        check("Note: run the tests.", &["Note: run the tests."]);
        check("Heading\n---\nAsk first.", &["Ask first."]);
    }
}
