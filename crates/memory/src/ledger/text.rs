//! The ledger as the Markdown file that people read, commit and merge.

use std::collections::HashSet;

use spore_plain::line_within;

use super::book::{BadLedger, EvidenceTally, Ledger, LineLink, LineRecord};
use super::row::{LedgerRow, read_row, row_text, summed, unsummed};
use crate::evidence::RootCause;
use crate::lines::{LineHash, LineMap, LinePlace};

pub(super) const TITLE: &str = "# Effectiveness of memory/CLAUDE.md";
const PREAMBLE: &str = "\
Written by `spore memory crystallize`: one section a line, one row a piece of evidence. The hash
says which line it is; its number is only where it stood the last time. A file that says more is refused.";
pub(super) const GONE: &str = "no longer in memory/CLAUDE.md";
const UNSAID: &str = "## no line says it yet";
const REWRITTEN: &str = "## rewritten lines";
/// The second word of a row that links a line to what it was rewritten to.
const LINK: &str = "REWRITTEN";

impl Ledger {
    /// Writes the ledger as it stands beside `map`.
    pub fn render(&self, map: &LineMap) -> String {
        let mut text = format!("{TITLE}\n\n{PREAMBLE}\n");
        let mut written: HashSet<&LineHash> = HashSet::new();
        for line in map.lines().iter().filter(|line| !line.is_lesson()) {
            if let Some(entry) = self.entries.get(&line.hash)
                && written.insert(&line.hash)
            {
                section(&mut text, &line.reference(), &line.hash, entry);
            }
        }
        // Lessons stand in the order of their ids: who wrote the file may not know them all.
        let rest = self.entries.iter().filter(|(hash, _)| !written.contains(hash));
        let mut rest: Vec<(&LineHash, &LineRecord)> = rest.collect();
        rest.sort_by_key(|(hash, entry)| (entry.lesson.is_none(), entry.lesson.as_ref(), *hash));
        for (hash, entry) in rest {
            let place = entry.lesson.clone().map(LinePlace::Lesson);
            let name = place.map_or_else(|| GONE.to_owned(), |place| place.to_string());
            section(&mut text, &name, hash, entry);
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
                LedgerLine::Section(name, hash) => {
                    let entry = ledger.entries.entry(hash).or_default();
                    let place: Option<LinePlace> = name.parse().ok();
                    let lesson = place.as_ref().and_then(LinePlace::lesson);
                    lesson.into_iter().for_each(|id| entry.name_lesson(id));
                }
                LedgerLine::Heading | LedgerLine::Tally => {}
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
}

enum LedgerLine<'a> {
    /// With the name and the hash of the line that it is about.
    Section(&'a str, LineHash),
    /// Of rows that are about no line.
    Heading,
    Text(&'a str),
    /// Follows from the rows.
    Tally,
    Row(LedgerRow),
    Link(LineLink),
}

fn read_line(line: &str) -> Option<LedgerLine<'_>> {
    if line == UNSAID || line == REWRITTEN {
        return Some(LedgerLine::Heading);
    }
    if let Some(rest) = line.strip_prefix("## ") {
        let (name, hash) = rest.strip_suffix('`')?.rsplit_once(" `")?;
        let is_known = name == GONE || name.parse::<LinePlace>().is_ok();
        let hash = hash.parse().ok().filter(|_| is_known)?;
        return Some(LedgerLine::Section(name, hash));
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

fn section(text: &mut String, name: &str, hash: &LineHash, entry: &LineRecord) {
    text.push_str(&format!("\n## {name} `{hash}`\n\n"));
    if !entry.text.is_empty() {
        text.push_str(&format!("> {}\n\n", entry.text));
    }
    let EvidenceTally { helped, missed, waiting } = entry.tally();
    text.push_str(&format!("{helped} helped, {missed} missed, {waiting} waiting"));
    for cause in RootCause::ALL.iter().copied() {
        let rows = entry.rows.values().filter(|row| row.root_cause == Some(cause)).count();
        if rows > 0 {
            text.push_str(&format!("; {rows} {cause}"));
        }
    }
    if let Some((first, last)) = entry.seen() {
        text.push_str(&format!("; seen {first} to {last}"));
    }
    text.push_str("\n\n");
    rows(text, entry.rows.values());
}

fn is_tally(line: &str) -> bool {
    let is_count = |word: &&str| word.parse::<u32>().is_ok();
    let mut parts = line.split("; ");
    let counts: Vec<&str> = parts.next().unwrap_or_default().split(' ').collect();
    // Files of an earlier version have no more than the counts.
    let is_known = |part: &str| match part.split(' ').collect::<Vec<_>>().as_slice() {
        ["seen", _, "to", _] => true,
        [count, cause] => is_count(count) && cause.parse::<RootCause>().is_ok(),
        _ => false,
    };
    matches!(counts.as_slice(), [a, "helped,", b, "missed,", c, "waiting"]
        if [a, b, c].into_iter().all(is_count))
        && parts.all(is_known)
}

fn rows<'a>(text: &mut String, rows: impl Iterator<Item = &'a LedgerRow>) {
    for row in rows {
        text.push_str(&format!("- {}\n", row_text(row)));
    }
}

fn bad(at: usize, line: &str) -> BadLedger {
    BadLedger { line: at + 1, what: line_within(line, 80) }
}
