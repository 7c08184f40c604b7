//! `spore memory update`: the broadcast file, changed by evidence alone.
//!
//! The ledger is read first and must be up to date. Rules decide, a person may name lines, and a
//! model may be asked to propose; whatever asks, the file is only ever written from an [`Edit`],
//! which the ledger has defended, once when it is planned and once more right before it is
//! written. The file as it was is kept with the run, so that the change can be taken back. A line
//! that was rewritten is linked to what it became, in the ledger, right after the file is written.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spore_memory::decision::{Decision, Enough, decide};
use spore_memory::edit::{Edit, LineChange, diff};
use spore_memory::evidence::Decider;
use spore_memory::inbox::{PassKind, Terminal};
use spore_memory::ledger::{EvidenceTally, LEDGER, Ledger, LineLink};
use spore_memory::lines::{BROADCAST, LineHash, LineMap, ToldLine};
use spore_memory::proposing::{EditProposal, EditQuestion};
use spore_memory::trial::LineTrial;
use spore_model::{Fault, RunId, StepKey};
use spore_tools::memory::submit_edits;

use super::asking::{AskSettings, AskedModel, MemoryQuestion, ModelAsker};
use super::crystallize::FoldedLedger;
use super::inbox::packet;
use super::open_trials::{end_trials, open_trials};
use super::passes::{Pass, PassEnding, Report};
use super::places::MemoryPlaces;
use super::requests::{MemoryUpdate, PassSettings, UpdateSettings};
use super::wanted_changes::{
    HeldChanges, ProposedEdits, RefusedChange, UpdateRules, accept_proposals, by_person, by_rule,
    defend_all, refuse,
};
use crate::knowledge::ledger::told_map;
use crate::session::within::refuse_within;
use crate::{Error, Progress, Result, Surroundings, Workspace, counted};

/// What an update did, or would do.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MemoryUpdated {
    #[serde(flatten)]
    pub ending: PassEnding,
    pub removed: Vec<LineDecision>,
    /// Lines that say something else now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewritten: Vec<RewrittenLine>,
    /// Lines that are new.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<LineHash>,
    /// Lines that stay because the evidence speaks for them.
    pub kept: Vec<LineDecision>,
    /// Lines that failed, and what to do about them is not for a rule.
    pub for_judgement: Vec<LineDecision>,
    /// Lines that were on trial and are no longer what runs are told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials_ended: Vec<LineHash>,
    /// What a model proposed and the evidence does not defend.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedChange>,
    /// A unified diff; empty where nothing changes.
    pub diff: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// A line that became another one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RewrittenLine {
    pub line: String,
    pub old: LineHash,
    pub new: LineHash,
    pub by: Decider,
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
        let rewritten: Vec<Value> = self
            .rewritten
            .iter()
            .map(|line| json!({ "old": line.old, "new": line.new, "by": line.by }))
            .collect();
        let payload = json!({
            "terminal": self.ending.terminal,
            "removed": hashes(&self.removed),
            "rewritten": rewritten,
            "added": self.added,
            "kept": hashes(&self.kept),
            "for_judgement": hashes(&self.for_judgement),
            "trials_ended": self.trials_ended,
        });
        ("memory.updated", payload)
    }
}

/// Changes the broadcast file as far as the ledger defends it. `model` is asked for proposals
/// where it is given and there is something to propose.
pub fn update_memory(
    around: &Surroundings,
    asked: &MemoryUpdate,
    model: Option<&AskedModel>,
    progress: &mut dyn Progress,
) -> Result<MemoryUpdated> {
    let workspace = Workspace::find(around)?;
    workspace.check_initialised()?;
    let mut config = workspace.config(around, &[])?;
    if let Some(name) = &asked.task {
        packet(&workspace, name)?;
    }
    let places = MemoryPlaces::of(&workspace);
    let map = places.line_map()?;
    let named = resolve(&map, &asked.remove)?;
    let rewrite = asked.rewrite.iter().map(|(typed, text)| {
        let hash = resolve(&map, std::slice::from_ref(typed))?;
        Ok((hash.into_iter().next().unwrap_or_default(), text.clone()))
    });
    let rewrite = rewrite.collect::<Result<Vec<_>>>()?;
    let asked = MemoryUpdate { remove: named, rewrite, ..asked.clone() };
    if asked.dry_run {
        let rules = UpdateRules::of(&config);
        let (mut report, _) = plan(&places, &asked, rules, None, &[], &ProposedEdits::default())?;
        report.dry_run = true;
        return Ok(report);
    }
    refuse_within(around, &workspace.journal(&config)?, "change what every session is told")?;
    let ask = match model {
        None => None,
        Some(model) => match AskSettings::find(around, &mut config, model, progress)? {
            Ok(ask) => Some(ask),
            Err(why) => return Err(nobody(&why)),
        },
    };
    let settings = UpdateSettings { asked, ask };
    let tagged = PassSettings::Update(settings.clone());
    let pass = Pass::begin(around, &workspace, &config, "memory update", &tagged)?;
    perform(&pass, &settings, progress)
}

fn nobody(why: &str) -> Error {
    Error::new(Fault::Missing, format!("nobody can propose: {why}"))
        .hint("without --propose rules decide alone; or add `--backend NAME`")
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

pub(super) fn ambiguous(typed: &str, several: &[&ToldLine]) -> Error {
    let lines: Vec<String> =
        several.iter().take(8).map(|line| format!("  {}  {}", line.hash, line.text)).collect();
    Error::new(Fault::BadInput, format!("{typed:?} could be any of {} lines", several.len()))
        .hint(format!("type more of the hash:\n{}", lines.join("\n")))
}

pub(super) fn no_such_line(typed: &str) -> Error {
    Error::new(Fault::BadInput, format!("{BROADCAST} has no line {typed:?}"))
        .hint("`spore memory status` shows all lines, `spore lessons --full` all lessons; name one as L3, by its hash or its words")
}

pub(super) fn perform(
    pass: &Pass<'_>,
    settings: &UpdateSettings,
    progress: &mut dyn Progress,
) -> Result<MemoryUpdated> {
    let rules = UpdateRules::of(pass.config);
    let asked = &settings.asked;
    pass.perform(Some(PassKind::Update), asked.task.as_deref(), || {
        let proposed = propose(pass, settings.ask.as_ref(), rules, progress)?;
        let decided: DecidedUpdate = pass.step("decide", || {
            let named = task_lines(pass, asked)?;
            let (report, edit) =
                plan(&pass.places, asked, rules, Some(pass.run), &named, &proposed)?;
            let mut changes = Vec::new();
            if let Some(edit) = &edit {
                keep(pass, "before.md", edit.before())?;
                keep(pass, "after.md", edit.after())?;
                keep(pass, "update.diff", &report.diff)?;
                changes = edit.changes().to_vec();
            }
            Ok(DecidedUpdate { report, changes, at: pass.around.clock.now().to_string() })
        })?;
        let _: bool = pass.step("write", || write(pass, &decided, rules))?;
        let _: bool = pass.step("link", || link(pass, &decided))?;
        let ended = &decided.report.trials_ended;
        let _: bool = pass.step("trials", || {
            if !ended.is_empty() {
                end_trials(pass.around, &pass.places, ended, &decided.at)?;
            }
            Ok(!ended.is_empty())
        })?;
        Ok(decided.report)
    })
}

/// What was decided, and is about to be written.
#[derive(Serialize, Deserialize)]
struct DecidedUpdate {
    report: MemoryUpdated,
    changes: Vec<LineChange>,
    at: String,
}

/// What a model is asked, as its step keeps it.
#[derive(Serialize, Deserialize)]
struct RecordedQuestion {
    prompt: String,
    /// What is asked about, with its evidence: once it is answered it is not paid for again.
    marks: BTreeSet<String>,
}

/// Asks a model, where one is to be asked and there is something to ask.
fn propose(
    pass: &Pass<'_>,
    ask: Option<&AskSettings>,
    rules: UpdateRules,
    progress: &mut dyn Progress,
) -> Result<ProposedEdits> {
    let Some(ask) = ask else { return Ok(ProposedEdits::default()) };
    let question: Option<RecordedQuestion> = pass.step("question", || {
        let folded = current_ledger(&pass.places)?;
        let map = pass.places.line_map()?;
        let answered = pass.places.answered_edits()?;
        let question = EditQuestion::of(&map, &folded.ledger, rules.enough, &answered);
        Ok(question.map(|asked| RecordedQuestion {
            prompt: asked.prompt(),
            marks: asked.marks(&folded.ledger),
        }))
    })?;
    let Some(RecordedQuestion { prompt, marks }) = question else {
        return Ok(ProposedEdits::default());
    };
    let asker = ModelAsker::open(pass, ask)?;
    let question = MemoryQuestion {
        role: "updater",
        place: "updater".to_owned(),
        prompt,
        tool: submit_edits(),
    };
    let read = |value: Value| -> Vec<EditProposal> {
        let edits = value["edits"].as_array().map_or(&[][..], Vec::as_slice);
        edits.iter().filter_map(|one| serde_json::from_value(one.clone()).ok()).collect()
    };
    let answered = asker.ask(&StepKey::numbered("propose", 0), question, read, progress)?;
    if answered.as_ref().is_some_and(|answered| answered.stopped.is_none()) {
        let _: bool = pass.step("answered", || {
            let mut known = pass.places.answered_edits()?;
            known.extend(marks);
            let text: String = known.iter().map(|mark| format!("{mark}\n")).collect();
            pass.around.write_if_changed(&pass.places.answered_edits_file(), text.as_bytes())?;
            Ok(true)
        })?;
    }
    Ok(match answered {
        None => ProposedEdits {
            stopped: Some(format!("its budget of {} is spent", ask.budget)),
            ..ProposedEdits::default()
        },
        Some(answered) => ProposedEdits {
            edits: answered.answer.unwrap_or_default(),
            by: answered.by,
            stopped: answered.stopped,
        },
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

pub(super) fn kept(workspace: &Workspace, run: RunId, name: &str) -> PathBuf {
    workspace.run_files(run).file(name)
}

/// Decides about every line and has the ledger defend what follows from that.
fn plan(
    places: &MemoryPlaces,
    asked: &MemoryUpdate,
    rules: UpdateRules,
    run: Option<RunId>,
    task_lines: &[LineHash],
    proposed: &ProposedEdits,
) -> Result<(MemoryUpdated, Option<Edit>)> {
    let folded = current_ledger(places)?;
    let existed = places.broadcast().exists();
    let before = places.read(&places.broadcast())?.unwrap_or_default();
    let map = LineMap::read(&before);
    let held = HeldChanges::of(places, &folded.ledger, rules);
    let mut report = MemoryUpdated {
        ending: PassEnding {
            run,
            terminal: Terminal::NoOp,
            result: String::new(),
            acked: None,
            pending_task: None,
        },
        removed: Vec::new(),
        rewritten: Vec::new(),
        added: Vec::new(),
        kept: Vec::new(),
        for_judgement: Vec::new(),
        trials_ended: Vec::new(),
        refused: Vec::new(),
        diff: String::new(),
        dry_run: false,
    };
    let mut changes = by_person(asked, &folded.ledger)?;
    report.refused = accept_proposals(&mut changes, proposed, &before, &held);
    for line in map.lines() {
        let entry = folded.ledger.entry(&line.hash);
        let decided = decide(entry, rules.enough);
        let taken = changes.iter().any(|change| change.hash() == Some(&line.hash));
        if decided == Decision::Remove && !taken {
            changes.push(LineChange::Remove { hash: line.hash.clone() });
        }
    }
    by_rule(&mut changes, &before, &held);
    if let Ok(edit) = held.defend(&before, &[LineChange::ImportPriority]) {
        changes.extend(edit.changes().iter().cloned());
    }
    let (edit, left) = defend_all(&mut changes, &before, &held)?;
    let is_changed = |trial: &LineTrial| changes.iter().any(|one| one.hash() == Some(&trial.line));
    let ended = open_trials(places)?.into_iter().filter(is_changed);
    report.trials_ended = ended.map(|trial| trial.line).collect();
    report.refused.extend(left);
    tell(&mut report, &map, &folded.ledger, rules.enough, &changes);
    report.diff = edit.as_ref().map(|edit| diff(edit.before(), edit.after())).unwrap_or_default();
    conclude(&mut report, edit.as_ref().map(|_| existed), task_lines, proposed.stopped.as_deref());
    Ok((report, edit))
}

fn tell(
    report: &mut MemoryUpdated,
    map: &LineMap,
    ledger: &Ledger,
    enough: Enough,
    changes: &[LineChange],
) {
    for line in map.lines() {
        let entry = ledger.entry(&line.hash);
        let change = changes.iter().find(|change| change.hash() == Some(&line.hash));
        let decided = match change {
            Some(LineChange::Remove { .. }) => Decision::Remove,
            _ => decide(entry, enough),
        };
        let tally = entry.map(|entry| entry.tally()).unwrap_or_default();
        let row = line_decision(line, decided, tally);
        match (change, decided) {
            (Some(LineChange::Remove { .. }), _) => report.removed.push(row),
            (Some(change), _) => report.rewritten.extend(change.text().map(|(text, by)| {
                let new = LineHash::of(text);
                let old = line.hash.clone();
                RewrittenLine { line: line.reference(), old, new, by: by.clone() }
            })),
            (None, Decision::Keep | Decision::Waiting) => report.kept.push(row),
            (None, Decision::Judge | Decision::Remove) => report.for_judgement.push(row),
            (None, Decision::Untested) => {}
        }
    }
    for change in changes {
        if let LineChange::Add { text, .. } = change {
            report.added.push(LineHash::of(text));
        }
    }
}

pub(super) fn line_decision(
    line: &ToldLine,
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

/// `edited` says, where the file changes, whether it was there before.
fn conclude(
    report: &mut MemoryUpdated,
    edited: Option<bool>,
    task_lines: &[LineHash],
    stopped: Option<&str>,
) {
    let open = report.for_judgement.iter().filter(|row| task_lines.contains(&row.hash)).count();
    let count = |number: usize| counted(u32::try_from(number).unwrap_or(u32::MAX), "line");
    let mut told: Vec<String> = Vec::new();
    for (number, deed) in [
        (report.removed.len(), "removed"),
        (report.rewritten.len(), "rewritten"),
        (report.added.len(), "added"),
    ] {
        if number > 0 {
            let of = if told.is_empty() { format!(" of {BROADCAST}") } else { String::new() };
            told.push(format!("{}{of} {deed}", count(number)));
        }
    }
    let told = match (told.is_empty(), edited) {
        (false, _) => told.join(", "),
        (true, Some(_)) => format!("{BROADCAST} imports priority.md"),
        (true, None) => format!("the ledger asks for no change of {BROADCAST}"),
    };
    let terminal = match (open, stopped, edited) {
        (1.., ..) | (_, Some(_), _) => Terminal::PartialUpdate,
        (0, None, None) => Terminal::NoOp,
        (0, None, Some(false)) => Terminal::Bootstrapped,
        (0, None, Some(true)) => Terminal::Updated,
    };
    let mut result = format!("{terminal}: {told}.");
    if open > 0 {
        result = format!("{terminal}: {told}; what the task names has to be judged.");
    }
    if let Some(why) = stopped {
        result.push_str(&format!(" No proposals: {why}."));
    }
    report.ending.terminal = terminal;
    report.ending.result = result;
}

/// The ledger, if it holds every fragment there is: an edit is defended by all evidence or by
/// none.
fn current_ledger(places: &MemoryPlaces) -> Result<FoldedLedger> {
    let folded = FoldedLedger::read(places, places.line_map()?)?;
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

/// Writes the planned change, defended once more by the ledger as it is now.
fn write(pass: &Pass<'_>, decided: &DecidedUpdate, rules: UpdateRules) -> Result<bool> {
    if decided.changes.is_empty() {
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
    let held = HeldChanges::of(&pass.places, &folded.ledger, rules);
    let edit = held.defend(&before, &decided.changes).map_err(|error| refuse(&error))?;
    if edit.after() != after {
        return Err(Error::new(Fault::BadInput, "the plan of the update was changed on the disk")
            .hint("nothing was written: `spore memory update` plans it again"));
    }
    pass.places.replace_broadcast(pass.around, edit.before(), edit.after())?;
    Ok(true)
}

/// Links what was rewritten to what it became, and remembers what was added, in the ledger.
fn link(pass: &Pass<'_>, decided: &DecidedUpdate) -> Result<bool> {
    let links: Vec<LineLink> = decided
        .changes
        .iter()
        .filter_map(|change| {
            let (text, by) = change.text()?;
            let new = LineHash::of(text);
            // A line that is new links to itself: taken out by a person, it stays out.
            let old = change.hash().cloned().unwrap_or_else(|| new.clone());
            Some(LineLink { ts: decided.at.clone(), old, new, by: by.clone() })
        })
        .collect();
    if links.is_empty() {
        return Ok(false);
    }
    let mut folded = FoldedLedger::read(&pass.places, told_map(pass.workspace, pass.config)?)?;
    links.into_iter().for_each(|link| folded.ledger.link(link));
    let after = folded.after();
    if folded.before != after {
        pass.around.write_file(&pass.places.path(LEDGER), after.as_bytes())?;
    }
    Ok(true)
}
