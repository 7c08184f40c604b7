//! What a loop leaves beside the person's list: how far it is, as a file that people and scripts
//! read. The journal is the truth; this is read back only where the journal knows nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use spore_model::{CommitId, RunId, Timestamp, Usd};

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
    /// What each of these is on the branch, where that is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub commits: BTreeMap<String, CommitId>,
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
    /// words alone: there, as many tasks of the same words are verified as it has such words.
    pub fn has_verified(&self, task: &LoopTask) -> bool {
        let of_words_alone = self.verified_tasks.len().saturating_sub(self.verified_ids.len());
        let foreign = self.verified_tasks.iter().take(of_words_alone);
        let known = foreign.filter(|words| is_same(words, &task.text)).count();
        self.verified_ids.contains(&task.id) || !task.named && known >= task.place_among_same()
    }

    /// Takes back that these tasks are verified.
    #[must_use]
    pub fn without(mut self, ids: &[String]) -> Self {
        let of_words_alone = self.verified_tasks.len().saturating_sub(self.verified_ids.len());
        let words = self.verified_tasks.split_off(of_words_alone);
        let kept = std::mem::take(&mut self.verified_ids).into_iter().zip(words);
        self.commits.retain(|id, _| !ids.contains(id));
        for (id, words) in kept.filter(|(id, _)| !ids.contains(id)) {
            self.verified_ids.push(id);
            self.verified_tasks.push(words);
        }
        self
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

    #[test]
    fn tasks_of_the_same_words_are_verified_one_by_one() {
        let list = crate::read_tasks("fix it\nfix  it\nelse\n").unwrap().tasks;
        let verified = |state: &LoopState| -> Vec<bool> {
            list.iter().map(|task| state.has_verified(task)).collect()
        };
        let own = |tasks: &[usize]| LoopState {
            verified_ids: tasks.iter().map(|&at| list[at].id.clone()).collect(),
            verified_tasks: tasks.iter().map(|&at| list[at].text.clone()).collect(),
            ..LoopState::default()
        };
        assert_eq!(verified(&own(&[0])), [true, false, false]);
        assert_eq!(verified(&own(&[0, 1])), [true, true, false]);
        assert_eq!(verified(&own(&[0, 1, 2]).without(&[list[1].id.clone()])), [true, false, true]);
        // Of a file with words alone, what was verified since has its names.
        let foreign = LoopState { verified_ids: Vec::new(), ..own(&[0]) };
        assert_eq!(verified(&foreign), [true, false, false]);
        let mut since = foreign;
        since.verified_tasks.push(list[2].text.clone());
        since.verified_ids.push(list[2].id.clone());
        assert_eq!(verified(&since), [true, false, true]);
        let twice = LoopState { verified_ids: Vec::new(), ..own(&[0, 1]) };
        assert_eq!(verified(&twice), [true, true, false]);
    }
}
