//! What a loop leaves beside the person's list: how far it is, as a file that people and scripts
//! read. The journal is the truth; this is read back only where the journal knows nothing.

use serde::{Deserialize, Serialize};
use spore_model::{RunId, Timestamp, Usd};

use super::task::LoopTask;

/// A loop as it is told beside its source.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LoopState {
    pub source: String,
    /// The words of the tasks that are verified.
    #[serde(default)]
    pub verified_tasks: Vec<String>,
    /// The same by what their results are kept under.
    #[serde(default)]
    pub verified_ids: Vec<String>,
    /// In dollars, over all restarts.
    #[serde(default)]
    pub total_cost: Usd,
    #[serde(default)]
    pub runs: Vec<LoopStateRun>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

/// One run of a task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LoopStateRun {
    pub task: String,
    #[serde(default)]
    pub id: String,
    pub status: String,
    #[serde(default)]
    pub cost: Usd,
    #[serde(default)]
    pub duration_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
}

impl LoopState {
    /// Returns whether the task was verified before. A file that another program wrote knows
    /// words alone.
    pub fn has_verified(&self, task: &LoopTask) -> bool {
        self.verified_ids.contains(&task.id)
            || !task.named && self.verified_tasks.iter().any(|words| is_same(words, &task.text))
    }
}

fn is_same(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_another_program_wrote_is_understood() {
        let text = r#"{"source": "tasks.txt", "verified_tasks": ["fix  it"], "total_cost": 12.5,
            "runs": [{"task": "fix it", "status": "verified", "cost": 2.5, "duration_ms": 45000,
            "extra": 1}], "created_at": "2026-02-21T00:00:00.000Z"}"#;
        let state: LoopState = serde_json::from_str(text).unwrap();
        assert_eq!(state.total_cost, Usd::from_dollars(12.5).unwrap());
        let task = |text: &str, named| LoopTask {
            id: "a".to_owned(),
            named,
            text: text.to_owned(),
            ..LoopTask::default()
        };
        assert!(state.has_verified(&task("fix it", false)));
        assert!(!state.has_verified(&task("fix that", false)));
        // What a person named is known by that name.
        assert!(!state.has_verified(&task("fix it", true)));
        let named = LoopState { verified_ids: vec!["a".to_owned()], ..LoopState::default() };
        assert!(named.has_verified(&task("other words", true)));
    }
}
