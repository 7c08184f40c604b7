//! The pipeline's world: each step of a run, performed with git, agents, gates and journal.
//!
//! Here is what all steps share. The steps themselves are in [`crate::run::steps::coder`],
//! [`crate::run::steps::gates`], [`crate::run::steps::verifier`] and [`crate::run::steps::conclusion`].

use serde_json::Value;
use spore_agent::Environment;
use spore_config::Config;
use spore_context::task_file::{Assignment, Before, Occasion, RoleTurn, TaskFileBudget};
use spore_gates::GateResult;
use spore_git::Repository;
use spore_model::{Begun, BudgetId, BudgetTree, Outcome, Park, RunId, SourceKind, Ticket, TraceId};
use spore_pipeline::{Done, Step, World};
use spore_store::{Journal, Knowledge};

use crate::base::checkouts::Checkouts;
use crate::base::error::bug;
use crate::base::outbox::Events;
use crate::base::run_files::RunFiles;
use crate::base::step::Steps;
use crate::knowledge::brief::{Brief, Findings, task_file_limits};
use crate::run::settings::RunSettings;
use crate::run::steps::coder::Talk;
use crate::session::broker::Broker;
use crate::session::players::Cast;
use crate::session::sandbox::{Hold, Sandboxes};
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
    /// How deep it is below the run that everything belongs to.
    pub(crate) depth: u32,
    pub(crate) settings: RunSettings,
    pub(crate) cast: Cast,
    /// Serves the tools of its sessions.
    pub(crate) broker: Broker,
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

    fn begin(&mut self, step: &Step) -> Result<Begun<Done>> {
        self.steps().begin(&step.key(), step.class(), self.intent(step))
    }

    fn perform(&mut self, step: &Step, ticket: &Ticket) -> Result<Done> {
        if self.around.interrupt.is_raised() {
            return Ok(interrupted());
        }
        match step {
            Step::Prepare => self.prepare(),
            Step::Baseline => self.check_baseline(ticket),
            Step::Coder { bounce, evidence, conversation } => {
                let conversation = conversation.as_deref();
                let talk = Talk { evidence: evidence.as_ref(), conversation };
                self.code(step, ticket, *bounce, talk)
            }
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
            Step::Apply { commit, .. } => self.apply(commit),
            Step::Escalate { bounce, reason } => self.escalate(*bounce, reason),
            Step::Summarize { bounce, conclusion } => {
                self.summarize(step, ticket, *bounce, conclusion)
            }
            Step::Solo { role } => self.play_alone(step, ticket, role),
            Step::Finish { conclusion } => self.close_up(ticket, conclusion),
        }
    }

    fn finish(&mut self, step: &Step, ticket: &Ticket, done: &Done) -> Result<()> {
        self.learn(step, ticket, done)?;
        self.promote(step, ticket, done)?;
        if let Step::Finish { conclusion } = step {
            self.project(ticket, conclusion)?;
        }
        let entry = self.entry(step, ticket, done)?;
        self.steps().finish(&step.key(), ticket, &entry)?;
        for booked in &entry.ledger {
            self.settle(booked);
        }
        Ok(())
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

    pub(crate) fn steps(&self) -> Steps<'_> {
        let Self { around, workspace, journal, run, .. } = *self;
        Steps { around, workspace, journal, run }
    }

    pub(crate) fn files(&self) -> RunFiles {
        self.workspace.run_files(self.run)
    }

    /// Waits, unless interrupted.
    pub(crate) fn pause(&self, time: std::time::Duration) -> bool {
        let until = std::time::Instant::now() + time;
        while std::time::Instant::now() < until {
            if self.around.interrupt.is_raised() {
                return false;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        true
    }

    /// Writes the task file of a session, and what it carries. Its time is the step's planned
    /// one, so that a step that is done again writes the same bytes.
    pub(crate) fn task_file(
        &self,
        ticket: &Ticket,
        role: &str,
        turn: RoleTurn,
        before: Before<'_>,
        findings: Findings,
    ) -> Result<(String, Brief)> {
        // A role that works alone is judged by a person, and the other two change nothing.
        let checks = if role == "coder" { self.gate_commands() } else { Vec::new() };
        let time = ticket.time().map_err(bug)?;
        Ok(findings.write(&Assignment {
            role,
            occasion: Some(Occasion { run: &self.run.short(), turn, time }),
            before,
            checks: &checks,
            budget: TaskFileBudget { context: self.config.context.tokens as usize, whole: None },
            limits: task_file_limits(self.config),
        }))
    }

    pub(crate) fn gate_commands(&self) -> Vec<String> {
        self.settings.gates.iter().map(|gate| gate.command.clone()).collect()
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

pub(crate) fn interrupted() -> Done {
    Done::Stopped { park: Park::Interrupt, reason: "interrupted".to_owned() }
}
