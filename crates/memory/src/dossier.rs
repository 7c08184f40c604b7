//! Dossiers: a page for each entity and topic that lines point to, and for what came up again
//! though no line says it.
//!
//! A page holds what is on record: which lines point to it, how they did, and what was seen, in the
//! words of the events, with where it is from. That stands in a block of ours. What people write
//! around the block is theirs, and a page without the block is theirs altogether: neither is ever
//! touched.

use std::collections::{BTreeMap, BTreeSet};

use spore_plain::line_within;

use crate::cues::{DossierKind, DossierPointer};
use crate::evidence::{EvidenceSignal, RootCause, Trajectory};
use crate::fragment::short_digest;
use crate::ledger::{Ledger, LedgerRow};
use crate::lines::{LineHash, LineMap};
use crate::markers::{block, put_block};
use crate::signals::{self, own_words};

/// The block of a page that is ours.
const BLOCK: &str = "evidence";
/// How many pieces of evidence a page shows, the newest first.
const ROWS: usize = 40;

/// What is known about an entity or a topic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DossierPage<'a> {
    pub pointer: DossierPointer,
    /// The lines that point to it, as they are or were.
    lines: Vec<(LineHash, String, bool)>,
    /// Oldest first.
    rows: Vec<&'a LedgerRow>,
}

impl DossierPage<'_> {
    /// Returns its path below the memory's directory.
    pub fn path(&self) -> String {
        self.pointer.dossier()
    }

    /// Whether a line of the file points to it.
    pub fn is_pointed_to(&self) -> bool {
        self.lines.iter().any(|(_, _, there)| *there)
    }

    /// Whether lines point, or pointed, to it at all.
    pub fn has_lines(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Returns the page as it should be; nothing where it is people's own.
    pub fn render(&self, existing: Option<&str>) -> Option<String> {
        let DossierPointer { kind, slug } = &self.pointer;
        let head = format!("---\nkind: {}\nslug: {slug}\n---\n\n# {slug}\n", kind.as_str());
        let text = match existing {
            None => head,
            Some(text) if is_old_stub(text) => head,
            Some(text) => match block(text, BLOCK) {
                Ok(Some(_)) => text.to_owned(),
                _ => return None,
            },
        };
        put_block(&text, BLOCK, &self.content()).ok()
    }

    fn content(&self) -> String {
        let mut text = match (self.rows.first(), self.rows.last()) {
            (Some(first), Some(last)) => {
                let tests = |row: &&&LedgerRow| row.signal != EvidenceSignal::Restored;
                let count = |trajectory| {
                    let rows = self.rows.iter().filter(tests);
                    rows.filter(|row| row.trajectory == trajectory).count()
                };
                let seen = match self.rows.len() {
                    1 => format!("Seen once, on {}", day(&first.ts)),
                    times => {
                        format!("Seen {times} times, {} to {}", day(&first.ts), day(&last.ts))
                    }
                };
                format!(
                    "{seen}: {} helped, {} missed, {} waiting, {} that no line says.\n",
                    count(Trajectory::Strengthening),
                    count(Trajectory::Weakening),
                    count(Trajectory::Neutral),
                    count(Trajectory::NewSignal),
                )
            }
            _ => "Nothing was seen yet.\n".to_owned(),
        };
        if !self.lines.is_empty() {
            text.push_str("\n## Lines that point here\n\n");
        }
        for (hash, words, there) in &self.lines {
            let gone = if *there { "" } else { " (no longer in memory/CLAUDE.md)" };
            text.push_str(&format!("- `{hash}`{gone} {}\n", line_within(words, 300)));
        }
        if !self.rows.is_empty() {
            text.push_str("\n## What was seen\n\n");
        }
        for row in self.rows.iter().rev().take(ROWS) {
            let cause = row.root_cause.map_or("", RootCause::as_str);
            let cause = if cause.is_empty() { String::new() } else { format!(" ({cause})") };
            let words = own_words(row).map(|words| format!(" “{words}”")).unwrap_or_default();
            text.push_str(&format!(
                "- {} {} from {}, by {}{cause}:{words} [{}]\n",
                day(&row.ts),
                row.trajectory,
                row.kind,
                row.by,
                row.fragment
            ));
        }
        text
    }
}

/// The day of a time.
fn day(ts: &str) -> &str {
    ts.get(..10).unwrap_or(ts)
}

/// What an earlier version made for a dossier that was missing.
fn is_old_stub(text: &str) -> bool {
    text.starts_with("---\n")
        && text.contains("\nstatus: stub\n---\n\n# ")
        && text.contains("\n\nNothing is known yet but that memory/CLAUDE.md points here:\n")
}

/// Returns the pages that there should be: those that lines point to, in the order of the lines,
/// then those of what came up more than once.
pub fn pages<'a>(map: &LineMap, ledger: &'a Ledger) -> Vec<DossierPage<'a>> {
    let mut order: Vec<DossierPointer> = Vec::new();
    let mut lines: BTreeMap<DossierPointer, Vec<(LineHash, String, bool)>> = BTreeMap::new();
    let mut add = |pointer: DossierPointer, hash: &LineHash, text: &str, there: bool| {
        let known = lines.entry(pointer.clone()).or_default();
        if known.is_empty() {
            order.push(pointer);
        }
        if known.iter().all(|(one, ..)| one != hash) {
            known.push((hash.clone(), text.to_owned(), there));
        }
    };
    for line in map.lines() {
        for pointer in &line.cues.pointers {
            add(pointer.clone(), &line.hash, &line.text, true);
        }
    }
    for (hash, record) in ledger.entries().filter(|(hash, _)| map.by_hash(hash).is_none()) {
        for pointer in DossierPointer::all_in(&record.text) {
            add(pointer, hash, &record.text, false);
        }
    }
    let mut all: Vec<DossierPage<'a>> = Vec::new();
    for pointer in order {
        let lines = lines.remove(&pointer).unwrap_or_default();
        let mut rows: Vec<&LedgerRow> = Vec::new();
        for (hash, ..) in &lines {
            rows.extend(ledger.entry(hash).into_iter().flat_map(|entry| entry.rows()));
        }
        let named = pointer.to_string();
        let says = |row: &&LedgerRow| own_words(row).is_some_and(|words| words.contains(&named));
        rows.extend(ledger.unsaid().filter(says));
        rows.sort_by(|a, b| a.fragment.cmp(&b.fragment));
        all.push(DossierPage { pointer, lines, rows });
    }
    let mut taken: BTreeSet<DossierPointer> = all.iter().map(|page| page.pointer.clone()).collect();
    for group in signals::group(ledger).into_iter().filter(|group| group.times() >= 2) {
        let words = group.rows.first().and_then(|row| own_words(row)).unwrap_or_default();
        let pointer = DossierPointer { kind: DossierKind::Topic, slug: slug(&words) };
        if taken.insert(pointer.clone()) {
            all.push(DossierPage { pointer, lines: Vec::new(), rows: group.rows });
        }
    }
    all
}

/// A name for what was said, by its first words of some length; it is the same for ever, because
/// the first remark stays the first.
fn slug(words: &str) -> String {
    let lower = words.to_lowercase();
    let long = lower
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| word.len() > 3)
        .take(4)
        .collect::<Vec<_>>()
        .join("-");
    let long: String = long.chars().take(60).collect();
    if long.is_empty() { format!("said-{}", short_digest(words)) } else { long }
}

/// Returns the dossiers that lines point to and that do not exist, by path.
pub fn missing(map: &LineMap, exists: &dyn Fn(&DossierPointer) -> bool) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for pointer in map.lines().iter().flat_map(|line| &line.cues.pointers) {
        if !exists(pointer) && !found.contains(&pointer.dossier()) {
            found.push(pointer.dossier());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::EvidenceSignal;
    use crate::fragment::Fragment;
    use crate::fragment::tests::fragment;

    const FILE: &str = "- Ask [[entity-ada]] about [[topic-numbers]]\n- [[entity-ada]] is away on Fridays\n- See [[topic-there]]\n";

    fn said(event: &str, words: &str) -> Fragment {
        Fragment {
            event: event.into(),
            signal: EvidenceSignal::Preference,
            evidence: vec!["An event.".into(), format!("In its own words: “{words}”")],
            ..fragment("", Trajectory::NewSignal)
        }
    }

    fn book() -> Ledger {
        let mut ledger = Ledger::default();
        let missed = Fragment {
            ts: "2026-03-01T00:00:00.000Z".into(),
            root_cause: Some(RootCause::DirectionWrong),
            evidence: vec!["Seen.".into(), "In its own words: “Ada left”".into()],
            ..fragment("[[entity-ada]] is away on Fridays", Trajectory::Weakening)
        };
        for one in [
            missed,
            said("a", "Please squash commits before merging"),
            said("b", "squash all commits before merging please"),
        ] {
            ledger.fold(&one);
        }
        ledger
    }

    #[test]
    fn a_page_says_what_is_on_record() {
        let (map, ledger) = (LineMap::read(FILE), book());
        let all = pages(&map, &ledger);
        let paths: Vec<String> = all.iter().map(DossierPage::path).collect();
        assert_eq!(
            paths,
            [
                "entities/ada.md",
                "topics/numbers.md",
                "topics/there.md",
                "topics/please-squash-commits-before.md"
            ]
        );
        insta::assert_snapshot!(format!(
            "{}\n----\n{}\n----\n{}",
            all[0].render(None).unwrap(),
            all[1].render(None).unwrap(),
            all[3].render(None).unwrap()
        ));
    }

    #[test]
    fn what_people_wrote_is_never_touched() {
        let (map, ledger) = (LineMap::read(FILE), book());
        let page = &pages(&map, &ledger)[0];
        assert_eq!(page.render(Some("# Ada\n\nShe knows the build.\n")), None);
        let made = page.render(None).unwrap();
        assert_eq!(page.render(Some(&made)), Some(made.clone()));
        let noted = made.replace("# ada\n", "# ada\n\nShe knows the build.\n") + "\nAsk her.\n";
        let old = pages(&map, &Ledger::default())[0].render(Some(&noted)).unwrap();
        assert!(old.contains("She knows the build.") && old.ends_with("\nAsk her.\n"));
        assert_eq!(page.render(Some(&old)), Some(noted));
        let stub = "---\nkind: entity\nslug: ada\nstatus: stub\n---\n\n# ada\n\nNothing is known yet but that memory/CLAUDE.md points here:\n\n- line `2ad86029692a`\n";
        assert_eq!(page.render(Some(stub)), Some(made));
    }

    #[test]
    fn what_lines_point_to_and_is_not_there_is_missing() {
        let there = |pointer: &DossierPointer| pointer.slug == "there";
        let gone = missing(&LineMap::read(FILE), &there);
        assert_eq!(gone, ["entities/ada.md", "topics/numbers.md"]);
    }
}
