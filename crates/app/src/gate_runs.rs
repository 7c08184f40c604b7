//! Runs the gates on a tree and compares with the base.

use std::path::Path;

use serde_json::json;
use spore_effects::Effect;
use spore_effects::files::{Lock, LockError};
use spore_effects::session::ProcessIdentity;
use spore_gates::{Gate, GateError, GateResult, Runner, Standing};
use spore_model::{CommitId, RunId, TreeId};
use spore_pipeline::GateSummary;
use spore_store::{Journal, ProcessRow};

use crate::checkouts::Checkouts;
use crate::sandbox::{Hold, Sandboxes};
use crate::{Error, Progress, Result, Update};

pub(crate) struct GateRuns<'a> {
    pub(crate) checkouts: &'a Checkouts<'a>,
    pub(crate) journal: &'a dyn Journal,
    pub(crate) sandboxes: Sandboxes<'a>,
    pub(crate) hold: &'a Hold,
    pub(crate) runner: Runner,
    pub(crate) evidence_bytes: usize,
}

/// Interrupted before the gates came to an end.
pub(crate) enum Checked {
    Done(Vec<GateResult>),
    Interrupted,
}

impl GateRuns<'_> {
    /// Returns the gates' results at the base, from an earlier run where they were green. Red
    /// ones are looked at again: what was missing then may have been installed since.
    pub(crate) fn baseline(
        &self,
        session: RunId,
        base: (&CommitId, &TreeId),
        logs: &Path,
        progress: &mut dyn Progress,
    ) -> Result<Checked> {
        let green = |results: &Vec<GateResult>| {
            results.iter().all(|result| result.standing == Standing::Green)
        };
        if let Some(results) = self.cached_baseline(base.1)?.filter(green) {
            for result in &results {
                let line = format!("{} (known from an earlier run)", line(result));
                progress.update(&Update::GateEnded { line });
            }
            return Ok(Checked::Done(results));
        }
        let checked = self.run(session, base, None, logs, progress)?;
        if let Checked::Done(results) = &checked {
            let value = serde_json::to_value(results).map_err(bug)?;
            let now = self.checkouts.around.clock.now();
            self.journal.cache("baseline", &self.baseline_key(base.1), &value, now)?;
        }
        Ok(checked)
    }

    pub(crate) fn cached_baseline(&self, tree: &TreeId) -> Result<Option<Vec<GateResult>>> {
        let value = self.journal.cached("baseline", &self.baseline_key(tree))?;
        Ok(value.and_then(|value| serde_json::from_value(value).ok()))
    }

    /// The tree, and what was run on it: other commands are another baseline.
    fn baseline_key(&self, tree: &TreeId) -> String {
        let commands: Vec<&str> =
            self.checkouts.settings.gates.iter().map(|gate| gate.command.as_str()).collect();
        format!("{tree} {}", commands.join("\n"))
    }

    /// Runs every gate on `tree`, which `commit` holds.
    pub(crate) fn run(
        &self,
        session: RunId,
        (commit, tree): (&CommitId, &TreeId),
        baseline: Option<&[GateResult]>,
        logs: &Path,
        progress: &mut dyn Progress,
    ) -> Result<Checked> {
        std::fs::create_dir_all(logs)
            .map_err(|source| Error::io(format!("cannot create {}", logs.display()), source))?;
        let Some(_held) = self.claim(progress)? else { return Ok(Checked::Interrupted) };
        let checkout = self.checkouts.gates(commit)?;
        let mut results = Vec::new();
        for gate in &self.checkouts.settings.gates {
            let Some(mut result) = self.run_one(session, gate, tree, checkout.dir(), logs)? else {
                return Ok(Checked::Interrupted);
            };
            let before = baseline.and_then(|all| all.iter().find(|old| old.gate == gate.name));
            spore_gates::judge(&mut result, before);
            progress.update(&Update::GateEnded { line: line(&result) });
            results.push(result);
        }
        Ok(Checked::Done(results))
    }

    /// Takes the gates' checkout. There is one for all runs of the project: its build cache
    /// is worth the wait.
    fn claim(&self, progress: &mut dyn Progress) -> Result<Option<Lock>> {
        let state = self.checkouts.workspace.gates_state();
        spore_effects::files::create_private_dir(&state)
            .map_err(|source| Error::io(format!("cannot create {}", state.display()), source))?;
        let mut told = false;
        loop {
            match Lock::try_take(&state.join("lock")) {
                Err(LockError::Held { .. }) if self.checkouts.around.interrupt.is_raised() => {
                    return Ok(None);
                }
                Err(LockError::Held { .. }) => {
                    if !std::mem::replace(&mut told, true) {
                        progress.update(&Update::Waiting);
                    }
                    std::thread::sleep(std::time::Duration::from_millis(50));
                }
                taken => return Ok(Some(taken?)),
            }
        }
    }

    fn run_one(
        &self,
        session: RunId,
        gate: &Gate,
        tree: &TreeId,
        dir: &Path,
        logs: &Path,
    ) -> Result<Option<GateResult>> {
        let around = self.checkouts.around;
        let token = around.ids.session_token();
        let log = logs.join(format!("{}.log", gate.name));
        let mut on_start = |process: &ProcessIdentity| {
            let row = ProcessRow {
                token: token.clone(),
                root: self.checkouts.run,
                session,
                pid: process.pid,
                start_ticks: process.start_ticks,
                boot_id: process.boot_id.clone(),
                started: around.clock.now(),
            };
            around.probe.around(Effect::Process, &format!("gate {}", gate.name), || {
                self.journal.process_started(&row)
            })
        };
        let interrupt = around.interrupt.clone();
        let held = self.sandboxes.of_gate(self.hold, dir, &token)?;
        let runner = match &held {
            Some((confinement, scratch)) => {
                let mut runner = self.runner.clone().confined(Some(confinement.clone()));
                scratch.tell(runner.variables());
                runner
            }
            None => self.runner.clone(),
        };
        let ran = runner
            .run(gate, tree, dir, &log, token.clone(), &mut on_start, &|| interrupt.is_raised());
        self.journal.process_ended(&token, around.clock.now())?;
        match ran {
            Ok(result) => Ok(Some(result)),
            Err(GateError::Cancelled { .. }) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }

    /// Sums the results up for the loop.
    pub(crate) fn summary(&self, results: &[GateResult]) -> GateSummary {
        let red = results.iter().filter(|result| result.standing == Standing::Red);
        let mut evidence = String::new();
        for result in red.clone() {
            let log = std::fs::read(&result.log).unwrap_or_default();
            let room = self.evidence_bytes.saturating_sub(evidence.len());
            evidence.push_str(&format!("$ {}\n", result.command));
            evidence.push_str(&spore_gates::excerpt(&log, room));
        }
        GateSummary {
            green: red.clone().next().is_none(),
            lines: results.iter().map(line).collect(),
            new_failures: red.flat_map(|result| result.new_failures.clone()).collect(),
            evidence,
        }
    }
}

/// One line a gate: what was run and what it said.
fn line(result: &GateResult) -> String {
    let counts = match (result.passed, result.failed) {
        (0, 0) => String::new(),
        (passed, failed) => format!(", {passed} passed, {failed} failed"),
    };
    let word = match (result.standing, result.exit) {
        (_, None) => "timed out".to_owned(),
        (Standing::Green, _) => "green".to_owned(),
        (Standing::OldRed, _) => "red as at the base".to_owned(),
        (Standing::Red, Some(code)) => match result.new_failures.as_slice() {
            [] => format!("red, exit {code}"),
            names => format!("red, failing: {}", names.join(", ")),
        },
    };
    let note = result.note.as_deref().map_or_else(String::new, |note| format!("; {note}"));
    format!("{} `{}`: {word}{counts}{note}", result.gate, result.command)
}

/// What the event of a gate carries.
pub(crate) fn payload(results: &[GateResult]) -> serde_json::Value {
    json!({ "gates": results.iter().map(|result| json!({
        "gate": result.gate,
        "command": result.command,
        "tree": result.tree,
        "exit": result.exit,
        "passed": result.passed,
        "failed": result.failed,
        "new_failures": result.new_failures,
        "standing": result.standing,
    })).collect::<Vec<_>>() })
}

pub(crate) fn bug(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(spore_model::Fault::Bug, "Spore cannot read what it wrote").because(error)
}
