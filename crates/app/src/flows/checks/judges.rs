//! What a sentinel asks of others: judges, who say whether the work is what was asked for, and
//! verified runs, which mend what was found.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use spore_compose::{
    FixEnd, JudgesPlan, RoleAnswer, RoleQuestion, SentinelRole, SentinelStep, SentinelSubject,
};
use spore_config::Config;
use spore_git::Repository;
use spore_model::{
    Begun, BudgetId, CommitId, EffectClass, Outcome, Park, RunId, RunState, Ticket, Usd,
};
use spore_runs::Apply;

use super::site::SentinelSite;
use crate::agents::backends::backend;
use crate::agents::roles::RoleTerms;
use crate::base::error::bug;
use crate::base::files::remove_empty_dir;
use crate::base::run_files::SessionFiles;
use crate::base::run_refs;
use crate::base::step::Intent;
use crate::run::request::Orchestrate;
use crate::run::start::{Under, within};
use crate::session::agent_choice::{AgentChoice, Wishes};
use crate::session::confinement::SessionConfinement;
use crate::session::open::{EndedSession, SessionOpener};
use crate::session::plan::{SessionPlan, SessionPosition, SessionTools};
use crate::session::sandbox::Enforcement;
use crate::{Progress, Result, Update};

/// Who is asked, and about what. It is part of a sentinel's record.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct SentinelJudges {
    #[serde(flatten)]
    pub(crate) asked: JudgesPlan,
    /// What the work began from.
    pub(crate) since: CommitId,
}

/// The agent of each role that a sentinel asks.
pub(crate) fn judges_of(config: &Config, asked: &JudgesPlan) -> BTreeMap<String, AgentChoice> {
    let roles = [SentinelRole::Writer, SentinelRole::Auditor, SentinelRole::Consolidator];
    let names = roles.map(|role| asked.roles.name(role));
    names.iter().map(|role| ((*role).to_owned(), choice(config, role, asked))).collect()
}

fn choice(config: &Config, role: &str, asked: &JudgesPlan) -> AgentChoice {
    let wishes = Wishes {
        backend: asked.backend.as_deref(),
        model: asked.model.as_deref(),
        coder_model: None,
    };
    AgentChoice::settle(config, role, wishes)
}

/// What a run that mends is asked for.
pub(crate) struct FixAsked {
    pub(crate) task: String,
    /// What its tester is told, and its coder is not.
    pub(crate) specified: Option<String>,
    /// Whether a check is red. Where only an auditor objects, there is nothing red to mend, and a run
    /// that was asked to would be refused.
    pub(crate) red: bool,
}

/// The judges of a sentinel that is at work.
#[derive(Clone, Copy)]
pub(crate) struct ActiveJudges<'a> {
    pub(crate) site: SentinelSite<'a>,
    pub(crate) judges: &'a SentinelJudges,
}

impl ActiveJudges<'_> {
    /// What writer and auditor are told of the work at `commit`.
    pub(crate) fn subject(
        &self,
        repository: &Repository,
        commit: &CommitId,
    ) -> Result<SentinelSubject> {
        const DIFF_BYTES: usize = 24_000;
        let (from, to) = (repository.tree_of(&self.judges.since)?, repository.tree_of(commit)?);
        let diff = repository.diff(&from, &to, DIFF_BYTES)?;
        let text = self.site.ground.around.secrets().strike(&diff.text).into_owned();
        Ok(SentinelSubject {
            task: self.judges.asked.task.clone(),
            files: diff.files.into_iter().map(|file| file.path).collect(),
            diff: text,
        })
    }

    /// Asks a role, or finds what it said.
    pub(crate) fn ask(
        &self,
        step: &SentinelStep,
        question: &RoleQuestion,
        commit: &CommitId,
        progress: &mut dyn Progress,
    ) -> Result<RoleAnswer> {
        let ground = self.site.ground;
        let (steps, key) = (ground.steps(self.site.place), step.key());
        let intent = Intent::at(ground.now()).plan("session", ground.around.ids.run());
        let ticket = match steps.begin(&key, EffectClass::Paid, intent)? {
            Begun::Done(answer) => return Ok(answer),
            Begun::Do(ticket) => ticket,
        };
        if ground.around.interrupt.is_raised() {
            return Ok(waiting(Outcome::Interrupted, Park::Interrupt, "interrupted"));
        }
        let Some(node) = self.site.reserve() else {
            return Ok(waiting(Outcome::NeedsHuman, Park::Budget, "the budget is spent"));
        };
        let what = format!("{} {}", self.judges.asked.roles.name(question.role), key);
        let (layer, began) = (("sentinel", self.site.place.depth + 1), ground.now());
        progress.update(&ground.told_layer(layer, &what, "STARTING".to_owned(), None, None));
        let session = self.session(step, question, commit, &ticket, node, progress);
        let cost = session.as_ref().map_or(Usd::ZERO, EndedSession::cost);
        let over = ground.settle(node, cost);
        if over > Usd::ZERO {
            progress.update(&Update::OverBudget { usd: over });
        }
        let EndedSession { booking, report, .. } = session?;
        let answer = RoleAnswer {
            outcome: report.outcome,
            reason: report.reason,
            park: None,
            text: report.final_text,
        };
        let waits = [Outcome::Interrupted, Outcome::QuotaParked, Outcome::NeedsHuman];
        if waits.contains(&answer.outcome) {
            booking.book_stopped(ground.journal, &ground.events(), answer.outcome)?;
            return Ok(answer);
        }
        let mut entry = steps.entry(&answer)?;
        booking.enter(&ground.events(), &mut entry);
        steps.finish(&key, &ticket, &entry)?;
        let status = spore_compose::status(answer.outcome);
        let why = answer.reason.clone();
        progress.update(&ground.told_layer(layer, &what, status, why, Some(began)));
        Ok(answer)
    }

    /// What the replay agent plays, where a flow may name it from the project's root.
    fn scenario(&self) -> Option<PathBuf> {
        let own = self.judges.asked.scenario.as_deref();
        own.map(|path| self.site.ground.workspace.root().join(path))
    }

    fn session(
        &self,
        step: &SentinelStep,
        question: &RoleQuestion,
        commit: &CommitId,
        ticket: &Ticket,
        node: BudgetId,
        progress: &mut dyn Progress,
    ) -> Result<EndedSession> {
        let ground = self.site.ground;
        let config = ground.config;
        let role = self.judges.asked.roles.name(question.role);
        let choice = choice(config, role, &self.judges.asked);
        let scenario = self.scenario();
        let agent = backend(ground.around, config, &choice.backend, scenario.as_deref())?;
        let enforcement = Enforcement::find(ground.around, config, &choice.backend)?;
        let repository = ground.workspace.repository(ground.around)?;
        let checkouts = self.site.checkouts(&repository);
        let checkout = checkouts.verifier(1, commit)?;
        let (cycle, turn) = position(step);
        let name = format!("cycle-{cycle}/{role}-{turn}");
        let plan = SessionPlan {
            role: role.to_owned(),
            name: role.to_owned(),
            choice,
            agent,
            prompt: question.prompt.clone(),
            conversation: None,
            fresh: None,
            keeps_home: None,
            keeps_turns: false,
            system_prompt: None,
            dir: checkout.dir().to_owned(),
            files: SessionFiles::new(self.site.logs().join(name)),
            terms: RoleTerms::settle(config, role, None, None),
            usd: ground.budget().left(node).usd,
            tools: SessionTools::OfRole { commands: Vec::new() },
            brief: None,
            graph_at: Some(commit.clone()),
            commands: None,
            nesting: ground.nesting,
            row: SessionPosition {
                id: SessionPosition::id_for(ground.around, ticket)?,
                root: ground.payer,
                attempt: ticket.attempt,
                bounce: turn,
                depth: self.site.place.depth + 1,
                experiment: None,
                parent: self.site.place.run,
                run: self.site.place.run,
                key: step.key(),
            },
            confinement: SessionConfinement::Checkout(enforcement),
        };
        let opener = SessionOpener {
            around: ground.around,
            workspace: ground.workspace,
            config,
            journal: ground.journal,
            broker: &ground.broker,
            trace: &ground.trace,
        };
        let ended = opener.run(&plan, progress);
        checkouts.retire_verifiers()?;
        remove_empty_dir(&ground.workspace.run_state(self.site.place.run));
        ended
    }

    /// Has mended what the newest cycle found, or finds how that ended.
    pub(crate) fn fix(
        &self,
        step: &SentinelStep,
        asked: FixAsked,
        commit: &CommitId,
        progress: &mut dyn Progress,
    ) -> Result<FixEnd> {
        let ground = self.site.ground;
        let (steps, key) = (ground.steps(self.site.place), step.key());
        let intent = Intent::at(ground.now()).plan("child", ground.around.ids.run());
        let ticket = match steps.begin(&key, EffectClass::Keyed, intent)? {
            Begun::Done(end) => return Ok(end),
            Begun::Do(ticket) => ticket,
        };
        let child = ticket.planned("child").map_err(bug)?;
        let (layer, began) = (("sentinel", self.site.place.depth + 1), ground.now());
        let starting = "STARTING".to_owned();
        progress.update(&ground.told_layer(layer, key.as_str(), starting, None, None));
        let end = self.mend(child, asked, commit, progress)?;
        if end.park.is_none() && end.outcome != Outcome::Interrupted {
            steps.finish(&key, &ticket, &steps.entry(&end)?)?;
        }
        let status = spore_compose::status(end.outcome);
        let why = end.reason.clone();
        progress.update(&ground.told_layer(layer, key.as_str(), status, why, Some(began)));
        Ok(end)
    }

    fn mend(
        &self,
        child: RunId,
        asked: FixAsked,
        commit: &CommitId,
        progress: &mut dyn Progress,
    ) -> Result<FixEnd> {
        let ground = self.site.ground;
        if let Some(end) = self.mended(child)? {
            return Ok(end);
        }
        let before = ground.cost_of(child)?;
        let Some(node) = self.site.reserve() else {
            let reason = Some("the budget is spent".to_owned());
            let (outcome, park) = (Outcome::NeedsHuman, Some(Park::Budget));
            return Ok(FixEnd { run: child, outcome, reason, park, commit: None });
        };
        let left = ground.budget().left(node).usd.unwrap_or(ground.config.orchestrate.budget_usd);
        let judges = &self.judges.asked;
        let asked = Orchestrate {
            task: asked.task,
            specified: asked.specified.filter(|_| judges.hold_out),
            base: Some(commit.to_string()),
            // On a flow's branch nothing that was made there says how work is checked, and the flow
            // brings home what holds.
            trusted: ground.branch.as_ref().map(|branch| branch.base.clone()),
            apply: ground.branch.as_ref().map(|_| Apply::None),
            backend: judges.backend.clone(),
            scenario: self.scenario(),
            model: judges.model.clone(),
            // In all, of which some may be gone already.
            budget: Some(left + before),
            fix_red: asked.red,
            hold_out: judges.hold_out,
            subject: Some("fix(sentinel): ".to_owned()),
            ..Orchestrate::default()
        };
        let under = Under {
            id: child,
            parent: self.site.place.run,
            trace: ground.trace.clone(),
            depth: self.site.place.depth + 1,
            nesting: ground.nesting,
        };
        let ran = within(ground.around, &asked, &under, progress);
        let more = ground.cost_of(child)?.as_nanos().saturating_sub(before.as_nanos());
        ground.settle(node, Usd::from_nanos(more));
        ground.live_report()?;
        ran?;
        match (self.mended(child)?, ground.journal.run(child)?) {
            (Some(end), _) => Ok(end),
            (None, run) => Ok(FixEnd {
                run: child,
                outcome: run.as_ref().and_then(|run| run.outcome).unwrap_or(Outcome::Interrupted),
                park: run.as_ref().and_then(|run| run.park).or(Some(Park::Interrupt)),
                reason: run.and_then(|run| run.reason),
                commit: None,
            }),
        }
    }

    /// Returns how a run that mends ended; nothing while it has not.
    fn mended(&self, child: RunId) -> Result<Option<FixEnd>> {
        let ground = self.site.ground;
        let run = ground.journal.run(child)?.filter(|run| run.state == RunState::Ended);
        let Some(run) = run else { return Ok(None) };
        let repository = ground.workspace.repository(ground.around)?;
        let outcome = run.outcome.unwrap_or(Outcome::Failure);
        let commit = match outcome {
            Outcome::Success => repository.ref_target(&run_refs::own(child, "result"))?,
            _ => None,
        };
        Ok(Some(FixEnd { run: child, outcome, reason: run.reason, park: None, commit }))
    }
}

/// The cycle that a question belongs to, and its number among all that the role is asked.
fn position(step: &SentinelStep) -> (u32, u32) {
    match *step {
        SentinelStep::Write { attempt } => (1, attempt),
        SentinelStep::Audit { cycle, attempt } => (cycle, (cycle - 1) * 2 + attempt),
        SentinelStep::Consolidate { cycle }
        | SentinelStep::Check { cycle }
        | SentinelStep::Fix { cycle } => (cycle, cycle),
        SentinelStep::Finish { .. } => (0, 0),
    }
}

/// Nothing was asked: another process will.
fn waiting(outcome: Outcome, park: Park, reason: &str) -> RoleAnswer {
    let (park, reason) = (Some(park), Some(reason.to_owned()));
    RoleAnswer { outcome, reason, park, text: String::new() }
}
