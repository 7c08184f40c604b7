//! A pass under way: one event after the other, gated, matched and judged where it stands.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;
use spore_plain::line_within;
use spore_store::spine::{Cursor, SpineProblem};

use super::recent::Recent;
use super::task::{LastEvent, ScanTask, Scanned, SpineFlaw};
use crate::evidence::{Decider, EvidenceSignal, Trajectory};
use crate::fragment::{Fragment, LineRef};
use crate::gate::{AdmittedEvent, ContextKind, EventHeader, Passage, TurnContext};
use crate::lines::LineHash;
use crate::pending::{Pending, Touch};
use crate::reading::matcher::{Matcher, Related, Relation, TraceMatcher};
use crate::reading::rare_words::RareWords;
use crate::reading::recalled::Quoting;
use crate::reading::speech::{self, SpokenWords};
use crate::reading::turns::{RunTurn, SessionName, SessionTurn, TurnOf, TurnTrigger};
use crate::rules::{
    self, FEEDBACK, Hearing, INSTRUCTION, MOST_CORRECTED, PREFERENCE, RESTORED, RuleDecision,
    ToldByRun, is_people, words_of,
};

/// How many different kinds are counted by name.
const KINDS: usize = 64;
/// How many flaws of the spine are told one by one.
const FLAWS: usize = 20;

/// A pass under way.
pub(super) struct ScanPass<'a> {
    task: &'a ScanTask<'a>,
    matcher: Matcher,
    traces: TraceMatcher,
    words: RareWords,
    seen: Recent,
    /// The lines that anything touched.
    touched: Vec<bool>,
    /// The line of the last event that was heard: what a window without evidence ends with.
    heard: Vec<u8>,
    names: HashSet<String>,
    /// The session that was spoken of last, as it was called: its events stand together.
    session: Option<(String, SessionName)>,
    /// Kept for its memory.
    related: Vec<Related>,
    /// The line of the last event of any kind.
    last: Vec<u8>,
    pub(super) done: Scanned,
}

/// Where a fragment comes from.
#[derive(Clone)]
struct FragmentOrigin {
    event: String,
    ts: String,
    kind: String,
    session_key: Option<String>,
    what: String,
}

impl FragmentOrigin {
    /// Reads a line that was heard before.
    fn read(line: &[u8]) -> Option<Self> {
        let header = EventHeader::read(line).ok()?;
        match header.gate() {
            Passage::External(kind) => header.hear(kind).ok().map(|heard| Self::of(&heard)),
            _ => None,
        }
    }

    fn of(heard: &AdmittedEvent<'_>) -> Self {
        Self {
            event: heard.id.clone().into_owned(),
            ts: line_within(&heard.ts, 40),
            kind: heard.kind.clone().into_owned(),
            session_key: heard.session_key.as_deref().map(|key| line_within(key, 200)),
            what: line_within(&heard.what, 100),
        }
    }
}

impl<'a> ScanPass<'a> {
    pub(super) fn new(task: &'a ScanTask<'a>, from: Cursor) -> Self {
        Self {
            task,
            matcher: Matcher::new(task.map),
            traces: TraceMatcher::new(task.map),
            words: RareWords::new(task.map),
            seen: Recent::default(),
            touched: vec![false; task.map.lines().len()],
            heard: Vec::new(),
            names: HashSet::new(),
            session: None,
            related: Vec::new(),
            last: Vec::new(),
            done: Scanned {
                pending: Pending::new(task.pending_per_line),
                turns: task.turns.clone(),
                from,
                ..Scanned::default()
            },
        }
    }

    /// Takes in one line of the spine.
    pub(super) fn take(&mut self, at: &Cursor, line: &[u8]) -> Result<(), String> {
        let header = EventHeader::read(line)?;
        self.done.events += 1;
        copy(line, &mut self.last);
        match header.gate() {
            Passage::Internal(kind) => {
                count(&mut self.done.rejected, kind.as_str());
                if let Some(context) = header.context(kind) {
                    self.add_context(&header, &context);
                }
            }
            Passage::Unscannable => self.done.unscannable += 1,
            Passage::External(kind) => {
                let heard = header.hear(kind)?;
                if self.seen.admit(&heard.id) {
                    copy(line, &mut self.heard);
                    count(&mut self.done.accepted, &heard.kind);
                    self.hear(at, &heard);
                }
            }
        }
        Ok(())
    }

    /// Takes in what an event of Spore's own adds to its turn; it is evidence of nothing itself.
    fn add_context(&mut self, header: &EventHeader<'_>, context: &TurnContext<'_>) {
        let session = &self.session_name(&context.session_key);
        let lines = self.task.map.lines();
        match context.what {
            ContextKind::Task => {
                let Ok(task) = serde_json::from_str::<GivenTask>(context.payload) else { return };
                if task.started_by.is_some() {
                    return;
                }
                let run = header.run();
                let of = TurnOf { session, run: run.as_deref() };
                self.done.turns.begin(of);
                let text = serde_json::Value::String(task.task).to_string();
                let mut related = std::mem::take(&mut self.related);
                self.matcher.related(&text, &mut related);
                let trigger = TurnTrigger {
                    event: header.id().map(|id| line_within(&id, 80)).unwrap_or_default(),
                    ts: String::new(),
                    kind: String::new(),
                    what: String::new(),
                    run: run.as_deref().map(str::to_owned),
                };
                for touch in related.iter().filter(|touch| presents_trigger(touch)) {
                    let hash = &lines[touch.line].hash;
                    self.done.turns.trigger(of, hash, trigger.clone());
                }
                self.related = related;
            }
            ContextKind::Trace => {
                // A verifier looks at a change with tools of the same names.
                let by = serde_json::from_str::<TraceOf>(context.payload).unwrap_or_default();
                if by.role.as_deref() == Some("verifier") {
                    return;
                }
                let turns = &mut self.done.turns;
                let of = TurnOf { session, run: by.of.as_deref() };
                turns.trace(of);
                self.traces.shown(context.payload, |line, shown| {
                    turns.show(of, &lines[line].hash, shown);
                });
            }
        }
    }

    fn hear(&mut self, at: &Cursor, heard: &AdmittedEvent<'_>) {
        let is_meant = matches!(heard.what.as_ref(), INSTRUCTION | PREFERENCE);
        let talks = is_people(&heard.kind) && !matches!(heard.what.as_ref(), FEEDBACK | RESTORED);
        // A person or tool that tells memory something may only say back what memory has told.
        let said = words_of(heard.payload).filter(|said| {
            talks || is_meant || rules::tells_correction(&heard.kind, &heard.what, said)
        });
        let recalled = self.task.recalled;
        let mut quoting = said.as_deref().map_or(Quoting::Nothing, |said| recalled.quoted_by(said));
        let session = heard.session_key.as_deref().map(|key| self.session_name(key));
        let turn = session.as_ref().and_then(|session| self.done.turns.get(session));
        let acted = turn.is_some_and(SessionTurn::is_traced);
        let mut related = std::mem::take(&mut self.related);
        related.clear();
        let mut speech = match said.as_deref() {
            None => SpokenWords::default(),
            // What people did with git needs no words for it.
            Some(_) if !talks && !is_meant => SpokenWords::correction(),
            Some(_) if !talks => SpokenWords::default(),
            // What is quoted corrects nothing, whatever it says.
            Some(said) if quoting == Quoting::Mostly => speech::read(&recalled.own_part(said)),
            Some(said) => speech::read(said),
        };
        speech = speech.of_who_saw_work(acted);
        if quoting != Quoting::Mostly || speech.is_correction() {
            self.matcher.related(heard.payload, &mut related);
        }
        // Who corrects quotes the line that was not kept, or that was wrong.
        if quoting == Quoting::Mostly && related.is_empty() {
            self.related = related;
            self.done.recalled += 1;
            return;
        }
        let (run, turn) = match turn.and_then(|turn| turn.of(heard.run.as_deref())) {
            Some((run, turn)) => (Some(run).filter(|run| !run.is_empty()), Some(turn)),
            None => (heard.run.as_deref(), None),
        };
        // The words of a log of git's may be an agent's own: its commit has them.
        let spoken = said.as_deref().filter(|_| talks);
        if let Some(said) = spoken.filter(|_| speech.is_correction() || speech.may_correct()) {
            self.add_spoken_of(said, turn, &mut related);
        }
        let is_related = !related.is_empty() && related.len() <= MOST_CORRECTED;
        if speech.is_correction() && related.is_empty() {
            turn.into_iter().for_each(|turn| self.add_used(turn, &mut related));
        }
        let told = match run.filter(|_| !related.is_empty()) {
            Some(run) => (self.task.carried)(run),
            None => ToldByRun::default(),
        };
        self.leave_out_untold(&told, &mut related);
        if is_related && !related.is_empty() {
            speech = speech.about_a_line();
        }
        let would_be_new = speech.kind.is_some() || is_meant;
        if quoting == Quoting::Nothing
            && would_be_new
            && said.as_deref().is_some_and(|said| recalled.has_short_line(said))
        {
            quoting = Quoting::Some;
        }
        let judged = rules::judge(&Hearing {
            heard,
            related: &related,
            map: self.task.map,
            told: &told,
            turn,
            speech: speech.kind,
            quoting,
        });
        for touch in &related {
            self.touched[touch.line] = true;
            // What a run had kept back from it says nothing about the line: else the trial would
            // harm what it measures.
            let is_withheld = told.withheld.contains(&self.task.map.lines()[touch.line].hash);
            let is_judged = judged.iter().any(|judged| judged.line == Some(touch.line));
            if !is_judged && (!is_withheld || touch.relation == Relation::Line) {
                self.leave_open(at, heard, Some((touch.line, touch.relation)));
            }
        }
        if related.is_empty() && judged.is_empty() && is_people(&heard.kind) {
            self.leave_open(at, heard, None);
        }
        if talks {
            self.leave_named_open(at, heard, &related);
        }
        // Asked only where it decides something: it takes as long as all the rest of a message.
        let follows = |session| !related.is_empty() || self.done.turns.get(session).is_some();
        let doubts = !speech.is_correction()
            && session.as_ref().is_some_and(follows)
            && said.as_deref().is_some_and(speech::doubts);
        self.follow_turn(heard, session.as_ref(), &related, speech, doubts);
        for judged in judged {
            self.decide(heard, &judged, &related);
        }
        self.related = related;
    }

    fn session_name(&mut self, key: &str) -> SessionName {
        match &self.session {
            Some((known, name)) if known == key => name.clone(),
            _ => {
                let name = SessionName::of(key);
                self.session = Some((key.to_owned(), name.clone()));
                name
            }
        }
    }

    /// Leaves out lessons that the session was not told: it cannot have gone by them. One that is
    /// named outright stays.
    fn leave_out_untold(&self, told: &ToldByRun, related: &mut Vec<Related>) {
        let lines = self.task.map.lines();
        let in_doubt =
            |touch: &Related| lines[touch.line].is_lesson() && touch.relation != Relation::Line;
        related.retain(|touch| !in_doubt(touch) || told.has(&lines[touch.line]));
    }

    /// Relates a correction that names nothing of a line to the one whose words it has.
    fn add_spoken_of(&self, said: &str, turn: Option<&RunTurn>, related: &mut Vec<Related>) {
        if !related.is_empty() {
            return;
        }
        let lines = self.task.map.lines();
        let used = |line: usize| turn.is_some_and(|turn| turn.used(&lines[line].hash));
        let line = self.words.line_of(said, used);
        let relation = Relation::Words;
        related.extend(line.map(|line| Related { line, relation, names_action: false }));
    }

    /// Relates a correction that names nothing to the lines whose paths and dossiers its turn
    /// worked with. Of many it is about none for sure.
    fn add_used(&self, turn: &RunTurn, related: &mut Vec<Related>) {
        if !turn.used_any() {
            return;
        }
        let used = |(_, line): &(usize, &crate::lines::ToldLine)| turn.used(&line.hash);
        let lines = self.task.map.lines().iter().enumerate().filter(used);
        related.extend(lines.map(|(line, _)| Related {
            line,
            relation: Relation::Used,
            names_action: false,
        }));
        if related.len() > MOST_CORRECTED {
            related.clear();
        }
    }

    /// Goes on with the session's turn: closes what it leaves standing, then takes in what the
    /// event presents.
    fn follow_turn(
        &mut self,
        heard: &AdmittedEvent<'_>,
        session: Option<&SessionName>,
        related: &[Related],
        speech: SpokenWords,
        doubts: bool,
    ) {
        let Some(session) = session else { return };
        let work_stands = heard.kind == "git" && heard.what.starts_with("commit.");
        if !is_people(&heard.kind) && !work_stands {
            return;
        }
        let lines = self.task.map.lines();
        let of = TurnOf { session, run: heard.run.as_deref() };
        let is_correction = speech.is_correction();
        if is_correction || doubts {
            for touch in related {
                self.done.turns.correct(of, &lines[touch.line].hash);
            }
        }
        // A person who corrects or doubts something has accepted nothing yet.
        if !is_correction && !doubts {
            for (hash, trigger) in self.done.turns.close(of, work_stands) {
                self.help(heard, &hash, trigger);
            }
        }
        if is_people(&heard.kind) && !is_correction {
            self.done.turns.go_on(session);
        }
        // Who asks whether something was done has asked for nothing yet.
        if is_people(&heard.kind) && !is_correction && !doubts && !speech.only_asks {
            let trigger = TurnTrigger {
                event: heard.id.clone().into_owned(),
                ts: line_within(&heard.ts, 40),
                kind: heard.kind.clone().into_owned(),
                what: line_within(&heard.what, 100),
                run: heard.run.as_deref().map(str::to_owned),
            };
            for touch in related.iter().filter(|touch| presents_trigger(touch)) {
                let hash = &lines[touch.line].hash;
                self.done.turns.trigger(of, hash, trigger.clone());
            }
        }
    }

    /// Writes that a line helped; the source is the event that had the trigger, or, where that
    /// was Spore's own, the one from outside that closed the turn.
    fn help(&mut self, heard: &AdmittedEvent<'_>, hash: &LineHash, trigger: TurnTrigger) {
        let Some(line) = self.task.map.lines().iter().position(|line| line.hash == *hash) else {
            return;
        };
        // A run whose task files are known and did not carry the line owes it nothing.
        let run = trigger.run.as_deref().or(heard.run.as_deref());
        let told = run.map(|run| (self.task.carried)(run)).unwrap_or_default();
        if !told.has(&self.task.map.lines()[line]) {
            return;
        }
        let closed = FragmentOrigin::of(heard);
        let origin = match trigger.is_external() {
            true => FragmentOrigin {
                event: trigger.event,
                ts: trigger.ts,
                kind: trigger.kind,
                what: trigger.what,
                session_key: closed.session_key,
            },
            false => closed,
        };
        let judged = rules::helped(line, self.task.map, &origin.kind);
        let fragment = self.fragment(origin, &judged, Vec::new());
        self.write(fragment);
    }

    /// Leaves open the lines that the task of the pass names, whatever else a person's words touch.
    fn leave_named_open(&mut self, at: &Cursor, heard: &AdmittedEvent<'_>, related: &[Related]) {
        for (line, told) in self.task.map.lines().iter().enumerate() {
            let is_named = self.task.named.contains(&told.hash);
            if is_named && !related.iter().any(|touch| touch.line == line) {
                self.leave_open(at, heard, Some((line, Relation::Dispatch)));
            }
        }
    }

    fn leave_open(
        &mut self,
        at: &Cursor,
        heard: &AdmittedEvent<'_>,
        touched: Option<(usize, Relation)>,
    ) {
        let line = touched.map(|(line, _)| self.task.map.lines()[line].hash.clone());
        self.done.pending.add(Touch {
            event: line_within(&heard.id, 80),
            ts: line_within(&heard.ts, 40),
            kind: heard.kind.clone().into_owned(),
            what: line_within(&heard.what, 100),
            at: at.clone(),
            events: None,
            line,
            relation: touched.map(|(_, relation)| relation),
        });
    }

    fn decide(&mut self, heard: &AdmittedEvent<'_>, judged: &RuleDecision, related: &[Related]) {
        if let Some(line) = judged.line {
            self.touched[line] = true;
        }
        let pointers = judged.line.filter(|line| {
            let strong = |r: &Related| r.line == *line && r.relation == Relation::Pointer;
            related.iter().any(strong)
        });
        let pointers = pointers.map(|line| self.task.map.lines()[line].cues.pointers.clone());
        let fragment =
            self.fragment(FragmentOrigin::of(heard), judged, pointers.unwrap_or_default());
        self.write(fragment);
    }

    fn fragment(
        &self,
        origin: FragmentOrigin,
        judged: &RuleDecision,
        pointers: Vec<crate::cues::DossierPointer>,
    ) -> Fragment {
        let line = judged.line.map(|line| &self.task.map.lines()[line]);
        Fragment {
            event: origin.event,
            ts: origin.ts,
            kind: origin.kind,
            session_key: origin.session_key,
            what: origin.what,
            signal: judged.signal,
            line: line.map(|line| LineRef { place: line.place.clone(), hash: line.hash.clone() }),
            trajectory: judged.trajectory,
            root_cause: judged.root_cause,
            by: Decider::Rule,
            evidence: judged.evidence.clone(),
            note: judged.reason.clone(),
            pointers,
        }
    }

    /// Keeps a fragment unless the same evidence is there already.
    fn write(&mut self, fragment: Fragment) {
        let name = fragment.name();
        if self.task.known.has(&name) || !self.names.insert(name) {
            self.done.repeated += 1;
            return;
        }
        self.done.fragments.push(fragment);
        self.done.full = self.done.fragments.len() >= self.task.most;
    }

    /// Writes a fragment for each line that no event touched, where coverage was asked for or
    /// the ledger or the task names the line. A line whose latest fragment says that it waits
    /// gets no second one.
    pub(super) fn cover(&mut self) {
        let Some(origin) = FragmentOrigin::read(&self.heard) else { return };
        if self.done.full {
            return;
        }
        for (at, line) in self.task.map.lines().iter().enumerate() {
            let asked = (self.task.coverage && !line.is_lesson())
                || self.task.in_ledger.contains(&line.hash)
                || self.task.named.contains(&line.hash);
            let waits = self.task.known.latest(&line.hash) == Some(Trajectory::Neutral);
            if !asked || waits || self.touched[at] {
                continue;
            }
            let judged = RuleDecision {
                line: Some(at),
                trajectory: Trajectory::Neutral,
                signal: EvidenceSignal::Coverage,
                root_cause: None,
                evidence: vec![
                    "No event of this window has a pointer, path or cue that the line has.".into(),
                ],
                reason: format!(
                    "`{}` is still waiting for its trigger; that is no reason to drop it.",
                    line.reference()
                ),
            };
            let fragment = self.fragment(origin.clone(), &judged, Vec::new());
            self.write(fragment);
        }
    }

    pub(super) fn flaw(&mut self, problem: &SpineProblem) {
        self.done.flawed += 1;
        if self.done.flaws.len() < FLAWS {
            self.done.flaws.push(SpineFlaw {
                partition: problem.partition.clone(),
                offset: problem.offset,
                what: line_within(&problem.what.to_string(), 200),
            });
        }
    }

    pub(super) fn end(mut self, to: Cursor) -> Scanned {
        self.done.to = to;
        self.done.last = EventHeader::read(&self.last).ok().and_then(|header| {
            let ts = header.ts().unwrap_or_default();
            Some(LastEvent { id: line_within(&header.id()?, 80), ts: line_within(&ts, 40) })
        });
        self.done
    }
}

/// A task that a run was given. One that a session started has an agent's words.
#[derive(Deserialize)]
struct GivenTask {
    task: String,
    #[serde(default)]
    started_by: Option<serde::de::IgnoredAny>,
}

/// Whose tools a trace tells of.
#[derive(Default, Deserialize)]
struct TraceOf {
    #[serde(default)]
    role: Option<String>,
    /// The run whose work it was.
    #[serde(default)]
    of: Option<String>,
}

/// Whether an event has a line's trigger and does not ask for what the line asks for: who is told
/// outright what to do does not do it because of a line.
fn presents_trigger(touch: &Related) -> bool {
    touch.relation.is_trigger() && !touch.names_action
}

/// Keeps a line in memory that is there already.
fn copy(line: &[u8], into: &mut Vec<u8>) {
    into.clear();
    into.extend_from_slice(line);
}

/// Counts a kind; of too many kinds the later ones are counted together.
fn count(kinds: &mut BTreeMap<String, u64>, kind: &str) {
    if let Some(count) = kinds.get_mut(kind) {
        *count += 1;
        return;
    }
    let name = if kinds.len() < KINDS { kind } else { "other" };
    *kinds.entry(name.to_owned()).or_default() += 1;
}
