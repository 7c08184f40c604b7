//! The trials that are under way: who shows lines tells of them, and who changes a line ends its own.

use spore_memory::lines::LineHash;
use spore_memory::trial::{LineTrial, read_trials};

use super::places::MemoryPlaces;
use crate::base::files::pretty;
use crate::knowledge::carried::TRIALS;
use crate::{Result, Surroundings};

/// The trials that are under way.
pub(super) fn open_trials(places: &MemoryPlaces) -> Result<Vec<LineTrial>> {
    let trials = read_trials(&places.read(&places.path(TRIALS))?.unwrap_or_default());
    Ok(trials.into_iter().filter(LineTrial::is_open).collect())
}

/// Ends the trials of lines that runs are no longer told as they were.
pub(super) fn end_trials(
    around: &Surroundings,
    places: &MemoryPlaces,
    lines: &[LineHash],
    at: &str,
) -> Result<()> {
    let path = places.path(TRIALS);
    let mut trials = read_trials(&places.read(&path)?.unwrap_or_default());
    let is_meant = |trial: &&mut LineTrial| trial.is_open() && lines.contains(&trial.line);
    for trial in trials.iter_mut().filter(is_meant) {
        trial.ended = Some(at.to_owned());
    }
    around.write_file(&path, pretty(&trials)?.as_bytes())
}
