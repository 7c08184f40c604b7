//! Which files, functions, types and sections a few words of a question mean.
//!
//! Three things speak for a unit: its words (BM25, a term in the name or the documentation
//! counting more than one in the body), how well its name is the one that was asked for, and
//! how near its meaning is where there are vectors. What was named outright, as a symbol or a
//! path, comes before everything else. Tests, generated and vendored code and mere parts stand
//! back a little; what many call stands out a little. The weights are in `fuse`, and
//! `bench/search` measures them.
//!
//! Vectors are an input: without them the rest is the answer.

mod exact;
mod fuse;
mod wanted;
mod words;

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;
use spore_lexical::TermMatches;
use spore_model::{EdgeKind, NodeId};
use spore_store::{CodeIndex, CodeIndexError, FileNo, NodeNo, StoredFile, UnitRow, UnitSpot};

use crate::corpus::Searched;
use exact::Exact;
use fuse::HitSignals;
use wanted::Wanted;
use words::WordScores;

// Bounds on how much work a question makes. They change no answer that a person would miss, so
// they are no settings.

/// How many units are looked at closely, for each that is wanted and at least.
const CLOSELY: usize = 12;
const CLOSELY_AT_LEAST: usize = 240;
/// With kinds to choose from, as many are looked at until enough of the kind were found.
const LOOKED_AT_MOST: usize = 20_000;
/// Of more that carry one name, those with the best words are looked at.
const MOST_NAMESAKES: usize = 500;
/// More callers than this are as good as very many.
const MANY_CALLERS: u32 = 64;
/// Whatever is asked for, more hits than this are no answer.
const MOST_HITS: usize = 1_000;

/// A question to the index.
#[derive(Clone, Copy)]
pub struct SearchAsked<'a> {
    pub text: &'a str,
    /// Only these kinds; none is all. A file has the kind `file`.
    pub kinds: &'a [String],
    /// Only files for which this holds.
    pub path: Option<&'a dyn Fn(&str) -> bool>,
    pub limit: usize,
}

/// A node whose meaning is near, and how near: the cosine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NearNode {
    pub node: NodeNo,
    pub score: f32,
}

/// A node that was found.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Hit {
    pub id: NodeId,
    pub kind: String,
    pub name: String,
    /// The path, for a file.
    pub qualified: String,
    pub path: String,
    pub first_line: u32,
    pub last_line: u32,
    pub signature: String,
    /// The first line of the documentation.
    pub doc: String,
    /// Its whole part is how exactly it was named, the rest how well it fits.
    pub score: f32,
    pub why: Vec<String>,
    /// How near its meaning is, where that was asked.
    #[serde(skip)]
    pub meaning: Option<f32>,
    /// Whether any word or name of the question speaks for it.
    #[serde(skip)]
    pub has_words: bool,
}

impl Hit {
    /// Returns whether nothing but its meaning speaks for it.
    pub fn is_by_meaning_alone(&self) -> bool {
        self.meaning.is_some() && !self.has_words
    }
}

/// An index, opened for searching: what all searches share is in memory.
pub struct Searcher<'i> {
    index: &'i CodeIndex,
    /// By path.
    files: Vec<StoredFile>,
    places: HashMap<FileNo, u32>,
    code: Searched,
}

/// A unit that is looked at closely.
struct SearchCandidate {
    unit: u32,
    /// The place of its file among the files.
    file: u32,
    row: UnitRow,
    words: f32,
    meaning: Option<f32>,
    exact: Exact,
}

impl<'i> Searcher<'i> {
    pub fn open(index: &'i CodeIndex) -> Result<Self, CodeIndexError> {
        let files = index.files()?;
        let places: HashMap<FileNo, u32> =
            (0..).zip(&files).map(|(place, file)| (file.no, place)).collect();
        let code = Searched::open(index, spore_store::SegmentKind::Code, files.len(), |no| {
            places.get(&no).copied()
        })?;
        Ok(Self { index, files, places, code })
    }

    /// Returns how many files and items there are to find.
    pub fn len(&self) -> usize {
        self.code.collection.units().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the best hits, the best first. The same index and question give the same hits.
    pub fn search(
        &self,
        asked: &SearchAsked<'_>,
        near: &[NearNode],
    ) -> Result<Vec<Hit>, CodeIndexError> {
        let wanted = Wanted::of(asked.text);
        let limit = asked.limit.min(MOST_HITS);
        if limit == 0 || (wanted.is_empty() && near.is_empty()) {
            return Ok(Vec::new());
        }
        let allowed = self.allowed(asked.path);
        let is_allowed = |file: u32| allowed.as_ref().is_none_or(|all| all[file as usize]);
        let words = self.words(&wanted)?;
        let meanings = self.meanings(near, is_allowed)?;
        let mut named = self.named(&wanted, &words)?;
        named.retain(|unit, _| is_allowed(self.file_of(*unit)));
        let mut order = words
            .best_first(&self.code, |document| is_allowed(self.code.places[document as usize]));
        // What was named or meant is looked at whatever its words are.
        let first: BTreeSet<u32> = named.keys().chain(meanings.keys()).copied().collect();
        order.retain(|unit| !first.contains(unit));
        let order: Vec<u32> = first.iter().copied().chain(order).collect();
        let wide = first.len() + (limit * CLOSELY).max(CLOSELY_AT_LEAST);
        let chosen = Chosen { words: &words, named: &named, meanings: &meanings };
        let candidates = self.candidates(&order, wide, limit, asked.kinds, &chosen)?;
        self.hits(&wanted, &words, candidates, limit)
    }

    /// Says for every file whether it may be found; `None` where all may.
    fn allowed(&self, path: Option<&dyn Fn(&str) -> bool>) -> Option<Vec<bool>> {
        let holds = path?;
        Some(self.files.iter().map(|file| holds(&file.path)).collect())
    }

    fn words(&self, wanted: &Wanted) -> Result<WordScores, CodeIndexError> {
        let terms: Vec<&str> = wanted.terms.iter().map(|term| term.term.as_str()).collect();
        let matches = self.code.matches(self.index, &terms)?;
        Ok(WordScores::of(&self.code, wanted, matches))
    }

    /// Returns the units whose meaning is near.
    fn meanings(
        &self,
        near: &[NearNode],
        is_allowed: impl Fn(u32) -> bool,
    ) -> Result<HashMap<u32, f32>, CodeIndexError> {
        let nodes: Vec<NodeNo> = near.iter().map(|near| near.node).collect();
        let spots = self.index.spots_of(&nodes)?;
        let found = spots.into_iter().zip(near).filter_map(|(spot, near)| {
            let unit = self.unit_at(spot?)?;
            is_allowed(self.file_of(unit)).then_some((unit, near.score))
        });
        Ok(found.collect())
    }

    /// Returns the units that the question names outright.
    fn named(
        &self,
        wanted: &Wanted,
        words: &WordScores,
    ) -> Result<HashMap<u32, Exact>, CodeIndexError> {
        let mut named = HashMap::new();
        let mut name = |unit: u32, exact: Exact| {
            let known = named.entry(unit).or_insert(exact);
            *known = exact.max(*known);
        };
        let terms: Vec<String> = wanted.names.iter().map(|name| name.term()).collect();
        let terms: Vec<&str> = terms.iter().map(String::as_str).collect();
        let found: Vec<TermMatches> = self.code.matches(self.index, &terms)?;
        for (wanted, found) in wanted.names.iter().zip(&found) {
            let naming = found.postings.iter().filter(|posting| posting.in_name());
            let mut units: Vec<u32> = naming.map(|posting| posting.unit).collect();
            if units.len() > MOST_NAMESAKES {
                let share = |unit: &u32| words.share_of(&self.code, *unit);
                units.sort_by(|a, b| share(b).total_cmp(&share(a)));
                units.truncate(MOST_NAMESAKES);
            }
            let spots: Vec<UnitSpot> = units.iter().map(|unit| self.spot_of(*unit)).collect();
            let rows = self.index.units_at(&spots)?;
            for (unit, row) in units.into_iter().zip(rows) {
                let path = &self.files[self.file_of(unit) as usize].path;
                let exact = row.map_or(Exact::Not, |row| exact::of_item(wanted, &row, path));
                if exact > Exact::Not {
                    name(unit, exact);
                }
            }
        }
        if !wanted.paths.is_empty() {
            for (place, file) in (0_u32..).zip(&self.files) {
                let exact = exact::of_path(&wanted.paths, &file.path);
                let document = self.code.documents[place as usize];
                if let Some(document) = document.filter(|_| exact > Exact::Not) {
                    name(self.code.collection.documents()[document as usize].units.start, exact);
                }
            }
        }
        Ok(named)
    }

    /// Reads what the units in this order are, until enough were looked at and enough of the
    /// kinds that are asked for were found.
    fn candidates(
        &self,
        order: &[u32],
        wide: usize,
        limit: usize,
        kinds: &[String],
        chosen: &Chosen<'_>,
    ) -> Result<Vec<SearchCandidate>, CodeIndexError> {
        let mut candidates = Vec::new();
        for units in order[..order.len().min(LOOKED_AT_MOST)].chunks(wide.max(1)) {
            let spots: Vec<UnitSpot> = units.iter().map(|unit| self.spot_of(*unit)).collect();
            let rows = self.index.units_at(&spots)?;
            for (unit, row) in units.iter().zip(rows) {
                let Some(row) = row else { continue };
                if !kinds.is_empty() && !kinds.contains(&row.kind) {
                    continue;
                }
                candidates.push(SearchCandidate {
                    unit: *unit,
                    file: self.file_of(*unit),
                    row,
                    words: chosen.words.share_of(&self.code, *unit),
                    meaning: chosen.meanings.get(unit).copied(),
                    exact: chosen.named.get(unit).copied().unwrap_or_default(),
                });
            }
            if candidates.len() >= limit * 2 {
                break;
            }
        }
        Ok(candidates)
    }

    fn hits(
        &self,
        wanted: &Wanted,
        words: &WordScores,
        candidates: Vec<SearchCandidate>,
        limit: usize,
    ) -> Result<Vec<Hit>, CodeIndexError> {
        let nodes: Vec<NodeNo> = candidates.iter().map(|found| found.row.no).collect();
        let of = [EdgeKind::Calls, EdgeKind::UsesType];
        let callers = self.index.count_incoming(&nodes, &of, MANY_CALLERS)?;
        let mut ranked: Vec<(f32, SearchCandidate, u32)> = candidates
            .into_iter()
            .zip(callers)
            .map(|(found, callers)| (self.score(wanted, words, &found, callers), found, callers))
            .collect();
        // Units are sorted by segment and path; of equal ones the earlier wins.
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.unit.cmp(&b.1.unit)));
        ranked.truncate(limit);
        let nodes: Vec<NodeNo> = ranked.iter().map(|(_, found, _)| found.row.no).collect();
        let details = self.index.unit_details(&nodes)?;
        let hits =
            ranked.into_iter().zip(details).filter_map(|((score, found, callers), details)| {
                let why = self.why(wanted, words, &found, callers);
                let has_words =
                    found.exact != Exact::Not || !words.held_by(wanted, found.unit).is_empty();
                let file = &self.files[found.file as usize];
                let details = details?;
                let is_file = found.row.no == file.no;
                let lines = if is_file { (1, file.lines.max(1)) } else { details.lines };
                Some(Hit {
                    id: details.key.id(),
                    kind: found.row.kind,
                    name: found.row.name,
                    qualified: found.row.qualified,
                    path: file.path.clone(),
                    first_line: lines.0,
                    last_line: lines.1,
                    signature: details.signature,
                    doc: details.doc.lines().next().unwrap_or_default().trim().to_owned(),
                    score,
                    why,
                    meaning: found.meaning,
                    has_words,
                })
            });
        Ok(hits.collect())
    }

    fn score(
        &self,
        wanted: &Wanted,
        words: &WordScores,
        found: &SearchCandidate,
        callers: u32,
    ) -> f32 {
        let file = &self.files[found.file as usize];
        fuse::score(&HitSignals {
            exact: found.exact,
            words: found.words,
            name: words.name_fit(wanted, &found.row, &file.path),
            coverage: words.coverage(found.unit),
            terms: words.terms(),
            meaning: found.meaning,
            kind: &found.row.kind,
            callers,
            is_test: file.marks.test || found.row.kind == "test",
            is_foreign: file.marks.generated || file.marks.vendored,
            tests_asked: wanted.tests,
        })
    }

    /// Says what speaks for a hit.
    fn why(
        &self,
        wanted: &Wanted,
        words: &WordScores,
        found: &SearchCandidate,
        callers: u32,
    ) -> Vec<String> {
        let mut why = Vec::new();
        let is_file = found.row.kind == "file";
        match (found.exact, is_file) {
            (Exact::Not, _) => {}
            (_, true) => why.push("path".to_owned()),
            (Exact::Qualified, false) => why.push("qualified name".to_owned()),
            (Exact::Name, false) => why.push("name".to_owned()),
            (Exact::Spelling | Exact::Part, false) => {
                why.push("name, spelled otherwise".to_owned())
            }
        }
        let held = words.held_by(wanted, found.unit);
        if !held.is_empty() {
            why.push(format!("words: {}", held.join(" ")));
        }
        if let Some(score) = found.meaning {
            why.push(format!("meaning {score:.2}"));
        }
        match callers {
            0 => {}
            1 => why.push("1 use".to_owned()),
            MANY_CALLERS => why.push(format!("{MANY_CALLERS} uses or more")),
            many => why.push(format!("{many} uses")),
        }
        why
    }

    /// Returns the place of a unit's file among the files.
    fn file_of(&self, unit: u32) -> u32 {
        let document = self.code.collection.units()[unit as usize].document;
        self.code.places[document as usize]
    }

    fn spot_of(&self, unit: u32) -> UnitSpot {
        let document = self.code.collection.units()[unit as usize].document as usize;
        let first = self.code.collection.documents()[document].units.start;
        (self.files[self.code.places[document] as usize].no, unit - first)
    }

    fn unit_at(&self, (file, place): UnitSpot) -> Option<u32> {
        let document = self.code.documents[*self.places.get(&file)? as usize]?;
        let units = &self.code.collection.documents()[document as usize].units;
        let unit = units.start.checked_add(place)?;
        (unit < units.end).then_some(unit)
    }
}

/// What is known of units before they are read.
struct Chosen<'a> {
    words: &'a WordScores,
    named: &'a HashMap<u32, Exact>,
    meanings: &'a HashMap<u32, f32>,
}

#[cfg(test)]
mod tests;
