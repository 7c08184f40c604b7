//! What parts of a flow ask a person, and what they are answered.
//!
//! A session that ends with a question (3 or 11) has no result: its exec waits, and goes on with the
//! answer. The question is a step of the exec, so that a process that goes on with the flow knows that
//! it was asked and does not ask it again. An answer is addressed to the very session that asked,
//! or to the run that is over and left a question behind.

use serde::{Deserialize, Serialize};
use spore_compose::{ChildEnd, SignalPointer, refinement, review_key};
use spore_model::{Fault, Outcome, Park, Run, RunId, RunKind, RunState, StepKey, Usd};
use spore_store::{Journal, RunChange};

use super::flow::{ActiveFlow, LayerPlace, PersonAnswer};
use crate::base::error::bug;
use crate::base::step::recorded;
use crate::session::booking::SessionBooking;
use crate::{Error, Result};

/// The name under which the step of a review plans whom an answer is addressed to.
pub(crate) const ASKER: &str = "asker";

/// What was asked.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Question {
    pub(crate) outcome: Outcome,
    pub(crate) reason: String,
    /// What an answer is addressed to.
    pub(crate) asker: RunId,
}

/// A question without an answer, for people.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FlowQuestion {
    /// The part that asks.
    pub run: RunId,
    pub name: String,
    pub exit_code: u8,
    pub question: String,
    #[serde(skip)]
    pub(crate) asker: Option<RunId>,
}

/// Returns whether an outcome is a question to a layer above or a person.
pub(crate) fn is_question(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::NeedsHuman | Outcome::NeedsEscalation)
}

impl ActiveFlow<'_> {
    /// Writes down what the session of an exec asked, with the session: both are on record, or it
    /// is a session whose end was not seen.
    pub(crate) fn ask(
        &self,
        place: &LayerPlace,
        attempt: u32,
        booking: &SessionBooking,
        end: &ChildEnd,
    ) -> Result<()> {
        let reason = end.reason.clone().unwrap_or_default();
        let question = Question { outcome: end.outcome, reason, asker: booking.session };
        self.steps(place).once(&asked_in(attempt)?, |ticket, entry| {
            self.keep_question(place, end)?;
            if let Some(run) = self.journal.run(place.run)? {
                let at = ticket.time().map_err(bug)?;
                let asks = Run { outcome: Some(end.outcome), ended: Some(at), ..run };
                self.write_signal(&asks, &place.name, &SignalPointer::default())?;
            }
            booking.enter(&self.events(), entry);
            if place.parent.is_some() {
                let change = RunChange {
                    state: Some(RunState::Parked),
                    park: Some(Some(Park::Human)),
                    ..RunChange::default()
                };
                entry.runs.push((place.run, change));
            }
            Ok(question)
        })?;
        Ok(())
    }

    /// Keeps the request that a person or the layer above is to answer.
    pub(crate) fn keep_question(&self, place: &LayerPlace, end: &ChildEnd) -> Result<()> {
        let path = self.dir().join(format!("refinements/exec-{}.md", place.name));
        self.write(&path, &refinement(&place.name, end, place.attempt))
    }

    /// Returns what an exec asked that has not been answered.
    pub(crate) fn unanswered(&self, exec: RunId) -> Result<Option<Question>> {
        let asked = last_question(self.journal, exec)?;
        Ok(asked.filter(|asked| self.answer_to(asked.asker).is_none()))
    }

    /// Lets an exec go on that waited for an answer.
    pub(crate) fn go_on_with(&self, place: &LayerPlace) -> Result<()> {
        let Some(run) = self.journal.run(place.run)? else { return Ok(()) };
        if run.state != RunState::Parked {
            return Ok(());
        }
        let (state, park) = (Some(RunState::Running), Some(None));
        let change = RunChange { state, park, ..RunChange::default() };
        Ok(self.journal.update_run(place.run, &change, &[])?)
    }

    /// Adds what a person answered to a stage, or a part of one, that is over and left a question behind; without an
    /// answer it waits for one.
    pub(crate) fn answered(&self, place: &LayerPlace, end: ChildEnd) -> Result<ChildEnd> {
        if end.outcome != Outcome::NeedsEscalation || end.park.is_some() {
            return Ok(end);
        }
        if let Some(answer) = self.answer_to(end.run) {
            return Ok(ChildEnd { answer: Some(answer.to_owned()), ..end });
        }
        self.keep_question(place, &end)?;
        Ok(ChildEnd { park: Some(Park::Human), ..end })
    }

    pub(crate) fn answer_to(&self, asker: RunId) -> Option<&str> {
        self.person_said(asker).map(|answer| answer.words.as_str())
    }

    /// Returns the newest answer of a person to `asker`.
    pub(crate) fn person_said(&self, asker: RunId) -> Option<&PersonAnswer> {
        self.answers.iter().rev().find(|answer| answer.to == asker)
    }

    /// Returns all that people answered to the sessions of an exec, oldest first.
    pub(crate) fn answers_to(&self, exec: RunId) -> Result<Vec<String>> {
        if self.answers.is_empty() {
            return Ok(Vec::new());
        }
        let sessions = self.journal.children(exec)?;
        let is_its = |to: RunId| sessions.iter().any(|session| session.id == to);
        let answers = self.answers.iter().filter(|answer| is_its(answer.to));
        Ok(answers.map(|answer| answer.words.clone()).collect())
    }
}

/// The step in which the session of an attempt asks.
fn asked_in(attempt: u32) -> Result<StepKey> {
    StepKey::new(format!("ask/{attempt}")).map_err(bug)
}

/// Returns what the newest session of an exec asked, if it did.
fn last_question(journal: &dyn Journal, exec: RunId) -> Result<Option<Question>> {
    let sessions = journal.children(exec)?;
    let last = sessions.iter().rfind(|run| run.kind == RunKind::Session);
    last.map_or(Ok(None), |last| recorded(journal, exec, &asked_in(last.attempt)?))
}

/// Returns what the parts of a flow ask that has no answer yet, in the order of the tree.
pub(crate) fn open_questions(
    journal: &dyn Journal,
    run: &Run,
    answers: &[PersonAnswer],
) -> Result<Vec<FlowQuestion>> {
    let mut found = Vec::new();
    collect(journal, run, answers, &mut found)?;
    Ok(found)
}

fn collect(
    journal: &dyn Journal,
    run: &Run,
    answers: &[PersonAnswer],
    found: &mut Vec<FlowQuestion>,
) -> Result<()> {
    if !run.is_open() || run.kind == RunKind::Session {
        return Ok(());
    }
    let mut note = |of: &Run, question: Question| {
        if !answers.iter().any(|answer| answer.to == question.asker) {
            found.push(FlowQuestion {
                run: of.id,
                name: of.name.clone(),
                exit_code: question.outcome.exit_code(),
                question: question.reason,
                asker: Some(question.asker),
            });
        }
    };
    if run.kind == RunKind::Campaign
        && let Some(question) = open_review(journal, run)?
    {
        note(run, question);
    }
    if run.kind == RunKind::Exec {
        if let Some(question) = last_question(journal, run.id)? {
            note(run, question);
        }
        return Ok(());
    }
    let children = journal.children(run.id)?;
    let is_over = |child: &&Run| !child.is_open() && run.kind == RunKind::Stage;
    for child in children.iter().filter(is_over) {
        if let Some(outcome @ Outcome::NeedsEscalation) = child.outcome {
            let reason = child.reason.clone().unwrap_or_default();
            note(child, Question { outcome, reason, asker: child.id });
        }
    }
    for child in &children {
        collect(journal, child, answers, found)?;
    }
    Ok(())
}

/// Returns the look at a plan that a campaign waits for, if it does.
fn open_review(journal: &dyn Journal, run: &Run) -> Result<Option<Question>> {
    for revision in 0.. {
        let Some(step) = journal.step(run.id, &review_key(revision))? else {
            match revision {
                // Only phases that were known from the start have no version.
                0 => continue,
                _ => break,
            }
        };
        if step.result.is_none() {
            let planned = step.intent.get(ASKER).and_then(|id| id.as_str());
            let asker = planned.and_then(|id| id.parse().ok()).unwrap_or(run.id);
            let reason = run.reason.clone().unwrap_or_default();
            return Ok(Some(Question { outcome: Outcome::NeedsHuman, reason, asker }));
        }
    }
    Ok(None)
}

/// What a person says to a flow that asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FlowAnswer {
    Words(String),
    Approve,
    Reject(String),
}

impl FlowAnswer {
    /// Returns what the session that asked is told.
    pub(crate) fn words(&self) -> Result<String> {
        let text = match self {
            Self::Words(text) => text.trim().to_owned(),
            Self::Approve => "Approved: go on.".to_owned(),
            Self::Reject(reason) => format!("Rejected: {}", reason.trim()),
        };
        if text.is_empty() {
            return Err(Error::new(Fault::Usage, "the answer is empty"));
        }
        Ok(text)
    }
}

/// What a person adds to a flow that goes on.
#[derive(Default)]
pub(crate) struct MoreSaid {
    pub(crate) budget: Option<Usd>,
    pub(crate) answers: Vec<PersonAnswer>,
}
