//! Runs one agent session on behalf of a run: its row, its files, its process on record.

use serde_json::json;
use spore_agent::{Limits, Report, Request};
use spore_effects::files;
use spore_model::{
    Cost, LedgerEntry, Outcome, Run, RunCost, RunId, RunKind, RunState, SourceKind, Usage, Usd,
};
use spore_pipeline::{SessionSummary, Step, Ticket};
use spore_store::RunChange;

use crate::attendance::{Attendance, idle};
use crate::backends::model;
use crate::orchestration::Orchestration;
use crate::prices::cost_of;
use crate::sandbox::free_shell;
use crate::{Error, Result, Update, roles};

/// One session to be run.
pub(crate) struct Part<'a> {
    pub(crate) role: &'a str,
    pub(crate) bounce: u32,
    pub(crate) prompt: String,
    pub(crate) dir: std::path::PathBuf,
    /// Names its files under the run's directory.
    pub(crate) name: String,
}

impl Orchestration<'_> {
    /// Runs a session to its end and keeps what it said. Booking is the caller's, together
    /// with the step's result, so that a session is never booked without counting.
    pub(crate) fn run_session(
        &mut self,
        step: &Step,
        ticket: &Ticket,
        part: Part<'_>,
    ) -> Result<SessionSummary> {
        let session = self.open_session(step, ticket, &part)?;
        let dir = self.run_dir().join(&part.name);
        set_aside(&dir, ticket.attempt)?;
        self.write_file(
            &dir.join("task.md"),
            part.prompt.as_bytes(),
            &format!("{} task", part.name),
        )?;
        self.progress.update(&Update::Session {
            role: part.role.to_owned(),
            bounce: part.bounce,
            max_bounces: self.settings.max_bounces,
            backend: self.agent.name().to_owned(),
        });
        let report = self.attend(&part, session, &dir)?;
        let asked = model(self.config, self.agent.name(), self.settings.model.as_deref());
        let cost = cost_of(self.config, &report, asked.as_deref())?;
        self.progress.update(&Update::SessionEnded {
            role: part.role.to_owned(),
            outcome: report.reason.clone().unwrap_or_else(|| "done".to_owned()),
            turns: report.turns,
            cost,
        });
        files::write_atomic(&dir.join("final.md"), report.final_text.as_bytes())
            .map_err(|source| Error::io("cannot keep the session's final message", source))?;
        Ok(SessionSummary {
            run: session,
            outcome: report.outcome,
            reason: report.reason,
            final_text: report.final_text,
            session_id: report.session_id,
            turns: report.turns,
            usage: report.usage,
            cost,
        })
    }

    /// Lets the agent work, its process on record before it starts.
    fn attend(&mut self, part: &Part<'_>, session: RunId, dir: &std::path::Path) -> Result<Report> {
        let token = self.around.ids.session_token();
        let (sandbox, scratch) =
            self.sandboxes().of_session(&self.hold, self.agent.name(), &part.dir, dir, &token)?;
        let mut env = self.session_environment();
        if let Some(scratch) = &scratch {
            scratch.tell(&mut env);
            env.retain(|(name, _)| name != "IS_SANDBOX");
            env.push(("IS_SANDBOX".to_owned(), "1".to_owned()));
        }
        let free = free_shell(self.config, &sandbox);
        let role = roles::prompt(self.workspace.root(), &part.dir, self.agent.name(), part.role);
        let request = Request {
            role: part.role.to_owned(),
            bounce: part.bounce,
            system_prompt: role.text,
            native_role: role.native,
            prompt: part.prompt.clone(),
            model: model(self.config, self.agent.name(), self.settings.model.as_deref()),
            dir: part.dir.clone(),
            env,
            tools: roles::tools(self.agent.name(), part.role, &self.gate_commands(), free),
            sandbox,
            mcp_servers: Vec::new(),
            schema: None,
            resume: None,
            limits: Limits {
                turns: self.settings.max_turns,
                wall: std::time::Duration::from_millis(self.settings.wall_ms),
                idle: idle(self.agent.as_ref(), self.config),
                usd: self.budget.left(spore_model::BudgetTree::ROOT).usd,
            },
            token,
            transcript: dir.join("transcript.jsonl"),
        };
        let agent = self.agent.clone();
        let desk = Attendance {
            around: self.around,
            journal: self.journal,
            progress: self.progress,
            root: self.run,
            session,
        };
        desk.attend(agent.as_ref(), &request)
    }

    /// Opens the session's row below its bounce. An earlier attempt that nobody saw the end
    /// of is closed and booked first: it may have cost something.
    fn open_session(&self, step: &Step, ticket: &Ticket, part: &Part<'_>) -> Result<RunId> {
        let bounce = self.bounce_run(part.bounce, ticket)?;
        for old in self.journal.children(bounce)? {
            if old.kind == RunKind::Session && old.state == RunState::Running {
                self.close_lost_session(&old)?;
            }
        }
        let id = if ticket.attempt == 1 {
            self.planned(ticket, "session")?
        } else {
            self.around.ids.run()
        };
        let run = Run {
            parent: Some(bounce),
            attempt: ticket.attempt,
            depth: 2,
            role: Some(part.role.to_owned()),
            backend: Some(self.agent.name().to_owned()),
            ..self.child(id, RunKind::Session, part.role)
        };
        let event = self.events().make(
            SourceKind::Runner,
            part.role,
            "session.started",
            id,
            json!({ "role": part.role, "bounce": part.bounce, "backend": self.agent.name() }),
        );
        self.row(&format!("open {}", step.key()), || {
            self.journal.amend_step(self.run, &step.key(), ticket.attempt, &[run], &[event])
        })?;
        Ok(id)
    }

    fn close_lost_session(&self, old: &Run) -> Result<()> {
        let now = self.around.clock.now();
        let entry = LedgerEntry {
            session: old.id,
            root: self.run,
            role: old.role.clone().unwrap_or_default(),
            backend: old.backend.clone().unwrap_or_default(),
            model: None,
            turns: 0,
            usage: Usage::default(),
            cost: Cost::estimated(self.lost_session_cost()),
            interrupted: true,
            booked: now,
        };
        self.journal.book(&entry)?;
        let change = RunChange {
            state: Some(RunState::Ended),
            outcome: Some(Outcome::Interrupted),
            reason: Some("its end was not seen".to_owned()),
            ended: Some(now),
            cost: Some(entry.cost.into()),
            ..RunChange::default()
        };
        let event = self.events().make(
            SourceKind::Runner,
            old.role.as_deref().unwrap_or_default(),
            "session.lost",
            old.id,
            json!({}),
        );
        Ok(self.journal.update_run(old.id, &change, &[event])?)
    }

    pub(crate) fn ledger_entry(&self, role: &str, summary: &SessionSummary) -> LedgerEntry {
        LedgerEntry {
            session: summary.run,
            root: self.run,
            role: role.to_owned(),
            backend: self.agent.name().to_owned(),
            model: None,
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

    fn lost_session_cost(&self) -> Usd {
        Usd::from_dollars(self.config.prices.lost_session_usd).unwrap_or_default()
    }
}

/// Keeps what an earlier attempt wrote under a name of its own, so that a transcript is one
/// session's alone.
fn set_aside(dir: &std::path::Path, attempt: u32) -> Result<()> {
    if attempt == 1 || !dir.exists() {
        return Ok(());
    }
    let mut name = dir.as_os_str().to_owned();
    name.push(format!(".lost-{}", attempt - 1));
    std::fs::rename(dir, &name)
        .map_err(|source| Error::io(format!("cannot set {} aside", dir.display()), source))
}
