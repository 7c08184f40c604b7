//! What a task file carried beside its task, as it is kept with the session's files.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use spore_memory::rules::ToldByRun;
use spore_model::{NodeId, RunId, TreeId};
use spore_runs::FileSignals;

use crate::Workspace;
use crate::base::run_files::CARRIED;

/// What a brief told its reader about: kept beside the task file, so that it can be compared
/// later with what helped.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Carried {
    pub(crate) files: Vec<String>,
    /// Pieces of code, as `path:name`.
    pub(crate) symbols: Vec<String>,
    pub(crate) lessons: Vec<NodeId>,
    /// The same lessons by the hash of what they said, which the ledger knows them by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) lesson_lines: Vec<String>,
    /// Lines of the broadcast file, by their hash.
    pub(crate) memory_lines: Vec<String>,
    /// Those that were kept back from the run because they are on trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) withheld: Vec<String>,
    /// Estimated.
    pub(crate) tokens: usize,
    /// The tree that the code was seen in; none where the code was not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tree: Option<TreeId>,
}

/// Reads which lines and lessons the task files of a run carried, as it was kept beside them.
pub(crate) fn told_lines(workspace: &Workspace, run: RunId) -> ToldByRun {
    let mut told = ToldByRun::default();
    for file in carried_files(workspace.run_files(run).dir(), 3) {
        let carried = spore_effects::files::read(&file).ok();
        let carried: Option<Carried> =
            carried.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let Some(carried) = carried else { continue };
        let hashes = |texts: Vec<String>| texts.into_iter().filter_map(|hash| hash.parse().ok());
        told.carried.extend(hashes(carried.memory_lines));
        told.carried.extend(hashes(carried.lesson_lines));
        told.withheld.extend(hashes(carried.withheld));
    }
    told
}

/// Finds the records of what was carried, by name and no deeper than sessions are kept.
pub(crate) fn carried_files(dir: &Path, depth: u32) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut entries: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort_unstable();
    let mut found = Vec::new();
    for path in entries {
        if path.file_name().is_some_and(|name| name == CARRIED) {
            found.push(path);
        } else if depth > 0 && path.is_dir() {
            found.extend(carried_files(&path, depth - 1));
        }
    }
    found
}

/// Below the project's own directory: the lines on trial.
pub(crate) const TRIALS: &str = "memory/state/trials.json";

/// Where the trials of lines are.
pub(crate) fn trials_file(workspace: &Workspace) -> PathBuf {
    workspace.spore_dir().join(TRIALS)
}

/// What the record beside a task file says: what it carried, and why each of its files.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CarriedRecord {
    #[serde(flatten)]
    pub(crate) carried: Carried,
    /// In the order of the ranking; those of files that the task file does not name are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) signals: Vec<FileSignals>,
}
