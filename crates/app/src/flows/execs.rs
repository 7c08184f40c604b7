//! L1: one action of an executor, as one session of an agent.
//!
//! It has no retry of its own: the session's outcome is passed on. What counts is what the
//! process did and what it left behind; the agent's own words can only make that worse.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use spore_agent::SessionReport;
use spore_compose::{ChildEnd, Diagnosis, ExecPlan, Parked, StageWord, complete_line, read_status};
use spore_context::task_file::{Assignment, Before, TaskFileBudget};
use spore_model::propagation::{Action, AttemptsLeft, Layer, decide};
use spore_model::{
    Begun, BudgetId, CommitId, EffectClass, Outcome, Park, RefusedCalls, Run, RunId, RunKind,
    StepKey, Ticket, Usd,
};

use super::flow::{ActiveFlow, LayerEnding, LayerPlace};
use super::questions::is_question;
use super::worksite::{ExecSaid, Worksite, cure, hash, lacks};
use crate::agents::backends::{backend, model};
use crate::agents::known::known;
use crate::agents::roles::RoleTerms;
use crate::base::files::remove_empty_dir;
use crate::base::run_files::SessionFiles;
use crate::base::step::Intent;
use crate::knowledge::brief::{
    Brief, BriefAsked, Briefing, Findings, has_no_index, task_file_limits,
};
use crate::session::agent_choice::AgentChoice;
use crate::session::confinement::{OwnHold, SessionConfinement};
use crate::session::lost::gone_on_with;
use crate::session::open::{EndedSession, SessionOpener};
use crate::session::plan::{SessionPlan, SessionPosition, SessionTools};
use crate::session::sandbox::Enforcement;
use crate::{Progress, Result, Update};

/// Where a flow keeps the homes of execs that have no result yet.
const HOMES: &str = "homes";

/// The name under which an exec notes what lay at the path of its artifact before.
const BEFORE: &str = "before";

/// One exec to be done.
pub(crate) struct Exec<'a> {
    pub(crate) ground: &'a ActiveFlow<'a>,
    pub(crate) place: LayerPlace,
    pub(crate) plan: &'a ExecPlan,
    pub(crate) diagnosis: Option<&'a Diagnosis>,
    pub(crate) resolution: Option<&'a str>,
    pub(crate) budget: Option<Usd>,
    /// What it starts from; nothing where it works in a directory as it is.
    pub(crate) start: Option<CommitId>,
}

/// What is on record of an exec, beside what the layer above needs to know.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct ExecEnd {
    pub(crate) end: ChildEnd,
    pub(crate) session: RunId,
    pub(crate) result: String,
    /// What the session was not let do.
    #[serde(default)]
    pub(crate) refused: RefusedCalls,
}

/// What lies at the place of an artifact when its session is over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    New,
    AsBefore,
    Nothing,
}

impl Exec<'_> {
    /// Does it, or finds what was done.
    pub(crate) fn work(&self, progress: &mut dyn Progress) -> Result<ExecEnd> {
        let mut done = self.run(progress)?;
        if !waits(done.end.outcome) {
            if let Some(site) = self.worksite() {
                let (end, result, refused) = (&done.end, done.result.as_str(), &done.refused);
                done.end = site.settle(ExecSaid { end, result, refused })?;
            }
            if let Some(parked) = self.bring_home(&done.end, progress)? {
                done.end.outcome = parked.outcome;
                (done.end.park, done.end.reason) = (Some(parked.park), Some(parked.reason));
                return Ok(done);
            }
            let ending = LayerEnding {
                outcome: done.end.outcome,
                reason: done.end.reason.as_deref(),
                points_at: done.end.artifact.as_deref(),
            };
            let pointer = self.ground.points_at(ending.points_at, done.end.artifact_mark.as_ref());
            let told = (&ending, &pointer);
            self.ground.end_pointing(&self.place, RunKind::Exec, told, &done.session)?;
        }
        Ok(done)
    }

    fn run(&self, progress: &mut dyn Progress) -> Result<ExecEnd> {
        let ground = self.ground;
        let details = Run {
            task: Some(self.plan.prompt.clone()),
            role: Some(self.plan.role.clone()),
            backend: Some(self.backend()),
            base_commit: self.start.clone(),
            ..ground.blank(self.place.run, RunKind::Exec)
        };
        ground.open(&self.place, RunKind::Exec, &details)?;
        if let Some(asked) = ground.unanswered(self.place.run)? {
            // What was asked once is not asked again before it is answered.
            return Ok(self.stopped(asked.outcome, Park::Human, &asked.reason));
        }
        ground.go_on_with(&self.place)?;
        let key = StepKey::session();
        let intent = Intent::at(ground.now()).plan("session", ground.around.ids.run());
        let intent = match self.plan.artifact.as_deref().and_then(|path| self.mark_before(path)) {
            Some(mark) => intent.with(BEFORE, mark),
            None => intent,
        };
        let ticket = match ground.steps(&self.place).begin(&key, EffectClass::Paid, intent)? {
            Begun::Done(done) => return Ok(done),
            Begun::Do(ticket) => ticket,
        };
        if ground.around.interrupt.is_raised() {
            return Ok(self.stopped(Outcome::Interrupted, Park::Interrupt, "interrupted"));
        }
        let wanted = ground.left_of_cap(&self.place, self.budget)?;
        let Some(node) = ground.set_aside(self.place.budget, wanted) else {
            return Ok(self.stopped(Outcome::NeedsHuman, Park::Budget, "the budget is spent"));
        };
        let session = self.session(&key, &ticket, node, progress);
        let over = ground.settle(node, session.as_ref().map_or(Usd::ZERO, EndedSession::cost));
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
        let (session, refused) = (self.place.run, RefusedCalls::default());
        ExecEnd { end, session, result: String::new(), refused }
    }

    fn backend(&self) -> String {
        let config = self.ground.config;
        self.plan.backend.clone().unwrap_or_else(|| config.orchestrate.backend.clone())
    }

    /// Brings its work to the branch, where it is the whole flow.
    fn bring_home(&self, end: &ChildEnd, progress: &mut dyn Progress) -> Result<Option<Parked>> {
        let own = self.ground.branch.as_ref().filter(|_| self.place.parent.is_none());
        let line = end.line.as_ref().filter(|_| end.outcome == Outcome::Success);
        if let (Some(branch), Some(line)) = (own, line) {
            branch.record(&line.tip);
        }
        self.ground.bring_home(&self.place, end.outcome, progress)
    }

    /// Where it works, if that is a checkout.
    fn worksite(&self) -> Option<Worksite<'_>> {
        let branch = self.ground.branch.as_ref()?;
        let (ground, place, plan) = (self.ground, &self.place, self.plan);
        Some(Worksite { ground, place, plan, branch, start: self.start.as_ref()? })
    }

    fn session(
        &self,
        key: &StepKey,
        ticket: &Ticket,
        node: BudgetId,
        progress: &mut dyn Progress,
    ) -> Result<EndedSession> {
        let ground = self.ground;
        let mut plan = self.session_plan(key, ticket, node, progress)?;
        plan.conversation = gone_on_with(&plan, ground.config, progress);
        let answers = ground.answers_to(self.place.run)?;
        if let (Some(talk), [_, ..]) = (&mut plan.conversation, answers.as_slice()) {
            talk.prompt = spore_compose::answer(self.plan, &answers);
        }
        let is_cut = ticket.attempt > 1 && plan.conversation.is_none();
        if let Some(site) = self.worksite().filter(|_| is_cut) {
            site.begin_anew(ticket)?;
        }
        let opener = SessionOpener {
            around: ground.around,
            workspace: ground.workspace,
            config: ground.config,
            journal: ground.journal,
            broker: &ground.broker,
            trace: &ground.trace,
        };
        opener.run(&plan, progress)
    }

    fn session_plan(
        &self,
        key: &StepKey,
        ticket: &Ticket,
        node: BudgetId,
        progress: &mut dyn Progress,
    ) -> Result<SessionPlan> {
        let (ground, plan) = (self.ground, self.plan);
        let (config, root) = (ground.config, ground.workspace.root());
        let choice = self.choice();
        let scenario = plan.scenario.as_deref().map(|path| root.join(path));
        let agent = backend(ground.around, config, &choice.backend, scenario.as_deref())?;
        let kept = agent.capabilities().resume.then(|| self.home());
        let (dir, confinement) = match self.worksite() {
            Some(site) => {
                let enforcement = Enforcement::find(ground.around, config, &choice.backend)?;
                let dir = site.checkout()?.dir().to_owned();
                (dir, SessionConfinement::Checkout(enforcement))
            }
            None => {
                let dir = &ground.own_dir;
                let hold = OwnHold::find(ground.around, config, &choice.backend, dir)?;
                let hold = kept.clone().into_iter().fold(hold, OwnHold::keeping);
                (dir.clone(), SessionConfinement::OwnDirectory(hold))
            }
        };
        let head = self.start.clone().or_else(|| ground.head());
        let (prompt, brief) =
            self.task(head.as_ref(), &ground.answers_to(self.place.run)?, progress);
        Ok(SessionPlan {
            role: plan.role.clone(),
            name: self.place.name.clone(),
            choice,
            agent,
            prompt,
            conversation: None,
            fresh: None,
            keeps_home: kept,
            keeps_turns: false,
            system_prompt: None,
            dir,
            files: SessionFiles::new(ground.run_dir().join(&self.place.dir).join("session")),
            terms: RoleTerms::settle(config, &plan.role, plan.max_turns, plan.timeout),
            usd: ground.budget().left(node).usd,
            tools: self.tools(),
            brief,
            graph_at: head,
            commands: None,
            nesting: ground.nesting,
            row: SessionPosition {
                id: SessionPosition::id_for(ground.around, ticket)?,
                root: ground.payer,
                attempt: ticket.attempt,
                bounce: self.place.attempt,
                depth: self.place.depth + 1,
                experiment: None,
                parent: self.place.run,
                run: self.place.run,
                key: key.clone(),
            },
            confinement,
        })
    }

    /// Those that the flow names; in a checkout, where it names none, those of the role.
    fn tools(&self) -> SessionTools {
        let names = &self.plan.allowed_tools;
        match self.start.is_some() && names.is_empty() {
            true => SessionTools::OfRole { commands: Vec::new() },
            false => SessionTools::Allowed(names.clone()),
        }
    }

    fn choice(&self) -> AgentChoice {
        let (config, plan, backend) = (self.ground.config, self.plan, self.backend());
        let tier = config.roles.of(&plan.role).tier.as_str();
        let model = model(config, &backend, Some(plan.model.as_deref().unwrap_or(tier)));
        AgentChoice { backend, model }
    }

    /// Writes what the exec is to do, with what code, lessons and memory know about it. Where no
    /// index is there to start from none is made: an exec is often shorter than that takes.
    fn task(
        &self,
        at: Option<&CommitId>,
        answers: &[String],
        progress: &mut dyn Progress,
    ) -> (String, Option<Brief>) {
        let prompt = spore_compose::prompt(self.plan, self.diagnosis, self.resolution, answers);
        let found = at.and_then(|at| self.findings(&prompt, at));
        let Some(findings) = found else { return (prompt, None) };
        for warning in &findings.warnings {
            progress.update(&Update::LessContext { why: warning.clone() });
        }
        let config = self.ground.config;
        let budget = TaskFileBudget { context: config.context.tokens as usize, whole: None };
        let (text, brief) = findings.write(&Assignment {
            role: &self.plan.role,
            occasion: None,
            before: Before::Nothing,
            checks: &[],
            budget,
            limits: task_file_limits(config),
        });
        (text, Some(brief))
    }

    fn findings(&self, task: &str, at: &CommitId) -> Option<Findings> {
        let ActiveFlow { around, workspace, config, .. } = *self.ground;
        if has_no_index(workspace, config) {
            return None;
        }
        let repository = workspace.project_repository().ok()?;
        let knowledge = workspace.knowledge(config).ok()?;
        let briefing = Briefing {
            around,
            workspace,
            repository: &repository,
            config,
            knowledge: &knowledge,
            run: self.place.run,
        };
        let asked = BriefAsked { task, role: &self.plan.role, at, changed: &[] };
        Some(briefing.find(&asked))
    }

    /// Judges the session and writes it down. What has to wait has no result.
    fn record(&self, key: &StepKey, ticket: &Ticket, session: EndedSession) -> Result<ExecEnd> {
        let (ground, booking) = (self.ground, &session.booking);
        let before = ticket.intent.get(BEFORE).and_then(|mark| mark.as_str());
        let left = self.plan.artifact.as_deref().map(|path| (path, self.left(path, before)));
        let (outcome, reason) = self.judge(&session.report, &booking.notes.refused, left);
        let cap = usize::try_from(ground.config.flows.diagnosis_bytes).unwrap_or(usize::MAX);
        let end = ChildEnd {
            // In a checkout its commit tells, later.
            artifact: left
                .filter(|(_, left)| self.start.is_none() && *left == Left::New)
                .map(|(path, _)| path.to_owned()),
            diagnosis: tail(&session.report.final_text, cap),
            budget_left: ground.has_left(self.place.budget),
            ..ChildEnd::new(self.place.run, outcome, reason)
        };
        let outcome_of_session = session.report.outcome;
        let result = session.report.final_text;
        let refused = booking.notes.refused.clone();
        let done = ExecEnd { end, session: booking.session, result, refused };
        if waits(outcome) {
            // It will be run again, so no result of a step will book it.
            if is_question(outcome) && asks_by_itself(outcome_of_session) {
                ground.ask(&self.place, ticket.attempt, booking, &done.end)?;
                let end = ChildEnd { park: Some(Park::Human), ..done.end };
                return Ok(ExecEnd { end, ..done });
            }
            booking.book_stopped(ground.journal, &ground.events(), outcome)?;
            return Ok(done);
        }
        let mut entry = ground.steps(&self.place).entry(&done)?;
        booking.enter(&ground.events(), &mut entry);
        ground.steps(&self.place).finish(key, ticket, &entry)?;
        let home = self.home();
        if home.exists() {
            ground.around.remove_tree(&home)?;
            let homes = ground.workspace.run_state(ground.root);
            remove_empty_dir(&homes.join(HOMES));
            remove_empty_dir(&homes);
        }
        Ok(done)
    }

    /// What its agent remembers until the exec has a result: one that was cut short goes on there.
    /// It is removed with what else the flow has outside of the project.
    fn home(&self) -> PathBuf {
        let state = self.ground.workspace.run_state(self.ground.root);
        state.join(HOMES).join(self.place.run.to_string())
    }

    /// Judges the session by what it left. Where that is nothing, and where it fails for other
    /// reasons, what it was not let do is a part of why.
    fn judge(
        &self,
        report: &SessionReport,
        refused: &RefusedCalls,
        left: Option<(&str, Left)>,
    ) -> (Outcome, Option<String>) {
        let told = judge(report, &self.plan.action, self.speaks_our_codes());
        let failed = |why| (Outcome::Failure, Some(why));
        let (outcome, reason) = match (left, told.0) {
            (Some((path, Left::Nothing)), Outcome::Success) => {
                return failed(lacks(self.plan, path, refused));
            }
            (Some((path, Left::AsBefore)), Outcome::Success) => {
                return failed(format!("it left {path} as it was before"));
            }
            _ => told,
        };
        if refused.is_empty() || outcome == Outcome::Success {
            return (outcome, reason);
        }
        let reason = reason.unwrap_or_else(|| refused.to_string());
        (outcome, Some(format!("{reason}; {}", cure(self.plan))))
    }

    /// Whether exit codes of its agent are Spore's own: those of agents that can be installed mean
    /// something else, as 2 does for a call that an agent does not understand.
    fn speaks_our_codes(&self) -> bool {
        known(&self.backend()).is_none_or(|agent| !agent.has_program())
    }

    /// Looks at the place of the artifact. In a checkout its commit tells, later.
    fn left(&self, path: &str, before: Option<&str>) -> Left {
        if self.start.is_some() {
            return Left::New;
        }
        match self.mark_before(path) {
            None => Left::Nothing,
            Some(mark) if before == Some(&*mark) => Left::AsBefore,
            Some(_) => Left::New,
        }
    }

    /// By what a file is known that the session did not write, where the exec works in a directory as it
    /// is: its content, and when it was written.
    fn mark_before(&self, path: &str) -> Option<String> {
        if self.start.is_some() {
            return None;
        }
        let content = self.ground.own_file(path).filter(|content| !content.is_empty())?;
        let file = std::fs::symlink_metadata(self.ground.own_dir.join(path)).ok();
        let written = file.and_then(|file| file.modified().ok());
        let written = written.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        Some(format!("{} {}", hash(&content), written.unwrap_or_default().as_nanos()))
    }
}

/// Returns whether an exec with this end stops and goes on later, in place of ending.
fn waits(outcome: Outcome) -> bool {
    match decide(Layer::Exec, outcome, AttemptsLeft::default()) {
        Action::Park(_) | Action::RaiseAndCleanUp(_) => true,
        Action::Raise(raised) => raised == Outcome::NeedsHuman,
        // Handed upwards as it is, and answered from there.
        Action::PassOn(passed) => passed == Outcome::NeedsEscalation,
        _ => false,
    }
}

/// Returns whether a session asked, in its own words or with its exit code: one that has no budget
/// or is not signed in needs a person too, and asks nothing.
fn asks_by_itself(session: Outcome) -> bool {
    matches!(session, Outcome::Success | Outcome::Failure)
}

/// Returns the outcome of a session: how it ended, the exit code where that is `ours`, and the agent's
/// own word where that is worse.
fn judge(report: &SessionReport, action: &str, ours: bool) -> (Outcome, Option<String>) {
    match report.outcome {
        Outcome::Success => match read_status(&report.final_text, action) {
            StageWord::Complete => (Outcome::Success, None),
            StageWord::Less(outcome, reason) => (outcome, Some(reason)),
            StageWord::Missing => {
                let line = complete_line(action);
                (Outcome::Failure, Some(format!("its last line is not {line}")))
            }
        },
        Outcome::Failure => {
            let code = report.exit.filter(|_| ours).and_then(|code| u8::try_from(code).ok());
            let outcome = code.and_then(Outcome::from_exit_code);
            let outcome = outcome.filter(|outcome| *outcome != Outcome::Success);
            (outcome.unwrap_or(Outcome::Failure), report.reason.clone())
        }
        other => (other, report.reason.clone()),
    }
}

/// The end of a text, on a line's beginning where that is near.
pub(crate) fn tail(text: &str, cap: usize) -> String {
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

    /// The judgement of an agent whose exit codes are ours.
    fn judge(report: &SessionReport, action: &str) -> (Outcome, Option<String>) {
        super::judge(report, action, true)
    }

    #[test]
    fn a_foreign_exit_code_means_that_the_session_failed_and_no_more() {
        for outcome in Outcome::ALL.into_iter().filter(|one| *one != Outcome::Success) {
            let code = i32::from(outcome.exit_code());
            let foreign = report(Outcome::Failure, Some(code), "");
            assert_eq!(super::judge(&foreign, "PLAN", false).0, Outcome::Failure, "{code}");
        }
    }

    #[test]
    fn an_exit_code_of_ours_means_what_it_means_everywhere() {
        for outcome in Outcome::ALL.into_iter().filter(|one| *one != Outcome::Success) {
            let code = i32::from(outcome.exit_code());
            assert_eq!(judge(&report(Outcome::Failure, Some(code), ""), "PLAN").0, outcome);
        }
        for code in [None, Some(0), Some(137), Some(-1), Some(42)] {
            assert_eq!(judge(&report(Outcome::Failure, code, ""), "PLAN").0, Outcome::Failure);
        }
        assert_eq!(judge(&report(Outcome::TimedOut, Some(0), ""), "PLAN").0, Outcome::TimedOut);
    }

    #[test]
    fn words_never_turn_a_failure_into_a_success() {
        let failed = report(Outcome::Failure, Some(1), "STAGE_PLAN_COMPLETE");
        assert_eq!(judge(&failed, "PLAN").0, Outcome::Failure);
        let doubts = report(Outcome::Success, Some(0), "STAGE_NEEDS_REFINEMENT: thin");
        let told = (Outcome::NeedsRefinement, Some("thin".to_owned()));
        assert_eq!(judge(&doubts, "PLAN"), told);
        let vague = report(Outcome::Success, Some(0), "I could not decide.");
        assert_eq!(judge(&vague, "PLAN").0, Outcome::Failure);
        let done = report(Outcome::Success, Some(0), "done\nSTAGE_PLAN_COMPLETE");
        assert_eq!(judge(&done, "plan"), (Outcome::Success, None));
    }

    #[test]
    fn only_the_end_of_a_long_text_is_kept() {
        assert_eq!(tail("short\n", 10), "short");
        assert_eq!(tail("first line\nsecond line\nthird", 12), "[…]\nthird");
    }
}
