//! `spore investigate`: looks at a directory, and keeps what is known about it up to date.
//!
//! Without a model this is the base scan, its mechanical brief, and an entry in the graph for
//! each directory and file. An entry is kept for as long as its place has the hash that it was
//! written for, be it by a scan or a model; what has changed gets a new one in its place, and
//! what is gone gives way to its directory's. So a second investigation of the same files writes
//! nothing, and one edited file costs as many entries as there are directories above it.
//!
//! It is a run like any other. Looking is not an effect, so a run that is gone on with looks
//! again; everything it writes is by key.
//!
//! With an agent that is ready, `passes` then has a model read what changed. What that says stands
//! beside what counting says; neither takes the other's place.

mod clearing;
mod entries;
mod passes;
mod shared;
mod told;

pub(crate) mod base_scan;

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use spore_config::Config;
use spore_investigate::artefacts::{BRIEF, LOG, LogLine, META, Meta, SCAN};
use spore_investigate::document::InvestigationAccount;
use spore_investigate::passes::InvestigationEstimate;
use spore_investigate::{ScanReport, Tree};
use spore_model::{Fault, Outcome, Park, Run, RunKind, RunState, StepKey, Timestamp};
use spore_runs::RunReport;
use spore_store::{Journal, RunChange, StepEntry};

use crate::agents::known::{KNOWN, Known};
use crate::agents::{backends, ready};
use crate::base::error::bug;
use crate::base::files::{create_private_dir, pretty, remove_empty_dir};
use crate::base::outbox;
use crate::base::run_lock::claim;
use crate::base::totals;
use crate::indexing::{Reporter, Silent};
use crate::report;
use crate::session::nesting::Ancestry;
use crate::session::parent::refuse_inside;
use crate::{Error, Progress, Result, Surroundings, Update, Workspace};

pub use clearing::{ClearedCounts, clear_investigation};
pub use entries::Kept;
pub use passes::{DirectoryCounts, PassesReport};
use passes::{PassRun, Stop, mark_stale};
pub use shared::{InvestigateAsked, RaisedFlag};
use shared::{
    InvestigationRun, InvestigationSettings, KeptNames, ReaderSettings, TargetPlace, named,
    place_of,
};
pub use told::PlaceAnswer;
use told::ToldOfPlaces;

/// The result of an investigation.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Investigated {
    #[serde(flatten)]
    pub scan: ScanReport,
    /// None where nothing was recorded.
    pub run: Option<RunReport>,
    pub entries: Option<Kept>,
    /// What models said; none where no model was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passes: Option<PassesReport>,
    /// What would be asked, where only that was wanted to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<InvestigationEstimate>,
    /// What was flagged, by this run and those before, and stands; worst first.
    pub flags: Vec<RaisedFlag>,
    /// What is said of each place, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<Vec<PlaceAnswer>>,
    /// All of it as one document, where that was asked for.
    #[serde(skip)]
    pub document: Option<String>,
    /// Why nothing was recorded, and how to get what only a model can tell.
    pub notes: Vec<String>,
}

/// Looks at a directory and records what was seen, if it belongs to a project or a model reads it.
pub fn investigate(
    around: &Surroundings,
    asked: &InvestigateAsked,
    reporter: &dyn Reporter,
    progress: &mut dyn Progress,
) -> Result<Investigated> {
    let target = base_scan::target(around, &asked.scan.dir)?;
    let TargetPlace { workspace, base } = place_of(around, &target)?;
    let mut config = workspace.config(around, &[])?;
    let readers = readers(around, &mut config, asked, progress)?;
    if readers.is_model() {
        refuse_inside(around, &workspace, None)?;
    }
    let settings = |base: &Path, target: Option<&Path>, passes| InvestigationSettings {
        base: base.to_owned(),
        target: target.map(Path::to_owned),
        passes,
        asked: asked.clone(),
    };
    let stranger = Workspace::for_stranger(around, &target);
    match (base, readers) {
        (Some(base), readers) if workspace.is_initialised() => {
            let (passes, note) = readers.split();
            let investigation =
                InvestigationRun::open(around, &workspace, &config, around.ids.run())?;
            let settings = settings(&base, None, passes);
            investigation.start(&settings, &target, note, reporter, progress)
        }
        // What was read of it before is found again, also where no model reads now.
        (_, readers) if readers.is_model() || stranger.is_initialised() => {
            create_private_dir(&stranger.spore_dir())?;
            let investigation =
                InvestigationRun::open(around, &stranger, &config, around.ids.run())?;
            let (passes, note) = readers.split();
            let settings = settings(Path::new(""), Some(&target), passes);
            let root = spore_plain::path(stranger.root());
            let kept = format!("It belongs to no project: what is known of it is in {root}.");
            let note = note.map_or_else(|| kept.clone(), |note| format!("{kept} {note}"));
            investigation.start(&settings, &target, Some(note), reporter, progress)
        }
        (outside, readers) => {
            let tree = base_scan::read(around, &config, &target, &asked.scan, reporter)?;
            let scan = base_scan::told(around, &config, &target, &asked.scan, &tree);
            let mut notes = vec![nothing_recorded(&workspace, outside.is_some())];
            notes.extend(readers.split().1);
            let document = asked.document.map(|format| {
                let account = InvestigationAccount {
                    target: &scan.target,
                    tree: &tree,
                    scan: &scan,
                    said: None,
                    flags: Vec::new(),
                    places: &std::collections::BTreeMap::new(),
                    facts: Vec::new(),
                    notes: &notes,
                };
                account.document(format)
            });
            Ok(Investigated { document, notes, ..Investigated::of(scan) })
        }
    }
}

impl Investigated {
    /// What a scan alone tells.
    fn of(scan: ScanReport) -> Self {
        Self {
            scan,
            run: None,
            entries: None,
            passes: None,
            estimate: None,
            flags: Vec::new(),
            places: None,
            document: None,
            notes: Vec::new(),
        }
    }
}

/// Who reads what counting cannot tell.
enum Readers {
    Model(Box<ReaderSettings>),
    /// No agent is there; the text says how to get one.
    None(String),
}

impl Readers {
    const fn is_model(&self) -> bool {
        matches!(self, Self::Model(_))
    }

    fn split(self) -> (Option<ReaderSettings>, Option<String>) {
        match self {
            Self::Model(passes) => (Some(*passes), None),
            Self::None(note) => (None, Some(note)),
        }
    }
}

/// Finds who reads: the agent that was named or set, or the only one that is ready. Where there is
/// none, counting is all, and that is no failure.
fn readers(
    around: &Surroundings,
    config: &mut Config,
    asked: &InvestigateAsked,
    progress: &mut dyn Progress,
) -> Result<Readers> {
    let counted = "This is what counting tells: no model has read anything.";
    if asked.no_model {
        return Ok(Readers::None(format!("{counted} Without --no-model an agent reads it.")));
    }
    ready::choose(around, config, asked.backend.as_deref(), progress);
    let backend = asked.backend.clone().unwrap_or_else(|| config.orchestrate.backend.clone());
    // A scenario is written for tasks of a run.
    if backend.is_empty() || (backend == "replay" && asked.backend.is_none()) {
        let how = "To have it read, sign in to an agent (`spore agents list`) or add \
                   `--backend NAME`.";
        return Ok(Readers::None(format!("{counted} {how}")));
    }
    let known = KNOWN.iter().find(|known| known.name == backend);
    let is_signed_out = |known: &&Known| known.signed_in(around, config) == Some(false);
    if let Some(known) = known.filter(is_signed_out) {
        let note = format!("{counted} {backend} is not signed in: {}.", known.sign_in);
        return Ok(Readers::None(note));
    }
    let model = |tier: &str| {
        backends::model(config, &backend, Some(asked.model.as_deref().unwrap_or(tier)))
    };
    let ancestry = Ancestry::read(around, config.spawn.max_depth)?;
    Ok(Readers::Model(Box::new(ReaderSettings {
        low: model("low"),
        medium: model("medium"),
        high: model("high"),
        budget: asked.budget.unwrap_or(config.investigate.budget_usd),
        jobs: asked.jobs.unwrap_or(1).clamp(1, 64),
        nesting: ancestry.nesting,
        backend,
    })))
}

/// Goes on with an investigation that was cut short.
pub(crate) fn go_on(
    around: &Surroundings,
    workspace: &Workspace,
    run: &Run,
    progress: &mut dyn Progress,
) -> Result<RunReport> {
    let config = workspace.config(around, &[])?;
    let settings: InvestigationSettings =
        serde_json::from_value(run.settings.clone()).map_err(|source| {
            let message = format!("the settings of run {} cannot be read", run.id.short());
            Error::new(Fault::BadInput, message).hint("start it anew").because(source)
        })?;
    let investigation = InvestigationRun::open(around, workspace, &config, run.id)?;
    let _lock = claim(workspace, run.id)?;
    let change =
        RunChange { state: Some(RunState::Running), park: Some(None), ..RunChange::default() };
    let event = investigation.event("run.resumed", json!({}));
    investigation.journal.update_run(run.id, &change, &[event])?;
    progress.update(&Update::Resumed { run: run.id, reaped: 0 });
    let target = match &settings.target {
        Some(target) => base_scan::target(around, target)?,
        None => base_scan::target(around, &workspace.root().join(&settings.base))?,
    };
    let done = investigation.work(&settings, &target, (None, true), &Silent, progress)?;
    if let (Some(document), Some(file)) = (done.told.document, &settings.asked.file) {
        let text = around.secrets().strike(&document).into_owned();
        around.write_exact_file(file, format!("{}\n", text.trim_end()).as_bytes())?;
    }
    report::report(workspace, &investigation.journal, run.id)
}

/// What an investigation has come to.
struct WorkDone {
    scan: ScanReport,
    kept: Kept,
    passes: Option<PassesReport>,
    told: ToldOfPlaces,
    notes: Vec<String>,
}

impl InvestigationRun<'_> {
    fn start(
        &self,
        settings: &InvestigationSettings,
        target: &Path,
        note: Option<String>,
        reporter: &dyn Reporter,
        progress: &mut dyn Progress,
    ) -> Result<Investigated> {
        if settings.asked.estimate {
            return self.estimated(settings, target, note, reporter);
        }
        let _lock = claim(self.workspace, self.run)?;
        let base = named(&settings.base);
        let passes = settings.passes.as_ref();
        let run = Run {
            settings: serde_json::to_value(settings).map_err(bug)?,
            backend: passes.map(|passes| passes.backend.clone()),
            model: passes.and_then(|passes| passes.medium.clone()),
            ..Run::begin(
                self.run,
                RunKind::Investigate,
                format!("investigate {base}"),
                self.around.clock.now(),
            )
        };
        let payload = json!({ "target": base, "scope": settings.asked.scan.scope() });
        let event = self.event("run.started", payload);
        self.journal.create_run(&run, &[event])?;
        let done = self.work(settings, target, (note, false), reporter, progress)?;
        let run = report::report(self.workspace, &self.journal, self.run)?;
        Ok(Investigated {
            run: Some(run),
            entries: Some(done.kept),
            passes: done.passes,
            flags: done.told.flags,
            places: done.told.places,
            document: done.told.document,
            notes: done.notes,
            ..Investigated::of(done.scan)
        })
    }

    /// Says what would be asked. Nothing is recorded, and nothing paid.
    fn estimated(
        &self,
        settings: &InvestigationSettings,
        target: &Path,
        note: Option<String>,
        reporter: &dyn Reporter,
    ) -> Result<Investigated> {
        let asked = &settings.asked.scan;
        let tree = Arc::new(base_scan::read(self.around, self.config, target, asked, reporter)?);
        let scan = base_scan::told(self.around, self.config, target, asked, &tree);
        let estimate = match &settings.passes {
            Some(passes) => {
                Some(PassRun::open(self, settings, passes, &scan, &tree, target)?.estimate()?)
            }
            None => None,
        };
        let notes = note.into_iter().collect();
        Ok(Investigated { estimate, notes, ..Investigated::of(scan) })
    }

    /// Looks, then does what is not on record as done. The note is for the reader of the answer and of
    /// the document; a person who agreed before is not asked again.
    fn work(
        &self,
        settings: &InvestigationSettings,
        target: &Path,
        (note, is_agreed): (Option<String>, bool),
        reporter: &dyn Reporter,
        progress: &mut dyn Progress,
    ) -> Result<WorkDone> {
        outbox::flush(self.around, self.workspace, &self.journal)?;
        let asked = &settings.asked.scan;
        let read = base_scan::read(self.around, self.config, target, asked, reporter);
        reporter.rest();
        let tree = match read {
            Ok(tree) => Arc::new(tree),
            Err(error) => return Err(self.cut_short(error)),
        };
        let scan = base_scan::told(self.around, self.config, target, asked, &tree);
        let steps = self.steps();
        let kept: Kept = steps.once(&StepKey::named("entries"), |ticket, _| {
            let at = ticket.time().map_err(bug)?;
            entries::Keeping { investigation: self, settings, tree: &tree, at }.bring_up_to_date()
        })?;
        let _: Value = steps.once(&StepKey::named("artefacts"), |ticket, _| {
            let at = ticket.time().map_err(bug)?;
            self.write_artefacts(settings, &scan, &tree, &kept, at)?;
            Ok(json!({ "hash": scan.hash }))
        })?;
        let mut notes: Vec<String> = note.into_iter().collect();
        let passes = match &settings.passes {
            Some(passes) => {
                let opened = PassRun::open(self, settings, passes, &scan, &tree, target)?;
                // A person sees what will be asked, and what it costs at most, before it is paid.
                let estimate = if is_agreed { None } else { Some(opened.estimate()?) };
                let asks = estimate.filter(|estimate| !estimate.is_nothing());
                let is_declined = asks.is_some_and(|estimate| !progress.consents(&estimate));
                if is_declined && self.around.interrupt.is_raised() {
                    drop(opened);
                    return Err(
                        self.cut_short(Error::interrupted("interrupted before anything was asked"))
                    );
                }
                let ended = match is_declined {
                    true => {
                        notes.push("Nothing was asked, and nothing spent.".to_owned());
                        None
                    }
                    false => Some(opened.run(self.around.clock.now(), progress)?),
                };
                drop(opened);
                remove_empty_dir(&self.workspace.run_state(self.run));
                match ended {
                    Some((told, Some(Stop { why, park: Some(park), outcome }))) => {
                        self.park(park, outcome, &why)?;
                        let of_places =
                            told::told(self, settings, (&tree, &scan), Some(&told), &notes)?;
                        let passes = Some(told);
                        return Ok(WorkDone { scan, kept, passes, told: of_places, notes });
                    }
                    ended => ended.map(|(told, _)| told),
                }
            }
            None => None,
        };
        let _: Value = steps.once(&StepKey::finish(), |ticket, entry| {
            let at = ticket.time().map_err(bug)?;
            if passes.is_none() {
                mark_stale(self, settings, &tree, at)?;
            }
            self.conclude(&scan, &kept, passes.as_ref(), at, entry)?;
            Ok(json!({}))
        })?;
        let told = told::told(self, settings, (&tree, &scan), passes.as_ref(), &notes)?;
        Ok(WorkDone { scan, kept, passes, told, notes })
    }

    /// Lets the run wait; `spore resume` goes on with it.
    fn park(&self, park: Park, outcome: Outcome, why: &str) -> Result<()> {
        let change = RunChange {
            state: Some(RunState::Parked),
            outcome: Some(outcome),
            park: Some(Some(park)),
            reason: Some(why.to_owned()),
            ..totals::of_ledger(self.journal.ledger(self.run)?.iter())
        };
        let event = self.event("run.parked", json!({ "park": park, "reason": why }));
        self.journal.update_run(self.run, &change, &[event])?;
        outbox::flush(self.around, self.workspace, &self.journal)
    }

    /// Adds to the last step's entry how the run ends.
    fn conclude(
        &self,
        scan: &ScanReport,
        kept: &Kept,
        passes: Option<&PassesReport>,
        at: Timestamp,
        entry: &mut StepEntry,
    ) -> Result<()> {
        let outcome = passes.map_or(Outcome::Success, |passes| passes.outcome);
        let told = passes.map_or(&scan.brief, |passes| &passes.brief);
        let stopped = passes.and_then(|passes| passes.stopped.clone());
        let change = RunChange {
            state: Some(RunState::Ended),
            outcome: Some(outcome),
            reason: Some(stopped.unwrap_or_else(|| told.clone())),
            ended: Some(at),
            ..match passes {
                Some(_) => totals::of_ledger(self.journal.ledger(self.run)?.iter()),
                None => RunChange::default(),
            }
        };
        let payload = json!({ "outcome": outcome, "hash": scan.hash, "entries": kept });
        entry.runs.push((self.run, change));
        entry.events.push(self.event("run.finished", payload));
        Ok(())
    }

    /// Parks the run if the user interrupted it; after any other error it can be resumed.
    fn cut_short(&self, error: Error) -> Error {
        if !self.around.interrupt.is_raised() {
            return error;
        }
        let change = RunChange {
            state: Some(RunState::Parked),
            outcome: Some(Outcome::Interrupted),
            park: Some(Some(Park::Interrupt)),
            reason: Some("stopped while it was looking".to_owned()),
            ..RunChange::default()
        };
        let event = self.event("run.parked", json!({ "park": Park::Interrupt }));
        let parked = self.journal.update_run(self.run, &change, &[event]);
        let flushed = outbox::flush(self.around, self.workspace, &self.journal);
        match (parked, flushed) {
            (Err(failed), _) => failed.into(),
            (_, Err(failed)) => failed,
            _ => error.hint(format!("spore resume {}", self.run.short())),
        }
    }

    fn write_artefacts(
        &self,
        settings: &InvestigationSettings,
        scan: &ScanReport,
        tree: &Tree,
        kept: &Kept,
        at: Timestamp,
    ) -> Result<()> {
        let started = self.journal.run(self.run)?.map_or(at, |run| run.started);
        let meta = Meta {
            investigation_id: self.run,
            target: named(&settings.base),
            model: settings
                .passes
                .as_ref()
                .map(|passes| passes.medium.clone().unwrap_or_else(|| passes.backend.clone())),
            started_at: started,
            directories: tree.dirs.len() as u64,
            files: scan.totals.files,
            hash: scan.hash.to_string(),
            scope: scan.scope.word(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        // What is kept names no path of this machine.
        let kept_scan = ScanReport { target: named(&settings.base), ..scan.clone() };
        let names = KeptNames::new(self.around);
        let mut kept_scan = serde_json::to_value(&kept_scan).map_err(bug)?;
        names.strike(&mut kept_scan);
        let scan_text = pretty(&kept_scan)?;
        let log = [
            log_line("scan", settings, at, json!({ "scope": scan.scope.word() }), scan_text.len()),
            log_line("entries", settings, at, serde_json::to_value(kept).map_err(bug)?, 0),
        ];
        let log: Vec<String> = log
            .iter()
            .map(|line| serde_json::to_string(line).map_err(bug))
            .collect::<Result<_>>()?;
        self.write(META, &pretty(&meta)?)?;
        self.write(SCAN, &scan_text)?;
        self.write(BRIEF, &names.struck(&format!("{}\n", scan.brief)))?;
        self.write(LOG, &format!("{}\n", log.join("\n")))
    }

    fn write(&self, name: &str, content: &str) -> Result<()> {
        let path = self.workspace.run_files(self.run).file(name);
        self.around.write_file(&path, content.as_bytes())
    }
}

fn log_line(
    tool: &str,
    settings: &InvestigationSettings,
    at: Timestamp,
    args: Value,
    length: usize,
) -> LogLine {
    LogLine {
        directory: named(&settings.base),
        turn: 0,
        timestamp: at,
        tool: tool.to_owned(),
        args,
        result_length: length as u64,
    }
}

fn nothing_recorded(workspace: &Workspace, inside: bool) -> String {
    if inside {
        "Nothing was recorded: the directory belongs to no Spore project. `spore init` there \
         makes it one."
            .to_owned()
    } else {
        format!(
            "Nothing was recorded: the directory is outside of the project {}.",
            spore_plain::path(workspace.root())
        )
    }
}
