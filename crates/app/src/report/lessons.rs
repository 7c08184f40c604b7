//! The lessons of a project as people read them: what each says, how it stands by the ledger of
//! memory, and how runs ended that were told it.

use schemars::JsonSchema;
use serde::Serialize;
use spore_memory::decision::Decision;
use spore_memory::ledger::LineRecord;
use spore_memory::lines::LineHash;
use spore_model::Lesson;

use crate::knowledge::carried_runs::{CarriedRuns, carried_runs};
use crate::knowledge::ledger::{RatedLesson, enough, rated_lessons, read_ledger};
use crate::{Result, Surroundings, Workspace};

#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct LessonRow {
    #[serde(flatten)]
    pub lesson: Lesson,
    /// What the ledger knows it by; `spore memory why` takes it.
    pub hash: LineHash,
    /// The share of help in all that tested it, with one imagined test of each kind.
    pub standing: f64,
    /// What the ledger asks for. One that it asks to remove is carried no more.
    pub decision: Decision,
    /// How the newest runs did that carried it. Carried is not helped.
    pub carried: CarriedRuns,
    /// How it stood after each piece of evidence, the newest last.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub trend: String,
}

/// Returns the lessons that hold, the newest first.
pub fn list_lessons(around: &Surroundings, limit: Option<usize>) -> Result<Vec<LessonRow>> {
    let workspace = Workspace::find(around)?;
    workspace.check_initialised()?;
    let config = workspace.config(around, &[])?;
    if !workspace.database().exists() {
        return Ok(Vec::new());
    }
    let knowledge = workspace.knowledge(&config)?;
    let ledger = read_ledger(&workspace.spore_dir())?;
    let mut rated = rated_lessons(&knowledge, &ledger, enough(&config))?;
    rated.truncate(limit.unwrap_or(usize::MAX));
    let carried = carried_runs(&workspace, &workspace.journal(&config)?)?;
    let row = |rated: RatedLesson| LessonRow {
        standing: rated.lesson.record.standing(),
        carried: carried.get(&rated.line.hash).copied().unwrap_or_default(),
        trend: ledger.entry(&rated.line.hash).map(LineRecord::sparkline).unwrap_or_default(),
        hash: rated.line.hash,
        decision: rated.decision,
        lesson: rated.lesson,
    };
    Ok(rated.into_iter().map(row).collect())
}
