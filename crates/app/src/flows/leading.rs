//! Agent mode: a layer that is led by a session whose only tools are the layer below.
//!
//! The session runs beside the thread that leads the layer. Each of its calls comes to that thread,
//! which does what the layer's own machine would have asked for: the same steps, budget, branch and
//! record. What the session says in the end decides nothing: how the parts ended does. So a
//! session that was cut off is begun again, and finds done what was done.

use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spore_compose::{ChildEnd, Parked};
use spore_model::{
    Begun, BudgetId, CheckoutAccess, EffectClass, Outcome, Park, StepKey, Ticket, ToolGroup,
    ToolGroups, Usd,
};
use spore_tools::layers::{LedLayer, STATUS, declared_for_layer};
use spore_tools::{Declared, ToolAnswer};

use super::flow::{ActiveFlow, LayerPlace};
use crate::agents::backends::{backend, model};
use crate::agents::leaders::refuse_unless_leads;
use crate::agents::roles::RoleTerms;
use crate::base::files::{create_dir, remove_empty_dir};
use crate::base::run_files::SessionFiles;
use crate::base::step::Intent;
use crate::session::agent_choice::AgentChoice;
use crate::session::broker::SessionCommands;
use crate::session::confinement::SessionConfinement;
use crate::session::open::{EndedSession, SessionOpener};
use crate::session::plan::{SessionPlan, SessionPosition, SessionTools};
use crate::session::sandbox::Enforcement;
use crate::{Progress, Result, Update};

/// The role of a session that leads.
pub(crate) const LEADER: &str = "leader";

/// A layer that a session leads.
pub(crate) trait Led {
    /// Runs a part, or says why it may not be run. What goes wrong is told to the session.
    fn run(
        &mut self,
        name: &str,
        progress: &mut dyn Progress,
    ) -> Result<std::result::Result<ChildEnd, String>>;

    /// How far all parts are.
    fn status(&self) -> String;

    /// What the layer waits for, where it does.
    fn waits(&self) -> Option<Parked>;

    /// What was run so far, in that order.
    fn ran(&self) -> Vec<(String, u32)>;
}

/// The share of what is left that a session which leads may cost itself.
const SHARE: i64 = 4;

/// How long a session may lead. It does nothing itself: what it has run takes its own time, and
/// whether the session is silent meanwhile is watched like everywhere.
const LEAD_TIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// One session that leads.
pub(crate) struct LayerLead<'a> {
    pub(crate) ground: &'a ActiveFlow<'a>,
    /// The layer.
    pub(crate) place: &'a LayerPlace,
    pub(crate) layer: LedLayer,
    pub(crate) key: StepKey,
    /// What is to be done, in the layer's own words.
    pub(crate) task: String,
}

/// What is on record of a session that led.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct LeadEnd {
    pub(crate) outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// What it had run, in that order.
    pub(crate) ran: Vec<(String, u32)>,
}

impl LeadEnd {
    /// Why the session led no further, where it did not end well by itself.
    pub(crate) fn trouble(&self) -> Option<String> {
        let code = self.outcome.exit_code();
        let why = self.reason.as_deref().map(|why| spore_plain::line_within(why, 500));
        let why = why.unwrap_or_else(|| "it gave no reason".to_owned());
        let told = || format!("the session that led ended with exit code {code}: {why}");
        (self.outcome != Outcome::Success).then(told)
    }

    /// Puts the trouble of the session beside how its layer ended, as that may be why.
    pub(crate) fn explains(&self, outcome: Outcome, reason: String) -> String {
        match self.trouble() {
            Some(trouble) if outcome != Outcome::Success => format!("{reason}; {trouble}"),
            _ => reason,
        }
    }
}

/// What comes to the leading thread while the session works.
enum LeadSaid {
    Update(Update),
    Call { tool: String, arguments: Value, reply: Sender<ToolAnswer> },
    Over(Box<Result<EndedSession>>),
}

/// The session's progress goes to the leading thread.
struct LeadCaller(Sender<LeadSaid>);

impl Progress for LeadCaller {
    fn update(&mut self, update: &Update) {
        // The receiver is gone only when the whole flow is being given up.
        let _ = self.0.send(LeadSaid::Update(update.clone()));
    }
}

/// The tools of the session: each call goes to the leading thread and waits there.
struct LeadTools {
    tools: Vec<Declared>,
    calls: Mutex<Sender<LeadSaid>>,
}

impl SessionCommands for LeadTools {
    fn run(&self, _command: &str) -> ToolAnswer {
        ToolAnswer::refused("no command can be run here")
    }

    fn own_tools(&self) -> Vec<Declared> {
        self.tools.clone()
    }

    fn call(&self, tool: &str, arguments: &Value) -> ToolAnswer {
        if self.tools.iter().all(|declared| declared.name != tool) {
            return ToolAnswer::refused("there is no such tool here");
        }
        let (reply, answer) = channel();
        let (tool, arguments) = (tool.to_owned(), arguments.clone());
        let sent = self.calls.lock().unwrap_or_else(PoisonError::into_inner).send(LeadSaid::Call {
            tool,
            arguments,
            reply,
        });
        let gone = || ToolAnswer::error("the layer is closed: end the session now");
        sent.map_or_else(|_| gone(), |()| answer.recv().unwrap_or_else(|_| gone()))
    }
}

impl LayerLead<'_> {
    /// Lets the session lead. What has to wait is returned in place of a record.
    pub(crate) fn work(
        &self,
        led: &mut dyn Led,
        progress: &mut dyn Progress,
    ) -> Result<std::result::Result<LeadEnd, Parked>> {
        let ground = self.ground;
        let steps = ground.steps(self.place);
        let intent = Intent::at(ground.now()).plan("session", ground.around.ids.run());
        let ticket = match steps.begin(&self.key, EffectClass::Paid, intent)? {
            Begun::Done(end) => return Ok(Ok(end)),
            Begun::Do(ticket) => ticket,
        };
        let stopped = |outcome, park, reason: &str| Parked {
            outcome,
            park,
            reason: format!("{}: {reason}", self.place.name),
        };
        if ground.around.interrupt.is_raised() {
            return Ok(Err(stopped(Outcome::Interrupted, Park::Interrupt, "interrupted")));
        }
        let left = ground.budget().left(self.place.budget).usd;
        let share = left.map(|left| Usd::from_nanos(left.as_nanos() / SHARE));
        let Ok(node) = ground.reserve(self.place.budget, share) else {
            return Ok(Err(stopped(Outcome::NeedsHuman, Park::Budget, "the budget is spent")));
        };
        let name = format!("{}.lead", self.place.name);
        let (layer, began) = (("exec", self.place.depth + 1), ground.now());
        progress.update(&ground.told_layer(layer, &name, "STARTING".to_owned(), None, None));
        let session = self.session(&ticket, node, led, progress);
        let over = ground.settle(node, session.as_ref().map_or(Usd::ZERO, EndedSession::cost));
        let session = session?;
        if over > Usd::ZERO {
            progress.update(&Update::OverBudget { usd: over });
        }
        let (outcome, reason) = (session.report.outcome, session.report.reason.clone());
        let status = spore_compose::status(outcome);
        progress.update(&ground.told_layer(layer, &name, status, reason.clone(), Some(began)));
        let waits = match outcome {
            Outcome::Interrupted => Some(Park::Interrupt),
            Outcome::QuotaParked => Some(Park::Quota),
            Outcome::NeedsHuman => Some(Park::Human),
            _ => None,
        };
        // A part that waits is gone on with by another session.
        if let Some(parked) = led.waits() {
            session.booking.book_stopped(ground.journal, &ground.events(), outcome)?;
            return Ok(Err(parked));
        }
        if let Some(park) = waits {
            session.booking.book_stopped(ground.journal, &ground.events(), outcome)?;
            let reason = reason.unwrap_or_else(|| "its leader stopped".to_owned());
            return Ok(Err(stopped(outcome, park, &reason)));
        }
        let end = LeadEnd { outcome, reason, ran: led.ran() };
        let mut entry = steps.entry(&end)?;
        session.booking.enter(&ground.events(), &mut entry);
        steps.finish(&self.key, &ticket, &entry)?;
        Ok(Ok(end))
    }

    fn session(
        &self,
        ticket: &Ticket,
        node: BudgetId,
        led: &mut dyn Led,
        progress: &mut dyn Progress,
    ) -> Result<EndedSession> {
        let ground = self.ground;
        let (sender, receiver) = channel();
        let tools =
            LeadTools { tools: declared_for_layer(self.layer), calls: Mutex::new(sender.clone()) };
        let desk = ground.workspace.run_state(self.place.run).join("desk");
        create_dir(&desk)?;
        let plan = self.session_plan(ticket, node, desk.clone(), Arc::new(tools))?;
        let opener = SessionOpener {
            around: ground.around,
            workspace: ground.workspace,
            config: ground.config,
            journal: ground.journal,
            broker: &ground.broker,
            trace: &ground.trace,
        };
        let mut failed = None;
        let ended = std::thread::scope(|scope| {
            scope.spawn(move || {
                let ended = opener.run(&plan, &mut LeadCaller(sender.clone()));
                let _ = sender.send(LeadSaid::Over(Box::new(ended)));
            });
            loop {
                match receiver.recv() {
                    Ok(LeadSaid::Update(update)) => progress.update(&update),
                    Ok(LeadSaid::Call { tool, arguments, reply }) => {
                        let answer = self.answer(led, &tool, &arguments, progress);
                        let answer = answer.unwrap_or_else(|error| {
                            let told = ToolAnswer::error(format!("it could not be run: {error}"));
                            failed.get_or_insert(error);
                            told
                        });
                        let _ = reply.send(answer);
                    }
                    Ok(LeadSaid::Over(ended)) => break *ended,
                    Err(_) => {
                        let message = "a session that led went away silently";
                        break Err(crate::Error::new(spore_model::Fault::Bug, message));
                    }
                }
            }
        });
        remove_empty_dir(&desk);
        remove_empty_dir(&ground.workspace.run_state(self.place.run));
        // What went wrong while it led is not the session's, but ours.
        match failed {
            Some(error) => Err(error),
            None => ended,
        }
    }

    fn answer(
        &self,
        led: &mut dyn Led,
        tool: &str,
        arguments: &Value,
        progress: &mut dyn Progress,
    ) -> Result<ToolAnswer> {
        if tool == STATUS {
            return Ok(ToolAnswer::ok(led.status()));
        }
        let name = arguments["name"].as_str().unwrap_or_default();
        Ok(match led.run(name, progress)? {
            Err(why) => ToolAnswer::refused(why),
            Ok(end) => {
                let told = json!({
                    "name": name,
                    "exit_code": end.outcome.exit_code(),
                    "outcome": end.outcome,
                    "reason": end.reason.as_deref().map(|why| spore_plain::line_within(why, 1_000)),
                    "grade": end.grade,
                    "commit": end.line.as_ref().map(|line| &line.tip),
                });
                let text = self.ground.around.secrets().strike(&told.to_string()).into_owned();
                match end.outcome {
                    Outcome::Success => ToolAnswer::ok(text),
                    _ => ToolAnswer::error(text),
                }
            }
        })
    }

    fn session_plan(
        &self,
        ticket: &Ticket,
        node: BudgetId,
        desk: PathBuf,
        tools: Arc<dyn SessionCommands>,
    ) -> Result<SessionPlan> {
        let (ground, config) = (self.ground, self.ground.config);
        let choice = &ground.leader;
        // What is planned on the way was not there when the flow was let begin.
        refuse_unless_leads(&choice.backend)?;
        let agent = backend(ground.around, config, &choice.backend, choice.scenario.as_deref())?;
        let tier = config.roles.of(LEADER).tier.as_str();
        let named = Some(choice.model.as_deref().unwrap_or(tier));
        let own = RoleTerms::settle(config, LEADER, None, Some(LEAD_TIME));
        let enforcement = Enforcement::find(ground.around, config, &choice.backend)?;
        let dir = self.place.dir.join(self.key.to_string().replace('/', "-"));
        let note = match ticket.attempt {
            1 => "",
            _ => {
                "\n## Left behind\n\nAn earlier session was cut off while it led: ask for the status first.\n"
            }
        };
        Ok(SessionPlan {
            role: LEADER.to_owned(),
            name: format!("{}.lead", self.place.name),
            choice: AgentChoice {
                backend: choice.backend.clone(),
                model: model(config, &choice.backend, named),
            },
            agent,
            prompt: format!("{}{note}", self.task),
            conversation: None,
            fresh: None,
            keeps_home: None,
            keeps_turns: false,
            system_prompt: None,
            dir: desk,
            files: SessionFiles::new(ground.run_dir().join(dir)),
            terms: RoleTerms {
                tools: ToolGroups::from([ToolGroup::Layers]),
                sandbox: CheckoutAccess::ReadOnly,
                ..own
            },
            usd: ground.budget().left(node).usd,
            tools: SessionTools::OfRole { commands: Vec::new() },
            brief: None,
            graph_at: None,
            commands: Some(tools),
            nesting: ground.nesting,
            row: SessionPosition {
                id: SessionPosition::id_for(ground.around, ticket)?,
                root: ground.payer,
                attempt: ticket.attempt,
                bounce: 1,
                depth: self.place.depth + 1,
                experiment: None,
                parent: self.place.run,
                run: self.place.run,
                key: self.key.clone(),
            },
            confinement: SessionConfinement::Checkout(enforcement),
        })
    }
}
