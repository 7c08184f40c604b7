//! What no rule could decide, kept for a judge: places on the spine, and no user content.
//!
//! Of each line the newest touches are kept and the older ones counted. One JSON line each,
//! in the order in which they were met.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use spore_store::spine::Cursor;

use crate::lines::LineHash;
use crate::reading::matcher::Relation;

/// An event that touches a line, or none, without settling anything.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Touch {
    pub event: String,
    pub ts: String,
    pub kind: String,
    #[serde(rename = "type")]
    pub what: String,
    /// Where to read it.
    pub at: Cursor,
    /// The directory of event files that is meant; the project's own where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<String>,
    /// `None` where a person said something that touches no line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<LineHash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relation: Option<Relation>,
}

/// An event and the line that it touches.
pub type TouchKey = (String, Option<LineHash>);

/// Touches by line, bounded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pending {
    most: usize,
    by_line: BTreeMap<Option<LineHash>, VecDeque<Touch>>,
    /// How many older ones were let go.
    older: u64,
}

impl Pending {
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), ..Self::default() }
    }

    /// Reads what was kept; returns the number of lines that could not be read.
    pub fn read(text: &str, most: usize) -> (Self, u32) {
        let mut pending = Self::new(most);
        let mut unread = 0;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match serde_json::from_str::<PendingLine>(line) {
                Ok(PendingLine::Touch(touch)) => pending.add(touch),
                Ok(PendingLine::Older { older }) => pending.older += older,
                Err(_) => unread += 1,
            }
        }
        (pending, unread)
    }

    pub fn render(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        if self.older > 0 {
            lines.extend(serde_json::to_string(&PendingLine::Older { older: self.older }));
        }
        lines.extend(self.touches().filter_map(|touch| serde_json::to_string(touch).ok()));
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    pub fn add(&mut self, touch: Touch) {
        let kept = self.by_line.entry(touch.line.clone()).or_default();
        let known = |old: &&mut Touch| {
            old.at.offset == touch.at.offset
                && old.event == touch.event
                && old.at == touch.at
                && old.events == touch.events
        };
        if kept.iter_mut().rev().find(known).is_some() {
            return;
        }
        kept.push_back(touch);
        if kept.len() > self.most {
            kept.pop_front();
            self.older += 1;
        }
    }

    /// Says in which directory of event files all of them are, where that is not the project's own.
    pub fn lie_in(&mut self, events: &str) {
        for touch in self.by_line.values_mut().flatten() {
            touch.events = Some(events.to_owned());
        }
    }

    /// Takes in what a later pass found.
    pub fn extend(&mut self, later: &Self) {
        self.older += later.older;
        for touch in later.touches() {
            self.add(touch.clone());
        }
    }

    /// Lets go of touches that evidence has settled since.
    pub fn settle(&mut self, settled: &BTreeSet<TouchKey>) {
        for (line, kept) in &mut self.by_line {
            kept.retain(|touch| !settled.contains(&(touch.event.clone(), line.clone())));
        }
        self.by_line.retain(|_, kept| !kept.is_empty());
    }

    /// Returns all of them: those of no line first, then line by line, each oldest first.
    pub fn touches(&self) -> impl Iterator<Item = &Touch> {
        self.by_line.values().flatten()
    }

    pub fn of_line(&self, line: &LineHash) -> impl Iterator<Item = &Touch> {
        self.by_line.get(&Some(line.clone())).into_iter().flatten()
    }

    pub fn len(&self) -> usize {
        self.by_line.values().map(VecDeque::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn older(&self) -> u64 {
        self.older
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum PendingLine {
    Older { older: u64 },
    Touch(Touch),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(event: u32, line: Option<&str>) -> Touch {
        Touch {
            event: event.to_string(),
            ts: "2026-01-01T00:00:00.000Z".into(),
            kind: "human".into(),
            what: "chat.message".into(),
            at: Cursor { partition: "2026-01-01".into(), offset: event.into() },
            events: None,
            line: line.map(LineHash::of),
            relation: line.map(|_| Relation::Cue),
        }
    }

    #[test]
    fn the_newest_are_kept_and_the_older_counted() {
        let mut pending = Pending::new(2);
        for event in 1..=5 {
            pending.add(touch(event, Some("a")));
        }
        pending.add(touch(5, Some("b")));
        pending.add(touch(5, Some("a")));
        pending.add(touch(6, None));
        let kept: Vec<&str> = pending.touches().map(|touch| touch.event.as_str()).collect();
        assert_eq!((kept.len(), pending.older()), (4, 3));
        assert_eq!(pending.of_line(&LineHash::of("a")).count(), 2);
        let (read, unread) = Pending::read(&format!("{}\ngarbage\n", pending.render()), 2);
        assert_eq!((read, unread), (pending, 1));
    }

    #[test]
    fn a_later_pass_adds_to_it_and_evidence_takes_away() {
        let mut pending = Pending::new(9);
        pending.add(touch(1, Some("a")));
        let mut later = Pending::new(9);
        later.add(touch(1, Some("a")));
        later.add(touch(2, Some("a")));
        pending.extend(&later);
        assert_eq!(pending.len(), 2);
        pending.settle(&BTreeSet::from([("1".to_owned(), Some(LineHash::of("a")))]));
        assert_eq!(pending.len(), 1);
    }
}
