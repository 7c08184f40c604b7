//! `spore memory update` and `undo`: the broadcast file, changed by evidence alone.
//!
//! The ledger is read first and must be up to date. Rules decide; a person may name lines to
//! be removed; and whatever asks, the file is only ever written from an [`Edit`], which the
//! ledger has defended, once when it is planned and once more right before it is written.
//! The file as it was is kept with the run, so that the change can be taken back.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spore_memory::decision::{Decision, Enough, decide};
use spore_memory::edit::{Edit, RefusedEdit, RemovedLine, diff, without};
use spore_memory::inbox::{PassKind, Terminal};
use spore_memory::ledger::{EvidenceTally, LEDGER};
use spore_memory::lines::{BROADCAST, BroadcastLine, LineHash, LineMap};
use spore_model::{Fault, Outcome, Run, RunId, RunKind, RunState};
use spore_store::RunQuery;

use super::crystallize::FoldedLedger;
use super::inbox::packet;
use super::passes::{Pass, PassEnding, Report};
use super::places::MemoryPlaces;
use super::requests::{MemoryUpdate, PassSettings, UndoSettings};
use crate::session::within::refuse_within;
use crate::{Error, Result, Surroundings, Workspace, counted};

/// What an update did, or would do.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MemoryUpdated {
    #[serde(flatten)]
    pub ending: PassEnding,
    pub removed: Vec<LineDecision>,
    /// Lines that stay because the evidence speaks for them.
    pub kept: Vec<LineDecision>,
    /// Lines that failed, and what to do about them is not for a rule.
    pub for_judgement: Vec<LineDecision>,
    /// A unified diff; empty where nothing changes.
    pub diff: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// A line and what the ledger asks for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LineDecision {
    pub line: String,
    pub hash: LineHash,
    pub decision: Decision,
    pub helped: u32,
    pub missed: u32,
    pub waiting: u32,
}

impl Report for MemoryUpdated {
    fn ending(&mut self) -> &mut PassEnding {
        &mut self.ending
    }

    fn told(&self) -> (&'static str, Value) {
        let hashes = |lines: &[LineDecision]| -> Vec<LineHash> {
            lines.iter().map(|line| line.hash.clone()).collect()
        };
        let payload = json!({
            "terminal": self.ending.terminal,
            "removed": hashes(&self.removed),
            "kept": hashes(&self.kept),
            "for_judgement": hashes(&self.for_judgement),
        });
        ("memory.updated", payload)
    }
}

/// Changes the broadcast file as far as the ledger defends it.
pub fn update_memory(around: &Surroundings, asked: &MemoryUpdate) -> Result<MemoryUpdated> {
    let workspace = Workspace::find(around)?;
    workspace.check_initialised()?;
    let config = workspace.config(around, &[])?;
    if let Some(name) = &asked.task {
        packet(&workspace, name)?;
    }
    let places = MemoryPlaces::of(&workspace);
    let enough = Enough { wrong: config.memory.wrong_before_removal };
    let named = resolve(&places.line_map()?, &asked.remove)?;
    let asked = MemoryUpdate { remove: named, ..asked.clone() };
    if asked.dry_run {
        let (mut report, _) = plan(&places, &asked, enough, None, &[])?;
        report.dry_run = true;
        return Ok(report);
    }
    refuse_within(around, &workspace.journal(&config)?, "change what every session is told")?;
    let settings = PassSettings::Update(asked.clone());
    let pass = Pass::begin(around, &workspace, &config, "memory update", &settings)?;
    perform(&pass, &asked)
}

/// Finds the lines that a person named, by the hash they have now.
fn resolve(map: &LineMap, typed: &[String]) -> Result<Vec<String>> {
    let hash = |typed: &String| match map.find(typed).as_slice() {
        [line] => Ok(line.hash.to_string()),
        [] => Err(no_such_line(typed)),
        several => Err(ambiguous(typed, several)),
    };
    typed.iter().map(hash).collect()
}

pub(super) fn ambiguous(typed: &str, several: &[&BroadcastLine]) -> Error {
    let lines: Vec<String> =
        several.iter().take(8).map(|line| format!("  {}  {}", line.hash, line.text)).collect();
    Error::new(Fault::BadInput, format!("{typed:?} could be any of {} lines", several.len()))
        .hint(format!("type more of the hash:\n{}", lines.join("\n")))
}

pub(super) fn no_such_line(typed: &str) -> Error {
    Error::new(Fault::BadInput, format!("{BROADCAST} has no line {typed:?}"))
        .hint("`spore memory status` shows all lines; name one as L3, by its hash or its words")
}

pub(super) fn perform(pass: &Pass<'_>, asked: &MemoryUpdate) -> Result<MemoryUpdated> {
    let enough = Enough { wrong: pass.config.memory.wrong_before_removal };
    pass.perform(Some(PassKind::Update), asked.task.as_deref(), || {
        let report: MemoryUpdated = pass.step("decide", || {
            let named = task_lines(pass, asked)?;
            let (report, edit) = plan(&pass.places, asked, enough, Some(pass.run), &named)?;
            if let Some(edit) = &edit {
                keep(pass, "before.md", edit.before())?;
                keep(pass, "after.md", edit.after())?;
                keep(pass, "update.diff", &report.diff)?;
            }
            Ok(report)
        })?;
        let _: bool = pass.step("write", || write(pass, &report))?;
        Ok(report)
    })
}

/// The lines that the task names: if one of them needs a judge, so does the task.
fn task_lines(pass: &Pass<'_>, asked: &MemoryUpdate) -> Result<Vec<LineHash>> {
    let Some(name) = &asked.task else { return Ok(Vec::new()) };
    let map = pass.places.line_map()?;
    let Ok(packet) = packet(pass.workspace, name) else { return Ok(Vec::new()) };
    let found = packet.lines.iter().flat_map(|typed| map.find(typed));
    Ok(found.map(|line| line.hash.clone()).collect())
}

fn keep(pass: &Pass<'_>, name: &str, text: &str) -> Result<()> {
    pass.around.write_exact_file(&kept(pass.workspace, pass.run, name), text.as_bytes())
}

fn kept(workspace: &Workspace, run: RunId, name: &str) -> PathBuf {
    workspace.run_files(run).file(name)
}

/// Decides about every line and has the ledger defend what follows from that.
fn plan(
    places: &MemoryPlaces,
    asked: &MemoryUpdate,
    enough: Enough,
    run: Option<RunId>,
    task_lines: &[LineHash],
) -> Result<(MemoryUpdated, Option<Edit>)> {
    let folded = current_ledger(places)?;
    let before = places.read(&places.broadcast())?.unwrap_or_default();
    let map = LineMap::read(&before);
    let mut report = MemoryUpdated {
        ending: PassEnding {
            run,
            terminal: Terminal::NoOp,
            result: String::new(),
            acked: None,
            pending_task: None,
        },
        removed: Vec::new(),
        kept: Vec::new(),
        for_judgement: Vec::new(),
        diff: String::new(),
        dry_run: false,
    };
    for line in map.lines() {
        let entry = folded.ledger.entry(&line.hash);
        let asked_for = asked.remove.iter().any(|hash| *hash == line.hash.as_str());
        let decided = if asked_for { Decision::Remove } else { decide(entry, enough) };
        let row =
            line_decision(line, decided, entry.map(|entry| entry.tally()).unwrap_or_default());
        match decided {
            Decision::Remove => report.removed.push(row),
            Decision::Keep | Decision::Waiting => report.kept.push(row),
            Decision::Judge => report.for_judgement.push(row),
            Decision::Untested => {}
        }
    }
    let gone = |line: &&BroadcastLine| report.removed.iter().any(|row| row.hash == line.hash);
    let numbers: Vec<u32> = map.lines().iter().filter(gone).map(|line| line.number).collect();
    let edit = match Edit::defend(&before, &without(&before, &numbers), &folded.ledger) {
        Ok(edit) => Some(edit),
        Err(RefusedEdit::Nothing) => None,
        Err(refused) => return Err(refuse(&refused)),
    };
    report.diff = edit.as_ref().map(|edit| diff(edit.before(), edit.after())).unwrap_or_default();
    conclude(&mut report, edit.as_ref(), task_lines);
    Ok((report, edit))
}

pub(super) fn line_decision(
    line: &BroadcastLine,
    decision: Decision,
    tally: EvidenceTally,
) -> LineDecision {
    LineDecision {
        line: line.reference(),
        hash: line.hash.clone(),
        decision,
        helped: tally.helped,
        missed: tally.missed,
        waiting: tally.waiting,
    }
}

fn conclude(report: &mut MemoryUpdated, edit: Option<&Edit>, task_lines: &[LineHash]) {
    let open = report.for_judgement.iter().filter(|row| task_lines.contains(&row.hash)).count();
    let removed = edit.map_or(0, |edit| edit.removed().len());
    let count = counted(u32::try_from(removed).unwrap_or(u32::MAX), "line");
    let (terminal, told) = match (open, removed) {
        (0, 0) => (Terminal::NoOp, format!("the ledger asks for no change of {BROADCAST}.")),
        (0, _) => (Terminal::Updated, format!("{count} of {BROADCAST} removed.")),
        _ => {
            let told = format!("{count} removed; what the task names has to be judged.");
            (Terminal::PartialUpdate, told)
        }
    };
    report.ending.terminal = terminal;
    report.ending.result = format!("{terminal}: {told}");
}

/// The ledger, if it holds every fragment there is: an edit is defended by all evidence or by
/// none.
fn current_ledger(places: &MemoryPlaces) -> Result<FoldedLedger> {
    let folded = FoldedLedger::read(places)?;
    let missing: u32 = folded.added.values().sum();
    if missing == 0 {
        return Ok(folded);
    }
    Err(Error::new(
        Fault::BadInput,
        format!("{LEDGER} lacks {} of the fragments directory", counted(missing, "fragment")),
    )
    .hint("run `spore memory crystallize` first"))
}

fn refuse(refused: &RefusedEdit) -> Error {
    let error = Error::new(Fault::BadInput, format!("no evidence, no edit: {refused}"));
    match refused {
        RefusedEdit::NoEvidence { hash, .. } => error.hint(format!(
            "if it is wrong, say so: spore memory feedback {hash} failed \"why\"; then scan and \
             crystallize. Or edit the file yourself: it is yours"
        )),
        _ => error,
    }
}

/// Writes the planned change, defended once more by the ledger as it is now.
fn write(pass: &Pass<'_>, report: &MemoryUpdated) -> Result<bool> {
    if report.diff.is_empty() {
        return Ok(false);
    }
    let read = |name| -> Result<String> {
        let path = kept(pass.workspace, pass.run, name);
        pass.places.read(&path)?.ok_or_else(|| {
            Error::new(
                Fault::BadInput,
                format!("the plan of the update is gone: {}", spore_plain::path(&path)),
            )
            .hint("nothing was written: `spore memory update` plans it again")
        })
    };
    let (before, after) = (read("before.md")?, read("after.md")?);
    let folded = current_ledger(&pass.places)?;
    let edit = Edit::defend(&before, &after, &folded.ledger).map_err(|error| refuse(&error))?;
    let removed: Vec<&LineHash> =
        edit.removed().iter().map(|RemovedLine { hash, .. }| hash).collect();
    let planned: Vec<&LineHash> = report.removed.iter().map(|row| &row.hash).collect();
    if removed != planned {
        return Err(Error::new(Fault::BadInput, "the plan of the update was changed on the disk")
            .hint("nothing was written: `spore memory update` plans it again"));
    }
    pass.places.replace_broadcast(pass.around, edit.before(), edit.after())?;
    Ok(true)
}

/// What was taken back.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MemoryUndone {
    #[serde(flatten)]
    pub ending: PassEnding,
    /// The update that was taken back.
    pub update: RunId,
    /// The lines that are there again.
    pub restored: Vec<LineHash>,
    pub diff: String,
}

impl Report for MemoryUndone {
    fn ending(&mut self) -> &mut PassEnding {
        &mut self.ending
    }

    fn told(&self) -> (&'static str, Value) {
        ("memory.undone", json!({ "update": self.update, "restored": self.restored }))
    }

    /// A user who takes a removal back speaks for the line; else the next update would remove it
    /// again.
    fn statements(&self) -> Vec<Value> {
        let spoken_for = |hash: &LineHash| json!({ "line": hash, "activation": "activated", "note": "its removal was undone" });
        self.restored.iter().map(spoken_for).collect()
    }
}

/// Takes back the newest update that has not been taken back.
pub fn undo_memory(around: &Surroundings) -> Result<MemoryUndone> {
    let workspace = Workspace::find(around)?;
    workspace.check_initialised()?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    refuse_within(around, &journal, "change what every session is told")?;
    let update = newest_update(&journal)?;
    let settings = UndoSettings { update };
    let tagged = PassSettings::Undo(settings.clone());
    let pass = Pass::begin(around, &workspace, &config, "memory undo", &tagged)?;
    perform_undo(&pass, &settings)
}

pub(super) fn perform_undo(pass: &Pass<'_>, settings: &UndoSettings) -> Result<MemoryUndone> {
    pass.perform(None, None, || {
        let text = |name| -> Result<String> {
            let path = kept(pass.workspace, settings.update, name);
            pass.places.read(&path)?.ok_or_else(|| {
                let id = settings.update.short();
                Error::new(Fault::BadInput, format!("what update {id} changed is no longer kept"))
                    .hint("git may have the file as it was: it is shared")
            })
        };
        let (before, after) = (text("before.md")?, text("after.md")?);
        let _: bool = pass.step("write", || {
            pass.places.replace_broadcast(pass.around, &after, &before).map_err(|error| {
                let path = kept(pass.workspace, settings.update, "before.md");
                error.hint(format!(
                    "the file as it was before the update: {}",
                    spore_plain::path(&path)
                ))
            })?;
            Ok(true)
        })?;
        let id = settings.update.short();
        Ok(MemoryUndone {
            ending: PassEnding {
                run: Some(pass.run),
                terminal: Terminal::Updated,
                result: format!("UPDATED: {BROADCAST} is as it was before update {id}."),
                acked: None,
                pending_task: None,
            },
            update: settings.update,
            restored: restored(&before, &after),
            diff: diff(&after, &before),
        })
    })
}

/// The lines that `before` has and `after` has not.
fn restored(before: &str, after: &str) -> Vec<LineHash> {
    let left = LineMap::read(after);
    let map = LineMap::read(before);
    let gone = map.lines().iter().filter(|line| left.by_hash(&line.hash).is_none());
    let mut hashes: Vec<LineHash> = gone.map(|line| line.hash.clone()).collect();
    hashes.dedup();
    hashes
}

/// The newest update that changed something and still stands.
fn newest_update(journal: &dyn spore_store::Journal) -> Result<RunId> {
    let runs = journal.runs(&RunQuery { roots_only: true, ..RunQuery::default() })?;
    let mut undone = Vec::new();
    for run in runs.iter().filter(|run| is_done(run)) {
        match serde_json::from_value(run.settings.clone()) {
            Ok(PassSettings::Undo(settings)) => undone.push(settings.update),
            Ok(PassSettings::Update(_)) if !undone.contains(&run.id) && changed(journal, run)? => {
                return Ok(run.id);
            }
            _ => {}
        }
    }
    Err(Error::new(Fault::BadInput, format!("no update of {BROADCAST} is left to be undone"))
        .hint("`spore runs list` shows what memory did"))
}

fn is_done(run: &Run) -> bool {
    run.kind == RunKind::Memory
        && run.state == RunState::Ended
        && matches!(run.outcome, Some(Outcome::Success | Outcome::Partial))
}

fn changed(journal: &dyn spore_store::Journal, run: &Run) -> Result<bool> {
    let step = journal.step(run.id, &spore_model::StepKey::named("write"))?;
    Ok(step.and_then(|step| step.result) == Some(Value::Bool(true)))
}
