//! What all steps of one run share.
//!
//! A step is an `impl RunContext` block in a module of its own. Nothing here knows of any step:
//! [`crate::run::world`], which stands above them, says which step is performed where.

use serde_json::Value;
use spore_config::Config;
use spore_context::task_file::{Assignment, Before, Occasion, RoleTurn, TaskFileBudget};
use spore_gates::GateResult;
use spore_git::Repository;
use spore_model::{BudgetId, BudgetTree, Park, RunId, SourceKind, Ticket, TraceId};
use spore_pipeline::Done;
use spore_store::{Journal, Knowledge};

use crate::base::checkouts::Checkouts;
use crate::base::error::bug;
use crate::base::outbox::Events;
use crate::base::run_files::RunFiles;
use crate::base::step::Steps;
use crate::knowledge::brief::Briefing;
use crate::knowledge::brief::{Brief, Findings, task_file_limits};
use crate::knowledge::run_keys::Keys;
use crate::run::settings::RunSettings;
use crate::session::broker::Broker;
use crate::session::players::Cast;
use crate::session::sandbox::Hold;
use crate::{Progress, Result, Surroundings, Workspace};

/// One run at work.
pub(crate) struct RunContext<'a> {
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

impl RunContext<'_> {
    pub(crate) fn checkouts(&self) -> Checkouts<'_> {
        Checkouts {
            around: self.around,
            workspace: self.workspace,
            repository: self.repository,
            run: self.run,
            settings: self.settings.checkout(),
        }
    }

    pub(crate) fn steps(&self) -> Steps<'_> {
        let Self { around, workspace, journal, run, .. } = *self;
        Steps { around, workspace, journal, run }
    }

    /// Returns the ids of the run's nodes, as the step of `ticket` writes them.
    pub(crate) fn keys(&self, ticket: &Ticket) -> Result<Keys> {
        let at = ticket.time().map_err(bug)?;
        let started = self.journal.run(self.run)?.map_or(at, |run| run.started);
        Ok(Keys::new(self.run, started, at))
    }

    pub(crate) fn files(&self) -> RunFiles {
        self.workspace.run_files(self.run)
    }

    pub(crate) fn briefing(&self) -> Briefing<'_> {
        Briefing {
            around: self.around,
            workspace: self.workspace,
            repository: self.repository,
            config: self.config,
            knowledge: self.knowledge,
        }
    }

    /// Waits, unless interrupted.
    pub(crate) fn pause(&self, time: std::time::Duration) -> bool {
        let until = self.around.clock.monotonic() + time;
        while self.around.clock.monotonic() < until {
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
}

pub(crate) fn interrupted() -> Done {
    Done::Stopped { park: Park::Interrupt, reason: "interrupted".to_owned() }
}
