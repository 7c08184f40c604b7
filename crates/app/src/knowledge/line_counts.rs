//! How much of a file was changed, in a few characters.

use spore_git::ChangedFile;

/// Returns how many lines a change adds and removes; nothing for a file without lines.
pub(crate) fn line_counts(file: &ChangedFile) -> String {
    match (file.added, file.removed) {
        (Some(added), Some(removed)) => format!(" (+{added} −{removed})"),
        _ => String::new(),
    }
}
