//! Runs one agent session on behalf of a run: its row, its files, its process on record.

use serde_json::json;
use spore_agent::{Agent, Conversation, Request, RequestLimits, SessionReport};
use spore_model::{
    CommitId, LedgerEntry, Run, RunCost, RunId, RunKind, RunState, SourceKind, Ticket,
};
use spore_pipeline::{SessionSummary, Step};
use spore_store::RunChange;

use crate::base::error::bug;
use crate::base::run_files::SessionFiles;
use crate::knowledge::brief::Brief;
use crate::run::context::RunContext;
use crate::session::broker::{Admission, Proposals};
use crate::session::lost::{Lost, set_aside};
use crate::session::players::Player;
use crate::session::prices::cost_of;
use crate::session::roles;
use crate::session::sandbox::free_shell;
use crate::session::watch::{Attendance, ToolsUsed, idle};
use crate::{Result, Update};

/// One session to be run.
pub(crate) struct Part<'a> {
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
        part: Part<'_>,
    ) -> Result<(SessionSummary, Proposals)> {
        let player = self.settings.player(part.role);
        let agent = self.cast.agent(&player)?;
        let session = self.open_session(step, ticket, &part)?;
        let files = part.files.clone();
        set_aside(self.around, files.dir(), ticket.attempt)?;
        self.around.write_file(&files.task(), part.prompt.as_bytes())?;
        self.keep_carried(&part)?;
        self.progress.update(&Update::Session {
            role: part.role.to_owned(),
            bounce: part.bounce,
            max_bounces: self.settings.max_bounces,
            backend: player.backend.clone(),
        });
        let (report, proposals) = self.attend(&part, &player, agent.as_ref(), session)?;
        let cost = cost_of(self.config, &report, player.model.as_deref())?;
        self.progress.update(&Update::SessionEnded {
            role: part.role.to_owned(),
            outcome: report.reason.clone().unwrap_or_else(|| "done".to_owned()),
            turns: report.turns,
            cost,
        });
        self.around.write_file(&files.last_message(), report.final_text.as_bytes())?;
        let summary = SessionSummary {
            run: session,
            outcome: report.outcome,
            reason: report.reason,
            final_text: report.final_text,
            session_id: report.session_id,
            turns: report.turns,
            usage: report.usage,
            cost,
        };
        Ok((summary, proposals))
    }

    /// Keeps what the task file carried, so that somebody can see later what helped.
    fn keep_carried(&self, part: &Part<'_>) -> Result<()> {
        if part.brief == Brief::default() {
            return Ok(());
        }
        self.around.write_json(&part.files.carried(), &part.brief.carried)
    }

    /// Lets the agent work, its process on record before it starts, with a seat at the broker
    /// for as long as it does.
    fn attend(
        &mut self,
        part: &Part<'_>,
        player: &Player,
        agent: &dyn Agent,
        session: RunId,
    ) -> Result<(SessionReport, Proposals)> {
        let dir = part.files.dir();
        let token = self.around.ids.session_token();
        let (sandbox, scratch) =
            self.sandboxes().of_session(&self.hold, &player.backend, &part.dir, dir, &token)?;
        let mut env = self.session_environment();
        if let Some(scratch) = &scratch {
            scratch.tell(&mut env);
            env.retain(|(name, _)| name != "IS_SANDBOX");
            env.push(("IS_SANDBOX".to_owned(), "1".to_owned()));
        }
        let free = free_shell(self.config, &sandbox);
        let role = roles::prompt(self.workspace.root(), &part.dir, &player.backend, part.role);
        let seat = self.broker.admit(Admission {
            session,
            run: self.run,
            role: part.role.to_owned(),
            dir: part.dir.clone(),
            at: Some(part.at.clone()),
        });
        let resume = part.conversation.clone().filter(|_| agent.capabilities().resume);
        let request = Request {
            role: part.role.to_owned(),
            bounce: part.bounce,
            system_prompt: role.text,
            native_role: role.native,
            prompt: part.prompt.clone(),
            model: player.model.clone(),
            dir: part.dir.clone(),
            env,
            tools: roles::tools(&player.backend, part.role, &self.gate_commands(), free),
            sandbox,
            mcp_servers: vec![seat.server()],
            schema: None,
            resume,
            limits: RequestLimits {
                turns: self.settings.max_turns,
                wall: std::time::Duration::from_millis(self.settings.wall_ms),
                idle: idle(agent, self.config),
                usd: self.budget.left(spore_model::BudgetTree::ROOT).usd,
            },
            token,
            transcript: part.files.transcript(),
        };
        let desk = Attendance {
            around: self.around,
            journal: self.journal,
            progress: self.progress,
            root: self.run,
            session,
        };
        let (report, tools) = desk.attend_noting(agent, &request)?;
        // Its processes are gone, so what it has proposed is all there will be.
        let proposals = seat.leave();
        self.tell_tools(part, session, &tools)?;
        self.keep_proposals(part, &proposals)?;
        Ok((report, proposals))
    }

    fn tell_tools(&self, part: &Part<'_>, session: RunId, tools: &ToolsUsed) -> Result<()> {
        let Some(payload) = tools.payload(part.role, &part.dir) else { return Ok(()) };
        let event =
            self.events().make(SourceKind::Runner, part.role, "tools.used", session, payload);
        Ok(self.journal.update_run(session, &RunChange::default(), &[event])?)
    }

    /// Keeps what the session proposed beside its transcript, whatever becomes of it.
    fn keep_proposals(&self, part: &Part<'_>, proposals: &Proposals) -> Result<()> {
        if proposals.is_empty() {
            return Ok(());
        }
        self.around.write_json(&part.files.proposals(), proposals)
    }

    /// Opens the session's row below its bounce. An earlier attempt that nobody saw the end
    /// of is closed and booked first: it may have cost something.
    fn open_session(&self, step: &Step, ticket: &Ticket, part: &Part<'_>) -> Result<RunId> {
        let parent = match part.bounce {
            0 => self.run,
            bounce => self.bounce_run(bounce, ticket)?,
        };
        let lost = Lost {
            journal: self.journal,
            config: self.config,
            events: self.events(),
            root: self.run,
        };
        lost.close_below(parent)?;
        let id = match ticket.attempt {
            1 => ticket.planned("session").map_err(bug)?,
            _ => self.around.ids.run(),
        };
        let player = self.settings.player(part.role);
        let run = Run {
            parent: Some(parent),
            attempt: ticket.attempt,
            depth: self.depth + if part.bounce == 0 { 1 } else { 2 },
            role: Some(part.role.to_owned()),
            backend: Some(player.backend.clone()),
            model: player.model,
            ..self.child(id, RunKind::Session, part.role)
        };
        let event = self.events().make(
            SourceKind::Runner,
            part.role,
            "session.started",
            id,
            json!({ "role": part.role, "bounce": part.bounce, "backend": player.backend }),
        );
        let mut events = vec![event];
        if part.brief != Brief::default() {
            let payload = json!({ "role": part.role, "carried": part.brief.carried });
            let source = SourceKind::Runner;
            events.push(self.events().make(source, part.role, "context.compiled", id, payload));
        }
        self.journal.amend_step(self.run, &step.key(), ticket.attempt, &[run], &events)?;
        Ok(id)
    }

    pub(crate) fn ledger_entry(&self, role: &str, summary: &SessionSummary) -> LedgerEntry {
        let player = self.settings.player(role);
        LedgerEntry {
            session: summary.run,
            root: self.run,
            role: role.to_owned(),
            backend: player.backend,
            model: player.model,
            turns: summary.turns,
            usage: summary.usage,
            cost: summary.cost,
            interrupted: false,
            booked: self.around.clock.now(),
        }
    }

    pub(crate) fn session_change(&self, summary: &SessionSummary) -> RunChange {
        RunChange {
            state: Some(RunState::Ended),
            outcome: Some(summary.outcome),
            reason: summary.reason.clone(),
            ended: Some(self.around.clock.now()),
            turns: Some(summary.turns),
            tokens: Some(summary.usage),
            cost: Some(RunCost::from(summary.cost)),
            ..RunChange::default()
        }
    }
}
