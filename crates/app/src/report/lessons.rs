//! The lessons of a project as people read them: what each says, how often a task file carried it,
//! and what became of those runs.

use serde::Serialize;
use spore_model::Lesson;

use crate::knowledge::lessons::standing_lessons;
use crate::{Result, Surroundings, Workspace};

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LessonRow {
    #[serde(flatten)]
    pub lesson: Lesson,
    /// The share of verified runs among those that carried it, with one imagined run of each kind.
    pub standing: f64,
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
    let mut lessons = standing_lessons(&knowledge)?;
    lessons.truncate(limit.unwrap_or(usize::MAX));
    let row = |lesson: Lesson| LessonRow { standing: lesson.record.standing(), lesson };
    Ok(lessons.into_iter().map(row).collect())
}
