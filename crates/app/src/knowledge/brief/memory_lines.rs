//! The lines of the broadcast file, as a brief carries them.

use spore_context::MemoryLine;

use crate::knowledge::broadcast::broadcast_lines;
use crate::{Result, Workspace};

/// The broadcast file is meant to be short; a longer one is not all carried.
const MAX_LINES: usize = 40;

/// A line that the project keeps in mind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct KeptLine {
    /// Among those that are carried, counted from 1.
    pub(super) line: u32,
    pub(super) text: String,
    /// What the line is known by wherever it moves.
    pub(super) hash: String,
}

impl KeptLine {
    pub(super) fn shown(&self) -> MemoryLine {
        MemoryLine { line: self.line, text: self.text.clone() }
    }
}

/// Reads the lines, headings left out. No file is no line.
pub(super) fn read(workspace: &Workspace) -> Result<Vec<KeptLine>> {
    let lines = broadcast_lines(workspace)?;
    let said = lines.into_iter().filter_map(|(hash, text)| {
        let text = text.trim().trim_start_matches(['-', '*']).trim().to_owned();
        (!text.is_empty() && !text.starts_with('#')).then_some((hash, text))
    });
    let kept = (1..).zip(said.take(MAX_LINES));
    Ok(kept.map(|(line, (hash, text))| KeptLine { line, text, hash }).collect())
}
