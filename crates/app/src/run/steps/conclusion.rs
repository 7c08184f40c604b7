//! The steps of a run that is decided: what becomes of its work, what is learnt from it.

use serde_json::json;
use spore_context::task_file::{Before, RoleTurn};
use spore_model::{CommitId, Lesson, NodeId, Outcome, Park, StepKey, Ticket, TreeId};
use spore_pipeline::{Conclusion, Done, ProposalProblem, Proposed, Step, hold, read_summary};

use crate::base::error::bug;
use crate::base::files::remove_empty_dir;
use crate::base::run_refs;
use crate::knowledge::brief::{Brief, Findings};
use crate::knowledge::lessons::{
    BounceTrail, Credit, Learning, Learnt, NamedPlaces, RunTrail, carried_lessons, change_sizes,
    give_credit, learn_from_summary,
};
use crate::report;
use crate::run::apply::{self, Apply, Site, commit_message};
use crate::run::prompts;
use crate::run::sessions::Part;
use crate::run::steps::nodes::Keys;
use crate::run::world::Orchestration;
use crate::session::broker::Proposals;
use crate::{Result, Update};

impl Orchestration<'_> {
    pub(crate) fn commit(&mut self, ticket: &Ticket, tree: &TreeId) -> Result<Done> {
        let message = commit_message(&self.settings.task, self.run, tree);
        let commit = self.commit_tree(tree, &message, ticket)?;
        self.set_ref(&run_refs::own(self.run, "result"), &commit)?;
        Ok(Done::Committed { commit })
    }

    pub(crate) fn apply(&mut self, commit: &CommitId) -> Result<Done> {
        let (base, how) = (self.settings.base.clone(), self.settings.apply);
        let (around, workspace, repository) = (self.around, self.workspace, self.repository);
        let site = Site { around, workspace, repository, run: self.run };
        let mut applied = apply::apply(&site, &base, commit, how)?;
        if self.settings.in_place && how != Apply::Merge {
            let laid = apply::lay_down(&site, &base, commit)?;
            applied.done &= laid.done;
            applied.what = format!("{}; {}", applied.what, laid.what);
        }
        self.progress.update(&Update::Applied {
            done: applied.done,
            what: applied.what.clone(),
            commit: commit.to_string(),
        });
        Ok(Done::Applied { record: serde_json::to_value(&applied).map_err(bug)? })
    }

    pub(crate) fn escalate(&mut self, bounce: u32, reason: &str) -> Result<Done> {
        let text = format!(
            "# Escalated: {}\n\nA person is needed: {reason}\n\n## What is kept\n\n\
             - The task files, transcripts, diffs and gate logs of every bounce: this directory.\n\
             - The files as each bounce left them, but for secrets, as git refs: `git diff {} {}` \
             shows the last.\n\n\
             `spore runs show {}` tells the whole story.\n",
            prompts::title(&self.settings.task),
            &self.settings.base.as_str()[..12],
            run_refs::bounce(self.run, bounce),
            self.run.short()
        );
        self.around.write_file(&self.files().escalation(), text.as_bytes())?;
        Ok(Done::Escalated)
    }

    /// Lets a summarizer look back. Whatever goes wrong here leaves the run as it was decided;
    /// only a person who interrupts it is obeyed, and asked again later.
    pub(crate) fn summarize(
        &mut self,
        step: &Step,
        ticket: &Ticket,
        bounce: u32,
        conclusion: &Conclusion,
    ) -> Result<Done> {
        if self.out_of_budget().is_some() {
            return Ok(not_summed_up("the budget is spent"));
        }
        let carried = carried_lessons(self.files().dir());
        let (prompt, brief) = self.trail(ticket, bounce, conclusion, &carried)?;
        let checkout = self.coder_checkout(bounce)?;
        let part = Part {
            role: "summarizer",
            bounce: 0,
            prompt,
            conversation: None,
            dir: checkout.dir().to_owned(),
            at: self.bounce_commit(bounce)?,
            files: self.files().role("summarizer"),
            brief,
        };
        let (session, proposals) = match self.run_session(step, ticket, part) {
            Ok(ended) => ended,
            Err(error) => return Ok(not_summed_up(&error.to_string())),
        };
        if session.outcome == Outcome::Interrupted {
            self.book_if_stopped("summarizer", &session)?;
            let reason = "interrupted while the run was summed up".to_owned();
            return Ok(Done::Stopped { park: Park::Interrupt, reason });
        }
        let note = match self.proposed(bounce, &session.final_text, &proposals) {
            Ok(proposed) => told(&self.keep_lessons(ticket, conclusion, &carried, &proposed)?),
            Err(problems) => {
                let why: Vec<String> = problems.iter().map(ToString::to_string).collect();
                format!("nothing was kept: {}", why.join("; "))
            }
        };
        self.progress.update(&Update::SummedUp { note: note.clone() });
        Ok(Done::Summarized { session: Some(session), note })
    }

    /// Writes what happened down for the summarizer.
    fn trail(
        &self,
        ticket: &Ticket,
        bounce: u32,
        conclusion: &Conclusion,
        carried: &[NodeId],
    ) -> Result<(String, Brief)> {
        let diff = self.diff(&self.repository.tree_of(&self.bounce_commit(bounce)?)?)?;
        let report = report::report(self.workspace, self.journal, self.run)?;
        let bounces: Vec<BounceTrail> = report
            .bounces
            .into_iter()
            .map(|bounce| BounceTrail {
                coder_said: self.coder_said(bounce.bounce),
                bounce: bounce.bounce,
                reason: bounce.reason.unwrap_or_default(),
                gates: bounce.gates,
                verdict: bounce.verdict,
            })
            .collect();
        let nodes = carried.iter().filter_map(|id| self.knowledge.node(id).ok().flatten());
        let lessons: Vec<Lesson> = nodes.filter_map(|node| Lesson::of_node(&node)).collect();
        let files = change_sizes(&diff.files);
        let ended = &conclusion.reason;
        let trail = RunTrail { ended, files: &files, bounces: &bounces, lessons: &lessons };
        let before = Before::ToSummarize(&trail);
        let findings = Findings::of_task(&self.settings.task);
        self.task_file(ticket, "summarizer", RoleTurn::Afterwards, before, findings)
    }

    fn coder_said(&self, bounce: u32) -> String {
        match self.steps().result(&StepKey::coder(bounce)) {
            Ok(Some(Done::Coder(session))) => session.final_text,
            _ => String::new(),
        }
    }

    /// What the summarizer proposed: through its tools, else in its last message.
    fn proposed(
        &self,
        bounce: u32,
        text: &str,
        proposals: &Proposals,
    ) -> std::result::Result<Proposed, Vec<ProposalProblem>> {
        let commit = self.bounce_commit(bounce);
        let tree = commit.ok().map(|at| NamedPlaces::of(self.briefing(), at));
        let places = |named: &str| tree.as_ref().map_or_else(Vec::new, |tree| tree.find(named));
        match proposals.proposed() {
            Some((summary, lessons)) => hold(summary, lessons, &places),
            None => read_summary(text, &places),
        }
    }

    fn keep_lessons(
        &self,
        ticket: &Ticket,
        conclusion: &Conclusion,
        carried: &[NodeId],
        proposed: &Proposed,
    ) -> Result<Learnt> {
        let learning = Learning {
            knowledge: self.knowledge,
            run: self.run,
            keys: &Keys::of(self, ticket)?,
            verified: conclusion.outcome == Outcome::Success,
            rules: &self.config.lessons,
            carried,
        };
        learn_from_summary(&learning, proposed)
    }

    pub(crate) fn close_up(&mut self, ticket: &Ticket, conclusion: &Conclusion) -> Result<Done> {
        self.credit_lessons(ticket, conclusion)?;
        self.let_go_of_secrets(ticket)?;
        self.checkouts().retire_verifiers()?;
        // Of a run that fell short somebody may want to see more than git keeps.
        if conclusion.outcome == Outcome::Success && self.settings.solo.is_none() {
            self.checkouts().retire_coder()?;
            // Nothing else of it is there, unless something went wrong.
            remove_empty_dir(&self.workspace.run_state(self.run));
        }
        let ledger = self.journal.ledger(self.run)?;
        let report = json!({
            "run": self.run,
            "task": self.settings.task,
            "outcome": conclusion.outcome,
            "reason": conclusion.reason,
            "commit": conclusion.commit,
            "tree": conclusion.tree,
            "sandbox": self.hold,
            "sessions": ledger.len(),
            "cost": ledger.iter().map(|entry| entry.cost).sum::<spore_model::Cost>(),
        });
        self.around.write_json(&self.files().report(), &report)?;
        Ok(Done::Finished)
    }

    /// Tells the lessons that the run carried how it ended. A run that nobody judged, or that
    /// could not rightly begin, says nothing about them.
    fn credit_lessons(&self, ticket: &Ticket, conclusion: &Conclusion) -> Result<()> {
        let credit = match conclusion.outcome {
            _ if conclusion.fault.is_some() || self.settings.solo.is_some() => return Ok(()),
            Outcome::Success => Credit::Verified,
            _ => Credit::FellShort,
        };
        let carried = carried_lessons(self.files().dir());
        if carried.is_empty() {
            return Ok(());
        }
        let now = ticket.time().map_err(bug)?;
        Ok(give_credit(self.knowledge, &carried, self.run, credit, now)?)
    }
}

fn not_summed_up(why: &str) -> Done {
    Done::Summarized { session: None, note: format!("not summed up: {why}") }
}

fn told(learnt: &Learnt) -> String {
    let lessons = crate::counted(u32::try_from(learnt.lessons.len()).unwrap_or(u32::MAX), "lesson");
    let mut text = format!("one summary and {lessons}");
    for (count, what) in [
        (learnt.confirmed.len(), "known already"),
        (learnt.replaced.len(), "in the place of an older one"),
        (learnt.dropped.len(), "left out"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    text
}
