//! `spore memory scan`: reads new events and writes what they prove, a fragment each.
//!
//! The whole window is read first, and what is to be written is put down as the run's plan.
//! Only then are fragments written, then what waits for a judge, then how far was read: a scan
//! that is killed anywhere is repeated from its plan, and never reports a file it did not
//! write.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spore_memory::fragment::Fragment;
use spore_memory::inbox::{NO_EVIDENCE, Packet, PassKind, Terminal};
use spore_memory::known::{KnownFragments, split_count};
use spore_memory::ledger::Ledger;
use spore_memory::lines::{LineHash, LineMap, LinePlace};
use spore_memory::pending::{Pending, TouchKey};
use spore_memory::reading::recalled::Recalled;
use spore_memory::reading::turns::OpenTurns;
use spore_memory::rules::ToldByRun;
use spore_memory::scan::{LastEvent, PassError, ScanTask, Scanned, SpineFlaw, scan};
use spore_model::{Fault, RunId};
use spore_store::spine::{Cursor, Spine};

use super::inbox::packet;
use super::passes::{Pass, PassEnding, Report};
use super::requests::{MemoryScan, PassSettings};
use crate::base::error::bug;
use crate::knowledge::carried::told_lines;
use crate::knowledge::ledger::told_map;
use crate::knowledge::lessons::standing_lessons;
use crate::session::within::refuse_within;
use crate::{Error, Result, Surroundings, Workspace};

/// What a scan did.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MemoryScanned {
    #[serde(flatten)]
    pub ending: PassEnding,
    pub from: Cursor,
    pub to: Cursor,
    pub events: u64,
    pub accepted: BTreeMap<String, u64>,
    pub rejected: BTreeMap<String, u64>,
    /// Events whose source has no kind that could be read.
    pub unscannable: u64,
    /// Events of people that only said back what memory had told.
    #[serde(default)]
    pub recalled: u64,
    /// The fragments that were written, by path.
    pub fragments: Vec<String>,
    pub lines: Vec<LineEvidence>,
    /// How many touches wait for a judge, of this scan and of all.
    pub pending: u64,
    pub pending_in_all: u64,
    /// Places of the spine that are no events: the first of them, and how many.
    pub flaws: Vec<SpineFlaw>,
    pub flawed: u64,
    pub state_advanced: bool,
    /// There are more events: the scan ended because it had found enough.
    pub more: bool,
}

/// How much evidence backs a line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LineEvidence {
    pub line: String,
    pub hash: LineHash,
    pub new: u32,
    pub prior: u32,
    /// The same in words.
    pub evidence: String,
}

impl Report for MemoryScanned {
    fn ending(&mut self) -> &mut PassEnding {
        &mut self.ending
    }

    fn told(&self) -> (&'static str, Value) {
        let payload = json!({
            "terminal": self.ending.terminal,
            "events": self.events,
            "accepted": self.accepted,
            "rejected": self.rejected,
            "fragments": self.fragments.len(),
            "lines": self.lines.iter().map(|line| &line.hash).collect::<Vec<_>>(),
            "pending": self.pending,
        });
        ("memory.scanned", payload)
    }
}

/// How far the events of each directory were read. No user content, ever.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct ScannerState {
    pub(super) places: BTreeMap<String, ScannedTo>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct ScannedTo {
    pub(super) cursor: Cursor,
    #[serde(flatten)]
    pub(super) last: Option<LastEvent>,
    /// Which turns were open there: those that are kept beside it belong to it only if they are
    /// the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) turns: Option<String>,
}

/// What a scan is about to do.
#[derive(Serialize, Deserialize)]
struct ScanPlan {
    fragments: Vec<(String, String)>,
    /// All that waits for a judge, when this is done.
    pending: String,
    /// The turns that are open then.
    #[serde(default)]
    turns: String,
    state_before: ScannerState,
    state_after: ScannerState,
    report: MemoryScanned,
}

/// What reports and the state call the project's own events.
pub(super) const OWN_EVENTS: &str = ".spore/events";

/// Scans from where the last scan ended.
pub fn scan_memory(around: &Surroundings, asked: &MemoryScan) -> Result<MemoryScanned> {
    let workspace = Workspace::find(around)?;
    workspace.check_initialised()?;
    let config = workspace.config(around, &[])?;
    refuse_within(around, &workspace.journal(&config)?, "have events read into memory")?;
    let mut asked = asked.clone();
    asked.events = asked.events.as_deref().map(|dir| directory(&around.cwd, dir)).transpose()?;
    if let Some(name) = &asked.task {
        packet(&workspace, name)?;
    }
    let settings = PassSettings::Scan(asked.clone());
    let pass = Pass::begin(around, &workspace, &config, "memory scan", &settings)?;
    perform(&pass, &asked)
}

pub(super) fn perform(pass: &Pass<'_>, asked: &MemoryScan) -> Result<MemoryScanned> {
    pass.perform(Some(PassKind::Scan), asked.task.as_deref(), || {
        let plan_file = pass.files().file("plan.json");
        let _: u64 = pass.step("read", || {
            let plan = plan(pass, asked)?;
            let text = serde_json::to_string(&plan).map_err(bug)?;
            pass.around.write_file(&plan_file, text.as_bytes())?;
            Ok(plan.fragments.len() as u64)
        })?;
        let mut plan = read_plan(pass, &plan_file)?;
        plan.report.state_advanced = pass.step("write", || carry_out(pass, &plan))?;
        Ok(plan.report)
    })
}

fn directory(cwd: &Path, dir: &Path) -> Result<PathBuf> {
    let path = cwd.join(dir);
    path.canonicalize().ok().filter(|path| path.is_dir()).ok_or_else(|| {
        Error::new(Fault::Usage, format!("there is no directory {}", spore_plain::path(dir)))
            .hint("--events names a directory of files such as 2026-01-31.jsonl")
    })
}

fn read_plan(pass: &Pass<'_>, file: &Path) -> Result<ScanPlan> {
    let text = pass.places.read(file)?.unwrap_or_default();
    serde_json::from_str(&text).map_err(|source| {
        Error::new(
            Fault::BadInput,
            format!("the plan of the scan is gone: {}", spore_plain::path(file)),
        )
        .hint("nothing is lost: `spore memory scan` reads the events again")
        .because(source)
    })
}

/// Reads the window and decides what is to be written.
fn plan(pass: &Pass<'_>, asked: &MemoryScan) -> Result<ScanPlan> {
    let places = &pass.places;
    let state = read_state(pass)?;
    let (dir, place) = match &asked.events {
        Some(dir) => (dir.clone(), dir.display().to_string()),
        None => (pass.workspace.events_dir(), OWN_EVENTS.to_owned()),
    };
    let known_place = state.places.get(&place);
    let last = known_place.map(|known| known.cursor.clone());
    let from = asked.from.clone().or_else(|| last.clone()).unwrap_or_default();
    let map = told_map(pass.workspace, pass.config)?;
    let (known, ledger) = (places.known()?, places.ledger()?);
    let named = named_lines(pass, asked, &map)?;
    let rules = &pass.config.memory;
    let mut open = OpenTurns::read(&places.read(&places.turns())?.unwrap_or_default());
    // Who reads events again begins with no turn open: what the last scan left open came after.
    let mark =
        known_place.filter(|known| known.cursor == from).and_then(|known| known.turns.clone());
    let turns = open.of(&place, mark.as_deref());
    let told = told_to_sessions(pass, &map, &ledger)?;
    let carried = CarriedLines::new(pass.workspace);
    let task = ScanTask {
        map: &map,
        known: &known,
        in_ledger: &ledger.hashes(),
        named: &named,
        coverage: asked.coverage,
        most: rules.fragments_per_pass as usize,
        pending_per_line: rules.pending_per_line as usize,
        carried: &|run| carried.of(run),
        turns: &turns,
        recalled: &told,
        stop: &|| pass.around.interrupt.is_raised(),
    };
    let mut reader = Spine::new(dir).read_from(&from);
    let mut scanned = scan(&mut reader, &task).map_err(failed)?;
    if asked.events.is_some() {
        scanned.pending.lie_in(&place);
    }
    let mut pending = places.read_pending(rules.pending_per_line as usize)?;
    pending.extend(&scanned.pending);
    pending.settle(&settled(&scanned.fragments));
    // What a judge was paid for is not open again, however often its event is read.
    pending.settle(places.judged()?.keys());
    let mut state_after = state.clone();
    match known_place.filter(|known| known.cursor > scanned.to) {
        // Earlier events were read again, and not all of them: the place stays, and so do its turns.
        Some(_) => {}
        None => {
            let last = known_place.and_then(|known| known.last.clone());
            open.keep(&place, scanned.turns.clone());
            let after = ScannedTo {
                cursor: scanned.to.clone(),
                last: scanned.last.clone().or(last),
                turns: scanned.turns.mark(),
            };
            state_after.places.insert(place, after);
        }
    }
    Ok(ScanPlan {
        fragments: scanned.fragments.iter().map(|f| (f.name(), f.render())).collect(),
        report: report(pass.run, &scanned, &known, &pending),
        pending: pending.render(),
        turns: open.render(),
        state_before: state,
        state_after,
    })
}

/// All that memory has told sessions: lines, dossiers, lessons.
pub(super) fn told_to_sessions(
    pass: &Pass<'_>,
    map: &LineMap,
    ledger: &Ledger,
) -> Result<Recalled> {
    let mut told = pass.places.told(map, ledger)?;
    for lesson in standing_lessons(&pass.workspace.knowledge(pass.config)?)? {
        [&lesson.title, &lesson.pattern, &lesson.fix].into_iter().for_each(|text| told.add(text));
    }
    Ok(told)
}

pub(super) fn failed(error: PassError) -> Error {
    match error {
        PassError::Interrupted => Error::interrupted("the scan was interrupted")
            .hint("`spore resume` reads the events again; nothing was written yet"),
        PassError::Unreadable(problem) => Error::new(Fault::Io, problem.to_string())
            .hint("make the event files readable")
            .because(problem),
    }
}

/// The lines that a task names, by themselves or by what they point to.
fn named_lines(pass: &Pass<'_>, asked: &MemoryScan, map: &LineMap) -> Result<Vec<LineHash>> {
    let Some(name) = &asked.task else { return Ok(Vec::new()) };
    let Ok(Packet { lines, pointers, .. }) = packet(pass.workspace, name) else {
        return Ok(Vec::new());
    };
    let by_name = lines.iter().flat_map(|typed| map.find(typed));
    let by_pointer = map
        .lines()
        .iter()
        .filter(|line| line.cues.pointers.iter().any(|pointer| pointers.contains(pointer)));
    let hashes: BTreeSet<LineHash> =
        by_name.chain(by_pointer).map(|line| line.hash.clone()).collect();
    Ok(hashes.into_iter().collect())
}

/// The lines and lessons that the task files of runs carried, as they were kept beside them. Each
/// run is looked up once a pass: a session's events ask for the same one again and again.
pub(super) struct CarriedLines<'a> {
    workspace: &'a Workspace,
    known: RefCell<HashMap<RunId, ToldByRun>>,
}

impl<'a> CarriedLines<'a> {
    pub(super) fn new(workspace: &'a Workspace) -> Self {
        Self { workspace, known: RefCell::default() }
    }

    pub(super) fn of(&self, run: &str) -> ToldByRun {
        // What an event calls a run must be one before it is made a path.
        let Ok(run) = run.parse::<RunId>() else { return ToldByRun::default() };
        let mut known = self.known.borrow_mut();
        if known.len() >= MOST_RUNS {
            known.clear();
        }
        known.entry(run).or_insert_with(|| told_lines(self.workspace, run)).clone()
    }
}

/// How many runs are kept in mind at a time.
const MOST_RUNS: usize = 1_000;

/// Evidence that settles what had been left open.
fn settled(fragments: &[Fragment]) -> BTreeSet<TouchKey> {
    let settles = |f: &Fragment| Some((f.event.clone(), Some(f.line.as_ref()?.hash.clone())));
    fragments.iter().filter_map(settles).collect()
}

fn report(
    run: RunId,
    scanned: &Scanned,
    known: &KnownFragments,
    pending: &Pending,
) -> MemoryScanned {
    let count = scanned.fragments.len();
    let (terminal, result) = match (count, scanned.full) {
        (0, _) => (Terminal::NoNewGradient, NO_EVIDENCE.to_owned()),
        (_, true) => {
            let told = format!("PARTIAL_UPDATE: {count} fragments written; more events are left.");
            (Terminal::PartialUpdate, told)
        }
        (1, false) => (Terminal::Updated, "UPDATED: 1 fragment written.".to_owned()),
        _ => (Terminal::Updated, format!("UPDATED: {count} fragments written.")),
    };
    MemoryScanned {
        ending: PassEnding { run: Some(run), terminal, result, acked: None, pending_task: None },
        from: scanned.from.clone(),
        to: scanned.to.clone(),
        events: scanned.events,
        accepted: scanned.accepted.clone(),
        rejected: scanned.rejected.clone(),
        unscannable: scanned.unscannable,
        recalled: scanned.recalled,
        fragments: scanned
            .fragments
            .iter()
            .map(|f| format!("memory/fragments/{}", f.name()))
            .collect(),
        lines: line_evidence(&scanned.fragments, known),
        pending: scanned.pending.len() as u64 + scanned.pending.older(),
        pending_in_all: pending.len() as u64 + pending.older(),
        flaws: scanned.flaws.clone(),
        flawed: scanned.flawed,
        state_advanced: false,
        more: scanned.full,
    }
}

fn line_evidence(fragments: &[Fragment], known: &KnownFragments) -> Vec<LineEvidence> {
    let mut lines: BTreeMap<(&LinePlace, &LineHash), u32> = BTreeMap::new();
    for line in fragments.iter().filter_map(|fragment| fragment.line.as_ref()) {
        *lines.entry((&line.place, &line.hash)).or_default() += 1;
    }
    lines
        .into_iter()
        .map(|((place, hash), new)| {
            let prior = known.about(hash);
            LineEvidence {
                line: place.to_string(),
                hash: hash.clone(),
                new,
                prior,
                evidence: split_count(new, prior),
            }
        })
        .collect()
}

/// Writes what was planned; returns whether the scan counts as the last one. If another scan
/// has come in between it has read the same events, and what it left is not touched.
fn carry_out(pass: &Pass<'_>, plan: &ScanPlan) -> Result<bool> {
    let (places, around) = (&pass.places, pass.around);
    for (name, text) in &plan.fragments {
        let path = places.fragments().join(name);
        if !path.exists() {
            around.write_file(&path, text.as_bytes())?;
        }
    }
    let now = read_state(pass)?;
    if now == plan.state_after && now != plan.state_before {
        return Ok(true);
    }
    if now != plan.state_before {
        return Ok(false);
    }
    if places.read(&places.pending())?.unwrap_or_default() != plan.pending {
        around.write_file(&places.pending(), plan.pending.as_bytes())?;
    }
    if places.read(&places.turns())?.unwrap_or_default() != plan.turns {
        around.write_file(&places.turns(), plan.turns.as_bytes())?;
    }
    if plan.state_after == plan.state_before {
        return Ok(false);
    }
    let text = serde_json::to_string_pretty(&plan.state_after).map_err(bug)?;
    around.write_file(&places.scanner_state(), (text + "\n").as_bytes())?;
    Ok(true)
}

/// A state that cannot be read is none: everything is scanned again, and what is known is
/// found to be known.
pub(super) fn read_state(pass: &Pass<'_>) -> Result<ScannerState> {
    let text = pass.places.read(&pass.places.scanner_state())?.unwrap_or_default();
    Ok(serde_json::from_str(&text).unwrap_or_default())
}
