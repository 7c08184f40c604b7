//! What a run changed, as its summarizer is told it.

use spore_context::task_file::ChangeSize;
use spore_git::ChangedFile;

pub(crate) use spore_context::task_file::{BounceTrail, RunTrail};

/// Returns the sizes of changes.
pub(crate) fn change_sizes(files: &[ChangedFile]) -> Vec<ChangeSize> {
    let size = |file: &ChangedFile| ChangeSize {
        path: file.path.clone(),
        lines: file.added.zip(file.removed),
    };
    files.iter().map(size).collect()
}
