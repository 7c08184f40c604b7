//! The step of a summarizer: one session that looks back, and the lessons it proposes.

use spore_config::Config;
use spore_context::task_file::{Before, RoleTurn};
use spore_model::{Lesson, NodeId, Outcome, Park, StepKey, Ticket};
use spore_pipeline::{
    Conclusion, Done, ProposalLimits, ProposalProblem, Proposed, Step, hold, read_summary,
};

use crate::knowledge::brief::{Brief, Findings};
use crate::knowledge::lessons::{
    BounceTrail, Learning, Learnt, RunTrail, carried_lessons, change_sizes, learn_from_summary,
};
use crate::knowledge::named_places::NamedPlaces;
use crate::report;
use crate::run::context::RunContext;
use crate::run::sessions::StepSession;
use crate::session::broker::Proposals;
use crate::{Result, Update};

impl RunContext<'_> {
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
        let asked = StepSession {
            role: "summarizer",
            bounce: 0,
            prompt,
            conversation: None,
            fresh: None,
            keeps_home: false,
            dir: checkout.dir().to_owned(),
            at: self.bounce_commit(bounce)?,
            files: self.files().role("summarizer"),
            brief,
            commands: None,
        };
        let (session, proposals) = match self.run_session(step, ticket, asked) {
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
        let tree = self.project.repository.tree_of(&self.bounce_commit(bounce)?)?;
        let diff = self.diff_for("summarizer", &tree)?;
        let report = report::report(self.project.workspace, self.project.journal, self.run.id)?;
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
        let findings = Findings::of_task(&self.run.settings.task);
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
        let limits = proposal_limits(self.project.config);
        match proposals.proposed() {
            Some((summary, lessons)) => hold(summary, lessons, &places, limits),
            None => read_summary(text, &places, limits),
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
            run: self.run.id,
            keys: &self.keys(ticket)?,
            verified: conclusion.outcome == Outcome::Success,
            rules: &self.project.config.lessons,
            carried,
        };
        learn_from_summary(&learning, proposed)
    }
}

/// Returns how much of what a summarizer proposes may be kept.
fn proposal_limits(config: &Config) -> ProposalLimits {
    let lessons = &config.lessons;
    ProposalLimits {
        summary_chars: config.summary.chars as usize,
        lessons: lessons.of_run as usize,
        lesson_chars: lessons.chars as usize,
        lesson_lines: lessons.lines as usize,
        scopes: lessons.places as usize,
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
