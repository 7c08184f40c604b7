//! `spore memory status` and `why`: how the lines stand, and what that rests on.

use serde::Serialize;
use spore_memory::decision::{Decision, Enough, decide};
use spore_memory::dossier;
use spore_memory::evidence::{Decider, EvidenceSignal, RootCause, Trajectory};
use spore_memory::ledger::{Ledger, LineRecord};
use spore_memory::lines::{LineHash, LineMap, LinePlace, PRIORITY, ToldLine};
use spore_memory::pending::Touch;
use spore_memory::scan::external_bytes;
use spore_store::spine::{Cursor, Spine};

use super::crystallize::FoldedLedger;
use super::open_trials::open_trials;
use super::places::MemoryPlaces;
use super::scan::{OWN_EVENTS, ScannerState};
use super::update::{LineDecision, ambiguous, line_decision, no_such_line};
use crate::knowledge::carried_runs::{CarriedRuns, carried_runs};
use crate::knowledge::ledger::{enough, told_map};
use crate::{Result, Surroundings, Workspace};

/// How memory stands.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MemoryStatus {
    pub lines: Vec<LineStanding>,
    /// Lessons that the ledger has evidence about; those that nothing has tested are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lessons: Vec<LineStanding>,
    /// Lines of the ledger that the file no longer has.
    pub gone: usize,
    /// Signals that no line says yet.
    pub new_signals: usize,
    pub fragments: usize,
    /// Fragments that the ledger does not have yet.
    pub not_folded: u32,
    /// Fragments that cannot be.
    pub refused_fragments: usize,
    /// What waits for a judge; `older` is how many are no longer listed.
    pub pending: usize,
    pub pending_without_line: usize,
    pub pending_older: u64,
    /// Dossiers that a line points to and that are not written yet.
    pub missing_dossiers: Vec<String>,
    pub inbox: Vec<String>,
    /// Lines on trial that the file no longer has: a person took them out or wrote them anew.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trials_without_line: Vec<LineHash>,
    /// How far the project's own events were read; how many bytes of events from outside lie behind
    /// that. What Spore tells of itself, no scan has to read.
    pub scanned_to: Option<Cursor>,
    pub unscanned_bytes: u64,
}

/// A line and how it stands.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LineStanding {
    #[serde(flatten)]
    pub decision: LineDecision,
    pub text: String,
    pub pending: usize,
    /// How the newest runs did that carried it. Carried is not helped.
    pub carried: CarriedRuns,
    /// From which share of runs it is withheld, while it is on trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial: Option<f64>,
    /// How it stood after each piece of evidence, the newest last.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub trend: String,
}

pub fn memory_status(around: &Surroundings) -> Result<MemoryStatus> {
    let workspace = Workspace::find(around)?;
    workspace.check_initialised()?;
    let config = workspace.config(around, &[])?;
    let places = MemoryPlaces::of(&workspace);
    let folded = FoldedLedger::read(&places, told_map(&workspace, &config)?)?;
    let on_record = places.ledger()?;
    let pending = places.read_pending(config.memory.pending_per_line as usize)?;
    let enough = enough(&config);
    let carried = carried_runs(&workspace, &workspace.journal(&config)?)?;
    let trials = open_trials(&places)?;
    let standing = |line: &ToldLine| LineStanding {
        decision: decision(line, &on_record, enough),
        text: line.text.clone(),
        pending: pending.of_line(&line.hash).count(),
        carried: carried.get(&line.hash).copied().unwrap_or_default(),
        trial: trials.iter().find(|trial| trial.line == line.hash).map(|trial| trial.share),
        trend: on_record.entry(&line.hash).map(LineRecord::sparkline).unwrap_or_default(),
    };
    let exists = |pointer: &spore_memory::cues::DossierPointer| {
        places.path("memory").join(pointer.dossier()).exists()
    };
    let missing = dossier::missing(&folded.map, &exists);
    let scanned_to = scanned_to(&places)?;
    Ok(MemoryStatus {
        lines: folded.map.lines().iter().filter(|line| !line.is_lesson()).map(standing).collect(),
        lessons: folded
            .map
            .lines()
            .iter()
            .filter(|line| line.is_lesson() && on_record.entry(&line.hash).is_some())
            .map(standing)
            .collect(),
        gone: on_record.entries().filter(|(hash, _)| folded.map.by_hash(hash).is_none()).count(),
        new_signals: on_record.unsaid().count(),
        fragments: places.fragment_names()?.len(),
        not_folded: folded.added.values().sum(),
        refused_fragments: folded.refused.len(),
        pending: pending.len(),
        pending_without_line: pending.touches().filter(|touch| touch.line.is_none()).count(),
        pending_older: pending.older(),
        missing_dossiers: missing.iter().map(|path| format!("memory/{path}")).collect(),
        inbox: places.inbox_names()?,
        trials_without_line: trials
            .iter()
            .filter(|trial| folded.map.by_hash(&trial.line).is_none())
            .map(|trial| trial.line.clone())
            .collect(),
        unscanned_bytes: unscanned(around, &workspace, scanned_to.as_ref()),
        scanned_to,
    })
}

fn decision(line: &ToldLine, ledger: &Ledger, enough: Enough) -> LineDecision {
    let entry = ledger.entry(&line.hash);
    let tally = entry.map(LineRecord::tally).unwrap_or_default();
    line_decision(line, decide(entry, enough), tally)
}

fn scanned_to(places: &MemoryPlaces) -> Result<Option<Cursor>> {
    let text = places.read(&places.scanner_state())?.unwrap_or_default();
    let state: ScannerState = serde_json::from_str(&text).unwrap_or_default();
    Ok(state.places.get(OWN_EVENTS).map(|known| known.cursor.clone()))
}

/// How much of the events from outside no scan has read.
fn unscanned(around: &Surroundings, workspace: &Workspace, from: Option<&Cursor>) -> u64 {
    let mut reader =
        Spine::new(workspace.events_dir()).read_from(&from.cloned().unwrap_or_default());
    external_bytes(&mut reader, &|| around.interrupt.is_raised()).unwrap_or_default()
}

/// What is known about one line.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MemoryWhy {
    /// Where it stands; nothing where the file no longer has it.
    pub line: Option<String>,
    pub hash: LineHash,
    pub text: String,
    pub decision: Decision,
    pub why: String,
    pub pointers: Vec<String>,
    pub paths: Vec<String>,
    pub triggers: Vec<String>,
    pub actions: Vec<String>,
    /// The lines that it was before it was rewritten, the latest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub was: Vec<LineHash>,
    /// How the newest runs did that carried it.
    pub carried: CarriedRuns,
    /// Oldest first.
    pub evidence: Vec<EvidenceRow>,
    pub pending: Vec<Touch>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EvidenceRow {
    pub ts: String,
    pub trajectory: Trajectory,
    pub signal: EvidenceSignal,
    pub kind: String,
    pub root_cause: Option<RootCause>,
    pub fragment: String,
    /// Who gave the trajectory: a rule, or a judge by its model and prompt.
    pub by: Decider,
    /// What was seen, and the event it was seen in; nothing in a row of an earlier version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Whether the fragment is on this machine.
    pub here: bool,
}

/// Tells what a line rests on.
pub fn why_line(around: &Surroundings, typed: &str) -> Result<MemoryWhy> {
    let workspace = Workspace::find(around)?;
    workspace.check_initialised()?;
    let config = workspace.config(around, &[])?;
    let places = MemoryPlaces::of(&workspace);
    let (map, ledger) = (told_map(&workspace, &config)?, places.ledger()?);
    let (hash, line) = find(&map, &ledger, typed)?;
    let entry = ledger.entry(&hash);
    let known = places.known()?;
    let enough = enough(&config);
    let decided = decide(entry, enough);
    let pending = places.read_pending(config.memory.pending_per_line as usize)?;
    let cues = line.map(|line| line.cues.clone()).unwrap_or_default();
    Ok(MemoryWhy {
        line: line.map(ToldLine::reference),
        text: line
            .map(|line| line.text.clone())
            .or_else(|| entry.map(|entry| entry.text.clone()))
            .unwrap_or_default(),
        decision: decided,
        why: match line.map(|line| &line.place) {
            Some(LinePlace::Priority(_)) if decided == Decision::Remove => format!(
                "it was said to be wrong often enough; it stands in {PRIORITY}, which people alone edit"
            ),
            _ => in_words(decided, enough),
        },
        pointers: cues
            .pointers
            .iter()
            .map(|pointer| format!("memory/{}", pointer.dossier()))
            .collect(),
        paths: cues.paths,
        triggers: cues.triggers,
        actions: cues.actions,
        evidence: entry
            .into_iter()
            .flat_map(LineRecord::rows)
            .map(|row| EvidenceRow {
                ts: row.ts.clone(),
                trajectory: row.trajectory,
                signal: row.signal,
                kind: row.kind.clone(),
                root_cause: row.root_cause,
                by: row.by.clone(),
                evidence: row.proof.as_ref().map(|proof| proof.evidence.clone()),
                event: row.proof.as_ref().map(|proof| proof.event.clone()),
                here: known.has(&row.fragment),
                fragment: format!("memory/fragments/{}", row.fragment),
            })
            .collect(),
        pending: pending.of_line(&hash).cloned().collect(),
        was: ledger.predecessors(&hash),
        carried: carried_runs(&workspace, &workspace.journal(&config)?)?
            .get(&hash)
            .copied()
            .unwrap_or_default(),
        hash,
    })
}

/// Finds a line of the file, or one that only the ledger still has.
fn find<'m>(
    map: &'m LineMap,
    ledger: &Ledger,
    typed: &str,
) -> Result<(LineHash, Option<&'m ToldLine>)> {
    match map.find(typed).as_slice() {
        [line] => return Ok((line.hash.clone(), Some(line))),
        [] => {}
        several => return Err(ambiguous(typed, several)),
    }
    let words = LineHash::of(typed);
    let begins = |hash: &&LineHash| {
        **hash == words || (typed.len() >= 4 && hash.as_str().starts_with(typed))
    };
    let mut gone = ledger.entries().map(|(hash, _)| hash).filter(begins);
    match (gone.next(), gone.next()) {
        (Some(hash), None) => Ok((hash.clone(), None)),
        _ => Err(no_such_line(typed)),
    }
}

fn in_words(decision: Decision, enough: Enough) -> String {
    match decision {
        Decision::Untested => "no event has tested it yet".to_owned(),
        Decision::Keep => "it helped, and nothing since says otherwise".to_owned(),
        Decision::Waiting => "it waits for its trigger, which is no reason to drop it".to_owned(),
        Decision::Judge => format!(
            "it failed, but was not said to be wrong {} times by people or their tools since it \
             last helped or was put back: what to do about it is for a judge",
            enough.wrong
        ),
        Decision::Remove => {
            "it was said to be wrong often enough; `spore memory update` removes it".to_owned()
        }
    }
}
