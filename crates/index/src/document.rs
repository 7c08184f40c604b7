//! Documents: sections under their headings, and the names that their code marks mention.
//!
//! A document is read line by line, without a grammar: its format's module says what each
//! line is, and the sections follow from the ranks of the headings. Code blocks are no prose and
//! are left out, so an example's comment is no heading. A document without a heading is one
//! section, called like its file.

mod markdown;
mod mention;
mod rst;

use std::ops::Range;

use crate::reader::{FactReader, ItemDefinition, cut};
use crate::{Access, FileFacts, ItemKind, Language, ReferenceKind, Visibility};

/// How much of a line is searched for names.
const MAX_PROSE: usize = 4_000;

/// What one line of a document is. Code and markup are left out.
enum DocumentLine {
    Heading(Heading),
    Prose(Range<usize>),
    /// The end of a paragraph.
    Gap,
}

struct Heading {
    /// A lower one holds the higher ones behind it.
    rank: usize,
    /// With the lines that mark it.
    whole: Range<usize>,
    title: Range<usize>,
    /// The title as the format writes it on one line.
    signature: Range<usize>,
}

/// Reads a document.
pub(crate) fn read(path: &str, text: &str, language: Language) -> FileFacts {
    let mut reader = FactReader::new(path, text, language);
    let (lines, mentions): (Vec<DocumentLine>, Mentions) = match language {
        Language::Rst => (rst::lines(text), mention::in_rst),
        _ => (markdown::lines(text), mention::in_markdown),
    };
    let sections = sections(&lines, text);
    if sections.is_empty() {
        open_whole(&mut reader, first_paragraph(&lines, text));
    } else {
        let preamble = first_paragraph(&lines, text);
        if !preamble.is_empty() {
            reader.add_inner_doc(&preamble);
        }
    }
    let mut sections = sections.into_iter();
    // The ranks of the sections that are open.
    let mut open: Vec<usize> = Vec::new();
    for line in &lines {
        match line {
            DocumentLine::Gap => {}
            DocumentLine::Prose(range) => mention_all(&mut reader, range, mentions),
            DocumentLine::Heading(heading) => {
                while open.pop_if(|rank| *rank >= heading.rank).is_some() {
                    reader.close();
                }
                if let Some(section) = sections.next() {
                    reader.open(section.definition(heading, text));
                    open.push(heading.rank);
                }
                mention_all(&mut reader, &heading.title, mentions);
            }
        }
    }
    reader.finish()
}

type Mentions = fn(&str) -> Vec<mention::Mention<'_>>;

/// Where a section ends, and what its first paragraph says.
struct DocumentSection {
    end: usize,
    doc: String,
}

impl DocumentSection {
    fn definition<'t>(self, heading: &Heading, text: &'t str) -> ItemDefinition<'t> {
        ItemDefinition {
            kind: ItemKind::Section,
            name: text.get(heading.title.clone()).unwrap_or(""),
            whole: heading.whole.start..self.end,
            signature: heading.signature.clone(),
            doc: self.doc,
            visibility: Visibility::Public,
        }
    }
}

/// Returns the sections in the order of their headings.
fn sections(lines: &[DocumentLine], text: &str) -> Vec<DocumentSection> {
    let mut sections: Vec<DocumentSection> = Vec::new();
    // The sections that have not ended, with their ranks.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let DocumentLine::Heading(heading) = line else { continue };
        while let Some((_, place)) = open.pop_if(|(rank, _)| *rank >= heading.rank) {
            sections[place].end = heading.whole.start;
        }
        open.push((heading.rank, sections.len()));
        let doc = first_paragraph(&lines[at + 1..], text);
        sections.push(DocumentSection { end: text.len(), doc });
    }
    sections
}

/// Returns the paragraph that stands first, before any heading.
fn first_paragraph(lines: &[DocumentLine], text: &str) -> String {
    let behind_gaps = lines.iter().skip_while(|line| matches!(line, DocumentLine::Gap));
    let prose = behind_gaps.map_while(|line| match line {
        DocumentLine::Prose(range) => text.get(range.clone()),
        DocumentLine::Heading(_) | DocumentLine::Gap => None,
    });
    prose.map(str::trim).collect::<Vec<_>>().join("\n")
}

/// Opens the only section of a document that has no heading.
fn open_whole(reader: &mut FactReader<'_>, doc: String) {
    let file = reader.path.rsplit('/').next().unwrap_or(reader.path);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    if stem.is_empty() || reader.text.trim().is_empty() {
        return;
    }
    reader.open(ItemDefinition {
        kind: ItemKind::Section,
        name: stem,
        whole: 0..reader.text.len(),
        signature: 0..0,
        doc,
        visibility: Visibility::Public,
    });
}

fn mention_all(reader: &mut FactReader<'_>, range: &Range<usize>, mentions: Mentions) {
    let prose = cut(reader.text.get(range.clone()).unwrap_or(""), MAX_PROSE);
    for mention::Mention { path, name } in mentions(prose) {
        let access = if path.is_empty() { Access::Bare } else { Access::Path(path) };
        reader.refer(ReferenceKind::Mention, name, access, range.start);
    }
}

/// Returns the lines of a text with their ranges, without their ends.
fn lines_of(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    // A mark of the byte order is no part of the first line.
    let skipped = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    text.split_inclusive('\n').map(move |line| {
        let from = if start == 0 { skipped } else { start };
        start += line.len();
        let end = start - (line.len() - line.trim_end_matches(['\n', '\r']).len());
        from..end.max(from)
    })
}

/// Returns the range of what is left of a line without white space at its ends.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let line = text.get(range.clone()).unwrap_or("");
    let start = range.start + (line.len() - line.trim_start().len());
    start..start + line.trim().len()
}
