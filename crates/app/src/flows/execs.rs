//! L1: one action of an executor, as one session of an agent.
//!
//! It has no retry of its own: what the session came to is passed on. What counts is what the
//! process did and what it left behind; the agent's own words can only make that worse.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;
use spore_agent::{Request, RequestLimits, SessionReport, SessionSandbox, ToolPolicy};
use spore_compose::{ChildEnd, Diagnosis, ExecPlan, read_status};
use spore_model::propagation::{Action, AttemptsLeft, Layer, decide};
use spore_model::{
    Begun, Cost, EffectClass, LedgerEntry, Outcome, Park, Run, RunId, RunKind, RunState,
    SourceKind, StepKey, Ticket, Usd,
};
use spore_store::RunChange;

use super::ground::{Ending, Ground, Place};
use crate::base::error::bug;
use crate::base::files::create_dir;
use crate::base::step::Intent;
use crate::session::backends::{backend, model};
use crate::session::lost::{Lost, set_aside};
use crate::session::prices::cost_of;
use crate::session::roles;
use crate::session::watch::{Attendance, idle};
use crate::{Progress, Result, Update};

/// One exec to be done.
pub(crate) struct Exec<'a> {
    pub(crate) ground: &'a Ground<'a>,
    pub(crate) place: Place,
    pub(crate) plan: &'a ExecPlan,
    pub(crate) diagnosis: Option<&'a Diagnosis>,
    pub(crate) resolution: Option<&'a str>,
    pub(crate) budget: Option<Usd>,
}

/// What is on record of an exec, beside what the layer above needs to know.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct ExecEnd {
    pub(crate) end: ChildEnd,
    pub(crate) session: RunId,
    pub(crate) result: String,
}

/// A session that is over.
struct Session {
    run: RunId,
    report: SessionReport,
    cost: Cost,
    backend: String,
    model: Option<String>,
}

impl Exec<'_> {
    /// Does it, or finds what was done.
    pub(crate) fn work(&self, progress: &mut dyn Progress) -> Result<ExecEnd> {
        let done = self.run(progress)?;
        if !waits(done.end.outcome) {
            let ending = Ending {
                outcome: done.end.outcome,
                reason: done.end.reason.as_deref(),
                points_at: done.end.artifact.as_deref(),
            };
            self.ground.end(&self.place, RunKind::Exec, &ending, &done.session)?;
        }
        Ok(done)
    }

    fn run(&self, progress: &mut dyn Progress) -> Result<ExecEnd> {
        let ground = self.ground;
        let details = Run {
            task: Some(self.plan.prompt.clone()),
            role: Some(self.plan.role.clone()),
            backend: Some(self.backend()),
            ..ground.blank(self.place.run, RunKind::Exec)
        };
        ground.open(&self.place, RunKind::Exec, &details)?;
        let key = StepKey::session();
        let intent = Intent::at(ground.now()).plan("session", ground.around.ids.run());
        let ticket = match ground.steps(&self.place).begin(&key, EffectClass::Paid, intent)? {
            Begun::Done(done) => return Ok(done),
            Begun::Do(ticket) => ticket,
        };
        if ground.around.interrupt.is_raised() {
            return Ok(self.stopped(Outcome::Interrupted, Park::Interrupt, "interrupted"));
        }
        let Ok(node) = ground.reserve(self.place.budget, self.budget) else {
            return Ok(self.stopped(Outcome::NeedsHuman, Park::Budget, "the budget is spent"));
        };
        let session = self.session(&key, &ticket, node, progress);
        let over = ground.settle(node, session.as_ref().map_or(Usd::ZERO, |one| one.cost.usd));
        if over > Usd::ZERO {
            progress.update(&Update::OverBudget { usd: over });
        }
        self.record(&key, &ticket, session?)
    }

    /// Nothing was done: another process will.
    fn stopped(&self, outcome: Outcome, park: Park, reason: &str) -> ExecEnd {
        let end = ChildEnd {
            park: Some(park),
            ..ChildEnd::new(self.place.run, outcome, Some(reason.to_owned()))
        };
        ExecEnd { end, session: self.place.run, result: String::new() }
    }

    fn backend(&self) -> String {
        let config = self.ground.config;
        self.plan.backend.clone().unwrap_or_else(|| config.orchestrate.backend.clone())
    }

    fn session(
        &self,
        key: &StepKey,
        ticket: &Ticket,
        node: spore_model::BudgetId,
        progress: &mut dyn Progress,
    ) -> Result<Session> {
        let (ground, name) = (self.ground, self.backend());
        let scenario = self.plan.scenario.as_deref().map(|path| ground.workspace.root().join(path));
        let agent = backend(ground.around, ground.config, &name, scenario.as_deref())?;
        let files = self.files(ticket)?;
        let mut request = self.request(&name, files)?;
        request.limits.idle = idle(agent.as_ref(), ground.config);
        request.limits.usd = ground.budget().left(node).usd;
        ground.write(&request.transcript.with_file_name("task.md"), &request.prompt)?;
        let session = self.open_session(key, ticket, agent.name())?;
        let attendance = Attendance {
            around: ground.around,
            journal: ground.journal,
            progress,
            root: ground.root,
            session,
        };
        let report = attendance.attend(agent.as_ref(), &request)?;
        let cost = cost_of(ground.config, &report, request.model.as_deref())?;
        let last = request.transcript.with_file_name("final.md");
        ground.around.write_file(&last, report.final_text.as_bytes())?;
        let backend = agent.name().to_owned();
        Ok(Session { run: session, report, cost, backend, model: request.model })
    }

    /// Returns a fresh directory for the session; what an attempt left whose end nobody saw
    /// is set aside.
    fn files(&self, ticket: &Ticket) -> Result<PathBuf> {
        let dir = self.ground.dir().join(&self.place.dir).join("session");
        set_aside(self.ground.around, &dir, ticket.attempt)?;
        create_dir(&dir)?;
        Ok(dir)
    }

    fn request(&self, backend: &str, files: PathBuf) -> Result<Request> {
        let (ground, plan) = (self.ground, self.plan);
        let (config, root) = (ground.config, ground.workspace.root());
        let turns = plan.max_turns.unwrap_or(config.orchestrate.max_turns);
        let tier = config.roles.get(&plan.role).map_or("high", |role| role.tier.as_str());
        let role = roles::prompt(root, root, backend, &plan.role);
        let own = &config.environment.agent;
        let mut env = crate::session::environment::environment(config, ground.around, own);
        env.push(("SPORE_ROOT".to_owned(), root.display().to_string()));
        ground.nesting.tell(&ground.trace, &mut env);
        Ok(Request {
            role: plan.role.clone(),
            bounce: self.place.attempt,
            system_prompt: role.text,
            native_role: role.native,
            prompt: spore_compose::prompt(plan, self.diagnosis, self.resolution),
            model: model(config, backend, Some(plan.model.as_deref().unwrap_or(tier))),
            dir: root.to_owned(),
            env,
            tools: ToolPolicy { allow: plan.allowed_tools.clone(), ..ToolPolicy::default() },
            sandbox: SessionSandbox::None,
            mcp_servers: Vec::new(),
            schema: None,
            resume: None,
            limits: RequestLimits {
                turns,
                wall: plan.timeout.unwrap_or_else(|| config.orchestrate.session_time(turns)),
                idle: None,
                usd: None,
            },
            token: ground.around.ids.session_token(),
            transcript: files.join("transcript.jsonl"),
        })
    }

    /// Opens the session's row. An earlier attempt that nobody saw the end of is closed and
    /// booked first: it may have cost something.
    fn open_session(&self, key: &StepKey, ticket: &Ticket, backend: &str) -> Result<RunId> {
        let ground = self.ground;
        let lost = Lost {
            journal: ground.journal,
            config: ground.config,
            events: ground.events(),
            root: ground.root,
        };
        lost.close_below(self.place.run)?;
        let id = match ticket.attempt {
            1 => ticket.planned("session").map_err(bug)?,
            _ => ground.around.ids.run(),
        };
        let run = Run {
            parent: Some(self.place.run),
            trace: ground.trace.clone(),
            name: self.plan.role.clone(),
            attempt: ticket.attempt,
            depth: self.place.depth + 1,
            role: Some(self.plan.role.clone()),
            backend: Some(backend.to_owned()),
            ..ground.blank(id, RunKind::Session)
        };
        let payload =
            json!({ "role": self.plan.role, "backend": backend, "name": self.place.name });
        let event =
            ground.event(SourceKind::Runner, &self.plan.role, "session.started", id, payload);
        ground.journal.amend_step(self.place.run, key, ticket.attempt, &[run], &[event])?;
        Ok(id)
    }

    /// Judges the session and writes it down. What has to wait has no result.
    fn record(&self, key: &StepKey, ticket: &Ticket, session: Session) -> Result<ExecEnd> {
        let ground = self.ground;
        let (outcome, reason) = self.judge(&session.report);
        let cap = usize::try_from(ground.config.flows.diagnosis_bytes).unwrap_or(usize::MAX);
        let end = ChildEnd {
            artifact: self.plan.artifact.clone().filter(|path| self.is_there(path)),
            diagnosis: tail(&session.report.final_text, cap),
            budget_left: ground.has_left(self.place.budget),
            ..ChildEnd::new(self.place.run, outcome, reason)
        };
        let result = session.report.final_text.clone();
        if waits(outcome) {
            return self.book_stopped(&session, end, result);
        }
        let done = ExecEnd { end, session: session.run, result };
        let mut entry = ground.steps(&self.place).entry(&done)?;
        entry.runs.push((session.run, self.change(&session)));
        entry.ledger.push(self.ledger(&session));
        let payload = json!({
            "role": self.plan.role,
            "outcome": session.report.outcome,
            "turns": session.report.turns,
            "usage": session.report.usage,
            "cost": session.cost,
        });
        let role = &self.plan.role;
        entry.events.push(ground.event(
            SourceKind::Runner,
            role,
            "session.finished",
            session.run,
            payload,
        ));
        ground.steps(&self.place).finish(key, ticket, &entry)?;
        Ok(done)
    }

    /// Books a session that will be run again: it has no place in a step's result.
    fn book_stopped(&self, session: &Session, end: ChildEnd, result: String) -> Result<ExecEnd> {
        let ground = self.ground;
        ground.journal.book(&self.ledger(session))?;
        let payload = json!({ "role": self.plan.role, "outcome": end.outcome });
        let event = ground.event(
            SourceKind::Runner,
            &self.plan.role,
            "session.stopped",
            session.run,
            payload,
        );
        ground.journal.update_run(session.run, &self.change(session), &[event])?;
        Ok(ExecEnd { end, session: session.run, result })
    }

    fn change(&self, session: &Session) -> RunChange {
        RunChange {
            state: Some(RunState::Ended),
            outcome: Some(session.report.outcome),
            reason: session.report.reason.clone(),
            ended: Some(self.ground.now()),
            turns: Some(session.report.turns),
            tokens: Some(session.report.usage),
            cost: Some(session.cost.into()),
            ..RunChange::default()
        }
    }

    fn ledger(&self, session: &Session) -> LedgerEntry {
        LedgerEntry {
            session: session.run,
            root: self.ground.root,
            role: self.plan.role.clone(),
            backend: session.backend.clone(),
            model: session.report.model.clone().or_else(|| session.model.clone()),
            turns: session.report.turns,
            usage: session.report.usage,
            cost: session.cost,
            interrupted: false,
            booked: self.ground.now(),
        }
    }

    fn judge(&self, report: &SessionReport) -> (Outcome, Option<String>) {
        let told = judge(report);
        match (&self.plan.artifact, told.0) {
            (Some(path), Outcome::Success) if !self.is_there(path) => {
                (Outcome::Failure, Some(format!("it left no {path}")))
            }
            _ => told,
        }
    }

    fn is_there(&self, path: &str) -> bool {
        let path = self.ground.workspace.root().join(Path::new(path));
        std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() > 0)
    }
}

/// Returns whether an exec with this end stops and goes on later, in place of ending.
fn waits(outcome: Outcome) -> bool {
    match decide(Layer::Exec, outcome, AttemptsLeft::default()) {
        Action::Park(_) | Action::RaiseAndCleanUp(_) => true,
        Action::Raise(raised) => raised == Outcome::NeedsHuman,
        _ => false,
    }
}

/// What a session came to: how it ended, the exit code where that is one of ours, and its own
/// word where that is worse.
fn judge(report: &SessionReport) -> (Outcome, Option<String>) {
    match report.outcome {
        Outcome::Success => match read_status(&report.final_text) {
            Some((outcome, reason)) => (outcome, Some(reason)),
            None => (Outcome::Success, None),
        },
        Outcome::Failure => {
            let code = report.exit.and_then(|code| u8::try_from(code).ok());
            let outcome = code.and_then(Outcome::from_exit_code);
            let outcome = outcome.filter(|outcome| *outcome != Outcome::Success);
            (outcome.unwrap_or(Outcome::Failure), report.reason.clone())
        }
        other => (other, report.reason.clone()),
    }
}

/// The end of a text, on a line's beginning where that is near.
fn tail(text: &str, cap: usize) -> String {
    let text = text.trim_end();
    if text.len() <= cap {
        return text.to_owned();
    }
    let start = text.ceil_char_boundary(text.len() - cap);
    let cut = &text[start..];
    let cut = cut.split_once('\n').map_or(cut, |(_, rest)| rest);
    format!("[…]\n{cut}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(outcome: Outcome, exit: Option<i32>, last: &str) -> SessionReport {
        SessionReport { exit, final_text: last.to_owned(), ..SessionReport::ended(outcome, None) }
    }

    #[test]
    fn an_exit_code_of_ours_means_what_it_means_everywhere() {
        for outcome in Outcome::ALL.into_iter().filter(|one| *one != Outcome::Success) {
            let code = i32::from(outcome.exit_code());
            assert_eq!(judge(&report(Outcome::Failure, Some(code), "")).0, outcome);
        }
        for code in [None, Some(0), Some(137), Some(-1), Some(42)] {
            assert_eq!(judge(&report(Outcome::Failure, code, "")).0, Outcome::Failure);
        }
        assert_eq!(judge(&report(Outcome::TimedOut, Some(0), "")).0, Outcome::TimedOut);
    }

    #[test]
    fn words_never_turn_a_failure_into_a_success() {
        let failed = report(Outcome::Failure, Some(1), "STAGE_PLAN_COMPLETE");
        assert_eq!(judge(&failed).0, Outcome::Failure);
        let doubts = report(Outcome::Success, Some(0), "STAGE_NEEDS_REFINEMENT: thin");
        assert_eq!(judge(&doubts), (Outcome::NeedsRefinement, Some("thin".to_owned())));
    }

    #[test]
    fn only_the_end_of_a_long_text_is_kept() {
        assert_eq!(tail("short\n", 10), "short");
        assert_eq!(tail("first line\nsecond line\nthird", 12), "[…]\nthird");
    }
}
