//! `spore memory weave`: the whole loop in order, for the tasks of the inbox or for what is new.
//!
//! It is a coordinator and writes nothing of memory itself: each pass is a run of its own below
//! this one, and the one thing that happens here is that the file of a task is removed when the
//! last pass that the task needs has settled it. Before that, what the passes report is held
//! against the disk: fragments must be whole and from outside, and every count must be there to be
//! counted. What does not hold leaves the task where it is.
//!
//! A weaving that is killed goes on with the pass it was in: the id of each is part of the intent.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spore_memory::fragment::Fragment;
use spore_memory::inbox::{NOTHING_CHANGED, Packet, PassKind, Terminal, is_ack_name};
use spore_memory::lines::{BROADCAST, LineHash};
use spore_memory::scan::has_external;
use spore_model::{Begun, EffectClass, Fault, RunId, StepKey};
use spore_store::spine::Spine;

use super::asking::{AskSettings, AskedModel};
use super::crystallize::{self, Crystallized, RefusedFragment};
use super::inbox::packet;
use super::judge::{self, MemoryJudged};
use super::passes::{Pass, PassEnding, Report};
use super::places::MemoryPlaces;
use super::requests::{
    Crystallize, JudgeSettings, MemoryScan, MemoryUpdate, PassSettings, UpdateSettings,
    WeaveSettings,
};
use super::scan::{self, LineEvidence, MemoryScanned, OWN_EVENTS, ScannerState};
use super::update::{self, MemoryUpdated};
use crate::base::error::bug;
use crate::session::within::refuse_within;
use crate::{Error, Progress, Result, Surroundings, Workspace, counted};

/// The outcome of a weaving.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MemoryWoven {
    #[serde(flatten)]
    pub ending: PassEnding,
    pub mode: WeaveMode,
    /// The passes that were made, in order.
    pub passes: Vec<WovenPass>,
    pub tasks: Vec<WovenTask>,
    /// Files of memory that changed.
    pub changed: Vec<String>,
    /// How much evidence backs each line that has new one.
    pub lines: Vec<LineEvidence>,
}

/// What a weaving works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeaveMode {
    /// The tasks of the inbox.
    Directed,
    /// What is new on the spine.
    Reflective,
}

/// One pass of a weaving.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WovenPass {
    pub pass: String,
    pub run: Option<RunId>,
    pub terminal: Terminal,
    pub result: String,
}

/// What became of a task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WovenTask {
    pub ack: String,
    /// Done and off the inbox.
    pub acked: bool,
    /// Why it is still there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl WovenTask {
    fn unclear(workspace: &Workspace, name: &str) -> Self {
        let why = match packet(workspace, name) {
            Ok(_) => "it is not clear what it asks for".to_owned(),
            Err(error) => format!("it is not clear what it asks for: {error}"),
        };
        Self { ack: name.to_owned(), acked: false, why: Some(why) }
    }
}

impl Report for MemoryWoven {
    fn ending(&mut self) -> &mut PassEnding {
        &mut self.ending
    }

    fn told(&self) -> (&'static str, Value) {
        let acked = self.tasks.iter().filter(|task| task.acked).count();
        let payload = json!({
            "terminal": self.ending.terminal,
            "mode": self.mode,
            "passes": self.passes.iter().map(|pass| &pass.pass).collect::<Vec<_>>(),
            "acked": acked,
            "pending": self.tasks.len() - acked,
            "changed": self.changed.len(),
        });
        ("memory.woven", payload)
    }
}

/// Who is asked in a weaving.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WeaveAsked {
    pub model: AskedModel,
    /// Ask no model, whichever agent is ready.
    pub no_model: bool,
    /// Leave alone what only waits for a judge: with nothing new its judge may be failing.
    pub only_news: bool,
}

/// Weaves once.
pub fn weave_memory(
    around: &Surroundings,
    asked: &WeaveAsked,
    progress: &mut dyn Progress,
) -> Result<MemoryWoven> {
    let workspace = Workspace::find(around)?;
    workspace.check_initialised()?;
    let mut config = workspace.config(around, &[])?;
    refuse_within(around, &workspace.journal(&config)?, "have memory woven")?;
    let places = MemoryPlaces::of(&workspace);
    let mut tasks = places.inbox_names()?;
    let mut unclear = Vec::new();
    if !asks_for_work(&workspace, &tasks) {
        unclear = std::mem::take(&mut tasks);
    }
    // With nothing from outside no pass can find anything, so none is made.
    let is_due = !tasks.is_empty() || is_behind(around, &workspace, &places)?;
    let per_line = config.memory.pending_per_line;
    let only_judge = !is_due && !asked.only_news && !judge::waiting(&places, per_line)?.is_empty();
    let ask = match asked.no_model || !(is_due || only_judge) {
        true => None,
        false => AskSettings::find(around, &mut config, &asked.model, progress)?.ok(),
    };
    if !is_due && ask.is_none() {
        let mut nothing = nothing(WeaveMode::Reflective);
        nothing.tasks = unclear.iter().map(|name| WovenTask::unclear(&workspace, name)).collect();
        return Ok(nothing);
    }
    let settings = WeaveSettings { tasks, unclear, ask };
    let tagged = PassSettings::Weave(settings.clone());
    let pass = Pass::begin(around, &workspace, &config, "memory weave", &tagged)?;
    perform(&pass, &settings, progress)
}

fn nothing(mode: WeaveMode) -> MemoryWoven {
    MemoryWoven {
        ending: PassEnding {
            run: None,
            terminal: Terminal::NoNewGradient,
            result: NOTHING_CHANGED.to_owned(),
            acked: None,
            pending_task: None,
        },
        mode,
        passes: Vec::new(),
        tasks: Vec::new(),
        changed: Vec::new(),
        lines: Vec::new(),
    }
}

/// Whether the words of any task ask for something that memory does.
pub(super) fn asks_for_work(workspace: &Workspace, tasks: &[String]) -> bool {
    tasks.iter().any(|name| packet(workspace, name).is_ok_and(|packet| !packet.passes.is_empty()))
}

/// Whether there is evidence that no scan has read or no ledger has.
fn is_behind(around: &Surroundings, workspace: &Workspace, places: &MemoryPlaces) -> Result<bool> {
    let folded = crystallize::FoldedLedger::read(places, places.line_map()?)?;
    Ok(folded.added.values().sum::<u32>() > 0 || news(around, workspace, places)?)
}

/// Whether anything came from outside since the last scan.
fn news(around: &Surroundings, workspace: &Workspace, places: &MemoryPlaces) -> Result<bool> {
    let text = places.read(&places.scanner_state())?.unwrap_or_default();
    let state: ScannerState = serde_json::from_str(&text).unwrap_or_default();
    let from = state.places.get(OWN_EVENTS).map(|known| known.cursor.clone()).unwrap_or_default();
    let mut reader = Spine::new(workspace.events_dir()).read_from(&from);
    has_external(&mut reader, &|| around.interrupt.is_raised()).map_err(scan::failed)
}

pub(super) fn perform(
    pass: &Pass<'_>,
    settings: &WeaveSettings,
    progress: &mut dyn Progress,
) -> Result<MemoryWoven> {
    pass.perform(None, None, || {
        let mut weaving = Weaving { pass, settings, made: 0, done: nothing(WeaveMode::Directed) };
        match settings.tasks.is_empty() {
            true => {
                weaving.done.mode = WeaveMode::Reflective;
                let unclear = settings.unclear.iter();
                let unclear = unclear.map(|name| WovenTask::unclear(pass.workspace, name));
                weaving.done.tasks = unclear.collect();
                weaving.whole(progress)?;
            }
            false => {
                for (at, name) in settings.tasks.iter().enumerate() {
                    weaving.task(at, name, progress)?;
                }
            }
        }
        Ok(weaving.end())
    })
}

/// A weaving under way.
struct Weaving<'a> {
    pass: &'a Pass<'a>,
    settings: &'a WeaveSettings,
    /// How many passes were made; their steps are numbered.
    made: u32,
    done: MemoryWoven,
}

/// The outcome of the passes for one task.
#[derive(Default)]
struct TaskPasses {
    /// Whether any of them has left something to do. What a later one worked on was not all then.
    is_partial: bool,
    /// What does not hold of what they report.
    doubt: Option<String>,
}

impl Weaving<'_> {
    /// Scan, judge, crystallize, update: what one leaves is what the next works on.
    fn whole(&mut self, progress: &mut dyn Progress) -> Result<()> {
        let all = PassKind::ALL;
        self.passes(&all, None, progress).map(|_| ())
    }

    fn task(&mut self, at: usize, name: &str, progress: &mut dyn Progress) -> Result<()> {
        let number = u32::try_from(at).unwrap_or(u32::MAX);
        let asked: Option<Vec<PassKind>> =
            self.pass.steps().once(&StepKey::numbered("task", number), |_, _| {
                match packet(self.pass.workspace, name) {
                    Ok(packet) => self.needed(&packet).map(Some),
                    // One that lies there and cannot be read asks for nothing that is clear.
                    Err(_) if self.pass.places.inbox().join(name).exists() => Ok(Some(Vec::new())),
                    // A person or another process took it away since.
                    Err(_) => Ok(None),
                }
            })?;
        let pending =
            |why: String| WovenTask { ack: name.to_owned(), acked: false, why: Some(why) };
        let task = match asked.as_deref() {
            None => pending("it is gone".to_owned()),
            Some([]) => WovenTask::unclear(self.pass.workspace, name),
            Some(passes) => {
                let TaskPasses { is_partial, doubt } = self.passes(passes, Some(name), progress)?;
                match (doubt, is_partial) {
                    (Some(doubt), _) => pending(doubt),
                    (None, true) => pending("something of it is left to do".to_owned()),
                    (None, false) => {
                        let acked = self.ack(number, name)?;
                        WovenTask { ack: name.to_owned(), acked, why: None }
                    }
                }
            }
        };
        self.done.tasks.push(task);
        Ok(())
    }

    /// The passes of a task. One that changes the file needs a ledger that is up to date; where it
    /// is not, evidence is brought in first.
    fn needed(&self, packet: &Packet) -> Result<Vec<PassKind>> {
        if packet.passes.as_slice() != [PassKind::Update] {
            return Ok(packet.passes.clone());
        }
        let is_behind = is_behind(self.pass.around, self.pass.workspace, &self.pass.places)?;
        Ok(if is_behind { PassKind::ALL.to_vec() } else { packet.passes.clone() })
    }

    fn passes(
        &mut self,
        passes: &[PassKind],
        task: Option<&str>,
        progress: &mut dyn Progress,
    ) -> Result<TaskPasses> {
        let mut done = TaskPasses::default();
        for kind in passes {
            if self.pass.around.interrupt.is_raised() {
                return Err(Error::interrupted("the weaving was interrupted")
                    .hint("`spore resume` goes on with it"));
            }
            let terminal = match kind {
                PassKind::Scan => {
                    let scanned = self.scan(task)?;
                    done.doubt = done.doubt.or(self.check_scan(&scanned)?);
                    self.judge(progress)?;
                    scanned.ending.terminal
                }
                PassKind::Crystallize => {
                    let crystallized = self.crystallize(task)?;
                    done.doubt = done.doubt.or(self.check_ledger(&crystallized)?);
                    crystallized.ending.terminal
                }
                PassKind::Update => self.update(task, progress)?.ending.terminal,
            };
            done.is_partial |= !terminal.settles_a_task();
        }
        Ok(done)
    }

    fn scan(&mut self, task: Option<&str>) -> Result<MemoryScanned> {
        let asked = MemoryScan { task: task.map(str::to_owned), ..MemoryScan::default() };
        let settings = PassSettings::Scan(asked.clone());
        let scanned: MemoryScanned =
            self.child("memory scan", &settings, |pass| scan::perform(pass, &asked))?;
        self.note("scan", &scanned.ending);
        self.done.changed.extend(scanned.fragments.iter().cloned());
        for line in &scanned.lines {
            self.done.lines.retain(|known| known.hash != line.hash);
            self.done.lines.push(line.clone());
        }
        Ok(scanned)
    }

    /// Asks a judge about what the scan left open, where one can be asked.
    fn judge(&mut self, progress: &mut dyn Progress) -> Result<()> {
        let Some(ask) = &self.settings.ask else { return Ok(()) };
        let key = StepKey::numbered("cases", self.made);
        let per_line = self.pass.config.memory.pending_per_line;
        let waits: bool = self
            .pass
            .steps()
            .once(&key, |_, _| Ok(!judge::waiting(&self.pass.places, per_line)?.is_empty()))?;
        if !waits {
            return Ok(());
        }
        let settings = JudgeSettings { ask: ask.clone() };
        let tagged = PassSettings::Judge(settings.clone());
        let judged: MemoryJudged =
            self.child("memory judge", &tagged, |pass| judge::perform(pass, &settings, progress))?;
        self.note("judge", &judged.ending);
        self.done.changed.extend(judged.fragments.iter().cloned());
        Ok(())
    }

    fn crystallize(&mut self, task: Option<&str>) -> Result<Crystallized> {
        let asked = Crystallize { task: task.map(str::to_owned) };
        let settings = PassSettings::Crystallize(asked.clone());
        let crystallized: Crystallized =
            self.child("memory crystallize", &settings, |pass| crystallize::perform(pass, &asked))?;
        self.note("crystallize", &crystallized.ending);
        self.done.changed.extend(crystallized.written.iter().cloned());
        Ok(crystallized)
    }

    fn update(&mut self, task: Option<&str>, progress: &mut dyn Progress) -> Result<MemoryUpdated> {
        let asked = MemoryUpdate { task: task.map(str::to_owned), ..MemoryUpdate::default() };
        let asked = UpdateSettings { asked, ask: self.settings.ask.clone() };
        let settings = PassSettings::Update(asked.clone());
        let updated: MemoryUpdated =
            self.child("memory update", &settings, |pass| update::perform(pass, &asked, progress))?;
        self.note("update", &updated.ending);
        if !updated.diff.is_empty() {
            self.done.changed.push(BROADCAST.to_owned());
        }
        Ok(updated)
    }

    /// Makes a pass as a run below this one, or finds what came of it.
    fn child<R: Report + DeserializeOwned>(
        &mut self,
        name: &str,
        settings: &PassSettings,
        act: impl FnOnce(&Pass<'_>) -> Result<R>,
    ) -> Result<R> {
        let key = StepKey::numbered("pass", self.made);
        self.made += 1;
        let steps = self.pass.steps();
        let intent = steps.intent().plan("child", self.pass.around.ids.run());
        let ticket = match steps.begin(&key, EffectClass::Keyed, intent)? {
            Begun::Done(done) => return Ok(done),
            Begun::Do(ticket) => ticket,
        };
        let id: RunId = ticket.planned("child").map_err(bug)?;
        let report = match self.pass.child(id, name, settings)? {
            Some(child) => act(&child)?,
            None => self.reported(id)?,
        };
        steps.finish(&key, &ticket, &steps.entry(&report)?)?;
        Ok(report)
    }

    /// What a pass said that had ended when this one was killed.
    fn reported<R: DeserializeOwned>(&self, run: RunId) -> Result<R> {
        let path = self.pass.workspace.run_files(run).report();
        let text = self.pass.places.read(&path)?.unwrap_or_default();
        serde_json::from_str(&text).map_err(|source| {
            let path = spore_plain::path(&path);
            Error::new(Fault::BadInput, format!("what the pass found is gone: {path}"))
                .hint("start it anew: `spore memory weave`")
                .because(source)
        })
    }

    fn note(&mut self, pass: &str, ending: &PassEnding) {
        self.done.passes.push(WovenPass {
            pass: pass.to_owned(),
            run: ending.run,
            terminal: ending.terminal,
            result: ending.result.clone(),
        });
    }

    /// Holds what a scan reports against the disk: each fragment whole and from outside, each
    /// count as many files.
    fn check_scan(&self, scanned: &MemoryScanned) -> Result<Option<String>> {
        let places = &self.pass.places;
        for path in &scanned.fragments {
            let name = path.rsplit('/').next().unwrap_or_default();
            let text = places.read(&places.fragments().join(name))?.unwrap_or_default();
            if let Err(error) = Fragment::parse(name, &text) {
                return Ok(Some(format!("{path} does not hold: {error}")));
            }
        }
        let known = places.known()?;
        let on_disk = |hash: &LineHash| known.about(hash);
        Ok(miscounted(&scanned.lines, &on_disk))
    }

    /// Holds what a crystallization reports against the ledger on the disk. A fragment that it
    /// refused is evidence that no count has.
    fn check_ledger(&self, crystallized: &Crystallized) -> Result<Option<String>> {
        if let Some(RefusedFragment { fragment, reason }) = crystallized.refused.first() {
            let path = spore_plain::line_within(fragment, 120);
            return Ok(Some(format!("memory/fragments/{path} is not in the ledger: {reason}")));
        }
        let ledger = self.pass.places.ledger()?;
        let on_disk = |hash: &LineHash| {
            let rows = ledger.entry(hash).map_or(0, |entry| entry.rows().count());
            u32::try_from(rows).unwrap_or(u32::MAX)
        };
        Ok(miscounted(&crystallized.lines, &on_disk))
    }

    /// Removes the one file of a task; what it said is kept with the run.
    fn ack(&self, number: u32, name: &str) -> Result<bool> {
        let copy = self.pass.files().file(&format!("task-{number}.md"));
        let removed: bool = self.pass.steps().once(&StepKey::numbered("ack", number), |_, _| {
            if !is_ack_name(name) {
                return Ok(false);
            }
            let path = self.pass.places.inbox().join(name);
            let Some(body) = self.pass.places.read(&path)? else { return Ok(copy.exists()) };
            self.pass.around.write_file(&copy, body.as_bytes())?;
            self.pass.around.remove_file(&path)?;
            Ok(true)
        })?;
        Ok(removed)
    }

    /// Without a change and without a task that was done, exactly the one sentence.
    fn end(mut self) -> MemoryWoven {
        let run = Some(self.pass.run);
        // A task that nothing was done for leaves nothing undone by this weaving.
        let tasks = match self.done.mode {
            WeaveMode::Directed => self.done.tasks.as_slice(),
            WeaveMode::Reflective => &[],
        };
        let pending = tasks.iter().filter(|task| !task.acked).count();
        let (acked, all) = (tasks.len() - pending, tasks.len());
        self.done.changed.dedup();
        let is_partial =
            self.done.passes.iter().any(|pass| pass.terminal == Terminal::PartialUpdate);
        let (terminal, result) = match (self.done.changed.len(), all == 0) {
            (0, true) => (Terminal::NoNewGradient, NOTHING_CHANGED.to_owned()),
            (changed, _) => {
                let terminal = match (pending > 0 || is_partial, changed) {
                    (true, _) => Terminal::PartialUpdate,
                    (false, 0) => Terminal::NoOp,
                    (false, _) => Terminal::Updated,
                };
                let count = |number: usize, what: &str| {
                    counted(u32::try_from(number).unwrap_or(u32::MAX), what)
                };
                let mut told = format!("{terminal}: {} of memory changed", count(changed, "file"));
                if all > 0 {
                    let of_all = count(all, "task");
                    told.push_str(&format!(", {acked} of {of_all} done"));
                }
                (terminal, format!("{told}."))
            }
        };
        self.done.ending = PassEnding { run, terminal, result, acked: None, pending_task: None };
        self.done
    }
}

/// A line whose count is not what the disk has; it is not settled then.
fn miscounted(lines: &[LineEvidence], on_disk: &dyn Fn(&LineHash) -> u32) -> Option<String> {
    lines.iter().find_map(|line| {
        let (told, counted) = (line.new.saturating_add(line.prior), on_disk(&line.hash));
        (told != counted).then(|| {
            format!(
                "{} is said to have {told} pieces of evidence, and {counted} are there",
                line.line
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_the_disk_does_not_have_settles_nothing() {
        let line = |new, prior| LineEvidence {
            line: "memory/CLAUDE.md:L3".into(),
            hash: LineHash::of("a"),
            new,
            prior,
            evidence: String::new(),
        };
        assert_eq!(miscounted(&[line(1, 2)], &|_| 3), None);
        for on_disk in [0, 2, 4] {
            assert!(miscounted(&[line(1, 2)], &|_| on_disk).is_some());
        }
    }
}
