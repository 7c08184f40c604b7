//! The broadcast file, as all of its readers read it: the lines that every session is told.
//!
//! Only passes of memory write it; here it is read.

use std::path::Path;

use spore_memory::lines::{BROADCAST, LineMap};

use crate::base::files::read_text;
use crate::{Result, Workspace};

/// Returns the lines of the broadcast file in order, each with its number in the file and the
/// hash it is known by.
/// A task file carries the texts; the record of what it carried has the hashes.
pub(crate) fn broadcast_lines(workspace: &Workspace) -> Result<Vec<(u32, String, String)>> {
    let map = line_map(&workspace.spore_dir())?;
    let lines = map.lines().iter();
    Ok(lines.map(|line| (line.number, line.hash.to_string(), line.text.clone())).collect())
}

/// Reads the broadcast file below `spore`, the project's own directory. No file is no line.
pub(crate) fn line_map(spore: &Path) -> Result<LineMap> {
    Ok(LineMap::read(&read_text(&spore.join(BROADCAST))?.unwrap_or_default()))
}
