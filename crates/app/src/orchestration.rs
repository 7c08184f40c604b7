//! The pipeline's world: each step of a run, performed with git, agents, gates and journal.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use spore_agent::{Agent, Environment};
use spore_config::Config;
use spore_effects::{Effect, files};
use spore_gates::{GateResult, Runner};
use spore_git::Repository;
use spore_model::{
    BudgetId, BudgetTree, Outcome, Park, RunId, SourceKind, StepKey, TraceId, TreeId,
};
use spore_pipeline::{Begun, Conclusion, Done, Evidence, GateSummary, Step, Ticket, World};
use spore_store::{Journal, Knowledge};

use crate::checkouts::Checkouts;
use crate::gate_runs::{Checked, GateRuns, bug};
use crate::prompts::{self, TaskFile};
use crate::sandbox::{Hold, Sandboxes};
use crate::sessions::Part;
use crate::settings::RunSettings;
use crate::spine::{self, Events};
use crate::{Error, Progress, Result, Surroundings, Update, Workspace};

/// One run at work.
pub(crate) struct Orchestration<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) workspace: &'a Workspace,
    pub(crate) repository: &'a Repository,
    pub(crate) journal: &'a dyn Journal,
    pub(crate) knowledge: &'a dyn Knowledge,
    pub(crate) config: &'a Config,
    pub(crate) run: RunId,
    pub(crate) trace: TraceId,
    pub(crate) settings: RunSettings,
    pub(crate) agent: Arc<dyn Agent>,
    /// What holds its sessions and gates.
    pub(crate) hold: Hold,
    pub(crate) budget: BudgetTree,
    /// Set aside for the session that is running.
    pub(crate) reserved: Option<BudgetId>,
    pub(crate) progress: &'a mut dyn Progress,
    /// What the gates said in the step that is being performed, for its event.
    pub(crate) gate_results: Vec<GateResult>,
}

impl World for Orchestration<'_> {
    type Error = Error;

    fn begin(&mut self, step: &Step) -> Result<Begun> {
        let key = step.key();
        let intent = self.intent(step);
        let begun = self.row(&format!("begin {key}"), || {
            self.journal.begin_step(self.run, &key, step.class(), &intent, self.around.clock.now())
        })?;
        match begun.result {
            Some(result) => Ok(Begun::Done(serde_json::from_value(result).map_err(bug)?)),
            None => Ok(Begun::Do(Ticket { attempt: begun.attempt, intent: begun.intent })),
        }
    }

    fn perform(&mut self, step: &Step, ticket: &Ticket) -> Result<Done> {
        if self.around.interrupt.is_raised() {
            return Ok(interrupted());
        }
        match step {
            Step::Prepare => self.prepare(),
            Step::Baseline => self.check_baseline(ticket),
            Step::Coder { bounce, evidence } => self.code(step, ticket, *bounce, evidence.as_ref()),
            Step::Snapshot { bounce } => self.snapshot(ticket, *bounce),
            Step::Gates { bounce, tree } => self.check(ticket, *bounce, tree),
            Step::Verifier { bounce, tree, attempt } => {
                self.verify(step, ticket, *bounce, tree, *attempt)
            }
            Step::Close { bounce, outcome, reason, .. } => {
                self.progress.update(&Update::Closed {
                    bounce: *bounce,
                    held: *outcome == Outcome::Success,
                    reason: reason.clone(),
                });
                Ok(Done::Closed)
            }
            Step::Commit { tree, .. } => self.commit(ticket, tree),
            Step::Escalate { bounce, reason } => self.escalate(*bounce, reason),
            Step::Finish { conclusion } => self.close_up(conclusion),
        }
    }

    fn finish(&mut self, step: &Step, ticket: &Ticket, done: &Done) -> Result<()> {
        self.learn(step, ticket, done)?;
        let key = step.key();
        let entry = self.entry(step, ticket, done)?;
        self.row(&format!("finish {key}"), || {
            self.journal.finish_step(self.run, &key, ticket.attempt, &entry)
        })?;
        for booked in &entry.ledger {
            self.settle(booked);
        }
        spine::flush(self.around, self.workspace, self.journal)
    }
}

/// The steps.
impl Orchestration<'_> {
    fn prepare(&mut self) -> Result<Done> {
        let base = self.settings.base.clone();
        self.set_ref(&self.ref_name("base"), &base)?;
        self.checkouts().coder()?;
        let tree = self.repository.tree_of(&base)?;
        Ok(Done::Prepared { base, tree })
    }

    fn check_baseline(&mut self, ticket: &Ticket) -> Result<Done> {
        let base = self.settings.base.clone();
        let tree = self.repository.tree_of(&base)?;
        self.progress.update(&Update::Gates { what: "the base commit".to_owned() });
        let run = self.open_gates(ticket, self.run, "baseline")?;
        let logs = self.run_dir().join("baseline");
        let checked = self
            .with_gates(|gates, progress| gates.baseline(run, (&base, &tree), &logs, progress))?;
        Ok(self.gate_summary(checked)?.map_or_else(interrupted, Done::Baseline))
    }

    fn code(
        &mut self,
        step: &Step,
        ticket: &Ticket,
        bounce: u32,
        evidence: Option<&Evidence>,
    ) -> Result<Done> {
        if let Some(stop) = self.out_of_budget() {
            return Ok(stop);
        }
        let checkout = self.coder_checkout(bounce)?;
        if ticket.attempt > 1 {
            // What an attempt left behind that nobody saw the end of is not a state to go on
            // from. It stays in the object store, under the run's own refs.
            self.salvage(&checkout, bounce, ticket.attempt)?;
            checkout.reset(&self.start_of(bounce)?)?;
        }
        let gates = self.gate_commands();
        let run = self.run.to_string();
        let prompt = self.task_file("coder", bounce, &run, &gates).for_coder(evidence);
        let part = Part {
            role: "coder",
            bounce,
            prompt,
            dir: checkout.dir().to_owned(),
            name: format!("bounce-{bounce}/coder"),
        };
        let summary = self.run_session(step, ticket, part)?;
        self.book_if_stopped("coder", &summary)?;
        Ok(Done::Coder(summary))
    }

    fn snapshot(&mut self, ticket: &Ticket, bounce: u32) -> Result<Done> {
        let checkout = self.coder_checkout(bounce)?;
        let tree = self.checkouts().snapshot(&checkout)?;
        let message = format!("bounce {bounce} of run {}", self.run);
        let commit = self.commit_tree(&format!("bounce {bounce}"), &tree, &message, ticket)?;
        self.set_ref(&self.ref_name(&format!("bounce/{bounce}")), &commit)?;
        let diff = self.diff(&tree)?;
        let path = self.run_dir().join(format!("bounce-{bounce}/change.diff"));
        self.write_file(&path, diff.text.as_bytes(), &format!("bounce-{bounce} diff"))?;
        let changed_files = u32::try_from(diff.files.len()).unwrap_or(u32::MAX);
        self.progress.update(&Update::Snapshot { files: changed_files });
        Ok(Done::Snapshot { tree, changed_files })
    }

    fn check(&mut self, ticket: &Ticket, bounce: u32, tree: &TreeId) -> Result<Done> {
        let commit = self.bounce_commit(bounce)?;
        let base_tree = self.repository.tree_of(&self.settings.base)?;
        self.progress.update(&Update::Gates { what: format!("bounce {bounce}") });
        let parent = self.existing_bounce(bounce)?;
        let run = self.open_gates(ticket, parent, "gates")?;
        let logs = self.run_dir().join(format!("bounce-{bounce}/gates"));
        let checked = self.with_gates(|gates, progress| {
            let baseline = gates.cached_baseline(&base_tree)?;
            gates.run(run, (&commit, tree), baseline.as_deref(), &logs, progress)
        })?;
        Ok(self.gate_summary(checked)?.map_or_else(interrupted, Done::Gates))
    }

    fn verify(
        &mut self,
        step: &Step,
        ticket: &Ticket,
        bounce: u32,
        tree: &TreeId,
        attempt: u32,
    ) -> Result<Done> {
        if let Some(stop) = self.out_of_budget() {
            return Ok(stop);
        }
        if attempt > 1 && !self.pause(self.config.verdict.verifier_retry_pause) {
            return Ok(interrupted());
        }
        let commit = self.bounce_commit(bounce)?;
        let checkout = self.checkouts().verifier(bounce, &commit)?;
        let lines = self.recorded_gate_lines(bounce)?;
        let diff = self.diff(tree)?;
        let run = self.run.to_string();
        let prompt = self.task_file("verifier", bounce, &run, &[]).for_verifier(&lines, &diff.text);
        let name = if attempt == 1 {
            format!("bounce-{bounce}/verifier")
        } else {
            format!("bounce-{bounce}/verifier-{attempt}")
        };
        let part = Part { role: "verifier", bounce, prompt, dir: checkout.dir().to_owned(), name };
        let session = self.run_session(step, ticket, part)?;
        if attempt > 1 && session.outcome != Outcome::Success {
            // A second breakdown parks the run, so no result of the step will book it.
            self.book_stopped("verifier", &session)?;
        } else {
            self.book_if_stopped("verifier", &session)?;
        }
        // What a build leaves behind is new; what was handed over must be as it was.
        let after = self.checkouts().snapshot(&checkout)?;
        let touched = self.repository.diff(tree, &after, 0)?;
        let intact = touched.files.iter().all(|file| file.status == spore_git::Change::Added);
        Ok(Done::Verifier { session, intact })
    }

    fn commit(&mut self, ticket: &Ticket, tree: &TreeId) -> Result<Done> {
        let task = self.settings.task.trim();
        let title = prompts::title(task);
        let body = if title == task { String::new() } else { format!("{task}\n\n") };
        let message = format!(
            "{title}\n\n{body}Spore-Run: {}\nSpore-Verdict: supports\nSpore-Tree: {tree}\n",
            self.run
        );
        let commit = self.commit_tree("result", tree, &message, ticket)?;
        self.set_ref(&format!("refs/heads/{}", branch(self.run)), &commit)?;
        self.progress
            .update(&Update::Committed { branch: branch(self.run), commit: commit.to_string() });
        Ok(Done::Committed { commit })
    }

    fn escalate(&mut self, bounce: u32, reason: &str) -> Result<Done> {
        let text = format!(
            "# Escalated: {}\n\nA person is needed: {reason}\n\n## What is kept\n\n\
             - The task files, transcripts, diffs and gate logs of every bounce: this directory.\n\
             - The files as each bounce left them, as git refs: `git diff {} {}` shows the last.\n\n\
             `spore runs show {}` tells the whole story.\n",
            prompts::title(&self.settings.task),
            &self.settings.base.as_str()[..12],
            self.ref_name(&format!("bounce/{bounce}")),
            self.run.short()
        );
        self.write_file(&self.run_dir().join("escalation.md"), text.as_bytes(), "escalation")?;
        Ok(Done::Escalated)
    }

    fn close_up(&mut self, conclusion: &Conclusion) -> Result<Done> {
        self.checkouts().remove_verifiers()?;
        let ledger = self.journal.ledger(self.run)?;
        let report = json!({
            "run": self.run,
            "task": self.settings.task,
            "outcome": conclusion.outcome,
            "reason": conclusion.reason,
            "commit": conclusion.commit,
            "tree": conclusion.tree,
            "sandbox": self.hold,
            "sessions": ledger.len(),
            "cost": ledger.iter().map(|entry| entry.cost).sum::<spore_model::Cost>(),
        });
        let mut text = serde_json::to_string_pretty(&report).map_err(bug)?;
        text.push('\n');
        self.write_file(&self.run_dir().join("report.json"), text.as_bytes(), "report")?;
        Ok(Done::Finished)
    }
}

/// Small things the steps share.
impl Orchestration<'_> {
    pub(crate) fn checkouts(&self) -> Checkouts<'_> {
        Checkouts {
            around: self.around,
            workspace: self.workspace,
            repository: self.repository,
            run: self.run,
            settings: &self.settings,
        }
    }

    pub(crate) fn sandboxes(&self) -> Sandboxes<'_> {
        Sandboxes {
            around: self.around,
            workspace: self.workspace,
            config: self.config,
            run: self.run,
        }
    }

    /// Runs `act` with the gates and, apart from them, the progress.
    fn with_gates<T>(
        &mut self,
        act: impl FnOnce(&GateRuns<'_>, &mut dyn Progress) -> Result<T>,
    ) -> Result<T> {
        let checkouts = Checkouts {
            around: self.around,
            workspace: self.workspace,
            repository: self.repository,
            run: self.run,
            settings: &self.settings,
        };
        let gates = GateRuns {
            checkouts: &checkouts,
            journal: self.journal,
            sandboxes: Sandboxes {
                around: self.around,
                workspace: self.workspace,
                config: self.config,
                run: self.run,
            },
            hold: &self.hold,
            runner: Runner::new(
                spore_effects::session::Shim::new(self.around.exe.clone()),
                environment(self.config, self.around, &[]),
                self.config.gates.log_cap_bytes,
                crate::backends::grace(self.config),
            ),
            evidence_bytes: usize::try_from(self.config.gates.evidence_bytes).unwrap_or(4096),
        };
        act(&gates, self.progress)
    }

    fn gate_summary(&mut self, checked: Checked) -> Result<Option<GateSummary>> {
        let Checked::Done(results) = checked else { return Ok(None) };
        let summary = self.with_gates(|gates, _| Ok(gates.summary(&results)))?;
        self.gate_results = results;
        Ok(Some(summary))
    }

    /// Returns what the gates of `bounce` said, from the record.
    fn recorded_gate_lines(&self, bounce: u32) -> Result<Vec<String>> {
        let key = StepKey::new(format!("gates/{bounce}")).map_err(bug)?;
        let step = self.journal.step(self.run, &key)?;
        let done =
            step.and_then(|step| step.result).and_then(|value| serde_json::from_value(value).ok());
        Ok(match done {
            Some(Done::Gates(gates)) => gates.lines,
            _ => Vec::new(),
        })
    }

    pub(crate) fn write_file(&self, path: &Path, content: &[u8], name: &str) -> Result<()> {
        let failed = |source| Error::io(format!("cannot write {}", path.display()), source);
        path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
        self.around
            .probe
            .around(Effect::File, name, || files::write_atomic(path, content))
            .map_err(failed)
    }

    pub(crate) fn row<T, E>(
        &self,
        name: &str,
        act: impl FnOnce() -> std::result::Result<T, E>,
    ) -> Result<T>
    where
        Error: From<E>,
    {
        Ok(self.around.probe.around(Effect::Row, name, act)?)
    }

    /// Waits, unless interrupted.
    fn pause(&self, time: std::time::Duration) -> bool {
        let until = std::time::Instant::now() + time;
        while std::time::Instant::now() < until {
            if self.around.interrupt.is_raised() {
                return false;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        true
    }

    fn task_file<'t>(
        &'t self,
        role: &'t str,
        bounce: u32,
        run: &'t str,
        gates: &'t [String],
    ) -> TaskFile<'t> {
        TaskFile {
            task: &self.settings.task,
            role,
            run,
            bounce,
            max_bounces: self.settings.max_bounces,
            gates,
        }
    }

    pub(crate) fn gate_commands(&self) -> Vec<String> {
        self.settings.gates.iter().map(|gate| gate.command.clone()).collect()
    }

    pub(crate) fn run_dir(&self) -> PathBuf {
        self.workspace.run_dir(self.run)
    }

    pub(crate) fn events(&self) -> Events<'_> {
        Events { around: self.around, trace: self.trace.clone() }
    }

    pub(crate) fn event(
        &self,
        kind: SourceKind,
        what: &str,
        run: RunId,
        payload: Value,
    ) -> spore_model::Event {
        self.events().make(kind, "orchestrate", what, run, payload)
    }

    pub(crate) fn session_environment(&self) -> Vec<(String, String)> {
        let own = &self.config.environment.agent;
        let mut variables = environment(self.config, self.around, own);
        variables.push(("SPORE_ROOT".to_owned(), self.workspace.root().display().to_string()));
        variables
    }
}

/// What everybody may see of the user's environment, and `more`.
pub(crate) fn environment(
    config: &Config,
    around: &Surroundings,
    more: &[String],
) -> Vec<(String, String)> {
    let allow = [config.environment.allow.as_slice(), more].concat();
    let mut variables =
        Environment::new(&allow, &config.environment.deny).filter(around.variables.clone());
    // In a checkout that lost its own repository, git must not find one further up.
    let ceiling = around.state_home.display().to_string();
    variables.push(("GIT_CEILING_DIRECTORIES".to_owned(), ceiling));
    variables
}

/// The branch a verified run ends on.
pub(crate) fn branch(run: RunId) -> String {
    format!("spore/{run}")
}

fn interrupted() -> Done {
    Done::Stopped { park: Park::Interrupt, reason: "interrupted".to_owned() }
}
