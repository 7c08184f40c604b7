//! Turns: the events of one session in order, as far as they concern lines.
//!
//! A line has helped where its trigger was there and what it asks for was done afterwards; that
//! takes several events, most of them Spore's own. So of each session it is kept which lines its
//! people touched, what its trace shows of them since, and whether a person had to put it right.
//! Only an event from outside ever becomes evidence: the one that had the trigger, or the one
//! that closed the turn.
//!
//! All runs of a tree have one session key, but each works on a task of its own: the tasks of a
//! list, the runs of a race. So within a session a turn is kept for each run, and what one run was
//! asked, another did and a third committed is never put together. What belongs to no run is a
//! turn as well.
//!
//! What is kept has hashes and ids and no words, so that it may lie beside the scanner's state: a
//! scan that ends in the middle of a turn is gone on with by the next one, and where the events
//! were cut decides nothing (test: `where_a_scan_was_cut_decides_nothing`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::fragment::short_digest;
use crate::lines::LineHash;
use crate::reading::matcher::trace::{ACTED, AGAINST, NEXT, OPENED, USED};

/// How many sessions are followed at once; the ones not heard of for longest are let go.
const MOST: usize = 256;
/// How many lines of one run are.
const LINES: usize = 64;
/// How many runs of one session are; their ids sort by time, and the oldest is let go.
const RUNS: usize = 32;

/// The sessions that are followed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Turns {
    /// By a digest of the session's key.
    turns: BTreeMap<String, SessionTurn>,
    /// Goes up with every event of a session.
    clock: u64,
}

/// The open turns of each directory of events, as they are kept between scans.
///
/// They hold for one place of the spine: where a scan begins anywhere else, they are of events that
/// it is about to read again, or of others. So a scan that keeps the place keeps the turns' mark with it,
/// and turns with another mark are none.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct OpenTurns {
    places: BTreeMap<String, Turns>,
}

impl OpenTurns {
    /// Reads what is kept. What cannot be read is nothing: evidence is missed then, and none is made
    /// up.
    pub fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    pub fn render(&self) -> String {
        match self.places.is_empty() {
            true => String::new(),
            false => serde_json::to_string(self).unwrap_or_default() + "\n",
        }
    }

    /// Returns the turns of a directory that has this mark; none where it has another.
    pub fn of(&self, place: &str, mark: Option<&str>) -> Turns {
        let kept = self.places.get(place).cloned().unwrap_or_default();
        if kept.mark().as_deref() == mark { kept } else { Turns::default() }
    }

    pub fn keep(&mut self, place: &str, turns: Turns) {
        match turns.is_empty() {
            true => drop(self.places.remove(place)),
            false => drop(self.places.insert(place.to_owned(), turns)),
        }
    }
}

/// One session, as far as it concerns lines.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SessionTurn {
    heard: u64,
    /// By the run; by nothing what belongs to none.
    #[serde(default)]
    runs: BTreeMap<String, RunTurn>,
}

/// What one run of a session did, as far as it concerns lines.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RunTurn {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
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

/// What a session is known by: a digest of its key, for keys may have words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SessionName(String);

impl SessionName {
    pub(crate) fn of(key: &str) -> Self {
        Self(short_digest(key))
    }
}

/// Whose turn an event belongs to: a session, and the run in it if there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnOf<'a> {
    pub(crate) session: &'a SessionName,
    pub(crate) run: Option<&'a str>,
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

    /// Names the turns by what they hold; nothing where there are none.
    pub fn mark(&self) -> Option<String> {
        (!self.is_empty()).then(|| short_digest(&self.render()))
    }

    pub(crate) fn get(&self, session: &SessionName) -> Option<&SessionTurn> {
        self.turns.get(&session.0)
    }

    fn turn(&mut self, of: TurnOf<'_>) -> &mut RunTurn {
        self.clock += 1;
        let key = of.session.0.clone();
        if self.turns.len() >= MOST && !self.turns.contains_key(&key) {
            let oldest = self.turns.iter().min_by_key(|(_, turn)| turn.heard);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.turns.remove(&oldest);
            }
        }
        let turn = self.turns.entry(key).or_default();
        turn.heard = self.clock;
        let run = of.run.unwrap_or_default();
        if turn.runs.len() >= RUNS && !turn.runs.contains_key(run) {
            // What belongs to no run goes on with the session; only runs are left behind.
            let oldest = turn.runs.keys().find(|run| !run.is_empty()).cloned();
            oldest.into_iter().for_each(|run| drop(turn.runs.remove(&run)));
        }
        turn.runs.entry(run.to_owned()).or_default()
    }

    fn known(&mut self, of: TurnOf<'_>) -> Option<&mut RunTurn> {
        let session = self.turns.get_mut(&of.session.0)?;
        session.runs.get_mut(of.run.unwrap_or_default())
    }

    /// A line's trigger was there. What the trace showed before was not because of it.
    pub(crate) fn trigger(&mut self, of: TurnOf<'_>, line: &LineHash, trigger: TurnTrigger) {
        let turn = self.turn(of);
        if turn.lines.len() < LINES || turn.lines.contains_key(line) {
            turn.lines.insert(line.clone(), LineTurn { shown: 0, trigger: Some(trigger) });
        }
    }

    /// A run was begun in the session.
    pub(crate) fn begin(&mut self, of: TurnOf<'_>) {
        self.turn(of);
    }

    /// The tools are known from here on.
    pub(crate) fn trace(&mut self, of: TurnOf<'_>) {
        self.turn(of).traced = true;
    }

    /// The trace shows something of a line.
    pub(crate) fn show(&mut self, of: TurnOf<'_>, line: &LineHash, shown: u8) {
        let turn = self.turn(of);
        if turn.lines.len() < LINES || turn.lines.contains_key(line) {
            let known = turn.lines.entry(line.clone()).or_default();
            known.shown |= shown & !NEXT;
            // What the line has to be done before came first; done in time it changes nothing.
            if shown & NEXT != 0 && known.shown & ACTED == 0 {
                known.shown |= NEXT;
            }
        }
    }

    /// A person had to put right what the line is about: it has not helped. Where it is not known
    /// which run they speak of, it has not helped in any.
    pub(crate) fn correct(&mut self, of: TurnOf<'_>, line: &LineHash) {
        let Some(session) = self.turns.get_mut(&of.session.0) else { return };
        let spoken_of = |run: &String| of.run.is_none_or(|spoken_of| spoken_of == run);
        for (_, turn) in session.runs.iter_mut().filter(|(run, _)| spoken_of(run)) {
            let Some(known) = turn.lines.get_mut(line) else { continue };
            // That its path was worked on stays so, for what they say next.
            known.shown &= USED | OPENED;
            known.trigger = None;
            if known.shown == 0 {
                turn.lines.remove(line);
            }
        }
    }

    /// A person went on to something else: what was used before is not what they speak of next.
    pub(crate) fn go_on(&mut self, session: &SessionName) {
        let Some(session) = self.turns.get_mut(&session.0) else { return };
        for turn in session.runs.values_mut() {
            turn.lines.values_mut().for_each(|line| line.shown &= !USED);
        }
    }

    /// Closes what a session's people, or the commit that came of it, leave standing: returns the
    /// lines whose trigger was there and whose action followed. A task's trigger counts only where
    /// `work_stands`; what that leaves open was not met by the work, and stays unmet.
    pub(crate) fn close(
        &mut self,
        of: TurnOf<'_>,
        work_stands: bool,
    ) -> Vec<(LineHash, TurnTrigger)> {
        let Some(turn) = self.known(of) else { return Vec::new() };
        let mut helped = Vec::new();
        for (hash, line) in &mut turn.lines {
            let followed = line.shown & (ACTED | AGAINST | NEXT) == ACTED;
            let counts =
                line.trigger.as_ref().is_some_and(|trigger| trigger.is_external() || work_stands);
            if followed && counts {
                helped.extend(line.trigger.take().map(|trigger| (hash.clone(), trigger)));
            }
            if work_stands {
                line.trigger = None;
            }
        }
        helped
    }
}

impl SessionTurn {
    /// Whether an agent's tools were seen in the session.
    pub(crate) fn is_traced(&self) -> bool {
        self.runs.values().any(|turn| turn.traced)
    }

    /// Returns the turn that an event speaks of: that of the run it names, else the only one.
    pub(crate) fn of(&self, run: Option<&str>) -> Option<(&str, &RunTurn)> {
        let found = match (run, self.runs.len()) {
            (Some(run), _) => self.runs.get_key_value(run),
            (None, 1) => self.runs.first_key_value(),
            (None, _) => None,
        };
        found.map(|(run, turn)| (run.as_str(), turn))
    }
}

impl RunTurn {
    /// Whether the trace shows that the line was followed to the letter.
    pub(crate) fn followed(&self, line: &LineHash) -> bool {
        self.shown(line) & (ACTED | AGAINST | NEXT) == ACTED
    }

    /// Whether the trace shows that what the line warns of was done.
    pub(crate) fn went_against(&self, line: &LineHash) -> bool {
        self.shown(line) & AGAINST != 0
    }

    /// Whether the trace is known, and shows no dossier of the line's.
    pub(crate) fn opened_nothing(&self, line: &LineHash) -> bool {
        self.traced && self.shown(line) & OPENED == 0
    }

    /// Whether a path or a dossier of the line's was worked with since a person last went on.
    pub(crate) fn used(&self, line: &LineHash) -> bool {
        self.shown(line) & USED != 0
    }

    /// Whether anything of any line was.
    pub(crate) fn used_any(&self) -> bool {
        self.lines.values().any(|line| line.shown & USED != 0)
    }

    fn shown(&self, line: &LineHash) -> u8 {
        self.lines.get(line).map_or(0, |line| line.shown)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    static SESSION: LazyLock<SessionName> = LazyLock::new(|| SessionName::of("s"));

    fn of_session() -> TurnOf<'static> {
        TurnOf { session: &SESSION, run: None }
    }

    fn trigger(kind: &str) -> TurnTrigger {
        TurnTrigger {
            event: "e".into(),
            ts: "t".into(),
            kind: kind.into(),
            what: "chat.message".into(),
            run: None,
        }
    }

    /// `t` trigger of a person, `i` of a task, `a` acted, `x` acted against, `n` did what it has to
    /// be done before, `c` corrected; then
    /// how many lines are closed as having helped, by a person and by a commit.
    #[track_caller]
    fn check(deeds: &str, by_person: usize, by_commit: usize) {
        let line = LineHash::of("a");
        let mut turns = Turns::default();
        for deed in deeds.chars() {
            match deed {
                't' => turns.trigger(of_session(), &line, trigger("human")),
                'i' => turns.trigger(of_session(), &line, trigger("")),
                'a' => turns.show(of_session(), &line, ACTED),
                'x' => turns.show(of_session(), &line, AGAINST),
                'n' => turns.show(of_session(), &line, NEXT),
                _ => turns.correct(of_session(), &line),
            }
            turns = Turns::read(&turns.render());
        }
        for (work_stands, expected) in [(false, by_person), (true, by_commit)] {
            let mut turns = turns.clone();
            assert_eq!(turns.close(of_session(), work_stands).len(), expected, "{deeds}");
            assert_eq!(turns.close(of_session(), work_stands), [], "closed once");
            assert_eq!(
                turns.close(TurnOf { session: &SessionName::of("other"), run: None }, work_stands),
                []
            );
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
        check("tan", 1, 1);
        check("tna", 0, 0);
        check("tnan", 0, 0);
        check("tnata", 1, 1);
    }

    #[test]
    fn what_one_run_was_asked_another_does_not_do_for_it() {
        let line = LineHash::of("a");
        let session = SessionName::of("tree");
        let of = |run| TurnOf { session: &session, run: Some(run) };
        let mut turns = Turns::default();
        turns.trigger(of("1"), &line, trigger(""));
        turns.show(of("2"), &line, ACTED);
        assert_eq!(turns.close(of("1"), true), []);
        assert_eq!(turns.close(of("2"), true), []);
        // The commit is the end of it: what comes later was not because of the task.
        turns.show(of("1"), &line, ACTED);
        assert_eq!(turns.close(of("1"), true), []);
        turns.trigger(of("2"), &line, trigger(""));
        turns.show(of("2"), &line, ACTED);
        assert_eq!(turns.close(of("1"), true), []);
        assert_eq!(turns.close(of("2"), true).len(), 1);
    }

    #[test]
    fn turns_are_gone_on_with_only_by_who_has_their_mark() {
        let mut turns = Turns::default();
        assert_eq!(turns.mark(), None);
        turns.trigger(of_session(), &LineHash::of("a"), trigger("human"));
        let mark = turns.mark();
        let mut open = OpenTurns::default();
        open.keep("here", turns.clone());
        let open = OpenTurns::read(&open.render());
        assert_eq!(open.of("here", mark.as_deref()), turns);
        assert!(open.of("here", None).is_empty() && open.of("here", Some("0")).is_empty());
        assert!(open.of("there", mark.as_deref()).is_empty());
        let mut later = turns.clone();
        later.show(of_session(), &LineHash::of("a"), ACTED);
        let mut after = open;
        after.keep("here", later);
        assert!(after.of("here", mark.as_deref()).is_empty(), "they went on since");
        after.keep("here", Turns::default());
        assert_eq!((after.render(), after.of("here", None)), (String::new(), Turns::default()));
        // As an earlier version kept them: of no place.
        assert_eq!(OpenTurns::read(&turns.render()), OpenTurns::default());
    }

    #[test]
    fn the_sessions_and_runs_not_heard_of_for_longest_are_let_go() {
        let mut turns = Turns::default();
        for session in 0..=MOST {
            let of = TurnOf { session: &SessionName::of(&session.to_string()), run: None };
            turns.trigger(of, &LineHash::of("a"), trigger("human"));
        }
        assert_eq!(turns.turns.len(), MOST);
        let one = SessionName::of("1");
        assert!(turns.get(&SessionName::of("0")).is_none() && turns.get(&one).is_some());
        for run in 0..=RUNS {
            turns.begin(TurnOf { session: &one, run: Some(&format!("{run:03}")) });
        }
        let session = turns.get(&one).unwrap();
        assert!(session.runs.len() == RUNS && session.of(Some("000")).is_none());
        // What belongs to no run had a trigger, and is not the oldest run.
        assert!(session.of(Some("001")).is_none() && session.of(Some("")).is_some());
    }
}
