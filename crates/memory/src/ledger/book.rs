//! What the ledger holds: rows by line and lesson, and how two ledgers become one.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use spore_model::NodeId;
use spore_plain::line_within;

use super::row::{LedgerRow, RowProof, row_text, row_word};
use crate::evidence::{Decider, EvidenceSignal, Trajectory};
use crate::fragment::{Fragment, read_name};
use crate::lines::{LineHash, LineMap};

/// How much of the evidence a row keeps.
const EVIDENCE: usize = 400;

/// A line that became another one: the evidence of the first led to the second.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LineLink {
    pub ts: String,
    pub old: LineHash,
    pub new: LineHash,
    pub by: Decider,
}

/// What is known about one line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LineRecord {
    /// What it says, or said.
    pub text: String,
    /// The lesson that it is, where it is none of the file's lines.
    pub(super) lesson: Option<NodeId>,
    /// By the fragment's name, which begins with the time of its event.
    pub(super) rows: BTreeMap<String, LedgerRow>,
}

/// How often what was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct EvidenceTally {
    pub helped: u32,
    pub missed: u32,
    pub waiting: u32,
}

impl LineRecord {
    /// Returns the lesson that the evidence is about.
    pub fn lesson(&self) -> Option<&NodeId> {
        self.lesson.as_ref()
    }

    /// Takes in which lesson it is. Of two that say the same, the older one's name is kept,
    /// whatever order they come in.
    pub(super) fn name_lesson(&mut self, id: &NodeId) {
        if self.lesson.as_ref().is_none_or(|known| id < known) {
            self.lesson = Some(id.clone());
        }
    }

    /// Returns the evidence, oldest first.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = &LedgerRow> {
        self.rows.values()
    }

    /// Draws how the line stood after each piece of evidence that tested it, the newest last: up
    /// where it helped, down where it was missed. Empty where nothing tested it.
    pub fn sparkline(&self) -> String {
        const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        const POINTS: usize = 16;
        let mut level = 3_usize;
        let mut drawn: Vec<char> = Vec::new();
        for row in self.rows.values() {
            level = match row.trajectory {
                Trajectory::Strengthening => (level + 1).min(LEVELS.len() - 1),
                Trajectory::Weakening => level.saturating_sub(1),
                Trajectory::Neutral | Trajectory::NewSignal => continue,
            };
            drawn.push(LEVELS[level]);
        }
        drawn.drain(..drawn.len().saturating_sub(POINTS));
        drawn.into_iter().collect()
    }

    /// Returns when the line was first and last seen.
    pub fn seen(&self) -> Option<(&str, &str)> {
        let (first, last) = (self.rows.values().next()?, self.rows.values().next_back()?);
        Some((first.ts.as_str(), last.ts.as_str()))
    }

    pub fn tally(&self) -> EvidenceTally {
        // That a line was put back says nothing of its trigger.
        let tests = |row: &&LedgerRow| row.signal != EvidenceSignal::Restored;
        let count = |trajectory| {
            let rows = self.rows.values().filter(tests);
            let rows = rows.filter(|row| row.trajectory == trajectory).count();
            u32::try_from(rows).unwrap_or(u32::MAX)
        };
        EvidenceTally {
            helped: count(Trajectory::Strengthening),
            missed: count(Trajectory::Weakening),
            waiting: count(Trajectory::Neutral),
        }
    }
}

/// All evidence there is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ledger {
    pub(super) entries: BTreeMap<LineHash, LineRecord>,
    /// Signals that no line says yet.
    pub(super) unsaid: BTreeMap<String, LedgerRow>,
    pub(super) links: BTreeSet<LineLink>,
}

/// A ledger with a line that Spore does not write: a person or another program edited it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the ledger is not what Spore writes: {what}")]
pub struct BadLedger {
    pub line: usize,
    pub what: String,
}

impl Ledger {
    pub fn entry(&self, hash: &LineHash) -> Option<&LineRecord> {
        self.entries.get(hash)
    }

    pub fn entries(&self) -> impl Iterator<Item = (&LineHash, &LineRecord)> {
        self.entries.iter()
    }

    /// Returns the signals that no line says yet, oldest first.
    pub fn unsaid(&self) -> impl Iterator<Item = &LedgerRow> {
        self.unsaid.values()
    }

    pub fn hashes(&self) -> HashSet<LineHash> {
        self.entries.keys().cloned().collect()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.unsaid.is_empty() && self.links.is_empty()
    }

    /// Returns which line became which, oldest first.
    pub fn links(&self) -> impl Iterator<Item = &LineLink> {
        self.links.iter()
    }

    /// Returns the lines that `hash` was before, the latest first.
    pub fn predecessors(&self, hash: &LineHash) -> Vec<LineHash> {
        let mut found: Vec<LineHash> = Vec::new();
        let mut now = hash.clone();
        while let Some(link) = self.links.iter().rev().find(|link| link.new == now) {
            // A line that was rewritten back to what it was would be gone round for ever.
            if link.old == *hash || found.contains(&link.old) {
                break;
            }
            found.push(link.old.clone());
            now = link.old.clone();
        }
        found
    }

    /// Records that a line was rewritten.
    pub fn link(&mut self, link: LineLink) {
        self.links.insert(LineLink { ts: row_word(&link.ts), ..link });
    }

    /// Takes in all of another ledger.
    pub fn join(&mut self, other: Self) {
        for (hash, record) in other.entries {
            let ours = self.entries.entry(hash).or_default();
            if ours.text.is_empty() {
                ours.text = record.text;
            }
            record.lesson.iter().for_each(|id| ours.name_lesson(id));
            for row in record.rows.into_values() {
                keep_row(&mut ours.rows, row);
            }
        }
        for row in other.unsaid.into_values() {
            keep_row(&mut self.unsaid, row);
        }
        self.links.extend(other.links);
    }

    /// Takes in a fragment; the same one again changes nothing. Returns whether it was new.
    pub fn fold(&mut self, fragment: &Fragment) -> bool {
        let name = fragment.name();
        let row = LedgerRow {
            ts: row_word(&fragment.ts),
            trajectory: fragment.trajectory,
            signal: fragment.signal,
            kind: row_word(&fragment.kind),
            root_cause: fragment.root_cause,
            fragment: name.clone(),
            by: fragment.by.clone(),
            proof: Some(RowProof {
                event: row_word(&fragment.event),
                fragment_hash: fragment.digest(),
                evidence: line_within(&fragment.evidence.join(" "), EVIDENCE),
            }),
        };
        let rows = match &fragment.line {
            Some(line) => {
                let entry = self.entries.entry(line.hash.clone()).or_default();
                line.place.lesson().into_iter().for_each(|id| entry.name_lesson(id));
                &mut entry.rows
            }
            None => &mut self.unsaid,
        };
        // A row of an earlier version learns what it rests on.
        let is_told = |known: &LedgerRow| known.proof.is_some() || known.by != row.by;
        match rows.get(&name) {
            Some(known) if is_told(known) => false,
            Some(_) => {
                rows.insert(name, row);
                false
            }
            None => {
                rows.insert(name, row);
                true
            }
        }
    }

    /// Takes the current words of every line and lesson that is still there. A lesson whose words
    /// became a line of the file is that line.
    pub fn refresh(&mut self, map: &LineMap) {
        for line in map.lines() {
            let Some(entry) = self.entries.get_mut(&line.hash) else { continue };
            entry.text.clone_from(&line.text);
            match line.place.lesson() {
                Some(id) => entry.name_lesson(id),
                None => entry.lesson = None,
            }
        }
    }

    /// Puts a row where its fragment's name says; `None` if there is no such place.
    pub(super) fn put(&mut self, row: LedgerRow) -> Option<()> {
        let named = read_name(&row.fragment).filter(|named| named.trajectory == row.trajectory)?;
        let rows = match named.line {
            Some(line) => &mut self.entries.entry(line).or_default().rows,
            None => &mut self.unsaid,
        };
        keep_row(rows, row);
        Some(())
    }
}

/// Keeps one row of a fragment, and the same one in whatever order they come: what was said with
/// less authority, then what says more.
fn keep_row(rows: &mut BTreeMap<String, LedgerRow>, row: LedgerRow) {
    let rank =
        |row: &LedgerRow| (row.proof.is_some(), row.by.clone(), row.proof.clone(), row_text(row));
    match rows.get(&row.fragment) {
        Some(known) if rank(known) >= rank(&row) => {}
        _ => {
            rows.insert(row.fragment.clone(), row);
        }
    }
}
