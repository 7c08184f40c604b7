//! What parts of a flow ask a person, and what they are answered.
//!
//! A session that ends with a question (3 or 11) has no result: its exec waits, and goes on with the
//! answer. The question is a step of the exec, so that a process that goes on with the flow knows that
//! it was asked and does not ask it again. An answer is addressed to the very session that asked,
//! or to the run that is over and left a question behind.

use serde::{Deserialize, Serialize};
use spore_compose::{ChildEnd, SignalPointer, refinement};
use spore_model::{Fault, Outcome, Park, Run, RunId, RunState, StepKey, Usd};
use spore_runs::{OpenQuestion, Question, last_question};
use spore_store::{Journal, RunChange};

use super::flow::{ActiveFlow, LayerPlace, PersonAnswer};
use crate::base::error::bug;
use crate::session::booking::SessionBooking;
use crate::{Error, Result};

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
        self.steps(place).once(&StepKey::question(attempt), |ticket, entry| {
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
        let reason = Some(String::new());
        let change = RunChange { state, park, reason, ..RunChange::default() };
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

/// Returns what the parts of a flow ask that has no answer yet, in the order of the tree.
pub(crate) fn open_questions(
    journal: &dyn Journal,
    run: &Run,
    answers: &[PersonAnswer],
) -> Result<Vec<FlowQuestion>> {
    let answered = answers.iter().map(|answer| answer.to).collect();
    let open = spore_runs::open_questions(journal, run, &answered)?;
    let told = open.into_iter().map(|OpenQuestion { run, name, question }| FlowQuestion {
        run,
        name,
        exit_code: question.outcome.exit_code(),
        question: question.reason,
        asker: Some(question.asker),
    });
    Ok(told.collect())
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
        if let Self::Reject(reason) = self
            && reason.trim().is_empty()
        {
            return Err(Error::new(Fault::Usage, "the rejection says nothing of why")
                .hint("say what is to be otherwise: `--reject \"not before the release\"`"));
        }
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
    /// What it may cost in all, where that is said anew.
    pub(crate) whole_budget: Option<Usd>,
    /// How many cycles a sentinel has, where that is said anew.
    pub(crate) max_cycles: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_says_nothing_is_none() {
        for blank in ["", " \t\n", "\u{a0}"] {
            assert!(FlowAnswer::Reject(blank.to_owned()).words().is_err(), "{blank:?}");
            assert!(FlowAnswer::Words(blank.to_owned()).words().is_err(), "{blank:?}");
        }
        let told = FlowAnswer::Reject(" not today\n".to_owned()).words().unwrap();
        assert_eq!(told, "Rejected: not today");
        assert_eq!(FlowAnswer::Approve.words().unwrap(), "Approved: go on.");
    }
}
