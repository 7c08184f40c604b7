//! Small indexed trees for tests, written as text.
//!
//!     file src/printer.rs
//!     function print_path 4-9 prints the path of a match
//!     method Printer::flush 11-12 writes what is left
//!     edge print_path calls Printer::flush 900
//!     edge src/printer.rs changed_with src/cache.rs 800
//!     commit printer: print paths | src/printer.rs src/cache.rs
//!
//! An item belongs to the file above it; what follows its lines is its text. The first commit is
//! the newest. A confidence is in thousandths.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use spore_lexical::{Segment, SegmentBuilder, TermField};
use spore_model::{EdgeKind, NodeId, Timestamp};
use spore_store::{
    CodeIndex, CodeIndexError, FileMarks, FileRow, FileStamp, ItemRow, LoggedCommit, NodeKey,
    NodeNo, SegmentKind, StoredEdge, StoredVisibility, Writer,
};
use tempfile::TempDir;

use crate::corpus::Corpus;

/// An index on disk, as long as the test lasts.
pub(crate) struct SampleTree {
    pub(crate) index: CodeIndex,
    _dir: TempDir,
}

impl SampleTree {
    #[track_caller]
    pub(crate) fn of(text: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let index = CodeIndex::create(&dir.path().join("index.db")).unwrap();
        let described = Described::read(text);
        index.write(|writer| described.write(writer)).unwrap();
        index.add_lookups().unwrap();
        Self { index, _dir: dir }
    }

    pub(crate) fn corpus(&self) -> Corpus<'_> {
        Corpus::open(&self.index).unwrap()
    }
}

/// Returns the id of an item by its file and its qualified name.
pub(crate) fn id(path: &str, qualified: &str) -> NodeId {
    key(&format!("{path}:{qualified}")).id()
}

fn key(name: &str) -> NodeKey {
    let (one, other) = (hash(name), hash(&format!("{name} again")));
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&one.to_be_bytes());
    bytes[8..].copy_from_slice(&other.to_be_bytes());
    NodeKey(bytes)
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[derive(Default)]
struct Described<'t> {
    files: Vec<(&'t str, Vec<DescribedItem<'t>>)>,
    edges: Vec<(&'t str, EdgeKind, &'t str, u16)>,
    commits: Vec<(&'t str, Vec<&'t str>)>,
}

struct DescribedItem<'t> {
    kind: &'static str,
    qualified: &'t str,
    lines: (u32, u32),
    text: &'t str,
}

const ITEM_KINDS: [&str; 6] = ["function", "method", "struct", "test", "const", "section"];

impl<'t> Described<'t> {
    #[track_caller]
    fn read(text: &'t str) -> Self {
        let mut all = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (word, rest) = line.split_once(' ').unwrap();
            let parts: Vec<&str> = rest.split(' ').collect();
            match word {
                "file" => all.files.push((rest, Vec::new())),
                "edge" => {
                    let kind = parts[1].parse().unwrap();
                    all.edges.push((parts[0], kind, parts[2], parts[3].parse().unwrap()));
                }
                "commit" => {
                    let (message, files) = rest.split_once(" | ").unwrap();
                    all.commits.push((message, files.split(' ').collect()));
                }
                kind => {
                    let kind = ITEM_KINDS.into_iter().find(|known| *known == kind).unwrap();
                    let (first, last) = parts[1].split_once('-').unwrap();
                    let lines = (first.parse().unwrap(), last.parse().unwrap());
                    let text = rest.splitn(3, ' ').nth(2).unwrap_or_default();
                    let items = &mut all.files.last_mut().unwrap().1;
                    items.push(DescribedItem { kind, qualified: parts[0], lines, text });
                }
            }
        }
        all
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), CodeIndexError> {
        let root = writer.add_directory(key(""), "", None)?;
        let mut numbers: HashMap<&str, NodeNo> = HashMap::new();
        let mut words = SegmentBuilder::default();
        for (path, items) in &self.files {
            let file = writer.put_file(None, root, &file_row(path, items.len()))?;
            numbers.insert(path, file);
            let rows: Vec<ItemRow> = items.iter().map(|item| item.row(path, items)).collect();
            let of_items = writer.put_items(file, &[], &rows)?;
            numbers.extend(items.iter().map(|item| item.qualified).zip(of_items));
            words.add(file, |document| {
                document.add(0, TermField::Path, path);
                for (unit, (item, row)) in (1..).zip(items.iter().zip(&rows)) {
                    document.add_name(unit, &row.name);
                    document.add(unit, TermField::Body, &row.name);
                    document.add(unit, TermField::Body, item.text);
                }
            });
        }
        let files: Vec<u32> = self.files.iter().map(|(path, _)| numbers[path]).collect();
        keep_words(writer, SegmentKind::Code, words.finish(), &files)?;
        let edge = |(source, kind, target, confidence): &(&str, EdgeKind, &str, u16)| StoredEdge {
            source: numbers[source],
            kind: *kind,
            target: numbers[target],
            confidence: *confidence,
        };
        let (of_files, of_items): (Vec<StoredEdge>, Vec<StoredEdge>) =
            self.edges.iter().map(edge).partition(|edge| edge.kind == EdgeKind::ChangedWith);
        writer.add_edges(&of_items)?;
        writer.set_changed_with(&of_files)?;
        self.write_commits(writer)
    }

    fn write_commits(&self, writer: &mut Writer<'_>) -> Result<(), CodeIndexError> {
        let commit = |(age, (message, files)): (i64, &(&str, Vec<&str>))| LoggedCommit {
            id: format!("{age:040}"),
            time: Timestamp::from_millis(1_767_225_600_000 - age * 60_000),
            message: (*message).to_owned(),
            files: files.iter().map(|path| (*path).to_owned()).collect(),
            renames: Vec::new(),
        };
        let commits: Vec<LoggedCommit> = (0..).zip(&self.commits).map(commit).collect();
        writer.add_commits(&commits)?;
        let mut words = SegmentBuilder::default();
        let messages = writer.commits_without_words()?;
        for (no, message) in &messages {
            words.add(*no, |document| document.add(0, TermField::Body, message));
        }
        let numbers: Vec<u32> = messages.iter().map(|(no, _)| *no).collect();
        keep_words(writer, SegmentKind::Commits, words.finish(), &numbers)
    }
}

fn keep_words(
    writer: &mut Writer<'_>,
    words: SegmentKind,
    segment: Segment,
    documents: &[u32],
) -> Result<(), CodeIndexError> {
    if !documents.is_empty() {
        writer.add_segment(words, &segment.head(), documents, segment.terms())?;
    }
    Ok(())
}

fn file_row(path: &str, items: usize) -> FileRow {
    let language = match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("rs") => "rust",
        Some("py") => "python",
        Some("md") => "markdown",
        _ => "",
    };
    FileRow {
        key: key(path),
        path: path.to_owned(),
        language: language.to_owned(),
        package: None,
        import_name: path.to_owned(),
        stamp: FileStamp { size: 100 * (items as u64 + 1), mtime_ns: 0, inode: 0 },
        blob: Vec::new(),
        lines: 100,
        marks: FileMarks::default(),
        doc: String::new(),
        syntax_errors: 0,
        facts: Vec::new(),
        mentions: Vec::new(),
    }
}

impl DescribedItem<'_> {
    fn row(&self, path: &str, items: &[Self]) -> ItemRow {
        let (above, name) = self.qualified.rsplit_once("::").unwrap_or(("", self.qualified));
        let parent = items.iter().position(|item| item.qualified == above);
        ItemRow {
            key: key(&format!("{path}:{}", self.qualified)),
            kind: self.kind,
            name: name.to_owned(),
            qualified: self.qualified.to_owned(),
            parent: parent.map(|place| place as u32),
            lines: self.lines,
            bytes: (0, 1),
            signature: format!("fn {name}()"),
            doc: String::new(),
            visibility: StoredVisibility::Public,
            hash: hash(self.text),
        }
    }
}
