//! The sessions of a run: what a step asks for, settled into a plan for the opener.

use spore_agent::Conversation;
use spore_model::{BudgetTree, CommitId, Ticket};
use spore_pipeline::{SessionSummary, Step};

use crate::base::run_files::SessionFiles;
use crate::knowledge::brief::Brief;
use crate::run::context::RunContext;
use crate::session::booking::SessionBooking;
use crate::session::broker::Proposals;
use crate::session::confinement::SessionConfinement;
use crate::session::nesting::Nesting;
use crate::session::open::{EndedSession, SessionOpener};
use crate::session::plan::{RowKind, SessionPlan, SessionPosition, SessionTools};
use crate::{Result, Update};

/// One session that a step asks for.
pub(crate) struct StepSession<'a> {
    pub(crate) role: &'a str,
    /// Zero for a session of the run itself.
    pub(crate) bounce: u32,
    pub(crate) prompt: String,
    /// The conversation to go on with, where there is one worth it.
    pub(crate) conversation: Option<Conversation>,
    pub(crate) dir: std::path::PathBuf,
    /// The commit that the tools on the graph answer for.
    pub(crate) at: CommitId,
    pub(crate) files: SessionFiles,
    /// What its prompt carries beside the task.
    pub(crate) brief: Brief,
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
            max_bounces: self.settings.max_bounces,
            backend: plan.player.backend.clone(),
        });
        let opener = SessionOpener {
            around: self.around,
            workspace: self.workspace,
            config: self.config,
            journal: self.journal,
            broker: &self.broker,
            trace: &self.trace,
        };
        let EndedSession { booking, report, proposals } = opener.run(&plan, self.progress)?;
        self.progress.update(&Update::SessionEnded {
            role: booking.role.clone(),
            outcome: report.reason.clone().unwrap_or_else(|| "done".to_owned()),
            turns: report.turns,
            cost: booking.cost,
        });
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
        };
        Ok((summary, proposals))
    }

    fn session_plan(
        &self,
        step: &Step,
        ticket: &Ticket,
        asked: StepSession<'_>,
    ) -> Result<SessionPlan> {
        let player = self.settings.player(asked.role);
        let agent = self.cast.agent(&player)?;
        let parent = match asked.bounce {
            0 => self.run,
            bounce => self.bounce_run(bounce, ticket)?,
        };
        Ok(SessionPlan {
            role: asked.role.to_owned(),
            name: asked.role.to_owned(),
            player,
            agent,
            prompt: asked.prompt,
            conversation: asked.conversation,
            system_prompt: None,
            dir: asked.dir,
            files: asked.files,
            terms: self.settings.terms(self.config, asked.role),
            usd: self.budget.left(BudgetTree::ROOT).usd,
            tools: SessionTools::OfRole { commands: self.gate_commands() },
            brief: Some(asked.brief).filter(|brief| *brief != Brief::default()),
            graph_at: Some(asked.at),
            nesting: Nesting::inherited(self.around, self.config.spawn.max_depth),
            row: SessionPosition {
                id: SessionPosition::id_for(self.around, ticket)?,
                root: self.run,
                attempt: ticket.attempt,
                bounce: asked.bounce,
                depth: self.depth + if asked.bounce == 0 { 1 } else { 2 },
                experiment: self.settings.experiment.clone(),
                kind: RowKind::OfStep { parent, run: self.run, key: step.key() },
            },
            confinement: SessionConfinement::Checkout(self.hold.clone()),
        })
    }

    /// Returns how a session is booked, from what its step keeps of it.
    pub(crate) fn booking(&self, role: &str, summary: &SessionSummary) -> SessionBooking {
        let player = self.settings.player(role);
        SessionBooking {
            session: summary.run,
            root: self.run,
            role: role.to_owned(),
            backend: player.backend,
            // Runs of earlier versions kept no model in the result of a step.
            model: summary.model.clone().or(player.model),
            outcome: summary.outcome,
            reason: summary.reason.clone(),
            turns: summary.turns,
            usage: summary.usage,
            cost: summary.cost,
        }
    }
}
