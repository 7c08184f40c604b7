//! Runs one agent session on behalf of a run: its row, its files, its process on record.

use serde_json::json;
use spore_agent::{Agent, AgentError, AgentEvent, BoxError, Limits, Report, Request, Watch};
use spore_effects::session::ProcessIdentity;
use spore_effects::{Effect, files};
use spore_model::{
    Cost, LedgerEntry, Outcome, Run, RunCost, RunId, RunKind, RunState, SessionToken, SourceKind,
    Usage, Usd,
};
use spore_pipeline::{SessionSummary, Step, Ticket};
use spore_store::{ProcessRow, RunChange};

use crate::orchestration::Orchestration;
use crate::{Error, Result, Update};

/// One session to be run.
pub(crate) struct Part<'a> {
    pub(crate) role: &'a str,
    pub(crate) bounce: u32,
    pub(crate) system_prompt: &'a str,
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
        let cost =
            report.cost.map_or_else(|| Cost::estimated(self.estimate(report.usage)), Cost::exact);
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
        let request = Request {
            role: part.role.to_owned(),
            bounce: part.bounce,
            system_prompt: part.system_prompt.to_owned(),
            prompt: part.prompt.clone(),
            model: None,
            dir: part.dir.clone(),
            env: self.session_environment(),
            limits: Limits {
                turns: self.settings.max_turns,
                wall: std::time::Duration::from_millis(self.settings.wall_ms),
                usd: self.budget.left(spore_model::BudgetTree::ROOT).usd,
            },
            token: token.clone(),
            transcript: dir.join("transcript.jsonl"),
        };
        let agent: std::sync::Arc<dyn Agent> = self.agent.clone();
        let mut watch =
            SessionWatch { world: self, session, token: token.clone(), role: part.role };
        let ran = agent.run(&request, &mut watch);
        self.journal.process_ended(&token, self.around.clock.now())?;
        ran.map_err(|error| match error {
            AgentError::Refused(source) => match source.downcast::<Error>() {
                Ok(ours) => *ours,
                Err(other) => AgentError::Refused(other).into(),
            },
            other => other.into(),
        })
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

    /// What tokens cost where the agent does not say: the configured prices.
    fn estimate(&self, usage: Usage) -> Usd {
        let prices = &self.config.prices;
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let dollars = (usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens)
            as f64
            * prices.fallback_input_usd_per_million
            / 1e6
            + usage.output_tokens as f64 * prices.fallback_output_usd_per_million / 1e6;
        Usd::from_dollars(dollars).unwrap_or_default()
    }

    fn lost_session_cost(&self) -> Usd {
        Usd::from_dollars(self.config.prices.lost_session_usd).unwrap_or_default()
    }
}

struct SessionWatch<'a, 'w> {
    world: &'a mut Orchestration<'w>,
    session: RunId,
    token: SessionToken,
    role: &'a str,
}

impl Watch for SessionWatch<'_, '_> {
    fn starting(&mut self, process: &ProcessIdentity) -> std::result::Result<(), BoxError> {
        let around = self.world.around;
        let row = ProcessRow {
            token: self.token.clone(),
            root: self.world.run,
            session: self.session,
            pid: process.pid,
            start_ticks: process.start_ticks,
            boot_id: process.boot_id.clone(),
            started: around.clock.now(),
        };
        let journal = &self.world.journal;
        around
            .probe
            .around(Effect::Process, self.role, || journal.process_started(&row))
            .map_err(|error| Box::new(Error::from(error)) as BoxError)
    }

    fn event(&mut self, event: &AgentEvent) {
        self.world
            .progress
            .update(&Update::Agent { role: self.role.to_owned(), event: event.clone() });
    }

    fn cancelled(&self) -> bool {
        self.world.around.interrupt.is_raised()
    }
}
