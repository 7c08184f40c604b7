//! Documents on their way into the index: built once, then only read.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use crate::bytes::{Numbers, put};
use crate::terms::{for_each_word, put_name_term, terms_of_word};

/// Where in a unit a term stands. One that stands in several counts in each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TermField {
    Body,
    /// What the unit is called.
    Name,
    /// What is said of it: its documentation.
    Doc,
    /// The path of the file. Only a document's first unit has one.
    Path,
}

/// A posting's byte: how often in the body, and which other fields hold the term.
pub(crate) const MAX_COUNT: u8 = 31;
pub(crate) const IN_NAME: u8 = 1 << 5;
pub(crate) const IN_DOC: u8 = 1 << 6;
pub(crate) const IN_PATH: u8 = 1 << 7;

impl TermField {
    const fn bit(self) -> u8 {
        match self {
            Self::Body => 0,
            Self::Name => IN_NAME,
            Self::Doc => IN_DOC,
            Self::Path => IN_PATH,
        }
    }
}

/// A word of a document: the place of its term, its unit and its field, in the order in which
/// postings are written. One number, because all words of all files are sorted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TermSpot(u64);

/// More units than this no document is cut into: what is left is the last one's.
const MAX_UNIT: u32 = (1 << 24) - 1;

impl TermSpot {
    fn new(place: u32, unit: u32, field: TermField) -> Self {
        let unit = u64::from(unit.min(MAX_UNIT));
        Self(u64::from(place) << 32 | unit << 8 | u64::from(field.bit()))
    }

    const fn place(self) -> u32 {
        (self.0 >> 32) as u32
    }

    const fn unit(self) -> u32 {
        (self.0 >> 8) as u32 & MAX_UNIT
    }

    const fn bits(self) -> u8 {
        self.0 as u8
    }
}

/// Gathers documents into a segment. One for each thread: segments are joined afterwards.
#[derive(Default)]
pub struct SegmentBuilder {
    places: HashMap<Box<str>, u32, FxBuildHasher>,
    /// The terms of every word that was met. Code says the same words over and over: most are
    /// cut once and looked up from then on.
    known: HashMap<Box<str>, Box<[u32]>, FxBuildHasher>,
    scratch: String,
    lists: Vec<PostingList>,
    documents: Vec<u32>,
    lengths: Vec<Vec<u32>>,
    /// Every word of the document that is being read.
    words: Vec<TermSpot>,
}

impl SegmentBuilder {
    /// Adds a document. The number is the caller's; it may come more than once in different
    /// segments, never in one.
    pub fn add(&mut self, number: u32, fill: impl FnOnce(&mut DocumentTerms<'_>)) {
        self.words.clear();
        let mut document = DocumentTerms { builder: self, lengths: Vec::new() };
        fill(&mut document);
        let lengths = document.lengths;
        let ordinal = self.documents.len() as u32;
        self.documents.push(number);
        self.lengths.push(lengths);
        self.words.sort_unstable();
        let mut words = std::mem::take(&mut self.words);
        for of_term in words.chunk_by(|a, b| a.place() == b.place()) {
            self.lists[of_term[0].place() as usize].push(ordinal, of_term);
        }
        words.clear();
        self.words = words;
    }

    /// Returns whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    pub fn finish(self) -> Segment {
        let mut lists: Vec<Option<PostingList>> = self.lists.into_iter().map(Some).collect();
        let mut terms: Vec<(Box<str>, PostingList)> = self
            .places
            .into_iter()
            .filter_map(|(term, place)| Some((term, lists[place as usize].take()?)))
            .filter(|(_, list)| !list.bytes.is_empty())
            .collect();
        terms.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Segment { documents: self.documents, lengths: self.lengths, terms }
    }

    fn push_word(&mut self, word: &str, unit: u32, field: TermField) {
        let push = |words: &mut Vec<TermSpot>, places: &[u32]| {
            words.extend(places.iter().map(|place| TermSpot::new(*place, unit, field)));
        };
        // One look-up for a word that was met before: nearly all are.
        if let Some(places) = self.known.get(word) {
            push(&mut self.words, places);
            return;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut places = Vec::new();
        terms_of_word(word, &mut scratch, |term| places.push(self.place_of(term)));
        self.scratch = scratch;
        push(&mut self.words, &places);
        self.known.insert(word.into(), places.into());
    }

    fn place_of(&mut self, term: &str) -> u32 {
        if let Some(place) = self.places.get(term) {
            return *place;
        }
        let place = self.lists.len() as u32;
        self.lists.push(PostingList::default());
        self.places.insert(term.into(), place);
        place
    }
}

/// The document that is being added.
pub struct DocumentTerms<'b> {
    builder: &'b mut SegmentBuilder,
    lengths: Vec<u32>,
}

impl DocumentTerms<'_> {
    /// Adds a text to one of the document's units. Units are numbered from 0, and 0 is what
    /// is in none of the others.
    pub fn add(&mut self, unit: u32, field: TermField, text: &str) {
        let place = unit as usize;
        if self.lengths.len() <= place {
            self.lengths.resize(place + 1, 0);
        }
        let before = self.builder.words.len();
        for_each_word(text, |word| self.builder.push_word(word, unit, field));
        if field == TermField::Body {
            self.lengths[place] += (self.builder.words.len() - before) as u32;
        }
    }

    /// Adds what a unit is called: its words, and the whole name.
    pub fn add_name(&mut self, unit: u32, name: &str) {
        self.add(unit, TermField::Name, name);
        let mut term = std::mem::take(&mut self.builder.scratch);
        put_name_term(name, &mut term);
        let whole = self.builder.place_of(&term);
        self.builder.scratch = term;
        self.builder.words.push(TermSpot::new(whole, unit, TermField::Name));
    }
}

/// The postings of one term while they grow.
#[derive(Default, Clone)]
struct PostingList {
    /// Everything behind the first document's ordinal.
    bytes: Vec<u8>,
    first: u32,
    last: u32,
}

impl PostingList {
    /// Adds what one document holds of the term, by unit.
    fn push(&mut self, ordinal: u32, words: &[TermSpot]) {
        if self.bytes.is_empty() {
            self.first = ordinal;
        } else {
            put(&mut self.bytes, ordinal - self.last);
        }
        self.last = ordinal;
        let units = words.chunk_by(|a, b| a.unit() == b.unit());
        put(&mut self.bytes, units.clone().count() as u32);
        let mut before = 0;
        for unit in units {
            put(&mut self.bytes, unit[0].unit() - before);
            before = unit[0].unit();
            let in_body = unit.iter().filter(|word| word.bits() == 0).count();
            let fields = unit.iter().fold(0, |bits, word| bits | word.bits());
            self.bytes.push(in_body.min(usize::from(MAX_COUNT)) as u8 | fields);
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes.len() + 5);
        put(&mut bytes, self.first);
        bytes.extend_from_slice(&self.bytes);
        bytes
    }

    fn append(&mut self, other: &Self, offset: u32) {
        if self.bytes.is_empty() {
            self.first = other.first + offset;
        } else {
            put(&mut self.bytes, other.first + offset - self.last);
        }
        self.bytes.extend_from_slice(&other.bytes);
        self.last = other.last + offset;
    }
}

/// Some documents and the terms in them.
#[derive(Default)]
pub struct Segment {
    documents: Vec<u32>,
    lengths: Vec<Vec<u32>>,
    /// By term.
    terms: Vec<(Box<str>, PostingList)>,
}

impl Segment {
    /// Joins what several threads gathered.
    pub fn concat(segments: Vec<Self>) -> Self {
        let mut segments = segments.into_iter();
        let first = segments.next().unwrap_or_default();
        segments.fold(first, Self::append)
    }

    fn append(mut self, other: Self) -> Self {
        let offset = self.documents.len() as u32;
        self.documents.extend(other.documents);
        self.lengths.extend(other.lengths);
        let mut merged = Vec::with_capacity(self.terms.len().max(other.terms.len()));
        let mut ours = self.terms.into_iter().peekable();
        for (term, list) in other.terms {
            while let Some(before) = ours.next_if(|(known, _)| *known < term) {
                merged.push(before);
            }
            let mut joined = match ours.next_if(|(known, _)| *known == term) {
                Some((_, known)) => known,
                None => PostingList::default(),
            };
            joined.append(&list, offset);
            merged.push((term, joined));
        }
        merged.extend(ours);
        self.terms = merged;
        self
    }

    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The documents' numbers, for a caller who learns them only now.
    pub fn documents_mut(&mut self) -> &mut [u32] {
        &mut self.documents
    }

    /// Returns the bytes that say which documents there are and how long their units are.
    pub fn head(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (number, lengths) in self.documents.iter().zip(&self.lengths) {
            put_document(&mut bytes, *number, lengths);
        }
        bytes
    }

    /// Returns every term with the bytes of its postings, by term.
    pub fn terms(&self) -> impl Iterator<Item = (&str, Vec<u8>)> {
        self.terms.iter().map(|(term, list)| (&**term, list.encode()))
    }
}

fn put_document(bytes: &mut Vec<u8>, number: u32, lengths: &[u32]) {
    put(bytes, number);
    put(bytes, lengths.len() as u32);
    lengths.iter().for_each(|length| put(bytes, *length));
}

/// Reads a segment's head: the number and the units' lengths of each document.
pub(crate) fn read_head(head: &[u8]) -> impl Iterator<Item = (u32, Vec<u32>)> {
    let mut numbers = Numbers(head);
    std::iter::from_fn(move || {
        let number = numbers.number()?;
        let count = numbers.number()?;
        // The count is not trusted with an allocation: damaged bytes end early.
        let lengths = (0..count).map_while(|_| numbers.number()).collect();
        Some((number, lengths))
    })
}

/// Several stored segments made into one, without the documents that are dead.
pub struct Merge {
    head: Vec<u8>,
    /// For every segment, what each of its ordinals is in the merged one.
    ordinals: Vec<Vec<Option<u32>>>,
}

impl Merge {
    /// Takes the heads of the segments, and whether a document of one is alive.
    pub fn new(heads: &[&[u8]], is_alive: impl Fn(usize, u32) -> bool) -> Self {
        let mut merge = Self { head: Vec::new(), ordinals: Vec::new() };
        let mut next = 0;
        for (segment, head) in heads.iter().enumerate() {
            let mut ordinals = Vec::new();
            for (number, lengths) in read_head(head) {
                let alive = is_alive(segment, number);
                ordinals.push(alive.then_some(next));
                if alive {
                    put_document(&mut merge.head, number, &lengths);
                    next += 1;
                }
            }
            merge.ordinals.push(ordinals);
        }
        merge
    }

    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns the merged postings of one term, given those of the segments that have it in
    /// the order of the segments; nothing if only the dead held it.
    pub fn term(&self, lists: &[(usize, &[u8])]) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut last = 0;
        for (segment, list) in lists {
            let ordinals = self.ordinals.get(*segment).map_or(&[][..], Vec::as_slice);
            let mut ordinal = 0;
            let mut numbers = Numbers(list);
            while let Some(step) = numbers.number() {
                ordinal = step.saturating_add(ordinal);
                let from = numbers.0;
                if skip_units(&mut numbers).is_none() {
                    break;
                }
                if let Some(Some(new)) = ordinals.get(ordinal as usize) {
                    put(&mut bytes, new - last);
                    last = *new;
                    bytes.extend_from_slice(&from[..from.len() - numbers.0.len()]);
                }
            }
        }
        (!bytes.is_empty()).then_some(bytes)
    }
}

/// Moves past what one document holds of a term.
fn skip_units(numbers: &mut Numbers<'_>) -> Option<()> {
    for _ in 0..numbers.number()? {
        numbers.number()?;
        numbers.byte()?;
    }
    Some(())
}
