//! `spore spawn`: one agent session, recorded and under control, and nothing around it.
//!
//! The lowest layer: no checkout, no gates, no verdict. Agents may call it themselves, so
//! depth is counted in the environment and checked before anything is started. Its run has one
//! step, the session; killed in the middle of it, it is gone on with like any other run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spore_agent::{Agent, Conversation};
use spore_config::Config;
use spore_model::{
    Begun, Cost, EffectClass, Fault, LedgerEntry, Outcome, Park, RefusedCalls, Run, RunId, RunKind,
    RunState, SourceKind, StepKey, Ticket, TraceId, Usage, Usd,
};
use spore_store::{Journal, RunChange, RunQuery, StepEntry};

use crate::agents::backends::{backend, model};
use crate::agents::ready;
use crate::agents::roles::{self, RoleTerms};
use crate::base::error::bug;
use crate::base::outbox::Events;
use crate::base::run_lock::{HeldRun, claim, read_settings, reopen};
use crate::base::secrets::without_keys;
use crate::base::starts::StartBounds;
use crate::base::step::Steps;
use crate::base::totals;
use crate::session::agent_choice::{AgentChoice, refuse_unless_served};
use crate::session::booking::SessionBooking;
use crate::session::broker::Broker;
use crate::session::confinement::{OwnHold, SessionConfinement};
use crate::session::lost::gone_on_with;
use crate::session::nesting::{Ancestry, Nesting};
use crate::session::open::{EndedSession, SessionOpener};
use crate::session::parent::{ParentSession, refuse_inside};
use crate::session::plan::{SessionPlan, SessionPosition, SessionTools};
use crate::session::processes::reap;
use crate::session::sandbox::{Sandboxes, coder_home};
use crate::{Error, Progress, Result, Surroundings, Update, Workspace};

/// What to spawn. What is left out comes from the configuration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spawned {
    pub run: RunId,
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub result: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    pub depth: u32,
    pub trace: TraceId,
    pub turns: u32,
    pub usage: Usage,
    pub cost: Cost,
    pub duration_ms: u64,
    pub directory: String,
    /// What it was not let do.
    #[serde(default, skip_serializing_if = "RefusedCalls::is_empty")]
    pub refused: RefusedCalls,
    /// What it waits for, where it can be gone on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub park: Option<Park>,
}

/// What a spawned session was started with, as it is written down with its run. The prompt is
/// the run's task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct SpawnSettings {
    role: String,
    agent: AgentChoice,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scenario: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system_prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    allowed_tools: Vec<String>,
    dir: PathBuf,
    /// What it is shown, where that is more: the directory of the session that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shown: Option<PathBuf>,
    terms: RoleTerms,
    budget: Usd,
    /// The agent's own id of the conversation that it goes on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conversation: Option<String>,
    /// The run whose home that conversation is in; its own where it is a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    home_of: Option<RunId>,
    /// The agent's own id of the conversation that it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    had: Option<String>,
    nesting: Nesting,
    /// The run that pays for it, where a session started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payer: Option<RunId>,
}

/// Runs one session to its end. Called inside of a session, that one's own process runs it.
pub fn spawn(around: &Surroundings, asked: &Spawn, progress: &mut dyn Progress) -> Result<Spawned> {
    match ParentSession::of(around) {
        Some(parent) => parent.start("spawn", asked, around, progress),
        None => spawn_within(around, asked, None, progress),
    }
}

/// Runs one session to its end, within the bounds of the session that asks for it.
pub(crate) fn spawn_within(
    around: &Surroundings,
    asked: &Spawn,
    bounds: Option<&StartBounds>,
    progress: &mut dyn Progress,
) -> Result<Spawned> {
    if asked.prompt.trim().is_empty() {
        return Err(Error::new(Fault::Usage, "the prompt is empty")
            .hint("say what the agent is to do: spore spawn --prompt \"explain src/main.rs\""));
    }
    let prompt = without_keys(around, &asked.prompt, "the prompt", progress);
    let asked = &Spawn { prompt, ..asked.clone() };
    let asked = &bounds.map_or_else(|| Ok(asked.clone()), |bounds| asked.within(around, bounds))?;
    let workspace = Workspace::find_for_run(around)?;
    refuse_inside(around, &workspace, bounds)?;
    let mut config = workspace.config(around, &[])?;
    if asked.system_prompt.is_none() {
        roles::require(workspace.root(), &config, &asked.role)?;
    }
    ready::choose(around, &mut config, asked.backend.as_deref(), progress);
    let ancestry = Ancestry::read(around, asked.max_depth.unwrap_or(config.spawn.max_depth))?;
    let mut settings = SpawnSettings::settle(around, &config, asked, ancestry.nesting)?;
    settings.shown = bounds.map(|bounds| bounds.dir.clone());
    settings.payer = bounds.map(|bounds| bounds.payer);
    let agent = settings.find_agent(around, &config)?;
    let hold = settings.hold(around, &config)?;
    if !workspace.database().exists() {
        crate::base::init::init(around)?;
        progress.update(&Update::Initialised);
    }
    let journal = workspace.journal(&config)?;
    let id = around.ids.run();
    let _lock = claim(&workspace, id)?;
    let site = SpawnSite { around, workspace: &workspace, config: &config, journal: &journal, id };
    let trace = ancestry.trace_of(id);
    let started_by = ancestry.started_by(&journal)?;
    settings.home_of = settings.conversation.as_deref().and_then(|had| run_of(&journal, had));
    let above = bounds.map(|bounds| bounds.session);
    site.create(&settings, &asked.prompt, &trace, above.or(started_by))?;
    let worked = site.work(&mut settings, agent, hold, &asked.prompt, trace, progress);
    match (worked, bounds) {
        (Err(error), Some(_)) => Err(totals::given_up(&journal, id, around.clock.now(), error)?),
        (worked, _) => worked,
    }
}

/// Goes on with a session that was killed: it is run again, with `more` to spend.
pub(crate) fn go_on(
    around: &Surroundings,
    workspace: &Workspace,
    run: &Run,
    more: Option<Usd>,
    progress: &mut dyn Progress,
) -> Result<()> {
    let held = HeldRun::take(around, workspace, run.id)?;
    let (config, journal) = (&held.config, &held.journal);
    let mut settings: SpawnSettings = read_settings(run)
        .map_err(|error| error.hint("start it anew: `spore spawn --prompt ...`"))?;
    settings.budget += more.unwrap_or_default();
    let agent = settings.find_agent(around, config)?;
    let hold = settings.hold(around, config)?;
    let site = SpawnSite { around, workspace, config, journal, id: run.id };
    let reaped = reap(config, journal, run.id, around)?;
    reopen(around, journal, run, run.kind.as_str(), &settings)?;
    progress.update(&Update::Resumed { run: run.id, reaped });
    Sandboxes { around, workspace, config, run: run.id }.clean_up();
    let prompt = run.task.clone().unwrap_or_default();
    site.work(&mut settings, agent, hold, &prompt, run.trace.clone(), progress)?;
    Ok(())
}

impl Spawn {
    /// Returns what is asked for as far as a session may ask for it.
    fn within(&self, around: &Surroundings, bounds: &StartBounds) -> Result<Self> {
        let seen = |path: &Path| bounds.seen(&around.cwd, path);
        Ok(Self {
            scenario: self.scenario.as_deref().map(seen).transpose()?,
            cwd: Some(seen(self.cwd.as_deref().unwrap_or(&around.cwd))?),
            max_depth: Some(bounds.depth(self.max_depth)),
            budget: bounds.budget(self.budget),
            ..self.clone()
        })
    }
}

impl SpawnSettings {
    fn settle(
        around: &Surroundings,
        config: &Config,
        asked: &Spawn,
        nesting: Nesting,
    ) -> Result<Self> {
        let backend = asked.backend.clone().unwrap_or_else(|| config.orchestrate.backend.clone());
        let model = model(config, &backend, asked.model.as_deref());
        Ok(Self {
            role: asked.role.clone(),
            agent: AgentChoice { backend, model },
            scenario: asked.scenario.as_deref().map(canonical).transpose()?,
            system_prompt: asked.system_prompt.clone(),
            allowed_tools: asked.allowed_tools.clone(),
            shown: None,
            dir: canonical(asked.cwd.as_deref().unwrap_or(&around.cwd))?,
            terms: RoleTerms::settle(config, &asked.role, asked.max_turns, asked.timeout),
            budget: asked.budget.unwrap_or(config.orchestrate.budget_usd),
            conversation: asked.resume.clone(),
            home_of: None,
            had: None,
            nesting,
            payer: None,
        })
    }

    /// Finds out what holds the session. Refuses a place where it cannot be held as it must.
    fn hold(&self, around: &Surroundings, config: &Config) -> Result<OwnHold> {
        let shown = self.shown.as_deref().unwrap_or(&self.dir);
        OwnHold::find(around, config, &self.agent.backend, shown)
    }

    fn find_agent(&self, around: &Surroundings, config: &Config) -> Result<Arc<dyn Agent>> {
        refuse_unless_served(config, "session", &self.agent)?;
        backend(around, config, &self.agent.backend, self.scenario.as_deref())
    }
}

/// The run of one spawned session, and where it is recorded.
#[derive(Clone, Copy)]
struct SpawnSite<'a> {
    around: &'a Surroundings,
    workspace: &'a Workspace,
    config: &'a Config,
    journal: &'a dyn Journal,
    id: RunId,
}

impl SpawnSite<'_> {
    fn create(
        &self,
        settings: &SpawnSettings,
        prompt: &str,
        trace: &TraceId,
        started_by: Option<RunId>,
    ) -> Result<()> {
        let title = crate::base::title::title(prompt);
        let run = Run {
            parent: started_by.filter(|_| settings.payer.is_some()),
            trace: trace.clone(),
            task: Some(prompt.to_owned()),
            depth: settings.nesting.depth,
            role: Some(settings.role.clone()),
            backend: Some(settings.agent.backend.clone()),
            model: settings.agent.model.clone(),
            settings: serde_json::to_value(settings).map_err(bug)?,
            ..Run::begin(self.id, RunKind::Spawn, title, self.around.clock.now())
        };
        let payload = json!({
            "task": prompt,
            "backend": settings.agent.backend,
            "started_by": started_by,
        });
        let event = self.event(trace, "run.started", payload);
        Ok(self.journal.create_run(&run, &[event])?)
    }

    fn event(&self, trace: &TraceId, what: &str, payload: Value) -> spore_model::Event {
        let events = Events { around: self.around, trace: trace.clone() };
        events.make(SourceKind::Runner, RunKind::Spawn.as_str(), what, self.id, payload)
    }

    /// Runs the session, and records its end and the run's in one transaction.
    fn work(
        &self,
        settings: &mut SpawnSettings,
        agent: Arc<dyn Agent>,
        mut hold: OwnHold,
        prompt: &str,
        trace: TraceId,
        progress: &mut dyn Progress,
    ) -> Result<Spawned> {
        let Self { around, workspace, config, journal, id } = *self;
        for note in hold.notes() {
            progress.update(&Update::NotHeld { note: note.clone() });
        }
        let home = coder_home(workspace, settings.home_of.unwrap_or(id));
        let can_resume = agent.capabilities().resume;
        if can_resume {
            hold = hold.keeping(home.clone());
        }
        let steps = Steps { around, workspace, journal, run: id };
        let key = StepKey::session();
        let intent = steps.intent().plan("session", around.ids.run());
        let ticket = match steps.begin::<Value>(&key, EffectClass::Paid, intent)? {
            Begun::Do(ticket) => ticket,
            Begun::Done(_) => {
                return Err(Error::new(Fault::Bug, "a run is open whose only step has a result"));
            }
        };
        let mut plan = self.plan(settings, agent, hold, prompt, &ticket)?;
        plan.conversation = gone_on_with(&plan, config, progress);
        let broker = &Broker::start(around, workspace, config)?;
        let opener = SessionOpener { around, workspace, config, journal, broker, trace: &trace };
        let ended = opener.run(&plan, progress)?;
        let cost = Cost { usd: ended.cost(), ..ended.booking.cost };
        let EndedSession { mut booking, mut report, .. } = ended;
        settings.had.clone_from(&report.session_id);
        let has_conversation = can_resume && report.session_id.is_some();
        // One that a session started is that session's affair.
        let is_own = settings.shown.is_none();
        let park = waits_for(report.outcome).filter(|_| has_conversation && is_own);
        if park.is_none() && is_own && report.outcome == Outcome::NeedsHuman {
            report.reason = report.reason.map(|reason| format!("{reason}; {NOT_GONE_ON_WITH}"));
            booking.reason.clone_from(&report.reason);
        }
        if let Some(park) = park {
            self.park(settings, &trace, &booking, park)?;
        } else {
            let result = json!({ "outcome": report.outcome, "final_text": report.final_text });
            let mut entry = steps.entry(&result)?;
            booking.enter(&Events { around, trace: trace.clone() }, &mut entry);
            if report.session_id.is_none() && settings.home_of.is_none() && home.exists() {
                around.remove_tree(&home)?;
            }
            self.enter_end(settings, &trace, &booking, &mut entry)?;
            steps.finish(&key, &ticket, &entry)?;
        }
        Ok(Spawned {
            run: id,
            outcome: report.outcome,
            reason: report.reason,
            result: report.final_text,
            data: report.structured,
            session_id: report.session_id,
            depth: settings.nesting.depth,
            trace,
            turns: report.turns,
            usage: report.usage,
            cost,
            duration_ms: u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX),
            directory: format!(".spore/runs/{id}"),
            refused: booking.notes.refused,
            park,
        })
    }

    /// Lets the run wait: what its session was paid for is in a conversation that can be gone on
    /// with.
    fn park(
        &self,
        settings: &SpawnSettings,
        trace: &TraceId,
        booking: &SessionBooking,
        park: Park,
    ) -> Result<()> {
        let events = Events { around: self.around, trace: trace.clone() };
        booking.book_stopped(self.journal, &events, booking.outcome)?;
        let change = RunChange {
            state: Some(RunState::Parked),
            outcome: Some(booking.outcome),
            park: Some(Some(park)),
            reason: booking.reason.clone(),
            settings: Some(serde_json::to_value(settings).map_err(bug)?),
            ..totals::of_ledger(self.booked(settings)?.iter())
        };
        let payload = json!({ "park": park, "reason": booking.reason });
        let event = self.event(trace, "run.parked", payload);
        Ok(self.journal.update_run(self.id, &change, &[event])?)
    }

    /// What was booked for it and for what it started.
    fn booked(&self, settings: &SpawnSettings) -> Result<Vec<LedgerEntry>> {
        totals::booked_below(self.journal, settings.payer.unwrap_or(self.id), self.id)
    }

    /// Adds the end of the run to the result of its only step.
    fn enter_end(
        &self,
        settings: &SpawnSettings,
        trace: &TraceId,
        booking: &SessionBooking,
        entry: &mut StepEntry,
    ) -> Result<()> {
        let earlier = self.booked(settings)?;
        let change = RunChange {
            state: Some(RunState::Ended),
            outcome: Some(booking.outcome),
            reason: booking.reason.clone(),
            ended: Some(entry.now),
            settings: Some(serde_json::to_value(settings).map_err(bug)?),
            ..totals::of_ledger(earlier.iter().chain(&entry.ledger))
        };
        entry.runs.push((self.id, change));
        let payload = json!({ "outcome": booking.outcome, "reason": booking.reason });
        entry.events.push(self.event(trace, "run.finished", payload));
        Ok(())
    }

    fn plan(
        &self,
        settings: &SpawnSettings,
        agent: Arc<dyn Agent>,
        hold: OwnHold,
        prompt: &str,
        ticket: &Ticket,
    ) -> Result<SessionPlan> {
        let spent: Usd = self.booked(settings)?.iter().map(|entry| entry.cost.usd).sum();
        let left = settings.budget.as_nanos().saturating_sub(spent.as_nanos()).max(0);
        let prompt = prompt.to_owned();
        let conversation = settings
            .conversation
            .clone()
            .map(|session_id| Conversation { session_id, prompt: prompt.clone() });
        Ok(SessionPlan {
            role: settings.role.clone(),
            name: settings.role.clone(),
            choice: settings.agent.clone(),
            agent,
            prompt,
            conversation,
            fresh: None,
            keeps_home: None,
            keeps_turns: false,
            system_prompt: settings.system_prompt.clone(),
            dir: settings.dir.clone(),
            files: self.workspace.run_files(self.id).alone(),
            terms: settings.terms.clone(),
            usd: Some(Usd::from_nanos(left)),
            tools: SessionTools::Allowed(settings.allowed_tools.clone()),
            // The prompt is the person's own, word for word.
            brief: None,
            graph_at: None,
            commands: None,
            nesting: settings.nesting,
            row: SessionPosition {
                id: SessionPosition::id_for(self.around, ticket)?,
                root: settings.payer.unwrap_or(self.id),
                parent: self.id,
                run: self.id,
                key: StepKey::session(),
                attempt: ticket.attempt,
                bounce: 1,
                depth: settings.nesting.depth + 1,
                experiment: None,
            },
            confinement: SessionConfinement::OwnDirectory(hold),
        })
    }
}

/// A session by itself has no steps to go on from: what its model was told and said is its
/// conversation, which some agents do not keep.
const NOT_GONE_ON_WITH: &str =
    "nothing of its conversation is kept, so call `spore spawn` again when that is mended";

/// Returns what a session with this outcome waits for, where it can go on later.
fn waits_for(outcome: Outcome) -> Option<Park> {
    match outcome {
        Outcome::Interrupted => Some(Park::Interrupt),
        Outcome::QuotaParked => Some(Park::Quota),
        Outcome::NeedsHuman => Some(Park::Human),
        _ => None,
    }
}

/// Returns the run that had a conversation, by the agent's own id of it: its home holds what the
/// agent remembers.
fn run_of(journal: &dyn Journal, had: &str) -> Option<RunId> {
    let query = RunQuery { kind: Some(RunKind::Spawn), ..RunQuery::default() };
    let spawned = journal.runs(&query).ok()?.into_iter();
    let settings = spawned.filter_map(|run| {
        let settings: SpawnSettings = serde_json::from_value(run.settings).ok()?;
        (settings.had.as_deref() == Some(had)).then(|| settings.home_of.unwrap_or(run.id))
    });
    settings.into_iter().next()
}

fn canonical(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|source| {
        Error::new(Fault::Usage, format!("there is no {}", path.display())).because(source)
    })
}
