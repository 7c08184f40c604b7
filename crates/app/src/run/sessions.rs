//! The sessions of a run: what a step asks for, settled into a plan for the opener.

use std::sync::Arc;

use spore_agent::Conversation;
use spore_model::{CommitId, LedgerEntry, Outcome, Park, Ticket};
use spore_pipeline::{Done, SessionSummary, Step};

use crate::agents::roles;
use crate::base::run_files::SessionFiles;
use crate::knowledge::brief::Brief;
use crate::run::context::RunContext;
use crate::session::booking::SessionBooking;
use crate::session::broker::{Proposals, SessionCommands};
use crate::session::confinement::SessionConfinement;
use crate::session::open::{EndedSession, SessionOpener};
use crate::session::plan::{FreshStart, SessionPlan, SessionPosition, SessionTools};
use crate::session::sandbox::coder_home;
use crate::{Result, Update};

/// One session that a step asks for.
pub(crate) struct StepSession<'a> {
    pub(crate) role: &'a str,
    /// Zero for a session of the run itself.
    pub(crate) bounce: u32,
    pub(crate) prompt: String,
    /// The conversation to go on with, where there is one worth it.
    pub(crate) conversation: Option<Conversation>,
    /// What is done where that conversation turns out to be lost.
    pub(crate) fresh: Option<FreshStart>,
    /// Whether its home is kept, for a session that goes on with its conversation.
    pub(crate) keeps_home: bool,
    pub(crate) dir: std::path::PathBuf,
    /// The commit that the tools on the graph answer for.
    pub(crate) at: CommitId,
    pub(crate) files: SessionFiles,
    /// What its prompt carries beside the task.
    pub(crate) brief: Brief,
    /// Who runs commands for it, outside of it.
    pub(crate) commands: Option<Arc<dyn SessionCommands>>,
}

impl RunContext<'_> {
    /// Runs a session to its end and keeps what it said. Booking is the caller's, together
    /// with the step's result, so that a session is never booked without counting.
    pub(crate) fn run_session(
        &mut self,
        step: &Step,
        ticket: &Ticket,
        asked: StepSession<'_>,
    ) -> Result<(SessionSummary, Proposals)> {
        let plan = self.session_plan(step, ticket, asked)?;
        self.progress.update(&Update::Session {
            role: plan.role.clone(),
            bounce: plan.row.bounce,
            max_bounces: self.run.settings.max_bounces,
            backend: plan.choice.backend.clone(),
        });
        let opener = SessionOpener {
            around: self.project.around,
            workspace: self.project.workspace,
            config: self.project.config,
            journal: self.project.journal,
            broker: &self.broker,
            trace: &self.run.trace,
        };
        let EndedSession { booking, report, proposals, .. } = opener.run(&plan, self.progress)?;
        self.progress.update(&Update::SessionEnded {
            role: booking.role.clone(),
            outcome: report.reason.clone().unwrap_or_else(|| "done".to_owned()),
            turns: report.turns,
            cost: booking.cost,
        });
        let calls = &booking.notes.refused;
        if !calls.is_empty() {
            self.progress.update(&Update::Refused {
                role: booking.role.clone(),
                calls: calls.clone(),
                cure: roles::cure(&booking.role),
            });
        }
        let summary = SessionSummary {
            run: booking.session,
            outcome: report.outcome,
            reason: report.reason,
            final_text: report.final_text,
            session_id: report.session_id,
            model: booking.model,
            turns: report.turns,
            usage: report.usage,
            cost: booking.cost,
            notes: booking.notes.clone(),
            duration_ms: u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX),
            exit_code: report.exit_code,
        };
        Ok((summary, proposals))
    }

    fn session_plan(
        &self,
        step: &Step,
        ticket: &Ticket,
        asked: StepSession<'_>,
    ) -> Result<SessionPlan> {
        let choice = self.run.settings.choice(asked.role);
        let agent = self.run.agents.agent(&choice)?;
        let parent = match asked.bounce {
            0 => self.run.id,
            bounce => self.bounce_run(bounce, ticket)?,
        };
        Ok(SessionPlan {
            role: asked.role.to_owned(),
            name: asked.role.to_owned(),
            choice,
            agent,
            prompt: asked.prompt,
            conversation: asked.conversation,
            fresh: asked.fresh,
            keeps_home: asked.keeps_home.then(|| coder_home(self.project.workspace, self.run.id)),
            keeps_turns: false,
            system_prompt: None,
            dir: asked.dir,
            files: asked.files,
            terms: self.run.settings.terms(self.project.config, asked.role),
            usd: self.budget.left(),
            tools: SessionTools::OfRole { commands: self.gate_commands() },
            brief: Some(asked.brief).filter(|brief| *brief != Brief::default()),
            graph_at: Some(asked.at),
            commands: asked.commands,
            nesting: self.run.settings.nesting,
            row: SessionPosition {
                id: SessionPosition::id_for(self.project.around, ticket)?,
                root: self.run.id,
                attempt: ticket.attempt,
                bounce: asked.bounce,
                depth: self.run.depth + if asked.bounce == 0 { 1 } else { 2 },
                experiment: self.run.settings.experiment.clone(),
                parent,
                run: self.run.id,
                key: step.key(),
            },
            confinement: SessionConfinement::Checkout(self.run.enforcement.clone()),
        })
    }

    /// Sets budget aside for a session, or says that there is none.
    pub(crate) fn out_of_budget(&mut self) -> Option<Done> {
        if self.budget.reserve() {
            return None;
        }
        let reason = format!("its budget of {} is spent", self.run.settings.budget);
        Some(Done::Stopped { park: Park::Budget, reason })
    }

    /// Settles what a session really cost, and tells by how much it went over.
    pub(crate) fn settle(&mut self, entry: &LedgerEntry) {
        if let Some(usd) = self.budget.settle(entry.cost.usd) {
            self.progress.update(&Update::OverBudget { usd });
        }
    }

    /// Books a session that will be run again: it has no place in a step's result.
    pub(crate) fn book_if_stopped(&mut self, role: &str, session: &SessionSummary) -> Result<()> {
        let waits = [Outcome::Interrupted, Outcome::QuotaParked, Outcome::NeedsHuman];
        if waits.contains(&session.outcome) {
            return self.book_stopped(role, session);
        }
        Ok(())
    }

    pub(crate) fn book_stopped(&mut self, role: &str, session: &SessionSummary) -> Result<()> {
        let booking = self.booking(role, session);
        let journal = self.project.journal;
        let bill = booking.book_stopped(journal, &self.events(), session.outcome)?;
        self.settle(&bill);
        Ok(())
    }

    /// Returns how a session is booked, from what its step keeps of it.
    pub(crate) fn booking(&self, role: &str, summary: &SessionSummary) -> SessionBooking {
        let choice = self.run.settings.choice(role);
        SessionBooking {
            session: summary.run,
            root: self.run.id,
            role: role.to_owned(),
            backend: choice.backend,
            // Runs of earlier versions kept no model in the result of a step.
            model: summary.model.clone().or(choice.model),
            outcome: summary.outcome,
            reason: summary.reason.clone(),
            turns: summary.turns,
            usage: summary.usage,
            cost: summary.cost,
            notes: summary.notes.clone(),
            duration_ms: Some(summary.duration_ms),
        }
    }
}
