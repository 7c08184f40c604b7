//! What checks of a base wrote outside of their checkout: a layer below the homes and caches of what
//! comes after.
//!
//! A check of another base makes a new one while sessions of other runs still look through the one
//! before. So it is made aside, becomes the current one when the check is over, and the one before
//! it stays until there is a next.

use std::path::PathBuf;

use spore_effects::files::remove_all;

use crate::{Error, Result, Surroundings, Workspace};

/// The layers of one project.
pub(crate) struct KeptLayers<'a> {
    around: &'a Surroundings,
    dir: PathBuf,
}

impl<'a> KeptLayers<'a> {
    pub(crate) fn of(around: &'a Surroundings, workspace: &Workspace) -> Self {
        Self { around, dir: workspace.gates_state().join("outside") }
    }

    /// Returns the one that is looked through.
    pub(super) fn current(&self) -> PathBuf {
        self.numbered(self.number())
    }

    /// Returns the one that a check of a base makes, with nothing in it yet. All checks of a project
    /// come one after another, so there is no other.
    pub(super) fn begin(&self) -> Result<PathBuf> {
        let next = self.numbered(self.number() + 1);
        remove_all(&next).map_err(|source| Error::io("cannot remove what gates left", source))?;
        Ok(next)
    }

    /// Makes what a check of a base has made the current one.
    pub(crate) fn settle(&self) -> Result<()> {
        let number = self.number();
        if !self.numbered(number + 1).is_dir() {
            return Ok(());
        }
        self.around.write_file(&self.dir.join("current"), (number + 1).to_string().as_bytes())?;
        if let Some(older) = number.checked_sub(1) {
            // One that cannot be removed is in nothing's way.
            let _ = remove_all(&self.numbered(older));
        }
        Ok(())
    }

    fn numbered(&self, number: u64) -> PathBuf {
        self.dir.join(number.to_string())
    }

    fn number(&self) -> u64 {
        let text = spore_effects::files::read_text(self.dir.join("current"));
        text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }
}
