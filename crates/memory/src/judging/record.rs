//! What became of every case that a judge was asked about, kept so that none is paid for twice.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::evidence::{Decider, Trajectory};
use crate::lines::LineHash;
use crate::pending::TouchKey;

/// Why a proposal changes nothing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedProposal {
    #[error("it is about an event and a line that were not asked about")]
    NoCase,
    #[error("its answer is none of the five")]
    NoAnswer,
    #[error("it says two things about one event and line")]
    Contradiction,
    #[error("its quote is not in the event")]
    NoQuote,
    #[error("what should show the action is not in an event after it that tells what was done")]
    NoAction,
    #[error("the run was not told the line, so it cannot have followed it")]
    NotTold,
    #[error("its root cause is none, or belongs to no weakening")]
    NoCause,
    #[error("a case with a line is no new signal, and one without is nothing else")]
    NoLine,
    #[error("it is said by no person")]
    NoPerson,
    #[error("the event only repeats what memory told")]
    Recalled,
    #[error("it does not say why")]
    NoReason,
}

/// What became of one case.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct JudgedTouch {
    pub event: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<LineHash>,
    pub answer: JudgeAnswer,
    pub by: Decider,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgeAnswer {
    Evidence(Trajectory),
    Nothing,
    /// It was asked, and said nothing about the case.
    Unanswered,
    Refused(RefusedProposal),
    /// The event is no longer where it was, or the line is gone: no judge was asked.
    Gone,
}

/// Every touch that was judged, so that none is paid for twice. One JSON line each.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct JudgedTouches {
    text: String,
    keys: BTreeSet<TouchKey>,
    answers: BTreeMap<&'static str, u32>,
}

impl JudgedTouches {
    /// Reads what is kept. A line that cannot be read stays as it is and says nothing.
    pub fn read(text: &str) -> Self {
        let mut all = Self::default();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match serde_json::from_str::<JudgedTouch>(line) {
                Ok(touch) => all.add(&touch),
                Err(_) => all.text.push_str(&format!("{line}\n")),
            }
        }
        all
    }

    /// Keeps what became of a touch; the first time counts.
    pub fn add(&mut self, touch: &JudgedTouch) {
        if self.keys.insert((touch.event.clone(), touch.line.clone()))
            && let Ok(line) = serde_json::to_string(touch)
        {
            self.text.push_str(&format!("{line}\n"));
            *self.answers.entry(word_of(&touch.answer)).or_default() += 1;
        }
    }

    pub fn keys(&self) -> &BTreeSet<TouchKey> {
        &self.keys
    }

    /// Returns how often each answer was given.
    pub fn answers(&self) -> &BTreeMap<&'static str, u32> {
        &self.answers
    }

    pub fn render(&self) -> &str {
        &self.text
    }
}

/// Names an answer.
pub fn word_of(answer: &JudgeAnswer) -> &'static str {
    match answer {
        JudgeAnswer::Evidence(trajectory) => trajectory.as_str(),
        JudgeAnswer::Nothing => "nothing",
        JudgeAnswer::Unanswered => "unanswered",
        JudgeAnswer::Refused(_) => "refused",
        JudgeAnswer::Gone => "gone",
    }
}
