//! What all steps of one run share.
//!
//! A step is an `impl RunContext` block in a module of its own. Nothing here knows of any step:
//! [`crate::run::world`], which stands above them, says which step is performed where.

use serde_json::Value;
use spore_config::Config;
use spore_context::task_file::{Assignment, Before, Occasion, RoleTurn, TaskFileBudget};
use spore_gates::GateResult;
use spore_git::Repository;
use spore_model::{LedgerEntry, Park, RunId, RunKind, SourceKind, Ticket, TraceId};
use spore_pipeline::Done;
use spore_store::{Journal, Knowledge};

use crate::agents::backends::TellingRoom;
use crate::base::checkouts::Checkouts;
use crate::base::error::bug;
use crate::base::outbox::Events;
use crate::base::run_files::RunFiles;
use crate::base::step::Steps;
use crate::knowledge::brief::{Brief, Briefing, Findings, task_file_limits};
use crate::knowledge::run_keys::Keys;
use crate::run::budget::RunBudget;
use crate::run::settings::RunSettings;
use crate::session::agent_choice::{RoleAgents, TESTER};
use crate::session::broker::Broker;
use crate::session::sandbox::Enforcement;
use crate::{Progress, Result, Surroundings, Workspace};

/// The project whose runs are worked on, with its journal and settings.
#[derive(Clone, Copy)]
pub(crate) struct RunProject<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) workspace: &'a Workspace,
    pub(crate) repository: &'a Repository,
    pub(crate) config: &'a Config,
    pub(crate) journal: &'a dyn Journal,
}

impl RunProject<'_> {
    /// Returns what was booked on a run, and on merges of its work.
    pub(crate) fn bills(&self, run: RunId) -> Result<Vec<LedgerEntry>> {
        let mut bills = self.journal.ledger(run)?;
        for child in self.journal.children(run)? {
            if child.kind == RunKind::Merge {
                bills.extend(self.journal.ledger(child.id)?);
            }
        }
        Ok(bills)
    }
}

/// A run that this process has claimed and works on.
pub(crate) struct ClaimedRun {
    pub(crate) id: RunId,
    pub(crate) trace: TraceId,
    /// How deep it is below the run that everything belongs to.
    pub(crate) depth: u32,
    pub(crate) settings: RunSettings,
    pub(crate) agents: RoleAgents,
    /// What holds its sessions and gates.
    pub(crate) enforcement: Enforcement,
}

/// One run at work.
pub(crate) struct RunContext<'a> {
    pub(crate) project: RunProject<'a>,
    pub(crate) knowledge: &'a dyn Knowledge,
    pub(crate) run: ClaimedRun,
    /// Serves the tools of its sessions.
    pub(crate) broker: Broker,
    pub(crate) budget: RunBudget,
    pub(crate) progress: &'a mut dyn Progress,
    /// What the gates said in the step that is being performed, for its event.
    pub(crate) gate_results: Vec<GateResult>,
}

impl RunContext<'_> {
    pub(crate) fn checkouts(&self) -> Checkouts<'_> {
        Checkouts {
            around: self.project.around,
            workspace: self.project.workspace,
            repository: self.project.repository,
            run: self.run.id,
            settings: self.run.settings.checkout(),
        }
    }

    pub(crate) fn steps(&self) -> Steps<'_> {
        let RunProject { around, workspace, journal, .. } = self.project;
        Steps { around, workspace, journal, run: self.run.id }
    }

    /// Returns the ids of the run's nodes, as the step of `ticket` writes them.
    pub(crate) fn keys(&self, ticket: &Ticket) -> Result<Keys> {
        let at = ticket.time().map_err(bug)?;
        let started = self.project.journal.run(self.run.id)?.map_or(at, |run| run.started);
        Ok(Keys::new(self.run.id, started, at))
    }

    pub(crate) fn files(&self) -> RunFiles {
        self.project.workspace.run_files(self.run.id)
    }

    pub(crate) fn briefing(&self) -> Briefing<'_> {
        Briefing {
            around: self.project.around,
            workspace: self.project.workspace,
            repository: self.project.repository,
            config: self.project.config,
            knowledge: self.knowledge,
            run: self.run.id,
        }
    }

    /// Waits, unless interrupted.
    pub(crate) fn pause(&self, time: std::time::Duration) -> bool {
        let until = self.project.around.clock.monotonic() + time;
        while self.project.around.clock.monotonic() < until {
            if self.project.around.interrupt.is_raised() {
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
        let checks = match role {
            "coder" | TESTER => self.gate_commands(),
            _ => Vec::new(),
        };
        let time = ticket.time().map_err(bug)?;
        Ok(findings.write(&Assignment {
            role,
            occasion: Some(Occasion { run: &self.run.id.short(), turn, time }),
            before,
            checks: &checks,
            budget: TaskFileBudget { context: self.room_of(role).context_tokens, whole: None },
            limits: task_file_limits(self.project.config),
        }))
    }

    /// Returns how much a session of `role` may be told.
    pub(crate) fn room_of(&self, role: &str) -> TellingRoom {
        TellingRoom::of(self.project.config, &self.run.settings.choice(role).backend)
    }

    pub(crate) fn gate_commands(&self) -> Vec<String> {
        self.run.settings.gates.iter().map(|gate| gate.command.clone()).collect()
    }

    pub(crate) fn events(&self) -> Events<'_> {
        Events { around: self.project.around, trace: self.run.trace.clone() }
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
