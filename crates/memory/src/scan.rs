//! One pass over new events: what they prove about the lines, and what they leave open.
//!
//! Events are read once, in the order of the spine, in bounded memory. Each is gated, matched
//! and judged where it stands; what remains is fragments to be written, touches that a judge
//! has to look at, counts, and the place to go on from. Nothing is written here: a pass that
//! dies leaves everything as it was.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use spore_plain::line_within;
use spore_store::spine::{Cursor, DEDUP_WINDOW, EventReader, Flaw, SpineProblem};

use crate::evidence::{Decider, EvidenceSignal, Trajectory};
use crate::fragment::{Fragment, LineRef};
use crate::gate::{AdmittedEvent, ContextKind, EventHeader, Passage, TurnContext};
use crate::known::KnownFragments;
use crate::lines::{LineHash, LineMap};
use crate::pending::{Pending, Touch};
use crate::reading::matcher::{Matcher, Related, Relation, TraceMatcher};
use crate::reading::recalled::{Quoting, Recalled};
use crate::reading::speech::{self, SpokenKind};
use crate::reading::turns::{TurnTrigger, Turns};
use crate::rules::{self, CarriedBy, FEEDBACK, Hearing, RuleDecision, is_people, words_of};

/// How many different kinds are counted by name.
const KINDS: usize = 64;
/// How many flaws of the spine are told one by one.
const FLAWS: usize = 20;
/// After how many events the caller is asked whether to stop.
const BREATH: u64 = 1024;

/// What a pass is to look for.
pub struct ScanTask<'a> {
    pub map: &'a LineMap,
    /// The fragments there are.
    pub known: &'a KnownFragments,
    /// The lines that have a place in the ledger.
    pub in_ledger: &'a HashSet<LineHash>,
    /// The lines that the command or its task names.
    pub named: &'a [LineHash],
    /// Whether to tell of every line that nothing touched.
    pub coverage: bool,
    /// How many fragments end the pass.
    pub most: usize,
    /// How many open touches are kept for each line.
    pub pending_per_line: usize,
    pub carried: &'a CarriedBy<'a>,
    /// The turns that were open when the last pass ended.
    pub turns: &'a Turns,
    /// What memory has told sessions.
    pub recalled: &'a Recalled,
    pub stop: &'a dyn Fn() -> bool,
}

/// What a pass found.
#[derive(Debug, Default)]
pub struct Scanned {
    pub events: u64,
    /// How many events of each kind were heard, and how many were not.
    pub accepted: BTreeMap<String, u64>,
    pub rejected: BTreeMap<String, u64>,
    /// Events whose kind is missing or no word.
    pub unscannable: u64,
    /// What is new, in the order of the events.
    pub fragments: Vec<Fragment>,
    /// Evidence that was found again, by line.
    pub repeated: u64,
    pub pending: Pending,
    /// The turns that are open now.
    pub turns: Turns,
    /// Events of people that only said back what memory had told.
    pub recalled: u64,
    /// The first flaws of the spine, and how many there were.
    pub flaws: Vec<SpineFlaw>,
    pub flawed: u64,
    pub from: Cursor,
    pub to: Cursor,
    pub last: Option<LastEvent>,
    /// The pass ended early because it had found enough; the next one goes on.
    pub full: bool,
}

/// The last event that was parsed, heard or not.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LastEvent {
    pub id: String,
    pub ts: String,
}

/// A place on the spine that is no event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SpineFlaw {
    pub partition: String,
    pub offset: u64,
    pub what: String,
}

/// Why a pass ended early. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum PassError {
    #[error("the scan was interrupted")]
    Interrupted,
    #[error(transparent)]
    Unreadable(SpineProblem),
}

/// Reads everything behind `reader`'s cursor.
pub fn scan(reader: &mut EventReader, task: &ScanTask<'_>) -> Result<Scanned, PassError> {
    let mut pass = ScanPass::new(task, reader.cursor().clone());
    while !pass.done.full {
        if pass.done.events.is_multiple_of(BREATH) && (task.stop)() {
            return Err(PassError::Interrupted);
        }
        match reader.next_with(&mut |at, line| Some(pass.take(at, line))) {
            Some(Ok(())) => {}
            Some(Err(SpineProblem { what: Flaw::Unreadable(error), partition, offset })) => {
                let what = Flaw::Unreadable(error);
                return Err(PassError::Unreadable(SpineProblem { partition, offset, what }));
            }
            Some(Err(problem)) => pass.flaw(&problem),
            None => break,
        }
    }
    pass.cover();
    Ok(pass.end(reader.cursor().clone()))
}

/// Returns whether an event from outside is behind `reader`'s cursor.
pub fn has_external(reader: &mut EventReader, stop: &dyn Fn() -> bool) -> Result<bool, PassError> {
    let mut read: u64 = 0;
    loop {
        read += 1;
        if read.is_multiple_of(BREATH) && stop() {
            return Err(PassError::Interrupted);
        }
        let next = reader.next_with(&mut |_, line| {
            let header = match EventHeader::read(line) {
                Ok(header) => header,
                Err(error) => return Some(Err(error)),
            };
            Some(Ok(matches!(header.gate(), Passage::External(_))))
        });
        match next {
            None => return Ok(false),
            Some(Ok(true)) => return Ok(true),
            Some(Err(SpineProblem { what: Flaw::Unreadable(error), partition, offset })) => {
                let what = Flaw::Unreadable(error);
                return Err(PassError::Unreadable(SpineProblem { partition, offset, what }));
            }
            Some(Ok(false) | Err(_)) => {}
        }
    }
}

/// A pass under way.
struct ScanPass<'a> {
    task: &'a ScanTask<'a>,
    matcher: Matcher,
    traces: TraceMatcher,
    seen: Recent,
    /// The lines that anything touched.
    touched: Vec<bool>,
    /// The line of the last event that was heard: what a window without evidence ends with.
    heard: Vec<u8>,
    names: HashSet<String>,
    /// Kept for its memory.
    related: Vec<Related>,
    /// The line of the last event of any kind.
    last: Vec<u8>,
    done: Scanned,
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
    fn new(task: &'a ScanTask<'a>, from: Cursor) -> Self {
        Self {
            task,
            matcher: Matcher::new(task.map),
            traces: TraceMatcher::new(task.map),
            seen: Recent::default(),
            touched: vec![false; task.map.lines().len()],
            heard: Vec::new(),
            names: HashSet::new(),
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
    fn take(&mut self, at: &Cursor, line: &[u8]) -> Result<(), String> {
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
        let session = context.session_key.as_ref();
        let lines = self.task.map.lines();
        match context.what {
            ContextKind::Task => {
                let Ok(task) = serde_json::from_str::<GivenTask>(context.payload) else { return };
                if task.started_by.is_some() {
                    return;
                }
                let text = serde_json::Value::String(task.task).to_string();
                let mut related = std::mem::take(&mut self.related);
                self.matcher.related(&text, &mut related);
                let trigger = TurnTrigger {
                    event: header.id().map(|id| line_within(&id, 80)).unwrap_or_default(),
                    ts: String::new(),
                    kind: String::new(),
                    what: String::new(),
                    run: header.run().map(std::borrow::Cow::into_owned),
                };
                for touch in related.iter().filter(|touch| presents_trigger(touch)) {
                    let hash = &lines[touch.line].hash;
                    self.done.turns.trigger(session, hash, trigger.clone());
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
                turns.trace(session);
                self.traces.shown(context.payload, |line, shown| {
                    turns.show(session, &lines[line].hash, shown);
                });
            }
        }
    }

    fn hear(&mut self, at: &Cursor, heard: &AdmittedEvent<'_>) {
        let talks = is_people(&heard.kind) && heard.what != FEEDBACK;
        let said = talks.then(|| words_of(heard.payload)).flatten();
        let quoting =
            said.as_deref().map_or(Quoting::Nothing, |said| self.task.recalled.quoted_by(said));
        if quoting == Quoting::Mostly {
            self.done.recalled += 1;
            return;
        }
        let speech = said.as_deref().and_then(speech::read);
        let mut related = std::mem::take(&mut self.related);
        self.matcher.related(heard.payload, &mut related);
        let judged = rules::judge(&Hearing {
            heard,
            related: &related,
            map: self.task.map,
            carried: self.task.carried,
            turn: self.done.turns.get(heard.session_key.as_deref()),
            speech,
            quoting,
        });
        for touch in &related {
            self.touched[touch.line] = true;
            if !judged.iter().any(|judged| judged.line == Some(touch.line)) {
                self.leave_open(at, heard, Some((touch.line, touch.relation)));
            }
        }
        if related.is_empty() && judged.is_empty() && is_people(&heard.kind) {
            self.leave_open(at, heard, None);
            let named = |line: &crate::lines::BroadcastLine| self.task.named.contains(&line.hash);
            let lines = self.task.map.lines().iter().enumerate();
            for (line, _) in lines.filter(|(_, line)| named(line)) {
                self.leave_open(at, heard, Some((line, Relation::Dispatch)));
            }
        }
        self.follow_turn(heard, &related, speech.map(|(speech, _)| speech));
        for judged in judged {
            self.decide(heard, &judged, &related);
        }
        self.related = related;
    }

    /// Goes on with the session's turn: closes what it leaves standing, then takes in what the
    /// event presents.
    fn follow_turn(
        &mut self,
        heard: &AdmittedEvent<'_>,
        related: &[Related],
        speech: Option<SpokenKind>,
    ) {
        let Some(session) = heard.session_key.as_deref() else { return };
        let work_stands = heard.kind == "git" && heard.what.starts_with("commit.");
        if !is_people(&heard.kind) && !work_stands {
            return;
        }
        let lines = self.task.map.lines();
        let is_correction = speech == Some(SpokenKind::Correction);
        if is_correction {
            for touch in related {
                self.done.turns.correct(session, &lines[touch.line].hash);
            }
        }
        // A person who corrects something has accepted nothing yet.
        if !is_correction {
            let nothing = |_: &LineHash| false;
            for (hash, trigger) in self.done.turns.close(session, &nothing, work_stands) {
                self.help(heard, &hash, trigger);
            }
        }
        if is_people(&heard.kind) && !is_correction {
            let trigger = TurnTrigger {
                event: heard.id.clone().into_owned(),
                ts: line_within(&heard.ts, 40),
                kind: heard.kind.clone().into_owned(),
                what: line_within(&heard.what, 100),
                run: heard.run.as_deref().map(str::to_owned),
            };
            for touch in related.iter().filter(|touch| presents_trigger(touch)) {
                let hash = &lines[touch.line].hash;
                self.done.turns.trigger(session, hash, trigger.clone());
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
        let carried = trigger.run.as_deref().map(|run| (self.task.carried)(run));
        if carried.is_some_and(|carried| !carried.is_empty() && !carried.contains(hash)) {
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
            line: line.map(|line| LineRef { number: line.number, hash: line.hash.clone() }),
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
    fn cover(&mut self) {
        let Some(origin) = FragmentOrigin::read(&self.heard) else { return };
        if self.done.full {
            return;
        }
        for (at, line) in self.task.map.lines().iter().enumerate() {
            let asked = self.task.coverage
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

    fn flaw(&mut self, problem: &SpineProblem) {
        self.done.flawed += 1;
        if self.done.flaws.len() < FLAWS {
            self.done.flaws.push(SpineFlaw {
                partition: problem.partition.clone(),
                offset: problem.offset,
                what: line_within(&problem.what.to_string(), 200),
            });
        }
    }

    fn end(mut self, to: Cursor) -> Scanned {
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

/// The last ids that were heard: a writer that retried must not count twice.
#[derive(Default)]
struct Recent {
    ids: HashSet<u64>,
    order: VecDeque<u64>,
}

impl Recent {
    fn admit(&mut self, id: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let id = hasher.finish();
        if !self.ids.insert(id) {
            return false;
        }
        self.order.push_back(id);
        if self.order.len() > DEDUP_WINDOW
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}
