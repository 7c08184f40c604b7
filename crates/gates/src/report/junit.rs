//! JUnit XML, as Maven's Surefire and Gradle write it: one file a class.
//!
//! A small reader of tags that knows attributes, comments and CDATA and nothing else. What is
//! not well-formed to it is not recognised.

use super::TestReport;

/// Reads the files that one run wrote.
pub(crate) fn parse_files(files: &[Vec<u8>]) -> TestReport {
    let mut report = TestReport::default();
    let mut whole = !files.is_empty();
    for file in files {
        whole &= read(&String::from_utf8_lossy(file), &mut report).is_some();
    }
    report.recognised = whole;
    report.failures.sort_unstable();
    report.failures.dedup();
    report.keep_whole_list();
    report
}

#[derive(Default)]
struct Case {
    name: String,
    failed: bool,
    skipped: bool,
}

fn read(text: &str, report: &mut TestReport) -> Option<()> {
    let mut rest = text;
    let mut case: Option<Case> = None;
    let mut suites = 0_u32;
    let mut depth = 0_u32;
    while let Some(start) = rest.find('<') {
        rest = &rest[start..];
        if let Some(after) = skipped(rest) {
            rest = after?;
            continue;
        }
        let tag = Tag::read(rest)?;
        rest = tag.rest;
        match (tag.name, tag.closes) {
            ("testsuite", false) => suites += 1,
            ("testcase", false) => {
                let class = tag.attribute("classname").unwrap_or_default();
                let name = tag.attribute("name")?;
                let name = format!("{class} {name}").trim().to_owned();
                case = Some(Case { name, ..Case::default() });
                if tag.is_empty {
                    count(case.take(), report);
                }
            }
            ("testcase", true) => count(case.take(), report),
            ("failure" | "error", false) => {
                case.as_mut().into_iter().for_each(|case| case.failed = true)
            }
            ("skipped", false) => case.as_mut().into_iter().for_each(|case| case.skipped = true),
            _ => {}
        }
        match (tag.closes, tag.is_empty) {
            (true, _) => depth = depth.checked_sub(1)?,
            (false, false) => depth += 1,
            (false, true) => {}
        }
    }
    // A file that was cut off while it was written has something open.
    (depth == 0 && suites > 0).then_some(())
}

fn count(case: Option<Case>, report: &mut TestReport) {
    let Some(case) = case else { return };
    let sum = match (case.failed, case.skipped) {
        (true, _) => &mut report.failed,
        (false, true) => &mut report.skipped,
        (false, false) => &mut report.passed,
    };
    *sum = sum.saturating_add(1);
    if !case.skipped || case.failed {
        report.ran.push(case.name.clone());
    }
    if case.failed {
        report.failures.push(case.name);
    }
}

/// Returns what follows a comment, a declaration or CDATA; the inner nothing if it has no end.
fn skipped(text: &str) -> Option<Option<&str>> {
    let ends = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")];
    let (open, close) = ends.iter().find(|(open, _)| text.starts_with(open))?;
    let after = text[open.len()..].split_once(close).map(|(_, after)| after);
    Some(after)
}

struct Tag<'t> {
    name: &'t str,
    attributes: &'t str,
    closes: bool,
    is_empty: bool,
    rest: &'t str,
}

impl<'t> Tag<'t> {
    fn read(text: &'t str) -> Option<Self> {
        let mut quote = None;
        let end = text.char_indices().find(|&(_, c)| match (quote, c) {
            (None, '>') => true,
            (None, '"' | '\'') => {
                quote = Some(c);
                false
            }
            (Some(open), c) if open == c => {
                quote = None;
                false
            }
            _ => false,
        })?;
        let inner = &text[1..end.0];
        let rest = &text[end.0 + 1..];
        let closes = inner.starts_with('/');
        let is_empty = inner.ends_with('/');
        let inner = inner.trim_matches('/');
        let name_end = inner.find(char::is_whitespace).unwrap_or(inner.len());
        let (name, attributes) = inner.split_at(name_end);
        Some(Self { name, attributes, closes, is_empty, rest })
    }

    fn attribute(&self, name: &str) -> Option<String> {
        let mut rest = self.attributes.trim_start();
        while let Some((key, after)) = rest.split_once('=') {
            let after = after.trim_start();
            let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            let (value, next) = after[1..].split_once(quote)?;
            if key.trim() == name {
                return Some(unescaped(value));
            }
            rest = next.trim_start();
        }
        None
    }
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        plain.push_str(&rest[..start]);
        rest = &rest[start..];
        let Some(end) = rest.find(';') else { break };
        let meant = match &rest[1..end] {
            "lt" => Some('<'),
            "gt" => Some('>'),
            "amp" => Some('&'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            number => number
                .strip_prefix('#')
                .and_then(|number| match number.strip_prefix('x') {
                    Some(hex) => u32::from_str_radix(hex, 16).ok(),
                    None => number.parse().ok(),
                })
                .and_then(char::from_u32),
        };
        match meant {
            Some(c) => plain.push(c),
            None => plain.push_str(&rest[..=end]),
        }
        rest = &rest[end + 1..];
    }
    plain.push_str(rest);
    plain
}
