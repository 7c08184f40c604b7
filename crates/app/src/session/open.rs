//! Opens every session of every kind and attends it to its end.
//!
//! A run's sessions, a flow's and a spawned one differ in their [`SessionPlan`] alone. All of
//! them leave the same files, see the same variables, have the tools on the graph, and are on
//! record the same way. Booking is the caller's, together with the step's result, so that a
//! session is never booked without counting.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use spore_agent::{Conversation, Request, RequestLimits, SessionReport, TurnFiles};
use spore_config::Config;
use spore_model::{CheckoutAccess, Outcome, Run, SessionToken, ToolGroup, TraceId, Usd};
use spore_store::{Journal, RunChange};

use crate::agents::prices::{cost_of, cost_so_far};
use crate::agents::roles::{self, Role};
use crate::base::error::bug;
use crate::base::outbox::Events;
use crate::session::allowance::SessionAllowance;
use crate::session::booking::{self, SessionBooking};
use crate::session::broker::{Admission, Broker, Proposals, SessionAccess, StartsAdmitted};
use crate::session::confinement::Confined;
use crate::session::environment::{network_variables, session_environment};
use crate::session::live::{LiveFile, LiveSession};
use crate::session::lost::{Lost, set_aside, told_by, told_in, turns_of_attempts};
use crate::session::plan::{SessionPlan, SessionTools};
use crate::session::sandbox::{ConfinedPlace, Sandboxes, free_shell};
use crate::session::sign_in::{SignIn, SignIns, SignedInSession};
use crate::session::watch::{SessionWatch, ToolsUsed, idle};
use crate::{Progress, Result, Surroundings, Update, Workspace};

/// Opens the sessions of one run.
pub(crate) struct SessionOpener<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) workspace: &'a Workspace,
    pub(crate) config: &'a Config,
    pub(crate) journal: &'a dyn Journal,
    pub(crate) broker: &'a Broker,
    pub(crate) trace: &'a TraceId,
}

/// A session that is over.
pub(crate) struct EndedSession {
    pub(crate) booking: SessionBooking,
    pub(crate) report: SessionReport,
    /// What it handed in through its tools.
    pub(crate) proposals: Proposals,
    /// What those cost that it started, which are booked by themselves.
    pub(crate) started: Usd,
}

impl EndedSession {
    /// What it cost, with all that it started.
    pub(crate) fn cost(&self) -> Usd {
        self.booking.cost.usd + self.started
    }
}

impl SessionOpener<'_> {
    /// Runs a session to its end and keeps what it said.
    pub(crate) fn run(
        &self,
        plan: &SessionPlan,
        progress: &mut dyn Progress,
    ) -> Result<EndedSession> {
        self.close_lost(plan)?;
        self.around.credentials.look_again();
        if self.around.secrets().are_in(plan.prompt.as_bytes()) {
            let what = format!("what the {} is told", plan.role);
            progress.update(&Update::Struck { what });
        }
        self.lay_out(plan)?;
        let token = self.around.ids.session_token();
        let backend = &plan.choice.backend;
        let sandboxes = self.sandboxes(plan);
        let mut starts_with = plan.agent.starts_with();
        starts_with.push(self.broker.socket());
        let variables = network_variables(self.config, self.around, &plan.choice);
        let place = ConfinedPlace {
            keeps_home: plan.keeps_home.as_deref(),
            access: plan.terms.sandbox,
            files: plan.files.dir(),
            starts_with: &starts_with,
            variables: &variables,
        };
        let confined = plan.confinement.make(&sandboxes, backend, &plan.dir, place, &token)?;
        let signed_in = self.sign_in(plan, &sandboxes, &confined, &token, progress)?;
        let allowance = SessionAllowance::new(plan.usd);
        // The row is the last thing before the agent: one that is open is a session that may
        // have cost something.
        booking::open(self.journal, &self.events(), plan)?;
        let access = self.broker.admit(Admission {
            session: plan.row.id,
            run: plan.row.root,
            role: plan.role.clone(),
            tools: plan.terms.tools.clone(),
            dir: plan.dir.clone(),
            at: plan.graph_at.clone(),
            starts: self.starts(plan, &confined, &allowance),
            commands: plan.commands.clone(),
        });
        let request = self.request(plan, &confined, token, &access);
        let watch = SessionWatch {
            around: self.around,
            journal: self.journal,
            progress,
            root: plan.row.root,
            session: plan.row.id,
            files: &plan.files,
            live: RefCell::new(self.live(plan)),
            fresh: plan.fresh.as_ref(),
            allowance: &allowance,
            served: Some(&access).filter(|_| self.config.session.require_tools),
        };
        let (mut report, tools) = watch.run(plan.agent.as_ref(), &request)?;
        // What it renewed is the user's now, and known as a secret.
        drop(signed_in);
        self.around.credentials.look_again();
        self.strike(&mut report);
        // Its processes are gone, so what it has proposed is all there will be.
        let proposals = self.struck(access.close())?;
        judge(&plan.tools, &tools, &mut report);
        let is_overdrawn = allowance.is_overdrawn();
        if is_overdrawn && report.outcome == Outcome::Failure {
            report.outcome = Outcome::NeedsHuman;
        }
        self.keep(plan, &report, (&tools, &request.dir_inside()), &proposals)?;
        let cost = cost_of(self.config, &report, plan.choice.model.as_deref())?;
        let booking = SessionBooking::of(plan, &report, cost, &tools);
        Ok(EndedSession { booking, report, proposals, started: allowance.started() })
    }

    fn live(&self, plan: &SessionPlan) -> LiveSession<'_> {
        let (config, around) = (self.config, self.around);
        let state = LiveSession::live(plan.row.id, &plan.name, around.clock.now());
        let file = LiveFile::new(around, self.workspace, plan.row.root, state);
        let choice = plan.choice.clone();
        let price =
            move |usage| cost_so_far(config, &choice.backend, choice.model.as_deref(), usage);
        LiveSession::new(file, Box::new(price))
    }

    /// Gives a session with a home of its own what its agent is signed in with.
    fn sign_in(
        &self,
        plan: &SessionPlan,
        sandboxes: &Sandboxes<'_>,
        confined: &Confined,
        token: &SessionToken,
        progress: &mut dyn Progress,
    ) -> Result<Option<SignIn>> {
        let Some(home) = &confined.home else { return Ok(None) };
        let backend = &plan.choice.backend;
        let session = SignedInSession { backend, home, token, lasts: plan.terms.wall() };
        let sign_ins = SignIns { around: self.around, config: self.config };
        sign_ins.give(session, &sandboxes.signed_in_with(backend), progress).map(Some)
    }

    /// Takes secrets out of what a session says, whichever way its backend brought it here.
    fn strike(&self, report: &mut SessionReport) {
        let secrets = self.around.secrets();
        secrets.strike_in(&mut report.final_text);
        report.reason.iter_mut().for_each(|reason| secrets.strike_in(reason));
        report.structured.iter_mut().for_each(|value| secrets.strike_json(value));
    }

    /// Takes them out of what it handed in, before parts of it become titles.
    fn struck(&self, proposals: Proposals) -> Result<Proposals> {
        let secrets = self.around.secrets();
        if secrets.is_empty() || proposals.is_empty() {
            return Ok(proposals);
        }
        let mut value = serde_json::to_value(&proposals).map_err(bug)?;
        secrets.strike_json(&mut value);
        serde_json::from_value(value).map_err(bug)
    }

    /// Closes and books an earlier attempt whose end was not seen: it may have cost something.
    fn close_lost(&self, plan: &SessionPlan) -> Result<()> {
        // Only the session of this very step can have been lost: its files are where the next one's
        // will be.
        let told = |_: &Run| told_by(plan.agent.as_ref(), &plan.files, self.config);
        let Self { around, workspace, config, .. } = *self;
        let told_below =
            |top: &Run, session: &Run| told_in(around, workspace, config, top, session);
        let lost = Lost {
            journal: self.journal,
            config: self.config,
            events: self.events(),
            root: plan.row.root,
            told: &told,
            told_below: &told_below,
        };
        lost.close_below(plan.row.parent)
    }

    /// Writes what the session is told, after setting aside what a lost attempt left.
    fn lay_out(&self, plan: &SessionPlan) -> Result<()> {
        set_aside(self.around, plan.files.dir(), plan.row.attempt)?;
        self.around.write_file(&plan.files.task(), plan.prompt.as_bytes())?;
        match &plan.brief {
            // What helped can be seen later. Programs read it, and it is the longest file of most sessions.
            Some(brief) => {
                let carried = serde_json::to_vec(&brief.kept()).map_err(bug)?;
                self.around.write_file(&plan.files.carried(), &carried)
            }
            None => Ok(()),
        }
    }

    fn request(
        &self,
        plan: &SessionPlan,
        confined: &Confined,
        token: SessionToken,
        access: &SessionAccess,
    ) -> Request {
        let (config, root, backend) = (self.config, self.workspace.root(), &plan.choice.backend);
        let (around, choice, nesting) = (self.around, &plan.choice, plan.nesting);
        let id = plan.row.id;
        let mut env = session_environment(config, around, root, choice, nesting, self.trace, id);
        confined.tell(&mut env);
        access.tell(&mut env);
        // What code, lessons and earlier sessions say may hold one; a model is never told it.
        let secrets = around.secrets();
        let struck = |text: &str| secrets.strike(text).into_owned();
        let conversation = |one: Conversation| Conversation { prompt: struck(&one.prompt), ..one };
        let role = match &plan.system_prompt {
            Some(text) => Role { text: text.clone(), native: None },
            None => roles::prompt(root, &plan.dir, backend, &plan.role, plan.terms.turns),
        };
        let can_resume = plan.agent.capabilities().resume;
        let free = free_shell(config, &confined.sandbox);
        Request {
            role: plan.role.clone(),
            bounce: plan.row.bounce,
            system_prompt: struck(&role.text),
            native_role: role.native,
            prompt: struck(&plan.prompt),
            model: plan.choice.model.clone(),
            dir: plan.dir.clone(),
            env,
            secrets: secrets.clone(),
            tools: plan.tools.policy(backend, &plan.terms.tools, free),
            sandbox: confined.sandbox.clone(),
            mcp_servers: vec![access.server()],
            schema: None,
            resume: plan.conversation.clone().filter(|_| can_resume).map(conversation),
            turns: plan.keeps_turns.then(|| TurnFiles {
                file: plan.files.turns(),
                earlier: turns_of_attempts(&plan.files, plan.row.attempt),
            }),
            limits: RequestLimits {
                turns: plan.terms.turns,
                wall: plan.terms.wall(),
                idle: idle(plan.agent.as_ref(), config),
                usd: plan.usd,
            },
            token,
            transcript: plan.files.transcript(),
        }
    }

    /// Returns what the session may start: one that may run any command and write where it works
    /// gets as much done by others. A verifier judges alone.
    fn starts(
        &self,
        plan: &SessionPlan,
        confined: &Confined,
        allowance: &Arc<SessionAllowance>,
    ) -> Option<StartsAdmitted> {
        let root = confined.sandbox.confinement().and_then(|held| held.root.as_ref());
        let seen = root.and_then(|root| root.project.clone());
        let terms = &plan.terms;
        let may_start = terms.tools.contains(&ToolGroup::Shell)
            && terms.sandbox == CheckoutAccess::Write
            && plan.role != "verifier";
        let mut ancestry = Vec::new();
        plan.nesting.tell(self.trace, plan.row.id, &mut ancestry);
        may_start.then(|| StartsAdmitted {
            ancestry,
            dir: plan.confinement.shown(&plan.dir).to_owned(),
            seen,
            allowance: Arc::clone(allowance),
            limit: plan.nesting.limit,
            payer: plan.row.root,
        })
    }

    /// Keeps what is left of a session, whatever becomes of it.
    fn keep(
        &self,
        plan: &SessionPlan,
        report: &SessionReport,
        (tools, dir): (&ToolsUsed, &Path),
        proposals: &Proposals,
    ) -> Result<()> {
        if let Some(mut payload) = tools.payload(&plan.role, dir) {
            let session = plan.row.id;
            // The run whose work it was: its task, its lines, its commit.
            payload["of"] = serde_json::json!(plan.row.run);
            let event = booking::event(&self.events(), &plan.role, "tools.used", session, payload);
            self.journal.update_run(session, &RunChange::default(), &[event])?;
        }
        if !proposals.is_empty() {
            self.around.write_json(&plan.files.proposals(), proposals)?;
        }
        self.around.write_file(&plan.files.last_message(), report.final_text.as_bytes())
    }

    fn sandboxes(&self, plan: &SessionPlan) -> Sandboxes<'_> {
        let Self { around, workspace, config, .. } = *self;
        Sandboxes { around, workspace, config, run: plan.row.root }
    }

    fn events(&self) -> Events<'_> {
        Events { around: self.around, trace: self.trace.clone() }
    }
}

/// Holds a session in the person's own directory to what it tried: one that was let change
/// nothing has not done its work, whatever it says. In a checkout the files decide.
fn judge(tools: &SessionTools, used: &ToolsUsed, report: &mut SessionReport) {
    let is_own = matches!(tools, SessionTools::Allowed(_));
    if is_own && report.outcome == Outcome::Success && used.changed_nothing_it_tried() {
        report.outcome = Outcome::Failure;
        report.reason = Some(format!("it was let change nothing: {}", used.refused));
    }
}

#[cfg(test)]
mod tests;
