//! The effectiveness ledger: all evidence about every line, by the line's hash.
//!
//! It is the only thing the broadcast file is ever changed from. It is a Markdown file that
//! people read and commit, so it must stand on its own: fragments stay on the machine that
//! found them, a row of the ledger travels. A row names its fragment, which names its event,
//! so the same evidence is one row however often and on however many machines it is folded
//! in: folding is a union, in any order.
//!
//! The one decision: each line of the file stands for itself. A row says whose it is by its
//! fragment's name, and a link of two hashes and a line's words by themselves; headings are for
//! people. So whatever a merge of two ledgers puts where, and twice, is the ledger of both (test:
//! `any_union_of_two_ledgers_is_the_ledger_of_both`).
//!
//! A row ends with a sum over what it says. A ledger that holds anything else than what we write
//! is not read at all: whatever was folded into half of it would lose the other half. The sum
//! finds a hand that slipped, not one that forges: people who commit to the repository can
//! write evidence into it, as they can write the lines.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use spore_plain::line_within;

use crate::evidence::{Decider, EvidenceSignal, RootCause, Trajectory};
use crate::fragment::{Fragment, read_name, short_digest};
use crate::lines::{BROADCAST, LineHash, LineMap, reference};

/// What the file is called in reports.
pub const LEDGER: &str = "memory/effectiveness/CLAUDE-md-effectiveness.md";

const TITLE: &str = "# Effectiveness of memory/CLAUDE.md";
const PREAMBLE: &str = "\
Written by `spore memory crystallize`: one section a line, one row a piece of evidence. The hash
says which line it is; its number is only where it stood the last time. A file that says more is refused.";
const GONE: &str = "no longer in memory/CLAUDE.md";
const UNSAID: &str = "## no line says it yet";
const REWRITTEN: &str = "## rewritten lines";
/// The second word of a row that links a line to what it was rewritten to.
const LINK: &str = "REWRITTEN";
/// How much of the evidence a row keeps.
const EVIDENCE: usize = 300;

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
    /// Who gave the trajectory; a row of an earlier version is a rule's.
    pub by: Decider,
    /// What it rests on; an earlier version kept nothing of it.
    pub proof: Option<RowProof>,
}

/// What a row rests on, for readers who do not have the fragment.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RowProof {
    /// The event's own id.
    pub event: String,
    /// The fragment's [`Fragment::digest`].
    pub fragment_hash: String,
    /// What was seen, in a line.
    pub evidence: String,
}

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
    links: BTreeSet<LineLink>,
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
            Some(line) => &mut self.entries.entry(line.hash.clone()).or_default().rows,
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
        if !self.links.is_empty() {
            text.push_str(&format!("\n{REWRITTEN}\n\n"));
            for LineLink { ts, old, new, by } in &self.links {
                text.push_str(&format!("- {}\n", summed(&format!("{ts} {LINK} {old} {new} {by}"))));
            }
        }
        text
    }

    /// Reads a ledger. An empty file is an empty ledger.
    pub fn parse(text: &str) -> Result<Self, BadLedger> {
        let mut ledger = Self::default();
        let mut lines = text.lines().enumerate();
        match lines.next() {
            None => return Ok(ledger),
            Some((_, TITLE)) => {}
            Some((_, other)) => return Err(bad(0, other)),
        }
        let mut texts: Vec<(usize, &str)> = Vec::new();
        for (at, line) in lines {
            let is_preamble = || line == TITLE || PREAMBLE.lines().any(|known| known == line);
            if line.trim().is_empty() || is_preamble() {
                continue;
            }
            match read_line(line).ok_or_else(|| bad(at, line))? {
                LedgerLine::Section(Some(hash)) => {
                    ledger.entries.entry(hash).or_default();
                }
                LedgerLine::Section(None) | LedgerLine::Tally => {}
                LedgerLine::Text(words) => texts.push((at, words)),
                LedgerLine::Link(link) => {
                    ledger.links.insert(link);
                }
                LedgerLine::Row(row) => ledger.put(row).ok_or_else(|| bad(at, line))?,
            }
        }
        // The words of a line are those that its hash is of, wherever they stand.
        for (at, words) in texts {
            let entry = ledger.entries.get_mut(&LineHash::of(words));
            entry.ok_or_else(|| bad(at, words))?.text = words.to_owned();
        }
        Ok(ledger)
    }

    /// Puts a row where its fragment's name says; `None` if there is no such place.
    fn put(&mut self, row: LedgerRow) -> Option<()> {
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

enum LedgerLine<'a> {
    /// With the line that it is about.
    Section(Option<LineHash>),
    Text(&'a str),
    /// Follows from the rows.
    Tally,
    Row(LedgerRow),
    Link(LineLink),
}

fn read_line(line: &str) -> Option<LedgerLine<'_>> {
    if line == UNSAID || line == REWRITTEN {
        return Some(LedgerLine::Section(None));
    }
    if let Some(rest) = line.strip_prefix("## ") {
        let (name, hash) = rest.strip_suffix('`')?.rsplit_once(" `")?;
        let known = name == GONE || name.starts_with(BROADCAST);
        return known
            .then(|| hash.parse().ok())
            .flatten()
            .map(|hash| LedgerLine::Section(Some(hash)));
    }
    if let Some(words) = line.strip_prefix("> ") {
        return Some(LedgerLine::Text(words));
    }
    if let Some(row) = line.strip_prefix("- ") {
        return read_link(row).map(LedgerLine::Link).or_else(|| read_row(row).map(LedgerLine::Row));
    }
    is_tally(line).then_some(LedgerLine::Tally)
}

fn read_link(text: &str) -> Option<LineLink> {
    let parts: Vec<&str> = unsummed(text)?.split(' ').collect();
    let [ts, LINK, old, new, by] = parts.as_slice() else { return None };
    Some(LineLink {
        ts: (*ts).to_owned(),
        old: old.parse().ok()?,
        new: new.parse().ok()?,
        by: by.parse().ok()?,
    })
}

fn read_row(text: &str) -> Option<LedgerRow> {
    let (words, evidence) = match text.split_once(" | ") {
        Some(_) => {
            let (words, evidence) = unsummed(text)?.split_once(" | ")?;
            (words, Some(evidence))
        }
        None => (text, None),
    };
    let parts: Vec<&str> = words.split(' ').collect();
    let (row, told) = parts.split_at_checked(6)?;
    let [ts, trajectory, signal, kind, cause, fragment] = row else { return None };
    let (by, proof) = match (told, evidence) {
        ([], None) => (Decider::Rule, None),
        ([by, event, hash], Some(evidence)) => {
            let proof = RowProof {
                event: (*event).to_owned(),
                fragment_hash: (*hash).to_owned(),
                evidence: evidence.to_owned(),
            };
            (by.parse().ok()?, Some(proof))
        }
        _ => return None,
    };
    Some(LedgerRow {
        ts: (*ts).to_owned(),
        trajectory: trajectory.parse().ok()?,
        signal: signal.parse().ok()?,
        kind: (*kind).to_owned(),
        root_cause: if *cause == "-" { None } else { Some(cause.parse().ok()?) },
        fragment: (*fragment).to_owned(),
        by,
        proof,
    })
}

/// A text with the sum over it.
fn summed(text: &str) -> String {
    format!("{text} #{}", short_digest(text))
}

/// The text before its sum, if that is the sum over it.
fn unsummed(text: &str) -> Option<&str> {
    let (said, sum) = text.rsplit_once(" #")?;
    (short_digest(said) == sum).then_some(said)
}

fn row_text(row: &LedgerRow) -> String {
    let LedgerRow { ts, trajectory, signal, kind, root_cause, fragment, by, proof } = row;
    let cause = root_cause.map_or("-", RootCause::as_str);
    let words = format!("{ts} {trajectory} {signal} {kind} {cause} {fragment}");
    match proof {
        None => words,
        Some(RowProof { event, fragment_hash, evidence }) => {
            summed(&format!("{words} {by} {event} {fragment_hash} | {evidence}"))
        }
    }
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
        text.push_str(&format!("- {}\n", row_text(row)));
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

    #[test]
    fn a_sparkline_goes_up_with_help_and_down_with_failure() {
        let drawn = |seen: &str| {
            let mut ledger = Ledger::default();
            for (at, what) in seen.chars().enumerate() {
                let trajectory = match what {
                    '+' => Trajectory::Strengthening,
                    '-' => Trajectory::Weakening,
                    _ => Trajectory::Neutral,
                };
                let ts = format!("2026-01-01T00:00:{at:02}.000Z");
                ledger.fold(&Fragment { ts, event: at.to_string(), ..fragment("a", trajectory) });
            }
            ledger.entry(&LineHash::of("a")).map(LineRecord::sparkline).unwrap_or_default()
        };
        assert_eq!(drawn(""), "");
        assert_eq!(drawn("oo"), "");
        assert_eq!(drawn("+o+-"), "▅▆▅");
        assert_eq!(drawn("-----"), "▃▂▁▁▁");
        assert_eq!(drawn(&"+".repeat(40)), "█".repeat(16));
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
        refused(|text| text.replacen("A person said so.", "A person said no.", 1), 12);
        refused(|text| text.replacen(" rule ", " judge:m:1 ", 1), 12);
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

    /// What a merge that keeps the lines of both sides makes of two files: blocks of either in
    /// turn, and what both have once or twice.
    fn union(one: &str, other: &str, turns: &[usize]) -> String {
        let (one, other): (Vec<&str>, Vec<&str>) = (one.lines().collect(), other.lines().collect());
        let (mut from_one, mut from_other) = (0_usize, 0_usize);
        let mut lines: Vec<&str> = vec![TITLE];
        for (at, count) in turns.iter().chain(&[usize::MAX, usize::MAX]).enumerate() {
            let (from, next) =
                if at % 2 == 0 { (&one, &mut from_one) } else { (&other, &mut from_other) };
            let end = next.saturating_add(*count).min(from.len());
            lines.extend(&from[*next..end]);
            *next = end;
        }
        lines.join("\n") + "\n"
    }

    #[test]
    fn a_ledger_of_an_earlier_version_is_read_and_learns_what_it_rests_on() {
        let now = folded(&some());
        let mut old = now.clone();
        let all = old.entries.values_mut().flat_map(|entry| entry.rows.values_mut());
        all.chain(old.unsaid.values_mut()).for_each(|row| row.proof = None);
        let text = old.render(&map());
        assert!(!text.contains(" | ") && !text.contains("rule"), "{text}");
        let mut read = Ledger::parse(&text).unwrap();
        assert_eq!(read, old);
        for fragment in some() {
            assert!(!read.fold(&fragment), "it is no new evidence");
        }
        assert_eq!(read, now);
    }

    #[test]
    fn a_rewritten_line_is_linked_to_what_it_was() {
        let mut ledger = folded(&some());
        let [a, b, c] = ["a", "b", "c"].map(LineHash::of);
        let link = |ts: &str, old: &LineHash, new: &LineHash| LineLink {
            ts: ts.into(),
            old: old.clone(),
            new: new.clone(),
            by: Decider::judge("m", "1"),
        };
        ledger.link(link("1", &a, &b));
        ledger.link(link("2", &b, &c));
        assert_eq!(Ledger::parse(&ledger.render(&map())).unwrap(), ledger);
        assert_eq!(ledger.predecessors(&c), [b.clone(), a.clone()]);
        ledger.link(link("3", &c, &a));
        assert_eq!(ledger.predecessors(&c), [b, a]);
    }

    proptest! {
        #[test]
        fn any_union_of_two_ledgers_is_the_ledger_of_both(
            picks in prop::collection::vec((0_usize..4, 0_usize..4, 0_u32..5, any::<bool>(), any::<bool>()), 0..20),
            turns in prop::collection::vec(0_usize..9, 0..9),
        ) {
            let texts = ["Run the tests", "Ask first", "gone", "also gone"];
            let (mut one, mut other) = (Ledger::default(), Ledger::default());
            for (text, trajectory, event, here, by_judge) in picks {
                let fragment = Fragment {
                    event: format!("event{event}"),
                    by: if by_judge { Decider::judge("m", "1") } else { Decider::Rule },
                    ..fragment(texts[text], Trajectory::ALL[trajectory])
                };
                let ledger = if here { &mut one } else { &mut other };
                ledger.fold(&fragment);
            }
            one.refresh(&map());
            other.refresh(&map());
            let mut both = one.clone();
            both.join(other.clone());
            let mut reversed = other.clone();
            reversed.join(one.clone());
            prop_assert_eq!(&reversed, &both);
            let merged = union(&one.render(&map()), &other.render(&map()), &turns);
            prop_assert_eq!(Ledger::parse(&merged).unwrap(), both);
        }

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
