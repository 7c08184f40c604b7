//! The parts of a change, each of which can be taken back alone.
//!
//! A part is a run of changed lines with no more than two unchanged ones between them; lines that were
//! only added are parted further where a blank line stands before one that is not indented more than
//! the others, so that two new functions are two parts. A file that came, went or is no text is one.
//! What changes only comments, blank lines or prose is none, and tests among the code stay as the
//! change has them: whether a test notices is the question.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use similar::{DiffTag, TextDiff};
use spore_gates::{GateRecord, TouchKind};

use crate::exchange::test_items;
use crate::reached::{ReachedLines, may_be_told};

/// Beyond this a file is one part: telling its lines apart would take longer than a check.
const MOST_LINES: usize = 20_000;
/// Changes with more unchanged lines than this between them are two parts.
const MOST_BETWEEN: usize = 2;

/// Lines of the base, and those of the change that stand in their place.
type ChangedLines = (Range<usize>, Range<usize>);

/// Both versions of a file of the product; one that is not there or no file is nothing.
#[derive(Clone, Debug)]
pub struct FileVersions {
    pub path: String,
    pub how: TouchKind,
    pub base: Option<Vec<u8>>,
    pub now: Option<Vec<u8>>,
}

/// Says where the comments of the text at a path are; nothing where that cannot be told.
pub type CommentsOf<'a> = &'a dyn Fn(&str, &str) -> Option<Vec<Range<usize>>>;

/// Where a part of a change is, in the file as the change has it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct HunkPlace {
    pub path: String,
    /// The first of its lines, from one. Where lines only went, the one that stands there now.
    pub line: u32,
    /// How many it has; none where lines only went.
    pub lines: u32,
}

impl HunkPlace {
    /// Returns it for people: `src/a.rs:3-7`.
    pub fn text(&self) -> String {
        let last = self.line + self.lines.saturating_sub(1);
        let lines = match (self.line, self.lines) {
            (0, _) => String::new(),
            (line, 0 | 1) => format!(":{line}"),
            (line, _) => format!(":{line}-{last}"),
        };
        spore_plain::code(&format!("{}{lines}", self.path), 200)
    }
}

/// What has to be otherwise in the change's tree for parts of it to be gone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TakenBack {
    /// Files that are as the base has them.
    pub bring_back: Vec<String>,
    pub leave_out: Vec<String>,
    /// Files with a text of their own.
    pub rewrite: Vec<(String, Vec<u8>)>,
}

/// One part of a change.
#[derive(Clone, Debug)]
pub struct ChangeHunk {
    pub place: HunkPlace,
    /// Whether tests go with it.
    pub holds_tests: bool,
    file: usize,
    /// Nothing for a whole file.
    lines: Option<Vec<ChangedLines>>,
    /// Words in it that the base does not have.
    words: BTreeSet<String>,
}

impl ChangeHunk {
    /// Returns whether no check of the change so much as looked up the file that it is a part of, by
    /// the records of all of them: then none can notice that it is gone. Of a file that came or went its
    /// mere name may count, and a name can be found by listing its directory.
    ///
    /// A change has a hand in these records. It gains nothing by them: what they leave out is unseen,
    /// and what they hold is taken back and asked for.
    pub fn is_beyond(&self, records: &[GateRecord]) -> bool {
        let has = |record: &GateRecord| {
            let looked_up = &record.recording;
            !looked_up.complete
                || looked_up.read.contains(&self.place.path)
                || looked_up.seen.contains(&self.place.path)
                || looked_up.run.contains(&self.place.path)
        };
        self.lines.is_some() && !records.is_empty() && !records.iter().any(has)
    }
}

/// All parts of a change, in the order of their paths and lines.
#[derive(Clone, Debug, Default)]
pub struct Hunks {
    files: Vec<ComparedFile>,
    pub hunks: Vec<ChangeHunk>,
}

/// A file line by line.
#[derive(Clone, Debug, Default)]
struct ComparedFile {
    path: String,
    is_new: bool,
    base: ProductLines,
    now: ProductLines,
}

/// The lines of a text, with their ends.
#[derive(Clone, Debug, Default)]
struct ProductLines {
    text: Vec<String>,
    /// What of each is the product's code: no comment, no test.
    code: Vec<String>,
    is_test: Vec<bool>,
}

impl Hunks {
    /// Takes the product of a change apart.
    pub fn of(files: &[FileVersions], comments: CommentsOf<'_>) -> Self {
        let mut sorted: Vec<&FileVersions> = files.iter().filter(|file| !is_prose(file)).collect();
        sorted.sort_by(|a, b| a.path.cmp(&b.path));
        let known: BTreeSet<String> = sorted
            .iter()
            .filter_map(|file| std::str::from_utf8(file.base.as_deref()?).ok())
            .flat_map(words)
            .collect();
        let mut found = Self::default();
        for file in sorted {
            found.add(file, comments, &known);
        }
        found
    }

    fn add(&mut self, file: &FileVersions, comments: CommentsOf<'_>, known: &BTreeSet<String>) {
        let read = |bytes: &Option<Vec<u8>>| -> Option<ProductLines> {
            let text = std::str::from_utf8(bytes.as_deref()?).ok()?;
            Some(ProductLines::of(&file.path, text, comments))
                .filter(|it| it.text.len() <= MOST_LINES)
        };
        let index = self.files.len();
        let both = match (read(&file.base), read(&file.now)) {
            (Some(base), Some(now)) if file.base != file.now => Some((base, now)),
            _ => None,
        };
        let Some((base, now)) = both else {
            self.add_whole(file, read(&file.now), known);
            return;
        };
        let mut parts = Vec::new();
        for changed in changes(&base.text, &now.text) {
            match changed.as_slice() {
                [(old, new)] if old.is_empty() => {
                    let pieces = now.pieces(new.clone());
                    parts.extend(pieces.into_iter().map(|piece| vec![(old.clone(), piece)]));
                }
                _ => parts.push(changed),
            }
        }
        let is_code = |part: &Vec<ChangedLines>| {
            // With the lines in between: one that moved over them is a change.
            let (first, last) = (&part[0], &part[part.len() - 1]);
            let old = base.code_in(first.0.start..last.0.end);
            !old.eq(now.code_in(first.1.start..last.1.end))
        };
        for part in parts.into_iter().filter(is_code) {
            let own = |line: &usize| !now.code[*line].is_empty();
            let mut lines = part.iter().flat_map(|(_, new)| new.clone()).filter(own);
            let first = lines.next();
            let last = lines.next_back().or(first);
            let place = HunkPlace {
                path: file.path.clone(),
                line: count(first.unwrap_or(part[0].1.start)) + 1,
                lines: first.zip(last).map_or(0, |(first, last)| count(last - first) + 1),
            };
            let added: String = part.iter().flat_map(|(_, new)| now.code_in(new.clone())).collect();
            let words = words(&added).filter(|word| !known.contains(word)).collect();
            self.hunks.push(ChangeHunk {
                place,
                holds_tests: false,
                file: index,
                lines: Some(part),
                words,
            });
        }
        self.files.push(ComparedFile { path: file.path.clone(), is_new: false, base, now });
    }

    /// A file that came, went, or is no text.
    fn add_whole(
        &mut self,
        file: &FileVersions,
        now: Option<ProductLines>,
        known: &BTreeSet<String>,
    ) {
        let now = now.unwrap_or_default();
        let code = now.code.concat();
        let is_text = file.now.as_ref().is_some_and(|bytes| std::str::from_utf8(bytes).is_ok());
        if is_text && file.how == TouchKind::Added && !now.text.is_empty() && code.trim().is_empty()
        {
            return;
        }
        let name = file.path.rsplit('/').next().unwrap_or(&file.path);
        let stem = name.split('.').next().unwrap_or(name).to_owned();
        let own = words(&code).chain([stem]).filter(|word| !known.contains(word)).collect();
        let lines = count(now.text.len());
        let place = HunkPlace { path: file.path.clone(), line: u32::from(lines > 0), lines };
        let holds_tests = now.is_test.contains(&true);
        let index = self.files.len();
        self.hunks.push(ChangeHunk { place, holds_tests, file: index, lines: None, words: own });
        let (path, is_new) = (file.path.clone(), file.how == TouchKind::Added);
        self.files.push(ComparedFile { path, is_new, base: ProductLines::default(), now });
    }

    /// Returns the files in which it can be told what is reached of the parts of lines, once for each part.
    pub fn told(&self) -> Vec<&str> {
        let parts = self.hunks.iter().filter(|hunk| hunk.lines.is_some());
        parts.map(|hunk| hunk.place.path.as_str()).filter(|path| may_be_told(path)).collect()
    }

    /// Returns the text of a file as the change has it.
    pub fn text_of(&self, path: &str) -> Option<String> {
        let file = self.files.iter().find(|file| file.path == path)?;
        Some(file.now.text.concat())
    }

    /// Returns whether no check came by this part: then none can miss it. Where lines only went, or stood
    /// further out before, that is not known.
    pub fn is_unreached(&self, index: usize, reached: &ReachedLines) -> bool {
        let hunk = &self.hunks[index];
        let (Some(parts), file) = (&hunk.lines, &self.files[hunk.file]) else { return false };
        let code_of = |lines: &ProductLines, range: &Range<usize>| -> Vec<usize> {
            range.clone().filter(|&line| !lines.code[line].is_empty()).collect()
        };
        let indent = |line: &str| line.len() - line.trim_start().len();
        let mut asked = Vec::new();
        for (old, new) in parts {
            let (old, new) = (code_of(&file.base, old), code_of(&file.now, new));
            let least = new.iter().map(|&line| indent(&file.now.text[line])).min();
            let outermost = old.iter().map(|&line| indent(&file.base.text[line])).min();
            if least.is_none() || outermost.is_some_and(|outermost| Some(outermost) < least) {
                return false;
            }
            asked.extend(new);
        }
        reached.misses(&file.path, &file.now.text.concat(), &asked)
    }

    /// Returns what has to be otherwise for these parts to be gone, and no others.
    pub fn without(&self, taken: &[usize]) -> TakenBack {
        let mut by_file: BTreeMap<usize, Vec<&ChangeHunk>> = BTreeMap::new();
        for hunk in taken.iter().filter_map(|&index| self.hunks.get(index)) {
            by_file.entry(hunk.file).or_default().push(hunk);
        }
        let mut back = TakenBack::default();
        for (file, hunks) in by_file {
            let file = &self.files[file];
            match hunks.iter().any(|hunk| hunk.lines.is_none()) {
                true if file.is_new => back.leave_out.push(file.path.clone()),
                true => back.bring_back.push(file.path.clone()),
                false => back.rewrite.push((file.path.clone(), file.without(&hunks).into_bytes())),
            }
        }
        back
    }

    /// Returns the part with those that it may need, or that may need it: parts that share a word
    /// which is new in the change, and those that share one with them; else all of the same file.
    pub fn with_related(&self, index: usize) -> Vec<usize> {
        let mut group = BTreeSet::from([index]);
        loop {
            let words: BTreeSet<&String> =
                group.iter().flat_map(|&one| &self.hunks[one].words).collect();
            let shares =
                |one: &usize| self.hunks[*one].words.iter().any(|word| words.contains(word));
            let grown: BTreeSet<usize> =
                (0..self.hunks.len()).filter(|one| group.contains(one) || shares(one)).collect();
            if grown.len() == group.len() {
                break;
            }
            group = grown;
        }
        if group.len() == 1 {
            let same = |one: &usize| self.hunks[*one].file == self.hunks[index].file;
            group = (0..self.hunks.len()).filter(same).collect();
        }
        group.into_iter().collect()
    }
}

impl ComparedFile {
    fn without(&self, hunks: &[&ChangeHunk]) -> String {
        let mut changed: Vec<&ChangedLines> =
            hunks.iter().filter_map(|hunk| hunk.lines.as_ref()).flatten().collect();
        changed.sort_by_key(|(_, new)| (new.start, new.end));
        let mut text = String::new();
        let mut at = 0;
        for (old, new) in changed {
            text.extend(self.now.text[at..new.start].iter().map(String::as_str));
            let product = old.clone().filter(|&line| !self.base.is_test[line]);
            text.extend(product.map(|line| self.base.text[line].as_str()));
            let tests = new.clone().filter(|&line| self.now.is_test[line]);
            text.extend(tests.map(|line| self.now.text[line].as_str()));
            at = new.end;
        }
        text.extend(self.now.text[at..].iter().map(String::as_str));
        text
    }
}

impl ProductLines {
    fn of(path: &str, text: &str, comments: CommentsOf<'_>) -> Self {
        let tests =
            if path.ends_with(".rs") { test_items(text).unwrap_or_default() } else { Vec::new() };
        let comments = comments(path, text).unwrap_or_default();
        let mut lines = Self::default();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let end = at + line.len();
            let is_test = tests.iter().any(|&(from, to)| from < end && at < to);
            let mut code = String::new();
            if !is_test {
                let mut from = at;
                for comment in comments.iter().filter(|one| one.start < end && at < one.end) {
                    code.push_str(text.get(from..comment.start.max(from)).unwrap_or(""));
                    from = comment.end.clamp(from, end);
                }
                code.push_str(text.get(from..end).unwrap_or(""));
            }
            let code = code.trim_end();
            lines.code.push(if code.is_empty() { String::new() } else { format!("{code}\n") });
            lines.text.push(line.to_owned());
            lines.is_test.push(is_test);
            at = end;
        }
        lines
    }

    fn code_in(&self, range: Range<usize>) -> impl Iterator<Item = &str> {
        self.code[range].iter().map(String::as_str).filter(|line| !line.is_empty())
    }

    /// Parts added lines where a blank one stands before one that is indented least.
    fn pieces(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let indent = |line: usize| {
            let text = self.text[line].as_str();
            (!text.trim().is_empty()).then(|| text.len() - text.trim_start().len())
        };
        let least = range.clone().filter_map(indent).min();
        let starts = |line: &usize| {
            let text = self.text[*line].trim_start();
            *line > range.start
                && indent(*line) == least
                && indent(*line - 1).is_none()
                && !text.starts_with(['}', ')', ']'])
        };
        let mut pieces = Vec::new();
        let mut from = range.start;
        for line in range.clone().filter(starts) {
            pieces.push(from..line);
            from = line;
        }
        pieces.push(from..range.end);
        pieces
    }
}

/// Returns what differs between two texts: runs of changes that lie close together, each with its lines
/// of both.
fn changes(base: &[String], now: &[String]) -> Vec<Vec<ChangedLines>> {
    let old: Vec<&str> = base.iter().map(String::as_str).collect();
    let new: Vec<&str> = now.iter().map(String::as_str).collect();
    let mut groups: Vec<Vec<ChangedLines>> = Vec::new();
    // Places are counted here: where lines only went, those of the library can be off.
    let (mut old_at, mut new_at, mut gap) = (0, 0, usize::MAX);
    for op in TextDiff::from_slices(&old, &new).ops() {
        let (old_end, new_end) = (old_at + op.old_range().len(), new_at + op.new_range().len());
        if op.tag() == DiffTag::Equal {
            gap = op.old_range().len();
        } else {
            let changed = (old_at..old_end, new_at..new_end);
            match groups.last_mut() {
                Some(group) if gap <= MOST_BETWEEN => group.push(changed),
                _ => groups.push(vec![changed]),
            }
            gap = 0;
        }
        (old_at, new_at) = (old_end, new_end);
    }
    groups
}

/// Returns whether a file is for people alone. One that the checks read is not the product's.
fn is_prose(file: &FileVersions) -> bool {
    let ending = file.path.rsplit_once('.').map_or("", |(_, ending)| ending);
    ["md", "markdown", "rst", "adoc"].contains(&ending.to_ascii_lowercase().as_str())
}

/// Names in a text that are long enough to mean something.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.len() > 1 && !word.starts_with(|c: char| c.is_ascii_digit()))
        .map(str::to_owned)
}

fn count(lines: usize) -> u32 {
    u32::try_from(lines).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
