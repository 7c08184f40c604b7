//! The effectiveness ledger: all evidence about every line, by the line's hash.
//!
//! It is the only thing the broadcast file is ever changed from. It is a Markdown file that
//! people read and commit, so it must stand on its own: fragments stay on the machine that
//! found them, a row of the ledger travels. A row names its fragment, which names its event,
//! so the same evidence is one row however often and on however many machines it is folded
//! in: folding is a union, in any order.
//!
//! A ledger that holds anything else than what we write is not read at all: whatever was
//! folded into half of it would lose the other half.

use std::collections::{BTreeMap, HashSet};

use spore_plain::line_within;

use crate::evidence::{EvidenceSignal, RootCause, Trajectory};
use crate::fragment::{Fragment, read_name};
use crate::lines::{BROADCAST, LineHash, LineMap, reference};

/// What the file is called in reports.
pub const LEDGER: &str = "memory/effectiveness/CLAUDE-md-effectiveness.md";

const TITLE: &str = "# Effectiveness of memory/CLAUDE.md";
const PREAMBLE: &str = "\
Written by `spore memory crystallize`: one section a line, one row a piece of evidence. The hash
says which line it is; its number is only where it stood the last time. A file that says more is refused.";
const GONE: &str = "no longer in memory/CLAUDE.md";
const UNSAID: &str = "## no line says it yet";

/// One piece of evidence, as the ledger keeps it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LedgerRow {
    pub ts: String,
    pub trajectory: Trajectory,
    pub signal: EvidenceSignal,
    pub kind: String,
    pub root_cause: Option<RootCause>,
    /// The fragment's file name.
    pub fragment: String,
}

/// What is known about one line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LineRecord {
    /// What it says, or said.
    pub text: String,
    /// By the fragment's name, which begins with the time of its event.
    rows: BTreeMap<String, LedgerRow>,
}

/// How often what was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct EvidenceTally {
    pub helped: u32,
    pub missed: u32,
    pub waiting: u32,
}

impl LineRecord {
    /// Returns the evidence, oldest first.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = &LedgerRow> {
        self.rows.values()
    }

    pub fn tally(&self) -> EvidenceTally {
        let count = |trajectory| {
            let rows = self.rows.values().filter(|row| row.trajectory == trajectory).count();
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
    entries: BTreeMap<LineHash, LineRecord>,
    /// Signals that no line says yet.
    unsaid: BTreeMap<String, LedgerRow>,
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
        self.entries.is_empty() && self.unsaid.is_empty()
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
        };
        let rows = match &fragment.line {
            Some(line) => &mut self.entries.entry(line.hash.clone()).or_default().rows,
            None => &mut self.unsaid,
        };
        if rows.contains_key(&name) {
            return false;
        }
        rows.insert(name, row);
        true
    }

    /// Takes the current words of every line that is still there.
    pub fn refresh(&mut self, map: &LineMap) {
        for line in map.lines() {
            if let Some(entry) = self.entries.get_mut(&line.hash) {
                entry.text.clone_from(&line.text);
            }
        }
    }

    /// Writes the ledger as it stands beside `map`.
    pub fn render(&self, map: &LineMap) -> String {
        let mut text = format!("{TITLE}\n\n{PREAMBLE}\n");
        let mut written: HashSet<&LineHash> = HashSet::new();
        for line in map.lines() {
            if let Some(entry) = self.entries.get(&line.hash)
                && written.insert(&line.hash)
            {
                section(&mut text, &reference(line.number), &line.hash, entry);
            }
        }
        for (hash, entry) in self.entries.iter().filter(|(hash, _)| !written.contains(hash)) {
            section(&mut text, GONE, hash, entry);
        }
        if !self.unsaid.is_empty() {
            text.push_str(&format!("\n{UNSAID}\n\n"));
            rows(&mut text, self.unsaid.values());
        }
        text
    }

    /// Reads a ledger. An empty file is an empty ledger.
    pub fn parse(text: &str) -> Result<Self, BadLedger> {
        let mut ledger = Self::default();
        let mut lines = text.lines().enumerate().peekable();
        match lines.next() {
            None => return Ok(ledger),
            Some((_, TITLE)) => {}
            Some((_, other)) => return Err(bad(0, other)),
        }
        let mut preamble = PREAMBLE.lines();
        let mut place = None;
        for (at, line) in lines {
            if line.trim().is_empty() || place.is_none() && preamble.next() == Some(line) {
                continue;
            }
            match read_line(line).ok_or_else(|| bad(at, line))? {
                LedgerLine::Section(next) => {
                    if let LedgerSection::Line(hash) = &next {
                        ledger.entries.entry(hash.clone()).or_default();
                    }
                    place = Some(next);
                }
                LedgerLine::Text(words) => match &place {
                    Some(LedgerSection::Line(hash)) if LineHash::of(words) == *hash => {
                        ledger.entries.entry(hash.clone()).or_default().text = words.to_owned();
                    }
                    _ => return Err(bad(at, line)),
                },
                LedgerLine::Tally => {}
                LedgerLine::Row(row) => {
                    ledger.put(place.as_ref(), row).ok_or_else(|| bad(at, line))?;
                }
            }
        }
        Ok(ledger)
    }

    /// Puts a row where it stood; `None` if it does not belong there.
    fn put(&mut self, place: Option<&LedgerSection>, row: LedgerRow) -> Option<()> {
        let named = read_name(&row.fragment)?;
        let rows = match (place?, named.line) {
            (LedgerSection::Line(hash), Some(line)) if *hash == line => {
                &mut self.entries.entry(line).or_default().rows
            }
            (LedgerSection::Unsaid, None) => &mut self.unsaid,
            _ => return None,
        };
        let fits = named.trajectory == row.trajectory;
        (fits && rows.insert(row.fragment.clone(), row).is_none()).then_some(())
    }
}

enum LedgerSection {
    Line(LineHash),
    Unsaid,
}

enum LedgerLine<'a> {
    Section(LedgerSection),
    Text(&'a str),
    /// Follows from the rows.
    Tally,
    Row(LedgerRow),
}

fn read_line(line: &str) -> Option<LedgerLine<'_>> {
    if line == UNSAID {
        return Some(LedgerLine::Section(LedgerSection::Unsaid));
    }
    if let Some(rest) = line.strip_prefix("## ") {
        let (name, hash) = rest.strip_suffix('`')?.rsplit_once(" `")?;
        let known = name == GONE || name.starts_with(BROADCAST);
        return known
            .then(|| hash.parse().ok())
            .flatten()
            .map(|hash| LedgerLine::Section(LedgerSection::Line(hash)));
    }
    if let Some(words) = line.strip_prefix("> ") {
        return Some(LedgerLine::Text(words));
    }
    if let Some(row) = line.strip_prefix("- ") {
        return read_row(row).map(LedgerLine::Row);
    }
    is_tally(line).then_some(LedgerLine::Tally)
}

fn read_row(text: &str) -> Option<LedgerRow> {
    let parts: Vec<&str> = text.split(' ').collect();
    let [ts, trajectory, signal, kind, cause, fragment] = parts.as_slice() else { return None };
    Some(LedgerRow {
        ts: (*ts).to_owned(),
        trajectory: trajectory.parse().ok()?,
        signal: signal.parse().ok()?,
        kind: (*kind).to_owned(),
        root_cause: if *cause == "-" { None } else { Some(cause.parse().ok()?) },
        fragment: (*fragment).to_owned(),
    })
}

fn section(text: &mut String, name: &str, hash: &LineHash, entry: &LineRecord) {
    text.push_str(&format!("\n## {name} `{hash}`\n\n"));
    if !entry.text.is_empty() {
        text.push_str(&format!("> {}\n\n", entry.text));
    }
    let EvidenceTally { helped, missed, waiting } = entry.tally();
    text.push_str(&format!("{helped} helped, {missed} missed, {waiting} waiting\n\n"));
    rows(text, entry.rows.values());
}

fn is_tally(line: &str) -> bool {
    let words: Vec<&str> = line.split(' ').collect();
    matches!(words.as_slice(), [a, "helped,", b, "missed,", c, "waiting"]
        if [a, b, c].iter().all(|count| count.parse::<u32>().is_ok()))
}

fn rows<'a>(text: &mut String, rows: impl Iterator<Item = &'a LedgerRow>) {
    for row in rows {
        let cause = row.root_cause.map_or("-", RootCause::as_str);
        text.push_str(&format!(
            "- {} {} {} {} {cause} {}\n",
            row.ts, row.trajectory, row.signal, row.kind, row.fragment
        ));
    }
}

/// A word that has no space in it.
fn row_word(text: &str) -> String {
    let word: String = spore_plain::line(text).chars().filter(|c| *c != ' ').take(40).collect();
    if word.is_empty() { "-".to_owned() } else { word }
}

fn bad(at: usize, line: &str) -> BadLedger {
    BadLedger { line: at + 1, what: line_within(line, 80) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fragment::tests::fragment;

    fn map() -> LineMap {
        LineMap::read("# Memory\n\n- Run the tests\n- Ask first\n")
    }

    fn some() -> Vec<Fragment> {
        let wrong = Fragment {
            root_cause: Some(RootCause::DirectionWrong),
            ts: "2026-03-01T00:00:00.000Z".into(),
            ..fragment("Ask first", Trajectory::Weakening)
        };
        vec![
            fragment("Run the tests", Trajectory::Strengthening),
            wrong,
            fragment("Ask first", Trajectory::Neutral),
            fragment("A line of old", Trajectory::Weakening),
            Fragment { signal: EvidenceSignal::Instruction, ..fragment("", Trajectory::NewSignal) },
        ]
    }

    fn folded(fragments: &[Fragment]) -> Ledger {
        let mut ledger = Ledger::default();
        for fragment in fragments {
            ledger.fold(fragment);
        }
        ledger.refresh(&map());
        ledger
    }

    #[test]
    fn a_ledger_is_a_file_that_people_can_read() {
        insta::assert_snapshot!(folded(&some()).render(&map()));
    }

    #[test]
    fn a_line_that_moved_keeps_its_evidence_and_one_that_went_is_history() {
        let ledger = folded(&some());
        let moved = LineMap::read("* Ask first\n\nmore\n");
        let read = Ledger::parse(&ledger.render(&moved)).unwrap();
        assert_eq!(read, ledger);
        let text = ledger.render(&moved);
        assert!(text.contains(&format!("## memory/CLAUDE.md:L1 `{}`", LineHash::of("Ask first"))));
        assert!(text.contains(&format!("## {GONE} `{}`", LineHash::of("Run the tests"))));
    }

    #[track_caller]
    fn refused(change: impl Fn(&str) -> String, line: usize) {
        let text = folded(&some()).render(&map());
        let changed = change(&text);
        assert_ne!(changed, text, "the change changes something");
        assert_eq!(Ledger::parse(&changed).unwrap_err().line, line, "{changed}");
    }

    #[test]
    fn what_somebody_else_wrote_is_not_read() {
        refused(|text| text.replace("# Effectiveness", "# My notes on"), 1);
        refused(|text| text.replace("> Run the tests", "> Run no tests"), 8);
        refused(|text| text.replace("> Run the tests", "<<<<<<< HEAD"), 8);
        refused(|text| text.replace(" STRENGTHENING ", " BETTER "), 12);
        refused(|text| text.replace(" STRENGTHENING ", " WEAKENING "), 12);
        refused(|text| text.replace("statement human - ", "statement "), 12);
        let hash = LineHash::of("Run the tests").to_string();
        refused(|text| text.replacen(&format!("-{hash}-"), "-000000000000-", 1), 12);
    }

    #[test]
    fn an_empty_file_is_an_empty_ledger() {
        assert_eq!(Ledger::parse("").unwrap(), Ledger::default());
        assert_eq!(Ledger::parse(&Ledger::default().render(&map())).unwrap(), Ledger::default());
    }

    proptest! {
        #[test]
        fn folding_is_a_union_in_any_order(
            picks in prop::collection::vec((0_usize..4, 0_usize..4, 0_u32..5), 0..20), cut in 0_usize..20
        ) {
            let texts = ["Run the tests", "Ask first", "gone", "also gone"];
            let all: Vec<Fragment> = picks
                .iter()
                .map(|(text, trajectory, event)| Fragment {
                    event: format!("event{event}"),
                    ..fragment(texts[*text], Trajectory::ALL[*trajectory])
                })
                .collect();
            let once = folded(&all);
            let mut reversed = all.clone();
            reversed.reverse();
            prop_assert_eq!(&folded(&reversed), &once);
            // In two passes, with the file in between, and everything a second time.
            let first = folded(&all[..cut.min(all.len())]);
            let mut later = Ledger::parse(&first.render(&map())).unwrap();
            for fragment in all.iter().chain(&all) {
                later.fold(fragment);
            }
            later.refresh(&map());
            prop_assert_eq!(&later, &once);
            prop_assert_eq!(later.render(&map()), once.render(&map()));
        }
    }
}
