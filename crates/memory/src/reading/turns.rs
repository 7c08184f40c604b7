//! Turns: the events of one session in order, as far as they concern lines.
//!
//! A line has helped where its trigger was there and what it asks for was done afterwards; that
//! takes several events, most of them Spore's own. So of each session it is kept which lines its
//! people touched, what its trace shows of them since, and whether a person had to put it right.
//! Only an event from outside ever becomes evidence: the one that had the trigger, or the one
//! that closed the turn.
//!
//! What is kept has hashes and ids and no words, so that it may lie beside the scanner's state: a
//! scan that ends in the middle of a turn is gone on with by the next one, and where the events
//! were cut decides nothing (test: `where_a_scan_was_cut_decides_nothing`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::fragment::short_digest;
use crate::lines::LineHash;
use crate::reading::matcher::trace::{ACTED, AGAINST, OPENED};

/// How many sessions are followed at once; the ones not heard of for longest are let go.
const MOST: usize = 256;
/// How many lines of one session are.
const LINES: usize = 64;

/// The sessions that are followed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Turns {
    /// By a digest of the session's key.
    turns: BTreeMap<String, SessionTurn>,
    /// Goes up with every event of a session.
    clock: u64,
}

/// One session, as far as it concerns lines.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SessionTurn {
    heard: u64,
    /// The run that was begun last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    lines: BTreeMap<LineHash, LineTurn>,
    /// Whether its tools are known at all.
    #[serde(default)]
    traced: bool,
}

/// What happened to a line in a turn.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LineTurn {
    /// What the trace shows since the trigger, see [`crate::reading::matcher::trace`].
    shown: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trigger: Option<TurnTrigger>,
}

/// The event that had a line's trigger.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct TurnTrigger {
    pub(crate) event: String,
    pub(crate) ts: String,
    /// Empty for a task: it came as an event of Spore's own, which is no source.
    pub(crate) kind: String,
    #[serde(rename = "type")]
    pub(crate) what: String,
    /// Of the run whose task files may have carried the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<String>,
}

impl TurnTrigger {
    pub(crate) fn is_external(&self) -> bool {
        !self.kind.is_empty()
    }
}

impl Turns {
    /// Reads what an earlier pass left. What cannot be read is nothing: evidence is missed then,
    /// and none is made up.
    pub fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    pub fn render(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    pub(crate) fn get(&self, session: Option<&str>) -> Option<&SessionTurn> {
        self.turns.get(&short_digest(session?))
    }

    fn turn(&mut self, session: &str) -> &mut SessionTurn {
        self.clock += 1;
        let key = short_digest(session);
        if self.turns.len() >= MOST && !self.turns.contains_key(&key) {
            let oldest = self.turns.iter().min_by_key(|(_, turn)| turn.heard);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.turns.remove(&oldest);
            }
        }
        let turn = self.turns.entry(key).or_default();
        turn.heard = self.clock;
        turn
    }

    /// A line's trigger was there. What the trace showed before was not because of it.
    pub(crate) fn trigger(&mut self, session: &str, line: &LineHash, trigger: TurnTrigger) {
        let turn = self.turn(session);
        if turn.lines.len() < LINES || turn.lines.contains_key(line) {
            turn.lines.insert(line.clone(), LineTurn { shown: 0, trigger: Some(trigger) });
        }
    }

    /// A run was begun in the session.
    pub(crate) fn begin(&mut self, session: &str, run: &str) {
        self.turn(session).run = Some(run.to_owned());
    }

    /// The session's tools are known from here on.
    pub(crate) fn trace(&mut self, session: &str) {
        self.turn(session).traced = true;
    }

    /// The trace shows something of a line.
    pub(crate) fn show(&mut self, session: &str, line: &LineHash, shown: u8) {
        let turn = self.turn(session);
        if turn.lines.len() < LINES || turn.lines.contains_key(line) {
            turn.lines.entry(line.clone()).or_default().shown |= shown;
        }
    }

    /// A person had to put right what the line is about: it has not helped.
    pub(crate) fn correct(&mut self, session: &str, line: &LineHash) {
        if let Some(known) = self.turns.get_mut(&short_digest(session)) {
            known.lines.remove(line);
        }
    }

    /// Closes what a session's people, or the commit that came of it, leave standing: returns the
    /// lines whose trigger was there and whose action followed, but for those in `but`. A task's
    /// trigger counts only where `work_stands`.
    pub(crate) fn close(
        &mut self,
        session: &str,
        but: &dyn Fn(&LineHash) -> bool,
        work_stands: bool,
    ) -> Vec<(LineHash, TurnTrigger)> {
        let Some(turn) = self.turns.get_mut(&short_digest(session)) else { return Vec::new() };
        let mut helped = Vec::new();
        for (hash, line) in &mut turn.lines {
            let followed = line.shown & ACTED != 0 && line.shown & AGAINST == 0;
            let counts =
                line.trigger.as_ref().is_some_and(|trigger| trigger.is_external() || work_stands);
            if followed && counts && !but(hash) {
                helped.extend(line.trigger.take().map(|trigger| (hash.clone(), trigger)));
            }
        }
        helped
    }
}

impl SessionTurn {
    /// Whether an agent's tools were seen in the session.
    pub(crate) fn is_traced(&self) -> bool {
        self.traced
    }

    /// Returns the run that was begun last.
    pub(crate) fn run(&self) -> Option<&str> {
        self.run.as_deref()
    }

    /// Whether the trace shows that the line was followed to the letter.
    pub(crate) fn followed(&self, line: &LineHash) -> bool {
        self.shown(line) & (ACTED | AGAINST) == ACTED
    }

    /// Whether the trace shows that what the line warns of was done.
    pub(crate) fn went_against(&self, line: &LineHash) -> bool {
        self.shown(line) & AGAINST != 0
    }

    /// Whether the trace is known, and shows no dossier of the line's.
    pub(crate) fn opened_nothing(&self, line: &LineHash) -> bool {
        self.traced && self.shown(line) & OPENED == 0
    }

    fn shown(&self, line: &LineHash) -> u8 {
        self.lines.get(line).map_or(0, |line| line.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trigger(kind: &str) -> TurnTrigger {
        TurnTrigger {
            event: "e".into(),
            ts: "t".into(),
            kind: kind.into(),
            what: "chat.message".into(),
            run: None,
        }
    }

    /// `t` trigger of a person, `i` of a task, `a` acted, `x` acted against, `c` corrected; then
    /// how many lines are closed as having helped, by a person and by a commit.
    #[track_caller]
    fn check(deeds: &str, by_person: usize, by_commit: usize) {
        let line = LineHash::of("a");
        let mut turns = Turns::default();
        for deed in deeds.chars() {
            match deed {
                't' => turns.trigger("s", &line, trigger("human")),
                'i' => turns.trigger("s", &line, trigger("")),
                'a' => turns.show("s", &line, ACTED),
                'x' => turns.show("s", &line, AGAINST),
                _ => turns.correct("s", &line),
            }
            turns = Turns::read(&turns.render());
        }
        for (work_stands, expected) in [(false, by_person), (true, by_commit)] {
            let mut turns = turns.clone();
            assert_eq!(turns.close("s", &|_| false, work_stands).len(), expected, "{deeds}");
            assert_eq!(turns.close("s", &|_| false, work_stands), [], "closed once");
            assert_eq!(turns.close("other", &|_| false, work_stands), []);
        }
    }

    #[test]
    fn a_line_helped_where_its_action_followed_its_trigger_and_nobody_objected() {
        check("ta", 1, 1);
        check("ia", 0, 1);
        check("t", 0, 0);
        check("a", 0, 0);
        check("at", 0, 0);
        check("tax", 0, 0);
        check("tac", 0, 0);
        check("tacta", 1, 1);
    }

    #[test]
    fn the_sessions_not_heard_of_for_longest_are_let_go() {
        let mut turns = Turns::default();
        for session in 0..=MOST {
            turns.trigger(&session.to_string(), &LineHash::of("a"), trigger("human"));
        }
        assert_eq!(turns.turns.len(), MOST);
        assert!(turns.get(Some("0")).is_none() && turns.get(Some("1")).is_some());
    }
}
