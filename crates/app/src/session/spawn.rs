//! `spore spawn`: one agent session, recorded and under control, and nothing around it.
//!
//! The lowest layer: no checkout, no gates, no verdict. Agents may call it themselves, so
//! depth is counted in the environment and checked before anything is started.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use spore_agent::{Agent, Conversation};
use spore_config::Config;
use spore_model::{Cost, Fault, Outcome, RunId, StepKey, Ticket, TraceId, Usage, Usd};

use crate::base::outbox::Events;
use crate::base::run_files::SessionFiles;
use crate::base::run_lock::claim;
use crate::base::step::Steps;
use crate::session::backends::{backend, model};
use crate::session::broker::Broker;
use crate::session::confinement::{NOT_HELD, SessionConfinement, refuse_if_required};
use crate::session::nesting::Nesting;
use crate::session::open::{EndedSession, SessionOpener};
use crate::session::plan::{RowKind, SessionPlan, SessionPosition, SessionTools};
use crate::session::players::Player;
use crate::session::roles::RoleTerms;
use crate::{Error, Progress, Result, Surroundings, Update, Workspace};

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
    refuse_if_required(&config)?;
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
    let files = workspace.run_files(id).alone();
    let _lock = claim(&workspace, id)?;

    progress.update(&Update::NotHeld { note: NOT_HELD.to_owned() });
    let opening = Opening { id, dir, files, nesting: nesting.clone() };
    let plan = plan(&config, asked, agent, name, opening);
    let opener = SessionOpener {
        around,
        workspace: &workspace,
        config: &config,
        journal: &journal,
        broker: &Broker::start(around, &workspace, &config)?,
        trace: &trace,
    };
    let EndedSession { booking, report, .. } = opener.run(&plan, progress)?;
    let steps = Steps { around, workspace: &workspace, journal: &journal, run: id };
    let result = json!({ "outcome": report.outcome, "final_text": report.final_text });
    let mut entry = steps.entry(&result)?;
    booking.enter(&Events { around, trace: trace.clone() }, &mut entry);
    let ticket = Ticket { attempt: plan.row.attempt, intent: json!({}) };
    steps.finish(&StepKey::session(), &ticket, &entry)?;
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
        cost: booking.cost,
        duration_ms: u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX),
        directory: format!(".spore/runs/{id}"),
    })
}

/// Where a spawned session works, and as which run.
struct Opening {
    id: RunId,
    dir: PathBuf,
    files: SessionFiles,
    nesting: Nesting,
}

fn plan(
    config: &Config,
    asked: &Spawn,
    agent: Arc<dyn Agent>,
    backend: String,
    opening: Opening,
) -> SessionPlan {
    let conversation = asked
        .resume
        .clone()
        .map(|session_id| Conversation { session_id, prompt: asked.prompt.clone() });
    SessionPlan {
        role: asked.role.clone(),
        name: crate::base::title::title(&asked.prompt),
        player: Player { model: model(config, &backend, asked.model.as_deref()), backend },
        agent,
        prompt: asked.prompt.clone(),
        conversation,
        system_prompt: asked.system_prompt.clone(),
        dir: opening.dir,
        files: opening.files,
        terms: RoleTerms::settle(config, &asked.role, asked.max_turns, asked.timeout),
        usd: Some(asked.budget.unwrap_or(config.orchestrate.budget_usd)),
        tools: SessionTools::Allowed(asked.allowed_tools.clone()),
        // The prompt is the person's own, word for word.
        brief: None,
        graph_at: None,
        row: SessionPosition {
            id: opening.id,
            root: opening.id,
            attempt: 1,
            bounce: 1,
            depth: opening.nesting.depth,
            experiment: None,
            kind: RowKind::Alone,
        },
        nesting: opening.nesting,
        confinement: SessionConfinement::OwnDirectory,
    }
}

fn canonical(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|source| {
        Error::new(Fault::Usage, format!("there is no {}", path.display())).because(source)
    })
}
