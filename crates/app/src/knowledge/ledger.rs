//! What has earned its place by the ledger of memory: lines of the broadcast file and lessons alike.
//!
//! Only passes of memory write the ledger; here it is read. A lesson loses its place as a line
//! does, where people or their tools said often enough that it is wrong; nothing is written for
//! that, so that evidence for it gives the place back.

use std::path::Path;

use spore_config::Config;
use spore_memory::decision::{Decision, Enough, decide};
use spore_memory::ledger::{LEDGER, Ledger};
use spore_memory::lines::{LineMap, ToldLine};
use spore_model::{Fault, Lesson, LessonRecord};
use spore_store::Knowledge;

use crate::base::files::read_text;
use crate::knowledge::broadcast::broadcast_map;
use crate::knowledge::lessons::standing_lessons;
use crate::{Error, Result, Workspace};

/// Reads the ledger below `spore`, the project's own directory. No file is no evidence.
pub(crate) fn read_ledger(spore: &Path) -> Result<Ledger> {
    let text = read_text(&spore.join(LEDGER))?.unwrap_or_default();
    Ledger::parse(&text).map_err(|error| {
        Error::new(Fault::BadInput, error.to_string()).hint(format!(
            "take your edit or the merge conflict out of .spore/{LEDGER}, then try again"
        ))
    })
}

/// Says when evidence is enough, as the settings have it.
pub(crate) fn enough(config: &Config) -> Enough {
    Enough { wrong: config.memory.wrong_before_removal }
}

/// Returns all that events are held against: the lines of the broadcast file, then the lessons
/// that no other one took the place of.
pub(crate) fn told_map(workspace: &Workspace, config: &Config) -> Result<LineMap> {
    let map = broadcast_map(&workspace.spore_dir())?;
    if !workspace.database().exists() {
        return Ok(map);
    }
    let lessons = standing_lessons(&workspace.knowledge(config)?)?;
    Ok(map.with_lessons(&lessons))
}

/// A lesson, and how it stands by the ledger.
pub(crate) struct RatedLesson {
    /// With its record.
    pub(crate) lesson: Lesson,
    pub(crate) line: ToldLine,
    pub(crate) decision: Decision,
}

impl RatedLesson {
    fn of(lesson: Lesson, ledger: &Ledger, enough: Enough) -> Self {
        let line = ToldLine::of_lesson(&lesson);
        let entry = ledger.entry(&line.hash);
        let tally = entry.map(|entry| entry.tally()).unwrap_or_default();
        let record = LessonRecord { helped: tally.helped, missed: tally.missed };
        Self { lesson: Lesson { record, ..lesson }, line, decision: decide(entry, enough) }
    }

    /// Whether task files may carry it.
    pub(crate) fn keeps_its_place(&self) -> bool {
        self.decision != Decision::Remove
    }
}

/// Returns the lessons that hold with what the ledger says of each, newest first.
pub(crate) fn rated_lessons(
    knowledge: &dyn Knowledge,
    ledger: &Ledger,
    enough: Enough,
) -> Result<Vec<RatedLesson>> {
    let lessons = standing_lessons(knowledge)?.into_iter();
    Ok(lessons.map(|lesson| RatedLesson::of(lesson, ledger, enough)).collect())
}

/// Returns the lessons that task files may carry, each with its record.
pub(crate) fn lessons_in_place(
    workspace: &Workspace,
    knowledge: &dyn Knowledge,
    config: &Config,
) -> Result<Vec<Lesson>> {
    let ledger = read_ledger(&workspace.spore_dir())?;
    let rated = rated_lessons(knowledge, &ledger, enough(config))?.into_iter();
    Ok(rated.filter(RatedLesson::keeps_its_place).map(|rated| rated.lesson).collect())
}
