//! Runs one gate in one checkout.
//!
//! A thin shell over a session: it writes the log, watches the clock and the person, and
//! hands what was printed to the parser. The two streams are one pipe from the start, joined
//! by the shell that runs the command, because a report is only readable in the order in
//! which it was written: cargo announces a binary on one stream and its tests answer on the
//! other.
//!
//! It does not prepare the checkout and does not compare with a baseline; a result that comes
//! from here is judged as if there were none.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use spore_effects::session::{
    Confinement, Draining, Grace, OutputSink, ProcessIdentity, Recording, RecordingPlan,
    SessionError, Shim, ShimPlan, SupervisedEnd, watch,
};
use spore_model::{SessionToken, TreeId};
use spore_secrets::KnownSecrets;

use serde::{Deserialize, Serialize};

use crate::log::{Log, Written};
use crate::{Absence, Gate, GateResult, Parser, Standing, TestReport, judge, parse, report_files};

/// How often the clock and the person are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Any error, for callers that have their own.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a gate gave no result. A red gate is a result.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The caller could not record the start; nothing was started.
    #[error("the start of {gate} could not be recorded")]
    NotRecorded {
        gate: String,
        #[source]
        source: BoxError,
    },
    /// The person or the run asked for it; every process is gone.
    #[error("{gate} was cancelled")]
    Cancelled { gate: String },
    #[error("cannot write the log {path}", path = spore_plain::path(.path))]
    Log {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the report files of {gate} cannot be read")]
    Reports {
        gate: String,
        #[source]
        source: io::Error,
    },
    #[error("{gate} could not be run")]
    Session {
        gate: String,
        #[source]
        source: SessionError,
    },
}

/// What a gate looked up while it ran, beside its result. Paths start at the root of the
/// checkout, wherever in it the gate ran.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GateRecord {
    pub gate: String,
    pub command: String,
    pub recording: Recording,
}

/// What all gates of a run have in common.
#[derive(Clone, Debug)]
pub struct Runner {
    shim: Shim,
    env: Vec<(String, String)>,
    output_cap: u64,
    grace: Grace,
    confinement: Option<Confinement>,
    secrets: KnownSecrets,
    recorded_paths: usize,
}

impl Runner {
    /// `env` is the whole environment, nothing is inherited; `output_cap` is how many bytes
    /// of output a log keeps.
    pub fn new(shim: Shim, env: Vec<(String, String)>, output_cap: u64, grace: Grace) -> Self {
        let (confinement, secrets) = (None, KnownSecrets::default());
        let recorded_paths = usize::MAX;
        Self { shim, env, output_cap, grace, confinement, secrets, recorded_paths }
    }

    /// Keeps no more paths than this in a record.
    #[must_use]
    pub fn recording_up_to(self, recorded_paths: usize) -> Self {
        Self { recorded_paths, ..self }
    }

    /// Holds every gate to what it may reach; one that cannot be held is not run.
    #[must_use]
    pub fn confined(self, confinement: Option<Confinement>) -> Self {
        Self { confinement, ..self }
    }

    /// Keeps secrets out of logs and results.
    #[must_use]
    pub fn striking(self, secrets: KnownSecrets) -> Self {
        Self { secrets, ..self }
    }

    /// The environment of every gate, to be changed before one is run.
    pub fn variables(&mut self) -> &mut Vec<(String, String)> {
        &mut self.env
    }

    /// Runs `gate` in its place below `dir`, which holds `tree`, and writes what it prints to
    /// `log`.
    ///
    /// `on_start` is told the process before the command starts; if it fails, the command
    /// never does. `cancel` is asked again and again, and ends the gate once it says so.
    #[expect(clippy::too_many_arguments, reason = "each is another fact about this one run")]
    pub fn run<E: Into<BoxError>>(
        &self,
        gate: &Gate,
        tree: &TreeId,
        dir: &Path,
        log: &Path,
        token: SessionToken,
        on_start: &mut dyn FnMut(&ProcessIdentity) -> Result<(), E>,
        cancel: &dyn Fn() -> bool,
    ) -> Result<GateResult, GateError> {
        let run = GateRun { gate, tree, dir, log, record: None };
        self.run_one(&run, token, on_start, cancel).map(|(result, _)| result)
    }

    /// The same, and returns what the gate looked up in `dir` as well. That costs it time.
    #[expect(clippy::too_many_arguments, reason = "each is another fact about this one run")]
    pub fn run_recorded<E: Into<BoxError>>(
        &self,
        gate: &Gate,
        tree: &TreeId,
        dir: &Path,
        log: &Path,
        token: SessionToken,
        on_start: &mut dyn FnMut(&ProcessIdentity) -> Result<(), E>,
        cancel: &dyn Fn() -> bool,
    ) -> Result<(GateResult, GateRecord), GateError> {
        let confinement = self.confinement.as_ref();
        let root = confinement.map_or_else(|| dir.to_owned(), |held| held.inside(dir));
        let record = RecordingPlan { root, max_paths: self.recorded_paths };
        let run = GateRun { gate, tree, dir, log, record: Some(record) };
        let (result, recording) = self.run_one(&run, token, on_start, cancel)?;
        let recording = recording.unwrap_or_else(|| Recording::nothing("nothing was recorded"));
        let (gate, command) = (gate.name.clone(), gate.command.clone());
        Ok((result, GateRecord { gate, command, recording }))
    }

    fn run_one<E: Into<BoxError>>(
        &self,
        run: &GateRun<'_>,
        token: SessionToken,
        on_start: &mut dyn FnMut(&ProcessIdentity) -> Result<(), E>,
        cancel: &dyn Fn() -> bool,
    ) -> Result<(GateResult, Option<Recording>), GateError> {
        let GateRun { gate, tree, dir, log, record } = run;
        let lost = |source| GateError::Session { gate: gate.name.clone(), source };
        let unwritten = |source| GateError::Log { path: (*log).to_owned(), source };
        let place = if gate.dir.is_empty() { (*dir).to_owned() } else { dir.join(&gate.dir) };
        let unread = |source| GateError::Reports { gate: gate.name.clone(), source };
        report_files::clear(&place, &gate.reports).map_err(unread)?;
        let output = Log::create(log, self.output_cap, &self.secrets).map_err(unwritten)?;
        let output = Arc::new(Mutex::new(output));

        let plan = self.plan(gate, &place, token);
        let waiting = match record {
            Some(record) => self.shim.prepare_recorded(&plan, record.clone()),
            None => self.shim.prepare(&plan),
        };
        let waiting = waiting.map_err(lost)?;
        on_start(waiting.identity()).map_err(|source| GateError::NotRecorded {
            gate: gate.name.clone(),
            source: source.into(),
        })?;
        let started = self.shim.clock().monotonic();
        let mut session = waiting.go().map_err(lost)?;
        let sink: OutputSink = {
            let output = Arc::clone(&output);
            Arc::new(move |bytes| {
                output.lock().unwrap_or_else(PoisonError::into_inner).append(bytes);
            })
        };
        // Nothing comes on stderr once the two streams are one, except from a shell that fails.
        let draining = Draining::start(&mut session, &sink);
        let ending = watch(&mut session, started.checked_add(gate.timeout), LOOK_EVERY, cancel);
        let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        draining.finish();
        let written =
            output.lock().unwrap_or_else(PoisonError::into_inner).close().map_err(unwritten)?;

        let exit = match ending.map_err(lost)? {
            SupervisedEnd::ByItself(code) => Some(code),
            SupervisedEnd::OutOfTime => None,
            SupervisedEnd::Cancelled => {
                return Err(GateError::Cancelled { gate: gate.name.clone() });
            }
        };
        let mut report = if gate.parser == Parser::Junit {
            crate::parse_files(&report_files::read(&place, &gate.reports).map_err(unread)?)
        } else {
            let mut report = parse(gate.parser, &std::fs::read(log).map_err(unwritten)?);
            report.recognised &= written.is_whole;
            report
        };
        // Report files are the gate's own, and have not passed the log.
        let names = report.failures.iter_mut().chain(&mut report.ran);
        names.for_each(|name| self.secrets.strike_in(name));
        let mut result = result(gate, tree, log, exit, report, written, duration_ms);
        judge(&mut result, None, Absence::IsRed);
        Ok((result, session.take_recording()))
    }

    fn plan(&self, gate: &Gate, dir: &Path, token: SessionToken) -> ShimPlan {
        let joined = r#"exec sh -c "$1" 2>&1"#;
        ShimPlan {
            token,
            program: PathBuf::from("/bin/sh"),
            args: ["-c", joined, "gate", &gate.command].map(str::to_owned).to_vec(),
            cwd: dir.to_owned(),
            env: self.env.clone(),
            grace: self.grace,
            stdin: false,
            confinement: self.confinement.clone(),
        }
    }
}

/// One run of a gate.
struct GateRun<'a> {
    gate: &'a Gate,
    tree: &'a TreeId,
    dir: &'a Path,
    log: &'a Path,
    record: Option<RecordingPlan>,
}

fn result(
    gate: &Gate,
    tree: &TreeId,
    log: &Path,
    exit: Option<i32>,
    report: TestReport,
    written: Written,
    duration_ms: u64,
) -> GateResult {
    GateResult {
        gate: gate.name.clone(),
        command: gate.command.clone(),
        tree: tree.clone(),
        exit,
        passed: report.passed,
        failed: report.failed,
        skipped: report.skipped,
        failures: report.failures,
        new_failures: Vec::new(),
        ran: report.ran,
        missing: Vec::new(),
        rewritten: Vec::new(),
        restored: false,
        recognised: report.recognised,
        log: log.to_owned(),
        log_bytes: written.bytes,
        duration_ms,
        standing: Standing::Red,
        note: None,
    }
}
