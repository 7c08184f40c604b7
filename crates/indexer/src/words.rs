//! The words of files and of commit messages, on their way into segments.
//!
//! Words are cut on the threads that read: each takes a builder off the shelf, adds its file
//! and puts it back, so there are never more builders than threads. What a file's number is,
//! only the thread that writes knows; until then it goes by a ticket.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use spore_index::FileFacts;
use spore_lexical::{DocumentTerms, Merge, Segment, SegmentBuilder, TermField};
use spore_store::{FileNo, NodeNo, SegmentKind, SegmentNo, Writer};

use crate::error::Result;
use crate::sink::{FileSink, SeenFile};

/// More segments than this are made into one: each costs every question a look-up.
const MAX_SEGMENTS: usize = 8;
/// How much of a commit's message counts.
const MAX_MESSAGE_BYTES: usize = 1_000;

/// Gathers the words of one change of the index.
#[derive(Default)]
pub(crate) struct WordSink {
    shelf: Mutex<Vec<SegmentBuilder>>,
    tickets: AtomicU32,
    /// Which file each ticket became.
    files: Mutex<HashMap<u32, FileNo>>,
}

impl FileSink for WordSink {
    fn prepare(&self, seen: &SeenFile<'_>) -> Box<dyn Any + Send> {
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed);
        let mut builder = lock(&self.shelf).pop().unwrap_or_default();
        builder.add(ticket, |document| add_file(document, seen));
        lock(&self.shelf).push(builder);
        Box::new(ticket)
    }

    fn store(
        &self,
        _: &mut Writer<'_>,
        file: FileNo,
        _: &[NodeNo],
        prepared: Box<dyn Any + Send>,
    ) -> Result<()> {
        if let Ok(ticket) = prepared.downcast::<u32>() {
            lock(&self.files).insert(*ticket, file);
        }
        Ok(())
    }

    fn forget(&self, writer: &mut Writer<'_>, file: FileNo) -> Result<()> {
        Ok(writer.remove_document(SegmentKind::Code, file)?)
    }

    fn settle(&self, writer: &mut Writer<'_>) -> Result<()> {
        let builders = std::mem::take(&mut *lock(&self.shelf));
        let mut segment =
            Segment::concat(builders.into_iter().map(SegmentBuilder::finish).collect());
        let files = std::mem::take(&mut *lock(&self.files));
        for number in segment.documents_mut() {
            // Read, and then not written: alive nowhere.
            *number = files.get(number).copied().unwrap_or(u32::MAX);
        }
        let documents: Vec<u32> = files.into_values().collect();
        add(writer, SegmentKind::Code, &segment, &documents)
    }

    fn finish(&self, writer: &mut Writer<'_>) -> Result<()> {
        add_messages(writer)?;
        for words in [SegmentKind::Code, SegmentKind::Commits] {
            tidy(writer, words)?;
        }
        Ok(())
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives every byte of a file to the innermost item it is in; unit 0 is what is in none.
fn add_file(document: &mut DocumentTerms<'_>, seen: &SeenFile<'_>) {
    document.add(0, TermField::Path, seen.path);
    let Some(facts) = seen.facts else {
        document.add(0, TermField::Body, seen.text);
        return;
    };
    for (unit, item) in (1..).zip(&facts.items) {
        document.add_name(unit, &item.name);
        document.add(unit, TermField::Doc, &item.doc);
    }
    for (unit, text) in pieces(seen.text, facts) {
        document.add(unit, TermField::Body, text);
    }
}

/// Cuts a text where an item begins or ends. Items come by position, what holds another one
/// first; whatever a broken text made of them, every byte goes to one unit.
fn pieces<'t>(text: &'t str, facts: &FileFacts) -> Vec<(u32, &'t str)> {
    let mut pieces = Vec::with_capacity(facts.items.len() * 2 + 1);
    let mut open: Vec<(u32, usize)> = vec![(0, text.len())];
    let mut at = 0;
    let mut cut = |unit: u32, from: &mut usize, to: usize| {
        if to > *from {
            pieces.extend(text.get(*from..to).map(|piece| (unit, piece)));
            *from = to;
        }
    };
    for (unit, item) in (1..).zip(&facts.items) {
        let (start, end) = (item.bytes.start as usize, item.bytes.end as usize);
        while open.len() > 1 && open.last().is_some_and(|(_, end)| *end <= start) {
            if let Some((unit, end)) = open.pop() {
                cut(unit, &mut at, end);
            }
        }
        let holder = open.last().map_or(0, |(unit, _)| *unit);
        cut(holder, &mut at, start);
        let limit = open.last().map_or(text.len(), |(_, end)| *end);
        open.push((unit, end.min(limit)));
    }
    while let Some((unit, end)) = open.pop() {
        cut(unit, &mut at, end);
    }
    pieces
}

fn add(
    writer: &mut Writer<'_>,
    words: SegmentKind,
    segment: &Segment,
    documents: &[u32],
) -> Result<()> {
    if !documents.is_empty() {
        writer.add_segment(words, &segment.head(), documents, segment.terms())?;
    }
    Ok(())
}

/// Adds the messages of commits that are new. The first line counts twice.
fn add_messages(writer: &mut Writer<'_>) -> Result<()> {
    writer.remove_documents_of_lost_commits()?;
    let commits = writer.commits_without_words()?;
    let mut builder = SegmentBuilder::default();
    for (no, message) in &commits {
        let message = spore_plain::head(message, MAX_MESSAGE_BYTES);
        let (subject, body) = message.split_once('\n').unwrap_or((message, ""));
        builder.add(*no, |document| {
            document.add(0, TermField::Body, subject);
            document.add(0, TermField::Body, subject);
            document.add(0, TermField::Body, body);
        });
    }
    let documents: Vec<u32> = commits.iter().map(|(no, _)| *no).collect();
    add(writer, SegmentKind::Commits, &builder.finish(), &documents)
}

/// Makes the smaller segments into one when there are too many.
fn tidy(writer: &mut Writer<'_>, words: SegmentKind) -> Result<()> {
    let segments = writer.segments(words)?;
    if segments.heads.len() <= MAX_SEGMENTS {
        return Ok(());
    }
    let largest = segments.heads.iter().max_by_key(|(_, head)| head.len()).map(|(no, _)| *no);
    let small: Vec<&(SegmentNo, Vec<u8>)> =
        segments.heads.iter().filter(|(no, _)| Some(*no) != largest).collect();
    let numbers: Vec<SegmentNo> = small.iter().map(|(no, _)| *no).collect();
    let heads: Vec<&[u8]> = small.iter().map(|(_, head)| head.as_slice()).collect();
    let is_alive = |at: usize, document: u32| segments.alive.get(&document) == numbers.get(at);
    let merge = Merge::new(&heads, is_alive);
    let mut terms: Vec<(String, Vec<u8>)> = Vec::new();
    writer.each_term(words, &numbers, |term, lists| {
        let lists: Vec<(usize, &[u8])> = lists
            .iter()
            .filter_map(|(no, list)| Some((numbers.iter().position(|n| n == no)?, list.as_slice())))
            .collect();
        terms.extend(merge.term(&lists).map(|list| (term.to_owned(), list)));
        Ok(())
    })?;
    writer.remove_segments(words, &numbers)?;
    let merged: HashSet<SegmentNo> = numbers.into_iter().collect();
    let documents: Vec<u32> = segments
        .alive
        .iter()
        .filter(|(_, no)| merged.contains(no))
        .map(|(document, _)| *document)
        .collect();
    let terms = terms.iter().map(|(term, list)| (term.as_str(), list.clone()));
    writer.add_segment(words, merge.head(), &documents, terms)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spore_index::Language;

    use super::*;

    fn check(text: &str) {
        let facts = spore_index::read("a.rs", text, Language::Rust);
        let pieces = pieces(text, &facts);
        let whole: String = pieces.iter().map(|(_, piece)| *piece).collect();
        assert_eq!(whole, text);
        assert!(pieces.iter().all(|(unit, _)| *unit as usize <= facts.items.len()));
    }

    #[test]
    fn every_byte_belongs_to_one_unit() {
        check("");
        check("// only words\n");
        check("use a;\nmod b { fn c() { d() } struct E; }\nfn f() {}\n// end\n");
        let text = "mod b { fn c() { inner } outer }";
        let facts = spore_index::read("a.rs", text, Language::Rust);
        let of = |name: &str| {
            let unit = 1 + facts.items.iter().position(|item| item.name == name).unwrap() as u32;
            let pieces = pieces(text, &facts).into_iter();
            pieces.filter(|(of, _)| *of == unit).map(|(_, piece)| piece).collect::<String>()
        };
        assert_eq!((of("c"), of("b")), ("fn c() { inner }".into(), "mod b {  outer }".into()));
    }

    proptest! {
        #[test]
        fn however_broken_the_text_is(text in "[a-z{}();:<>#'\" \n]{0,200}|(fn|mod|impl|struct|\\{|\\}| |x){0,60}") {
            check(&text);
        }
    }
}
