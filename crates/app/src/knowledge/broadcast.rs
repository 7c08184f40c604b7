//! The broadcast file, as all of its readers read it: the lines that every session is told, those
//! of `memory/priority.md` first where it imports them.
//!
//! Only passes of memory write it; here it is read.

use std::path::Path;

use spore_memory::lines::{BROADCAST, LineMap, LinePlace, PRIORITY, ToldLine};

use crate::base::files::read_text;
use crate::{Result, Workspace};

/// Returns the lines that every session is told, in order.
pub(crate) fn broadcast_map(spore: &Path) -> Result<LineMap> {
    let text = read_text(&spore.join(BROADCAST))?.unwrap_or_default();
    let own = LineMap::read(&text);
    if !imports_priority(&text) {
        return Ok(own);
    }
    Ok(own.with_priority(&read_text(&spore.join(PRIORITY))?.unwrap_or_default()))
}

/// Returns the same, each with a number and the hash it is known by.
/// A task file carries the texts; the record of what it carried has the hashes.
pub(crate) fn broadcast_lines(workspace: &Workspace) -> Result<Vec<(u32, String, String)>> {
    let map = broadcast_map(&workspace.spore_dir())?;
    // Lines of the file that is imported are counted on behind the last one of the file, so that
    // no two have one number.
    let last = map.lines().iter().map(|line| line.last).max().unwrap_or(0);
    let told = |line: &ToldLine| {
        let number = match line.place {
            LinePlace::File(number) => number,
            LinePlace::Priority(number) => last.saturating_add(number),
            LinePlace::Lesson(_) => return None,
        };
        Some((number, line.hash.to_string(), line.text.clone()))
    };
    Ok(map.lines().iter().filter_map(told).collect())
}

/// Whether the file's first line that says anything is the import.
fn imports_priority(text: &str) -> bool {
    text.lines().map(str::trim).find(|line| !line.is_empty()) == Some("@priority.md")
}

/// Reads the broadcast file alone below `spore`, the project's own directory: what an update may
/// change. No file is no line.
pub(crate) fn line_map(spore: &Path) -> Result<LineMap> {
    Ok(LineMap::read(&read_text(&spore.join(BROADCAST))?.unwrap_or_default()))
}
