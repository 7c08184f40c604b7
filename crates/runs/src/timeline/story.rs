//! A run on one timeline: each of its steps with what its session was told, used and cost, what the
//! checks said, how the verifier ruled, and what was committed.
//!
//! Everything is joined from the steps, the rows below the run, the ledger and the records of the
//! task files. `timeline` shows the rows as they nest; this shows what happened.

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::{
    Cost, LedgerEntry, Ruling, Run, RunId, RunKind, SessionFailure, SessionNotes, Timestamp,
    ToolUse,
};
use spore_pipeline::{Done, SessionSummary};
use spore_store::{Journal, JournalError, RecordedStep};

use crate::explain::{TaskFileRecord, words_of_step};
use crate::report::RunReport;

#[derive(Clone, PartialEq, Debug, Default, Serialize, JsonSchema)]
pub struct RunStory {
    pub timeline: Vec<StoryEntry>,
}

/// One step of a run.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct StoryEntry {
    pub step: String,
    /// What people call it.
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounce: Option<u32>,
    pub started: Timestamp,
    /// From the beginning of the run.
    pub after_ms: u64,
    /// None where it has no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What came of it, one line each.
    pub said: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<StorySession>,
    /// What its session was told beside the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<CarriedSum>,
}

/// The session of a step.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct StorySession {
    pub id: RunId,
    pub role: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// The one that was really used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub turns: u32,
    pub cost: Cost,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<SessionFailure>,
    /// The most used first.
    pub tools: Vec<ToolUse>,
    /// Calls that it was refused.
    pub refused: u32,
}

/// How much a task file carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct CarriedSum {
    pub files: usize,
    pub lessons: usize,
    pub memory_lines: usize,
    /// Estimated.
    pub tokens: usize,
}

/// Tells what happened in a task's run, in its order.
pub fn story_of_run(
    journal: &dyn Journal,
    report: &RunReport,
    records: &[TaskFileRecord],
) -> Result<RunStory, JournalError> {
    // Flows and others have parts that tell of themselves.
    if !matches!(report.run.kind, RunKind::Orchestrate | RunKind::Solo) {
        return Ok(RunStory::default());
    }
    let mut sessions = Vec::new();
    for child in journal.children(report.run.id)? {
        if child.kind == RunKind::Bounce {
            sessions.extend(journal.children(child.id)?);
        } else {
            sessions.push(child);
        }
    }
    sessions.retain(|row| row.kind == RunKind::Session);
    let steps = journal.steps(report.run.id)?;
    let telling = Telling { report, records, sessions: &sessions, steps: &steps };
    Ok(RunStory { timeline: steps.iter().map(|step| telling.entry(step)).collect() })
}

struct Telling<'a> {
    report: &'a RunReport,
    records: &'a [TaskFileRecord],
    sessions: &'a [Run],
    steps: &'a [RecordedStep],
}

impl Telling<'_> {
    fn entry(&self, step: &RecordedStep) -> StoryEntry {
        let key = step.key.to_string();
        let bounce = key.split('/').nth(1).and_then(|number| number.parse().ok());
        let role = key.split('/').next().unwrap_or_default();
        let result = step.result.clone();
        let done: Option<Done> = result.and_then(|result| serde_json::from_value(result).ok());
        let is_paid = step.class == spore_model::EffectClass::Paid;
        let role = match role {
            "summarize" => "summarizer",
            role => role,
        };
        let record = self
            .records
            .iter()
            .find(|record| is_paid && record.role == role && record.bounce == bounce);
        let millis =
            |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        StoryEntry {
            name: words_of_step(&self.report.run, &step.key),
            bounce,
            started: step.begun,
            after_ms: millis(step.begun.since(self.report.run.started)),
            duration_ms: step.finished.map(|finished| millis(finished.since(step.begun))),
            said: self.said(step, done.as_ref(), bounce),
            session: if is_paid { self.session(step, done.as_ref(), role) } else { None },
            context: record.map(|record| CarriedSum {
                files: record.files.len(),
                lessons: record.lessons.len(),
                memory_lines: record.memory_lines.len(),
                tokens: record.tokens,
            }),
            step: key,
        }
    }

    /// Returns the session that the step's result names; of one that has none, the newest that
    /// began with it.
    fn session(
        &self,
        step: &RecordedStep,
        done: Option<&Done>,
        role: &str,
    ) -> Option<StorySession> {
        let summary = done.and_then(session_of);
        let next = self.steps.iter().map(|one| one.begun).filter(|at| *at > step.begun).min();
        let row = self.sessions.iter().rfind(|row| match summary {
            Some(summary) => row.id == summary.run,
            None => {
                row.role.as_deref() == Some(role)
                    && row.started >= step.begun
                    && next.is_none_or(|next| row.started < next)
            }
        })?;
        let bill: Option<&LedgerEntry> =
            self.report.ledger.iter().find(|bill| bill.session == row.id);
        let notes = SessionNotes::of_row(row);
        Some(StorySession {
            id: row.id,
            role: row.role.clone().unwrap_or_default(),
            backend: row.backend.clone(),
            model: bill.and_then(|bill| bill.model.clone()).or_else(|| row.model.clone()),
            turns: row.turns,
            cost: row.cost.into(),
            failure: SessionFailure::of_row(row),
            refused: notes.refused.count(),
            tools: notes.used,
        })
    }

    fn said(&self, step: &RecordedStep, done: Option<&Done>, bounce: Option<u32>) -> Vec<String> {
        let Some(done) = done else {
            return match (&step.result, self.report.run.is_open()) {
                (None, _) => vec!["no result yet".to_owned()],
                (Some(_), _) => Vec::new(),
            };
        };
        let short = |text: &str| spore_plain::headline(text, 160);
        match done {
            Done::Prepared { base, .. } => vec![format!("base {}", &base.as_str()[..12])],
            Done::Baseline(gates) | Done::Gates(gates) => gates.lines.clone(),
            Done::Tester { tests, .. } => vec![match &tests.failure {
                Some(failure) => short(failure),
                None => format!("{} written", counted(tests.files.len(), "file")),
            }],
            Done::Coder(session) | Done::Solo(session) => {
                session.reason.iter().map(|reason| short(reason)).collect()
            }
            Done::Snapshot { changed_files, refused, secrets, .. } => {
                let mut said = vec![match refused {
                    Some(refused) => format!("not taken: {}", short(refused)),
                    None => format!("{} changed", counted(*changed_files as usize, "file")),
                }];
                said.extend(secrets.iter().map(|secret| format!("looks like a secret: {secret}")));
                said
            }
            Done::Rebased { entries, .. } => vec![counted(entries.len(), "change")],
            Done::Verifier { session, .. } => match self.verdict(bounce) {
                Some(verdict) => vec![verdict],
                None => session.reason.iter().map(|reason| short(reason)).collect(),
            },
            Done::Committed { commit } => vec![commit.as_str()[..12].to_owned()],
            Done::Applied { .. } => {
                self.report.applied.iter().map(|applied| applied.what.clone()).collect()
            }
            Done::Summarized { note, .. } => vec![short(note)],
            Done::Closed | Done::Escalated | Done::Finished | Done::Stopped { .. } => {
                self.ending(step, bounce).into_iter().collect()
            }
        }
    }

    fn ending(&self, step: &RecordedStep, bounce: Option<u32>) -> Option<String> {
        match bounce {
            Some(bounce) => {
                let closed = self.report.bounces.iter().find(|one| one.bounce == bounce)?;
                Some(closed.status.to_string())
            }
            None if step.key.to_string() == "finish" => Some(self.report.status.to_string()),
            None => None,
        }
    }

    fn verdict(&self, bounce: Option<u32>) -> Option<String> {
        let bounce = self.report.bounces.iter().find(|one| Some(one.bounce) == bounce)?;
        let verdict = bounce.verdict.as_ref()?;
        let word = match verdict.ruling {
            Ruling::Supports => "supports it",
            Ruling::Contradicts => "contradicts",
            Ruling::Unknown => "cannot tell",
        };
        let sure = format!("{word} ({:.0} %)", verdict.confidence * 100.0);
        Some(match verdict.reason.trim() {
            "" => sure,
            reason => format!("{sure}: {}", spore_plain::headline(reason, 160)),
        })
    }
}

fn session_of(done: &Done) -> Option<&SessionSummary> {
    match done {
        Done::Coder(session) | Done::Solo(session) | Done::Verifier { session, .. } => {
            Some(session)
        }
        Done::Tester { session, .. } | Done::Summarized { session, .. } => session.as_ref(),
        _ => None,
    }
}

fn counted(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}
