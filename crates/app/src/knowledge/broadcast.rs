//! The broadcast file, as all of its readers read it: the lines that every session is told, those
//! of `memory/priority.md` first where it imports them.
//!
//! Only passes of memory write it; here it is read.

use std::path::Path;

use spore_memory::lines::{BROADCAST, LineMap, LinePlace, ToldLine};

use crate::base::files::read_text;
use crate::{Result, Workspace};

/// Returns the lines of the broadcast file in order, each with its number in the file and the
/// hash it is known by.
/// A task file carries the texts; the record of what it carried has the hashes.
pub(crate) fn broadcast_lines(workspace: &Workspace) -> Result<Vec<(u32, String, String)>> {
    let spore = workspace.spore_dir();
    let text = read_text(&spore.join(BROADCAST))?.unwrap_or_default();
    let told = |map: &LineMap, before: u32| -> Vec<(u32, String, String)> {
        let told = |line: &ToldLine| match line.place {
            LinePlace::File(number) => {
                Some((before + number, line.hash.to_string(), line.text.clone()))
            }
            LinePlace::Lesson(_) => None,
        };
        map.lines().iter().filter_map(told).collect()
    };
    let own = told(&LineMap::read(&text), 0);
    if !imports_priority(&text) {
        return Ok(own);
    }
    // What it imports comes first. Its lines are counted on behind the last one of the file, so
    // that no two have one number.
    let first = read_text(&spore.join(PRIORITY))?.unwrap_or_default();
    let before = u32::try_from(text.lines().count()).unwrap_or(u32::MAX / 2);
    let mut all = told(&LineMap::read(&first), before);
    all.extend(own);
    Ok(all)
}

/// What comes before everything else, where the broadcast file imports it.
pub(crate) const PRIORITY: &str = "memory/priority.md";

/// Whether the file's first line that says anything is the import.
fn imports_priority(text: &str) -> bool {
    text.lines().map(str::trim).find(|line| !line.is_empty()) == Some("@priority.md")
}

/// Reads the broadcast file below `spore`, the project's own directory. No file is no line.
pub(crate) fn line_map(spore: &Path) -> Result<LineMap> {
    Ok(LineMap::read(&read_text(&spore.join(BROADCAST))?.unwrap_or_default()))
}
