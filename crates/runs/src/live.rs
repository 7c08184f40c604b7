//! What a session or a check does at this moment.
//!
//! The process that attends it writes this down a few times a second, in a file of its own that
//! another process can read at any time. It is no part of the record: it may be lost, it is gone
//! when the session ends, and nothing is ever decided by it. A reader holds it against the
//! journal first: of a session that is not on record as running nothing is believed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spore_model::{Cost, RunId, Timestamp};

use crate::applied::Applied;

/// Knows of runs what only the machine knows that they are worked on.
pub trait Presence {
    /// Returns whether a live process works on the run.
    fn is_alive(&self, run: RunId) -> bool;

    /// Returns what was last written down of the sessions and checks below `root`, in any order.
    fn live(&self, root: RunId) -> Vec<Live>;

    /// Returns whether a person has brought in, or thrown away, work that could not be applied.
    fn is_settled(&self, _work: &Applied) -> bool {
        false
    }

    /// Returns the refs that keep what sessions of the run left which were cut short, by name.
    fn left(&self, _root: RunId) -> Vec<String> {
        Vec::new()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LiveKind {
    Session,
    Gates,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Live {
    /// The run of the session, or of the checks.
    pub id: RunId,
    pub kind: LiveKind,
    /// What people call it: a role, a stage, a check.
    pub name: String,
    pub started: Timestamp,
    pub updated: Timestamp,
    #[serde(default)]
    pub turns: u32,
    /// What it cost so far, as far as the agent told.
    #[serde(default)]
    pub cost: Cost,
    /// The tool that is running, or what was said last; one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doing: Option<String>,
    /// How many lines there were so far.
    #[serde(default)]
    pub lines: u32,
    /// The last of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent: Vec<String>,
    /// How many of its tool calls were refused.
    #[serde(default)]
    pub refused: u32,
}

impl Live {
    /// How many lines are kept for a reader that looks a few times a second.
    const RECENT: usize = 24;

    pub fn new(id: RunId, kind: LiveKind, name: &str, now: Timestamp) -> Self {
        Self {
            id,
            kind,
            name: spore_plain::line_within(name, 60),
            started: now,
            updated: now,
            turns: 0,
            cost: Cost::default(),
            doing: None,
            lines: 0,
            recent: Vec::new(),
            refused: 0,
        }
    }

    /// Adds a line that is worth telling.
    pub fn tell(&mut self, line: &str) {
        self.lines = self.lines.saturating_add(1);
        if self.recent.len() >= Self::RECENT {
            self.recent.remove(0);
        }
        self.recent.push(spore_plain::line_within(line, 200));
    }

    /// Returns the lines that came after the first `seen`, as far as they are kept.
    pub fn lines_after(&self, seen: u32) -> &[String] {
        let new = usize::try_from(self.lines.saturating_sub(seen)).unwrap_or(usize::MAX);
        &self.recent[self.recent.len().saturating_sub(new)..]
    }

    /// Returns the line that stands for it while it lasts: how long, how far, for how much, and
    /// what it does now.
    pub fn line(&self, elapsed: std::time::Duration) -> String {
        let mut parts = vec![time_in_words(elapsed)];
        if self.kind == LiveKind::Session {
            let ending = if self.turns == 1 { "" } else { "s" };
            parts.push(format!("{} turn{ending}", self.turns));
            parts.push(self.cost.to_string());
        }
        if self.refused > 0 {
            parts.push(format!("{} refused", self.refused));
        }
        parts.extend(self.doing.clone());
        format!("{}: {}", self.name, parts.join(" · "))
    }
}

/// Returns a time as people say it while they wait.
pub fn time_in_words(time: std::time::Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use spore_model::Usd;

    use super::*;

    fn live(kind: LiveKind) -> Live {
        Live::new(RunId::from_parts(0, 1), kind, "coder", Timestamp::from_millis(0))
    }

    #[test]
    fn a_line_says_how_long_how_far_for_how_much_and_what_now() {
        let mut session = live(LiveKind::Session);
        let at = |seconds| Duration::from_secs(seconds);
        assert_eq!(session.line(at(3)), "coder: 3 s · 0 turns · $0.00");
        session.turns = 1;
        session.cost = Cost::estimated(Usd::from_nanos(120_000_000));
        session.doing = Some("Edit src/a.rs".to_owned());
        session.refused = 2;
        assert_eq!(
            session.line(at(72)),
            "coder: 1 min 12 s · 1 turn · ~$0.12 · 2 refused · Edit src/a.rs"
        );
        let mut gates = live(LiveKind::Gates);
        gates.doing = Some("cargo test".to_owned());
        assert_eq!(gates.line(at(3700)), "coder: 1 h 01 min · cargo test");
    }

    #[test]
    fn a_reader_gets_each_line_once_and_never_one_that_is_gone() {
        let mut session = live(LiveKind::Session);
        for number in 1..=30 {
            session.tell(&number.to_string());
        }
        assert_eq!(session.lines_after(28), ["29", "30"]);
        assert_eq!(session.lines_after(30), [] as [&str; 0]);
        assert_eq!(session.lines_after(0).len(), Live::RECENT);
        assert_eq!(session.lines_after(99), [] as [&str; 0]);
    }
}
