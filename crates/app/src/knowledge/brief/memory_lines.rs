//! The lines of the broadcast file, as a brief carries them.

use spore_config::Config;
use spore_context::MemoryLine;

use crate::knowledge::broadcast::broadcast_lines;
use crate::{Result, Workspace};

/// A line that the project keeps in mind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KeptLine {
    /// Of the broadcast file, counted from 1.
    pub(super) line: u32,
    pub(super) text: String,
    /// What the line is known by wherever it moves.
    pub(super) hash: String,
}

impl KeptLine {
    /// Reads as many lines as the settings say, headings left out. No file is no line.
    pub(crate) fn read(workspace: &Workspace, config: &Config) -> Result<Vec<Self>> {
        let lines = broadcast_lines(workspace)?;
        let said = lines.into_iter().filter_map(|(line, hash, text)| {
            let text = text.trim().trim_start_matches(['-', '*']).trim().to_owned();
            (!text.is_empty() && !text.starts_with('#')).then_some(Self { line, text, hash })
        });
        Ok(said.take(config.context.memory_lines as usize).collect())
    }

    pub(crate) fn shown(&self) -> MemoryLine {
        MemoryLine { line: self.line, text: self.text.clone() }
    }
}
