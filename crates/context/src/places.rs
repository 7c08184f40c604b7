//! What investigations said of files and directories, for the task file that names them.

use serde::Serialize;
use spore_model::NodeId;
use spore_store::KnowledgeError;

use crate::compiled::RankedFile;

/// What was said of one place.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PlaceSummary {
    /// The node that says it.
    pub id: NodeId,
    /// From the project's root; `.` is the root itself.
    pub path: String,
    pub is_directory: bool,
    pub text: String,
    /// How sure its writer is, from 0 to 1.
    pub confidence: Option<f64>,
    /// What was flagged there, worst first.
    pub flags: Vec<String>,
}

/// Where summaries come from.
pub trait PlaceSummaries {
    /// Returns summaries in which words of a task occur, for the ranking.
    fn matching(&self, task: &str) -> Result<Vec<PlaceSummary>, KnowledgeError>;

    /// Returns what is said of these files and directories and holds for the tree that is asked
    /// about, in their order; nothing for those of which nothing is known.
    fn about(
        &self,
        files: &[&str],
        directories: &[&str],
    ) -> Result<Vec<PlaceSummary>, KnowledgeError>;
}

/// Returns what is said of the best files, best first, then of the directories they are in.
pub(crate) fn of_ranked(
    summaries: &dyn PlaceSummaries,
    files: &[RankedFile],
    most: usize,
) -> Result<Vec<PlaceSummary>, KnowledgeError> {
    let files: Vec<&str> = files.iter().take(most).map(|file| file.path.as_str()).collect();
    let mut directories: Vec<&str> = Vec::new();
    for file in &files {
        let directory = file.rsplit_once('/').map_or(".", |(directory, _)| directory);
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }
    if files.is_empty() { Ok(Vec::new()) } else { summaries.about(&files, &directories) }
}
