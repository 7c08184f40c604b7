//! `spore spawn`: one agent session, recorded and under control, and nothing around it.
//!
//! The lowest layer: no checkout, no gates, no verdict. Agents may call it themselves, so
//! depth is counted in the environment and checked before anything is started.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use spore_agent::{Conversation, Request, RequestLimits, SessionReport, ToolPolicy};
use spore_config::Config;
use spore_model::{
    Cost, EffectClass, Fault, LedgerEntry, Outcome, Run, RunId, RunKind, RunState, SourceKind,
    StepKey, TraceId, Usage, Usd,
};
use spore_store::{Journal, RunChange, StepEntry};

use crate::base::outbox::{self, Events};
use crate::base::run_files::SessionFiles;
use crate::base::run_lock::claim;
use crate::session::backends::{backend, model};
use crate::session::nesting::Nesting;
use crate::session::prices::cost_of;
use crate::session::roles::{self, Role};
use crate::session::watch::{Attendance, idle};
use crate::{Error, Progress, Result, Surroundings, Update, Workspace};

/// Said and recorded, because runs in a checkout are held.
pub(crate) const NOT_HELD: &str = "No sandbox holds this session: it works in your own directory.";

/// What to spawn. What is left out comes from the configuration.
#[derive(Clone, Debug, Default)]
pub struct Spawn {
    pub prompt: String,
    pub role: String,
    pub backend: Option<String>,
    pub scenario: Option<PathBuf>,
    pub model: Option<String>,
    pub system_prompt: Option<String>,
    pub allowed_tools: Vec<String>,
    pub cwd: Option<PathBuf>,
    pub max_turns: Option<u32>,
    pub max_depth: Option<u32>,
    pub budget: Option<Usd>,
    pub timeout: Option<Duration>,
    /// An agent's own id of a conversation to go on with.
    pub resume: Option<String>,
}

/// What came of it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Spawned {
    pub run: RunId,
    pub outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub result: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    pub depth: u32,
    pub trace: TraceId,
    pub turns: u32,
    pub usage: Usage,
    pub cost: Cost,
    pub duration_ms: u64,
    pub directory: String,
}

/// Runs one session to its end.
pub fn spawn(around: &Surroundings, asked: &Spawn, progress: &mut dyn Progress) -> Result<Spawned> {
    if asked.prompt.trim().is_empty() {
        return Err(Error::new(Fault::Usage, "the prompt is empty")
            .hint("say what the agent is to do: spore spawn --prompt \"explain src/main.rs\""));
    }
    let workspace = Workspace::find(around)?;
    let config = workspace.config(around, &[])?;
    let nesting = Nesting::read(around, asked.max_depth.unwrap_or(config.spawn.max_depth))?;
    refuse_if_sandbox_required(&config)?;
    let name = asked.backend.clone().unwrap_or_else(|| config.orchestrate.backend.clone());
    let scenario = asked.scenario.as_deref().map(canonical).transpose()?;
    let agent = backend(around, &config, &name, scenario.as_deref())?;
    let dir = canonical(asked.cwd.as_deref().unwrap_or(&around.cwd))?;
    if !workspace.database().exists() {
        crate::base::init::init(around)?;
        progress.update(&Update::Initialised);
    }
    let journal = workspace.journal(&config)?;
    let id = around.ids.run();
    let trace = nesting.trace.clone().unwrap_or_else(|| id.into());
    let desk = Desk {
        around,
        backend: name,
        root: workspace.root(),
        config: &config,
        journal: &journal,
        id,
        trace: trace.clone(),
    };
    let files = workspace.run_files(id).alone();
    let _lock = claim(&workspace, id)?;

    progress.update(&Update::NotHeld { note: NOT_HELD.to_owned() });
    let mut request = desk.request(asked, &nesting, dir, &files);
    request.limits.idle = idle(agent.as_ref(), &config);
    let attempt = desk.open(asked, &nesting, agent.name())?;
    let attendance = Attendance { around, journal: &journal, progress, root: id, session: id };
    let report = attendance.attend(agent.as_ref(), &request)?;
    let cost = cost_of(&config, &report, request.model.as_deref())?;
    desk.close(&asked.role, agent.name(), attempt, &report, cost)?;
    outbox::flush(around, &workspace, &journal)?;
    Ok(Spawned {
        run: id,
        outcome: report.outcome,
        reason: report.reason,
        result: report.final_text,
        data: report.structured,
        session_id: report.session_id,
        depth: nesting.depth,
        trace,
        turns: report.turns,
        usage: report.usage,
        cost,
        duration_ms: u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX),
        directory: format!(".spore/runs/{id}"),
    })
}

/// The parts of one spawn that its steps share.
struct Desk<'a> {
    around: &'a Surroundings,
    /// The agent's name: what a role or a tier means depends on it.
    backend: String,
    /// The project, whose own role files come first.
    root: &'a Path,
    config: &'a Config,
    journal: &'a dyn Journal,
    id: RunId,
    trace: TraceId,
}

impl Desk<'_> {
    fn request(
        &self,
        asked: &Spawn,
        nesting: &Nesting,
        dir: PathBuf,
        files: &SessionFiles,
    ) -> Request {
        let turns = asked.max_turns.unwrap_or(self.config.orchestrate.max_turns);
        let wall = asked.timeout.unwrap_or_else(|| self.config.orchestrate.session_time(turns));
        let role = match &asked.system_prompt {
            Some(text) => Role { text: text.clone(), native: None },
            None => roles::prompt(self.root, &dir, &self.backend, &asked.role),
        };
        let own = &self.config.environment.agent;
        let mut env = crate::session::environment::environment(self.config, self.around, own);
        nesting.tell(&self.trace, &mut env);
        Request {
            role: asked.role.clone(),
            bounce: 1,
            system_prompt: role.text,
            native_role: role.native,
            prompt: asked.prompt.clone(),
            model: model(self.config, &self.backend, asked.model.as_deref()),
            dir,
            env,
            tools: ToolPolicy { allow: asked.allowed_tools.clone(), ..ToolPolicy::default() },
            sandbox: spore_agent::SessionSandbox::None,
            mcp_servers: Vec::new(),
            schema: None,
            resume: asked
                .resume
                .clone()
                .map(|session_id| Conversation { session_id, prompt: asked.prompt.clone() }),
            limits: RequestLimits {
                turns,
                wall,
                idle: None,
                usd: Some(asked.budget.unwrap_or(self.config.orchestrate.budget_usd)),
            },
            token: self.around.ids.session_token(),
            transcript: files.transcript(),
        }
    }

    /// Puts the run on record, and its one step.
    fn open(&self, asked: &Spawn, nesting: &Nesting, backend: &str) -> Result<u32> {
        let title = crate::base::title::title(&asked.prompt);
        let run = Run {
            trace: self.trace.clone(),
            task: Some(asked.prompt.clone()),
            depth: nesting.depth,
            role: Some(asked.role.clone()),
            backend: Some(backend.to_owned()),
            model: asked.model.clone(),
            ..Run::begin(self.id, RunKind::Spawn, title, self.around.clock.now())
        };
        let payload = json!({
            "role": asked.role,
            "backend": backend,
            "depth": nesting.depth,
            "sandbox": { "notes": [NOT_HELD] },
        });
        let event = self.event("session.started", payload);
        self.journal.create_run(&run, &[event])?;
        let now = self.around.clock.now();
        let begun = self.journal.begin_step(
            self.id,
            &StepKey::session(),
            EffectClass::Paid,
            &json!({}),
            now,
        )?;
        Ok(begun.attempt)
    }

    fn close(
        &self,
        role: &str,
        backend: &str,
        attempt: u32,
        report: &SessionReport,
        cost: Cost,
    ) -> Result<()> {
        let now = self.around.clock.now();
        let ledger = LedgerEntry {
            session: self.id,
            root: self.id,
            role: role.to_owned(),
            backend: backend.to_owned(),
            model: None,
            turns: report.turns,
            usage: report.usage,
            cost,
            interrupted: false,
            booked: now,
        };
        let change = RunChange {
            state: Some(RunState::Ended),
            outcome: Some(report.outcome),
            reason: report.reason.clone(),
            ended: Some(now),
            turns: Some(report.turns),
            tokens: Some(report.usage),
            cost: Some(cost.into()),
            ..RunChange::default()
        };
        let payload = json!({
            "role": role,
            "outcome": report.outcome,
            "turns": report.turns,
            "usage": report.usage,
            "cost": cost,
        });
        let entry = StepEntry {
            result: json!({ "outcome": report.outcome, "final_text": report.final_text }),
            runs: vec![(self.id, change)],
            new_runs: Vec::new(),
            ledger: vec![ledger],
            events: vec![self.event("session.finished", payload)],
            now,
        };
        Ok(self.journal.finish_step(self.id, &StepKey::session(), attempt, &entry)?)
    }

    fn event(&self, what: &str, payload: serde_json::Value) -> spore_model::Event {
        let events = Events { around: self.around, trace: self.trace.clone() };
        events.make(SourceKind::Runner, "spawn", what, self.id, payload)
    }
}

/// A spawned session works where the person is, and may spawn others.
pub(crate) fn refuse_if_sandbox_required(config: &Config) -> Result<()> {
    if config.sandbox.mode != "required" {
        return Ok(());
    }
    Err(Error::new(Fault::Missing, "a sandbox is required, and a spawned session has none").hint(
        "let `spore orchestrate` do the task in a checkout, or set `[sandbox] mode = \"auto\"`",
    ))
}

fn canonical(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|source| {
        Error::new(Fault::Usage, format!("there is no {}", path.display())).because(source)
    })
}
