//! What an indexer is given: paths, settings and effects.

use std::path::Path;

use spore_effects::{Clock, Probe};
use spore_git::{GitError, Repository};

use crate::progress::Reporter;
use crate::settings::IndexSettings;

/// What becomes of the index that is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexMode {
    /// Only what changed is done.
    Update,
    /// It is made anew, whatever there is.
    Full,
}

/// Makes and opens the indexes of one project.
#[derive(Clone, Copy)]
pub struct Indexer<'a> {
    /// The work tree.
    pub root: &'a Path,
    /// The directory that indexes are kept in.
    pub dir: &'a Path,
    pub settings: &'a IndexSettings,
    /// Finds the repository around the root. It is asked only where nothing else helps:
    /// starting git takes longer than seeing that nothing changed.
    pub project: &'a dyn Fn() -> std::result::Result<Repository, GitError>,
    pub clock: &'a dyn Clock,
    pub probe: &'a Probe,
    pub reporter: &'a dyn Reporter,
}
