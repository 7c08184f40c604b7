//! What is alive of all segments, ready to be asked.

use std::ops::Range;

use crate::bytes::Numbers;
use crate::segment::{IN_DOC, IN_NAME, IN_PATH, MAX_COUNT, read_head};

/// A living document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Document {
    /// The caller's number for it.
    pub number: u32,
    /// Its units among all units of the collection.
    pub units: Range<u32>,
    /// How many words its bodies have.
    pub length: u32,
}

/// A unit of a living document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unit {
    /// Where its document is among the documents.
    pub document: u32,
    pub length: u32,
}

/// All living documents of a collection of segments.
#[derive(Default, Debug)]
pub struct Collection {
    documents: Vec<Document>,
    units: Vec<Unit>,
    /// For every segment, where each of its documents is now, if it is alive.
    places: Vec<Vec<Option<u32>>>,
    total_length: u64,
}

/// Where a term stands in one unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Posting {
    /// Among all units of the collection.
    pub unit: u32,
    bits: u8,
}

impl Posting {
    /// How often the unit's body has it; many is as good as very many.
    pub const fn count(self) -> u8 {
        self.bits & MAX_COUNT
    }

    pub const fn in_name(self) -> bool {
        self.bits & IN_NAME != 0
    }

    pub const fn in_doc(self) -> bool {
        self.bits & IN_DOC != 0
    }

    pub const fn in_path(self) -> bool {
        self.bits & IN_PATH != 0
    }
}

/// Everything that holds a term, by unit.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct TermMatches {
    pub postings: Vec<Posting>,
    /// How many documents that is.
    pub documents: u32,
}

impl Collection {
    /// Takes the heads of the segments, and whether a document of one is alive.
    pub fn new(heads: &[&[u8]], is_alive: impl Fn(usize, u32) -> bool) -> Self {
        let mut collection = Self::default();
        for (segment, head) in heads.iter().enumerate() {
            let mut places = Vec::new();
            for (number, lengths) in read_head(head) {
                let alive = is_alive(segment, number);
                places.push(alive.then(|| collection.add(number, &lengths)));
            }
            collection.places.push(places);
        }
        collection
    }

    fn add(&mut self, number: u32, lengths: &[u32]) -> u32 {
        let place = self.documents.len() as u32;
        let first = self.units.len() as u32;
        self.units.extend(lengths.iter().map(|length| Unit { document: place, length: *length }));
        let length = lengths.iter().fold(0_u32, |sum, length| sum.saturating_add(*length));
        self.total_length += u64::from(length);
        self.documents.push(Document { number, units: first..self.units.len() as u32, length });
        place
    }

    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Returns how many words a document's bodies have on average.
    pub fn mean_length(&self) -> f64 {
        mean(self.total_length, self.documents.len())
    }

    /// Returns how many words a unit's body has on average.
    pub fn mean_unit_length(&self) -> f64 {
        mean(self.total_length, self.units.len())
    }

    /// Reads a term's postings, given those of every segment that has it.
    pub fn matches<'a>(&self, lists: impl IntoIterator<Item = (usize, &'a [u8])>) -> TermMatches {
        let mut matches = TermMatches::default();
        for (segment, list) in lists {
            let places = self.places.get(segment).map_or(&[][..], Vec::as_slice);
            self.read(places, list, &mut matches);
        }
        matches
    }

    fn read(&self, places: &[Option<u32>], list: &[u8], matches: &mut TermMatches) -> Option<()> {
        let mut numbers = Numbers(list);
        let mut ordinal = 0_u32;
        while !numbers.is_empty() {
            ordinal = ordinal.checked_add(numbers.number()?)?;
            let count = numbers.number()?;
            let alive = places.get(ordinal as usize).copied().flatten();
            let units = alive.map(|place| &self.documents[place as usize].units);
            let mut unit = 0_u32;
            for _ in 0..count {
                unit = unit.checked_add(numbers.number()?)?;
                let bits = numbers.byte()?;
                if let Some(units) = units
                    && unit < units.end - units.start
                {
                    matches.postings.push(Posting { unit: units.start + unit, bits });
                }
            }
            matches.documents += u32::from(alive.is_some());
        }
        Some(())
    }
}

fn mean(total: u64, count: usize) -> f64 {
    if count == 0 { 0.0 } else { total as f64 / count as f64 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::segment::Merge;
    use crate::{Collection, Segment, SegmentBuilder, TermField};

    /// A document's number and the texts of its units.
    type Text = (u32, Vec<String>);

    fn segment(texts: &[Text]) -> Segment {
        let mut builder = SegmentBuilder::default();
        for (number, units) in texts {
            builder.add(*number, |document| {
                for (unit, text) in (0..).zip(units) {
                    document.add(unit, TermField::Body, text);
                }
            });
        }
        builder.finish()
    }

    fn lists<'a>(segments: &'a [Segment], term: &str) -> Vec<(usize, Vec<u8>)> {
        let of = |segment: &'a Segment| segment.terms().find(|(known, _)| *known == term);
        let found =
            segments.iter().enumerate().filter_map(|(at, segment)| Some((at, of(segment)?)));
        found.map(|(at, (_, list))| (at, list)).collect()
    }

    /// Every match of a term, by number of document and of unit in it.
    fn found(collection: &Collection, lists: &[(usize, Vec<u8>)]) -> Vec<(u32, u32, u8)> {
        let matches = collection.matches(lists.iter().map(|(at, list)| (*at, &list[..])));
        let mut found: Vec<_> = matches
            .postings
            .iter()
            .map(|posting| {
                let unit = collection.units()[posting.unit as usize];
                let document = &collection.documents()[unit.document as usize];
                (document.number, posting.unit - document.units.start, posting.count())
            })
            .collect();
        found.sort_unstable();
        let mut documents: Vec<u32> = found.iter().map(|found| found.0).collect();
        documents.dedup();
        assert_eq!(documents.len(), matches.documents as usize);
        found
    }

    fn open(segments: &[Segment], is_alive: impl Fn(usize, u32) -> bool) -> Collection {
        let heads: Vec<Vec<u8>> = segments.iter().map(Segment::head).collect();
        Collection::new(&heads.iter().map(Vec::as_slice).collect::<Vec<_>>(), is_alive)
    }

    fn texts() -> impl Strategy<Value = Vec<Text>> {
        let unit = proptest::collection::vec("[abc]{2}", 0..6).prop_map(|words| words.join(" "));
        let units = proptest::collection::vec(unit, 1..4);
        proptest::collection::btree_map(0_u32..12, units, 1..8)
            .prop_map(|documents| documents.into_iter().collect())
    }

    proptest! {
        #[test]
        fn answers_do_not_depend_on_how_documents_came(
            old in texts(), new in texts(), term in "[abc]{2}"
        ) {
            // Whatever is in the new segment is dead in the old one.
            let renewed = |number: u32| new.iter().any(|(known, _)| *known == number);
            let alive = |at: usize, number: u32| at == 1 || !renewed(number);
            let segments = [segment(&old), segment(&new)];
            let stored = lists(&segments, &term);
            let answer = found(&open(&segments, alive), &stored);

            let kept: Vec<Text> =
                old.iter().filter(|(number, _)| !renewed(*number)).chain(&new).cloned().collect();
            let whole = [segment(&kept)];
            prop_assert_eq!(&found(&open(&whole, |_, _| true), &lists(&whole, &term)), &answer);

            let joined = [Segment::concat(vec![segment(&kept[..1]), segment(&kept[1..])])];
            prop_assert_eq!(&found(&open(&joined, |_, _| true), &lists(&joined, &term)), &answer);

            let heads = segments.each_ref().map(Segment::head);
            let merge = Merge::new(&heads.each_ref().map(Vec::as_slice), alive);
            let borrowed: Vec<_> = stored.iter().map(|(at, list)| (*at, &list[..])).collect();
            let merged = merge.term(&borrowed).map(|list| (0, list));
            let collection = Collection::new(&[merge.head()], |_, _| true);
            prop_assert_eq!(&found(&collection, &Vec::from_iter(merged)), &answer);
        }

        #[test]
        fn damaged_postings_never_fail(
            texts in texts(), list in proptest::collection::vec(any::<u8>(), 0..60)
        ) {
            let collection = open(&[segment(&texts)], |_, _| true);
            collection.matches([(0, &list[..]), (7, &list[..])]);
            Collection::new(&[&list], |_, _| true);
            Merge::new(&[&list], |_, _| true).term(&[(0, &list), (3, &list)]);
        }
    }

    #[test]
    fn fields_are_told_apart() {
        let mut builder = SegmentBuilder::default();
        builder.add(7, |document| {
            document.add(0, TermField::Path, "src/search.rs");
            document.add_name(1, "search");
            document.add(1, TermField::Body, "fn search() { search() }");
            document.add(1, TermField::Doc, "Searches.");
        });
        let segments = [builder.finish()];
        let collection = open(&segments, |_, _| true);
        let stored = lists(&segments, "search");
        let postings =
            collection.matches(stored.iter().map(|(at, list)| (*at, &list[..]))).postings;
        let seen: Vec<_> =
            postings.iter().map(|p| (p.count(), p.in_name(), p.in_doc(), p.in_path())).collect();
        assert_eq!(seen, [(0, false, false, true), (2, true, true, false)]);
        assert_eq!(collection.documents()[0].length, 3);
        let whole = lists(&segments, "=search");
        assert_eq!(found(&collection, &whole), [(7, 1, 0)]);
    }
}
