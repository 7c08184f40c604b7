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

mod entries;
mod shared;

pub(crate) mod base_scan;

use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};
use spore_investigate::artefacts::{BRIEF, LOG, LogLine, META, Meta, SCAN};
use spore_investigate::{ScanReport, Tree, path_text};
use spore_model::{Fault, Outcome, Park, Run, RunKind, RunState, StepKey, Timestamp};
use spore_runs::RunReport;
use spore_store::{Journal, RunChange, StepEntry};

use crate::base::error::bug;
use crate::base::files::pretty;
use crate::base::outbox;
use crate::base::run_lock::claim;
use crate::indexing::{Reporter, Silent};
use crate::report;
use crate::{Error, Progress, Result, Surroundings, Update, Workspace};

pub use entries::Kept;
pub use shared::InvestigateAsked;
use shared::{InvestigationRun, InvestigationSettings, named};

/// The result of an investigation.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Investigated {
    #[serde(flatten)]
    pub scan: ScanReport,
    /// None where nothing was recorded.
    pub run: Option<RunReport>,
    pub entries: Option<Kept>,
    /// Why nothing was recorded, and how to get what only a model can tell.
    pub notes: Vec<String>,
}

/// Looks at a directory and records what was seen, if it belongs to a project.
pub fn investigate(
    around: &Surroundings,
    asked: &InvestigateAsked,
    reporter: &dyn Reporter,
) -> Result<Investigated> {
    let target = base_scan::target(around, &asked.scan.dir)?;
    let workspace = match &around.root {
        Some(_) => Workspace::find(around)?,
        None => Workspace::around_dir(around, &target)?,
    };
    let config = workspace.config(around, &[])?;
    let real_root = workspace.root().canonicalize().unwrap_or_else(|_| workspace.root().to_owned());
    let base = target.strip_prefix(&real_root).map(Path::to_owned);
    match base {
        Ok(base) if workspace.is_initialised() => {
            let investigation =
                InvestigationRun::open(around, &workspace, &config, around.ids.run())?;
            investigation.start(&base, &target, asked, reporter)
        }
        outside => {
            let tree = base_scan::read(around, &config, &target, &asked.scan, reporter)?;
            let scan = base_scan::told(around, &config, &target, &asked.scan, &tree);
            let notes = vec![nothing_recorded(&workspace, outside.is_ok()), rest(&asked.scan.dir)];
            Ok(Investigated { scan, run: None, entries: None, notes })
        }
    }
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
    let target = base_scan::target(around, &workspace.root().join(&settings.base))?;
    investigation.work(&settings, &target, &Silent)?;
    report::report(workspace, &investigation.journal, run.id)
}

impl InvestigationRun<'_> {
    fn start(
        &self,
        base: &Path,
        target: &Path,
        asked: &InvestigateAsked,
        reporter: &dyn Reporter,
    ) -> Result<Investigated> {
        let _lock = claim(self.workspace, self.run)?;
        let settings = InvestigationSettings { base: base.to_owned(), asked: asked.clone() };
        let name = format!("investigate {}", named(base));
        let run = Run {
            settings: serde_json::to_value(&settings).map_err(bug)?,
            ..Run::begin(self.run, RunKind::Investigate, name, self.around.clock.now())
        };
        let payload = json!({ "target": named(base), "scope": asked.scan.scope() });
        let event = self.event("run.started", payload);
        self.journal.create_run(&run, &[event])?;
        let (scan, kept) = self.work(&settings, target, reporter)?;
        let run = report::report(self.workspace, &self.journal, self.run)?;
        let notes = vec![rest(&asked.scan.dir)];
        Ok(Investigated { scan, run: Some(run), entries: Some(kept), notes })
    }

    /// Looks, then does what is not on record as done.
    fn work(
        &self,
        settings: &InvestigationSettings,
        target: &Path,
        reporter: &dyn Reporter,
    ) -> Result<(ScanReport, Kept)> {
        outbox::flush(self.around, self.workspace, &self.journal)?;
        let asked = &settings.asked.scan;
        let read = base_scan::read(self.around, self.config, target, asked, reporter);
        let tree = match read {
            Ok(tree) => tree,
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
        let _: Value = steps.once(&StepKey::finish(), |ticket, entry| {
            self.conclude(&scan, &kept, ticket.time().map_err(bug)?, entry);
            Ok(json!({}))
        })?;
        Ok((scan, kept))
    }

    /// Adds to the last step's entry how the run ends.
    fn conclude(&self, scan: &ScanReport, kept: &Kept, at: Timestamp, entry: &mut StepEntry) {
        let change = RunChange {
            state: Some(RunState::Ended),
            outcome: Some(Outcome::Success),
            reason: Some(scan.brief.clone()),
            ended: Some(at),
            ..RunChange::default()
        };
        let payload = json!({ "outcome": Outcome::Success, "hash": scan.hash, "entries": kept });
        entry.runs.push((self.run, change));
        entry.events.push(self.event("run.finished", payload));
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
            model: None,
            started_at: started,
            directories: tree.dirs.len() as u64,
            files: scan.totals.files,
            hash: scan.hash.to_string(),
            scope: scan.scope.word(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        // What is kept names no path of this machine.
        let kept_scan = ScanReport { target: named(&settings.base), ..scan.clone() };
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
        self.write(BRIEF, &format!("{}\n", scan.brief))?;
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

/// How to get what counting cannot give.
fn rest(dir: &Path) -> String {
    let dir = if dir == Path::new(".") { "this directory".to_owned() } else { path_text(dir) };
    format!(
        "This is what counting tells: no model has read anything. To have an agent read it:\n  \
         spore spawn --prompt \"Say what {dir} is for, how it is built and what to read first\""
    )
}
