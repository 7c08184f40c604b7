//! Which lines of a change its checks reach, as interpreters tell it.
//!
//! A part of a change that is in a block which no check enters cannot be missed by one: it is unseen, and need not
//! be taken back to know it. Only blocks are asked for, not lines: a line without code of its own is never
//! reached, and a block that is entered has one that is. Whatever is not known is taken back and asked for.
//!
//! A change has a hand in these records. It gains nothing by them: what they leave out is unseen.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use tree_sitter::Node;

use crate::canary::TestLanguage;

/// What one program left.
#[derive(Clone, Debug)]
pub enum ReachRecord {
    /// A line each: the number of one that was reached, and its file.
    Lines(String),
    /// What node writes.
    Node(String),
}

/// What is known of the files of a change.
#[derive(Clone, Debug, Default)]
pub struct ReachedLines {
    files: BTreeMap<String, FileReach>,
}

#[derive(Clone, Debug)]
enum FileReach {
    /// Numbers from one.
    Lines(BTreeSet<usize>),
    /// What each program that loaded it counted, by units of its text.
    Counts(Vec<Vec<NodeRange>>),
}

#[derive(Deserialize)]
struct NodeRecord {
    result: Vec<NodeScript>,
}

#[derive(Deserialize)]
struct NodeScript {
    url: String,
    functions: Vec<NodeFunction>,
}

#[derive(Deserialize)]
struct NodeFunction {
    ranges: Vec<NodeRange>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeRange {
    start_offset: usize,
    end_offset: usize,
    count: u64,
}

/// Returns whether what is reached of the file at `path` can be told at all.
pub(crate) fn may_be_told(path: &str) -> bool {
    let language = TestLanguage::of(path);
    matches!(language, Some(TestLanguage::Python | TestLanguage::JavaScript))
}

impl ReachedLines {
    /// Reads what programs left; `texts` has the files of the change that were asked for.
    pub fn of(records: &[ReachRecord], texts: &BTreeMap<String, String>) -> Self {
        let mut reached = Self::default();
        for record in records {
            match record {
                ReachRecord::Lines(said) => reached.add_lines(said, texts),
                ReachRecord::Node(said) => reached.add_counts(said, texts),
            }
        }
        reached
    }

    fn add_lines(&mut self, said: &str, texts: &BTreeMap<String, String>) {
        if said.lines().any(|line| line == "lost") {
            return;
        }
        for line in said.lines() {
            let Some((number, path)) = line.split_once(' ') else { continue };
            let (Ok(number), true) = (number.parse(), texts.contains_key(path)) else { continue };
            let empty = || FileReach::Lines(BTreeSet::new());
            if let FileReach::Lines(lines) = self.files.entry(path.to_owned()).or_insert_with(empty)
            {
                lines.insert(number);
            }
        }
    }

    fn add_counts(&mut self, said: &str, texts: &BTreeMap<String, String>) {
        let Ok(record) = serde_json::from_str::<NodeRecord>(said) else { return };
        for script in record.result {
            let of = |path: &&String| script.url.ends_with(&format!("/{path}"));
            let Some(path) = texts.keys().find(of) else { continue };
            let ranges: Vec<NodeRange> =
                script.functions.into_iter().flat_map(|one| one.ranges).collect();
            let empty = || FileReach::Counts(Vec::new());
            if let FileReach::Counts(all) = self.files.entry(path.clone()).or_insert_with(empty) {
                all.push(ranges);
            }
        }
    }

    /// Returns whether these lines, counted from zero, are all in blocks that nothing entered.
    pub(crate) fn misses(&self, path: &str, text: &str, lines: &[usize]) -> bool {
        match self.files.get(path) {
            _ if lines.is_empty() => false,
            Some(FileReach::Lines(reached)) => misses_blocks(text, reached, lines),
            Some(FileReach::Counts(all)) => all.iter().all(|one| misses_ranges(text, one, lines)),
            None => false,
        }
    }
}

/// A file that was loaded has lines that were reached; in one that was not nothing is known.
fn misses_blocks(text: &str, reached: &BTreeSet<usize>, lines: &[usize]) -> bool {
    let Some(tree) = TestLanguage::Python.parse(text) else { return false };
    let starts: Vec<usize> = starts_of_lines(text);
    lines.iter().all(|&line| {
        let Some(&start) = starts.get(line) else { return false };
        let own = text[start..].lines().next().unwrap_or_default();
        let at = start + (own.len() - own.trim_start().len());
        let block = block_around(tree.root_node(), at);
        block.is_some_and(|block| {
            let (first, last) = (block.start_position().row + 1, block.end_position().row + 1);
            has_code(block) && reached.range(first..=last).next().is_none()
        })
    })
}

fn block_around(root: Node<'_>, at: usize) -> Option<Node<'_>> {
    let mut node = root.descendant_for_byte_range(at, at)?;
    while node.kind() != "block" {
        node = node.parent()?;
    }
    Some(node)
}

/// What is nothing but documentation is not noted where it is run.
fn has_code(block: Node<'_>) -> bool {
    let mut cursor = block.walk();
    let is_text = |one: Node<'_>| {
        one.kind() == "expression_statement" && one.child(0).is_some_and(|it| it.kind() == "string")
    };
    block.named_children(&mut cursor).any(|one| one.kind() != "comment" && !is_text(one))
}

fn misses_ranges(text: &str, ranges: &[NodeRange], lines: &[usize]) -> bool {
    // Where the whole is not as long as the file, it was made of it by another program.
    let length = text.encode_utf16().count();
    let is_whole = ranges.iter().any(|one| one.start_offset == 0 && one.end_offset == length);
    let mut units = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        units.push((at, line));
        at += line.encode_utf16().count();
    }
    let is_missed = |unit: usize| {
        let around = ranges.iter().filter(|one| (one.start_offset..one.end_offset).contains(&unit));
        let inner = around.min_by_key(|one| one.end_offset - one.start_offset);
        inner.is_some_and(|one| one.count == 0)
    };
    is_whole
        && lines.iter().all(|&line| {
            let Some(&(start, own)) = units.get(line) else { return false };
            let code = own.trim_end().encode_utf16().count();
            let blank = own.encode_utf16().take_while(|unit| matches!(*unit, 9 | 32)).count();
            code > blank && (start + blank..start + code).all(is_missed)
        })
}

fn starts_of_lines(text: &str) -> Vec<usize> {
    let behind = text.match_indices('\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(behind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PYTHON: &str = "import a\n\n\ndef used():\n    return 1\n\n\ndef unused(b):\n    \"\"\"Says.\"\"\"\n    if b:\n        return 2\n    return 3\n\n\ndef said():\n    \"\"\"Says.\"\"\"\n";

    #[track_caller]
    fn check(record: ReachRecord, text: &str, lines: &[usize], expected: bool) {
        let path = if matches!(record, ReachRecord::Lines(_)) { "a.py" } else { "a.js" };
        let texts = BTreeMap::from([(path.to_owned(), text.to_owned())]);
        let lines: Vec<usize> = lines.iter().map(|line| line - 1).collect();
        assert_eq!(
            ReachedLines::of(&[record], &texts).misses(path, text, &lines),
            expected,
            "{lines:?}"
        );
    }

    #[test]
    fn a_block_of_python_that_nothing_entered_is_missed() {
        let said = |text: &str| ReachRecord::Lines(text.to_owned());
        let loaded = "1 a.py\n4 a.py\n8 a.py\n15 a.py\n";
        check(said(loaded), PYTHON, &[11], true);
        check(said(loaded), PYTHON, &[9, 12], true);
        // A header is run where its file is loaded; what is on no line of its own is not known.
        check(said(loaded), PYTHON, &[8], false);
        check(said(loaded), PYTHON, &[1], false);
        check(said(loaded), PYTHON, &[16], false);
        check(said(loaded), PYTHON, &[], false);
        check(said(&format!("{loaded}5 a.py\n")), PYTHON, &[5], false);
        check(said(&format!("{loaded}5 a.py\n")), PYTHON, &[5, 11], false);
        check(said(&format!("{loaded}10 a.py\n12 a.py\n")), PYTHON, &[11], true);
        check(said(&format!("{loaded}10 a.py\n12 a.py\n")), PYTHON, &[12], false);
        check(said("1 b.py\n"), PYTHON, &[11], false);
        check(said(&format!("{loaded}lost\n")), PYTHON, &[11], false);
    }

    #[test]
    fn what_node_never_ran_is_missed_where_its_text_is_the_files_own() {
        let text = "const one = () => 1;\nfunction two(é) {\n  return é;\n}\n";
        let said = |whole: usize, count: usize| {
            let record = serde_json::json!({ "result": [{ "scriptId": "1", "url": "file:///p/a.js", "functions": [
                { "functionName": "", "ranges": [{ "startOffset": 0, "endOffset": whole, "count": 1 }], "isBlockCoverage": true },
                { "functionName": "two", "ranges": [{ "startOffset": 21, "endOffset": 52, "count": count }], "isBlockCoverage": false },
            ] }] });
            ReachRecord::Node(record.to_string())
        };
        let whole = text.encode_utf16().count();
        check(said(whole, 0), text, &[3], true);
        check(said(whole, 2), text, &[3], false);
        check(said(whole, 0), text, &[1, 3], false);
        check(said(whole + 9, 0), text, &[3], false);
        check(ReachRecord::Node("{".to_owned()), text, &[3], false);
    }
}
