//! How runs did that carried a lesson.
//!
//! Each lesson keeps, by run, what became of the run; its figures are counted from that. So a
//! run counts once however often it is written down, and can be taken back.

use serde_json::{Value, json};
use spore_model::{LessonRecord, NodeId, RunId, Timestamp};
use spore_store::{Knowledge, KnowledgeError};

/// What became of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Credit {
    Verified,
    FellShort,
    /// The run was undone: it counts no more.
    TakenBack,
}

/// Notes what became of a run on every lesson it carried. Lessons that are gone are passed
/// over; noting it again changes nothing.
pub(crate) fn give_credit(
    knowledge: &dyn Knowledge,
    lessons: &[NodeId],
    run: RunId,
    credit: Credit,
    now: Timestamp,
) -> Result<(), KnowledgeError> {
    let word = match credit {
        Credit::Verified => json!("verified"),
        Credit::FellShort => json!("fell_short"),
        Credit::TakenBack => Value::Null,
    };
    for lesson in lessons {
        let Some(node) = knowledge.node(lesson)? else { continue };
        let noted = node.metadata.pointer(&format!("/runs/{run}")).cloned().unwrap_or_default();
        if noted == word {
            continue;
        }
        let patch = json!({ "runs": { run.to_string(): word.clone() } });
        let metadata = knowledge.update_metadata(lesson, &patch, now)?;
        let record = json!({ "record": counted(metadata.get("runs")) });
        knowledge.update_metadata(lesson, &record, now)?;
    }
    Ok(())
}

fn counted(runs: Option<&Value>) -> LessonRecord {
    let words: Vec<&str> = match runs {
        Some(Value::Object(runs)) => runs.values().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let count = |word: &str| {
        u32::try_from(words.iter().filter(|known| **known == word).count()).unwrap_or(u32::MAX)
    };
    let (verified, fell_short) = (count("verified"), count("fell_short"));
    LessonRecord { carried: verified.saturating_add(fell_short), verified, fell_short }
}
